// Up to 32 disjoint ranges that hold all values of a time or owner column, so that one late row does not ruin the pruning of
// its part: the `ranges` section of a prune header (docs/formats/sidecar.md). A value; const calls are thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/values/value.h"

namespace pilum {

class ValueRanges {
 public:
  static constexpr size_t kMost = 32;
  struct Range {
    int64_t low, high;  // both inclusive
    bool operator==(const Range&) const = default;
  };

  const std::vector<Range>& ranges() const { return ranges_; }  // ascending, disjoint
  bool MayOverlap(const ValueSet& set) const;                   // `set`: integers
  bool Covers(const ValueRanges& other) const;                  // does it hold all that the other one holds?

  std::string ToBytes() const;
  static Result<ValueRanges> FromBytes(std::string_view bytes, std::string_view source);

 private:
  friend class ValueRangesBuilder;
  std::vector<Range> ranges_;
};

// Collects them while rows stream by: the gaps that stay are the widest. Not thread-safe. The result depends on the rows,
// not on their batching.
class ValueRangesBuilder {
 public:
  // Integers (not uint64), dates, times, timestamps, durations.
  static bool Fits(const arrow::DataType& type);
  // An array of such a type; dictionary-encoded ones are left out: then there is no section.
  void Append(const arrow::Array& array);
  ValueRanges Finish();  // no more rows

 private:
  template <typename T>
  void AddAll(const arrow::Array& array);
  void Fold();

  static constexpr size_t kBuffer = 1024, kKept = 128;
  std::vector<int64_t> buffer_;
  std::vector<ValueRanges::Range> ranges_;
};

}  // namespace pilum
