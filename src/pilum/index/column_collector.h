// What one column says about itself while its rows stream by: zones, whole-part bounds and distinct hashes (hashed by
// ColumnStats, once for all). Used by
// SidecarBuilder; one a column (or struct leaf). Not thread-safe. The result depends on the rows, not on their
// batching.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <arrow/type_fwd.h>

#include "pilum/index/distinct_set.h"
#include "pilum/index/zone_map.h"

namespace pilum {

class ColumnCollector {
 public:
  // Any type; those without a normal form get NULL counts only. `distinct_cap`: see DistinctSet.
  static std::unique_ptr<ColumnCollector> Make(const arrow::DataType& type, uint64_t distinct_cap);
  virtual ~ColumnCollector() = default;

  Status Append(const arrow::Array& array);          // the type it was made for; extension arrays too
  void AddHashes(std::span<const uint64_t> hashes);  // of all values that are not NULL (sketch/value_hash.h)
  void Finish();                                     // no more rows

  const ZoneMap& zones() const { return zones_; }    // after Finish
  const ZoneMap& bounds() const { return bounds_; }  // after Finish: one chunk
  const DistinctSet& distinct() const { return distinct_; }
  // Of text and binary: the least and the greatest, whole. After Finish; absent where there is no value.
  virtual std::optional<std::pair<std::string_view, std::string_view>> extreme_bytes() const { return std::nullopt; }
  bool is_ordered() const { return zones_.domain != Domain::kNone; }

 protected:
  explicit ColumnCollector(uint64_t distinct_cap) : distinct_(distinct_cap) {
    for (uint64_t i = 0; i < recent_.size(); ++i) recent_[i] = ~(i << 56);  // none that belongs there
  }
  friend class DictionaryCollector;

  // Slots [begin, begin + n), none of them NULL, all inside the open chunk.
  virtual Status AddRun(const arrow::Array& array, int64_t begin, int64_t n) = 0;
  // Appends the open chunk's flags and bounds to zones_, folds it into the total, and starts a new one.
  virtual void CloseBounds() = 0;
  // Writes the total's flags and bounds to bounds_.
  virtual void FinishBounds() = 0;

  ZoneMap zones_, bounds_;
  DistinctSet distinct_;
  uint64_t open_rows_ = 0, open_nulls_ = 0, total_nulls_ = 0;

 private:
  void CloseChunk();

  std::array<uint64_t, 256> recent_;  // by the upper byte: most columns repeat themselves
};

}  // namespace pilum
