// What is known of one column over some rows: exact counts, extremes and sums, and sketches of its values. Made part by part
// (SidecarBuilder), kept in the part's .stats (docs/formats/sidecar.md), folded over parts. A value; const calls are
// thread-safe.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "pilum/index/sidecar.h"
#include "pilum/sketch/heavy_hitters.h"
#include "pilum/sketch/hll.h"
#include "pilum/sketch/kll.h"
#include "pilum/sketch/moments.h"

namespace pilum {

class ColumnStats {
 public:
  static constexpr uint64_t kMaxExtremeBytes = 1 << 20;  // a longer text or binary value is no exact extreme

  // Of no rows. Any type: those without a normal form are counted only.
  static ColumnStats Make(const arrow::DataType& type);
  static ColumnStats AllNull(const arrow::DataType& type, uint64_t rows);
  // An array of the type it was made for. `hashes` is given those of all values that are not NULL, in row order
  // (sketch/value_hash.h), so that nobody hashes them again. Extremes of text and binary are left to the caller, who looks for
  // bounds anyway: WidenExtremes.
  Status Update(const arrow::Array& array, const std::function<void(const HashBlock&)>& hashes);
  void WidenExtremes(std::string_view low, std::string_view high);
  // kUsage: columns of another kind (params are named); this is unchanged then.
  Status Merge(const ColumnStats& other);

  uint64_t rows() const { return rows_; }
  uint64_t nulls() const { return nulls_; }
  // Exact, in the column's normal form; absent where there are no values, or a text was too long to be kept.
  const std::optional<Value>& min() const { return moments_ ? moments_->min() : low_; }
  const std::optional<Value>& max() const { return moments_ ? moments_->max() : high_; }
  bool has_extremes() const { return ordered_ && !extremes_lost_; }
  const std::optional<Moments>& moments() const { return moments_; }  // integers, times, floats, decimals
  // Of columns with an order:
  const std::optional<Hll>& distinct() const { return distinct_; }
  const std::optional<HeavyHitters>& top() const { return top_; }
  const std::optional<Kll>& quantiles() const { return quantiles_; }  // not of text, binary and uint64

  void AddTo(const FieldPath& path, SidecarWriter* out) const;
  // From the sections of one column, each as stored; a section that is missing makes its sketch unknown. kCorrupt: the
  // counts are missing, or a section is not what it should be.
  static Result<ColumnStats> FromSections(const arrow::DataType& type,
                                          const std::map<SectionFamily, std::string>& sections,
                                          std::string_view source);

 private:
  std::string CountsBytes() const;
  Status ParseCounts(std::string_view bytes, std::string_view source);

  bool ordered_ = false, text_ = false, binary_ = false, extremes_lost_ = false;
  uint64_t rows_ = 0, nulls_ = 0;
  std::optional<Value> low_, high_;  // text and binary
  std::optional<Moments> moments_;
  std::optional<Hll> distinct_;
  std::optional<HeavyHitters> top_;
  std::optional<Kll> quantiles_;
};

// Why a section was built for a column, or was not.
struct BuildDecision {
  std::string column, family;
  bool built = false;
  std::string reason;
};
std::string DecisionsToBytes(const std::vector<BuildDecision>& decisions);
Result<std::vector<BuildDecision>> DecisionsFromBytes(std::string_view bytes, std::string_view source);

}  // namespace pilum
