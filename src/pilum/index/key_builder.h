// Collects the hashes of a near-unique column with their rows, and writes the `key` section of a sidecar and the filter that
// goes with it. Used by SidecarBuilder, one a column. Not thread-safe. The bytes depend on the rows, not on their batching.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/index/sidecar.h"
#include "pilum/sketch/array_hash.h"

namespace pilum {

class KeyBuilder {
 public:
  static constexpr uint64_t kBlockEntries = 2048;
  static constexpr uint64_t kMaxRows = ~uint32_t{0};
  static constexpr uint64_t kMaxAverageBytes = 64;  // of the first values of a text: longer ones are no keys

  // Null: not a type for keys (unless `asked`: integers, text, fixed-size binary), or no type with an order.
  static std::unique_ptr<KeyBuilder> Make(const arrow::DataType& type, bool asked);

  // The column's values, and then all hashes of them (as given by ColumnStats::Update; rows from the begin of `array`).
  void Append(const arrow::Array& array);
  void AddHashes(const HashBlock& block);
  // Unasked: the values seen so far are too long, or too few of them differ.
  bool gave_up() const { return gave_up_; }
  uint64_t entries() const { return entries_.size(); }
  // No more rows. Filter bytes are made of what Finish sorted.
  SidecarWriter::Section Finish(const FieldPath& path, uint64_t num_rows);
  // `bits`: of a fingerprint, 8 or 16.
  Result<std::string> FilterBytes(uint32_t bits) const;

  struct Entry {
    uint64_t hash;
    uint32_t row;
    bool operator<(const Entry& o) const { return hash != o.hash ? hash < o.hash : row < o.row; }
  };
  const std::vector<Entry>& sorted() const { return entries_; }  // after Finish

 private:
  explicit KeyBuilder(bool asked) : asked_(asked) {}
  void WatchLength(const arrow::Array& array);
  bool RepeatsItself() const;

  const bool asked_;
  bool gave_up_ = false;
  uint64_t rows_ = 0, first_ = 0;  // appended; of them, those before the last array
  uint64_t watched_ = 0, watched_bytes_ = 0;
  std::vector<Entry> entries_;
};

}  // namespace pilum
