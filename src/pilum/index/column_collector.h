// What one column says about itself while its rows stream by: zones, whole-part bounds and distinct hashes. Used by
// SidecarBuilder; one a column (or struct leaf). Not thread-safe. The result depends on the rows, not on their
// batching.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "pilum/index/distinct_set.h"
#include "pilum/index/zone_map.h"

namespace pilum {

class ColumnCollector {
 public:
  // Any type; those without a normal form get NULL counts only. `distinct_cap`: see DistinctSet.
  static std::unique_ptr<ColumnCollector> Make(const arrow::DataType& type, uint64_t distinct_cap);
  virtual ~ColumnCollector() = default;

  Status Append(const arrow::Array& array);  // the type it was made for; extension arrays too
  void Finish();                             // no more rows

  const ZoneMap& zones() const { return zones_; }    // after Finish
  const ZoneMap& bounds() const { return bounds_; }  // after Finish: one chunk
  const DistinctSet& distinct() const { return distinct_; }
  bool is_ordered() const { return zones_.domain != Domain::kNone; }

 protected:
  explicit ColumnCollector(uint64_t distinct_cap) : distinct_(distinct_cap) {}
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
};

}  // namespace pilum
