// Time zones: offsets come from Arrow's kernels, which read the system's tz database; the rule for gaps and overlaps is ours.
#include <algorithm>

#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>

#include "pilum/values/time.h"

namespace pilum {
namespace {

// "+09:00", "-0530", "UTC", "Z".
std::optional<int64_t> FixedOffset(const std::string& name) {
  if (name == "UTC" || name == "Etc/UTC" || name == "Z" || name == "GMT" || name == "utc") return 0;
  if (name.size() < 5 || (name[0] != '+' && name[0] != '-')) return std::nullopt;
  std::string digits = name.substr(1);
  if (digits.size() == 5 && digits[2] == ':') digits.erase(2, 1);
  if (digits.size() != 4 || digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  int64_t h = std::stoi(digits.substr(0, 2)), m = std::stoi(digits.substr(2));
  if (h > 23 || m > 59) return std::nullopt;
  return (name[0] == '-' ? -1 : 1) * (h * 3600 + m * 60);
}

}  // namespace

Result<std::shared_ptr<const Zone>> Zone::Load(const std::string& name) {
  auto zone = std::make_shared<Zone>();
  zone->name_ = name;
  zone->fixed_ = FixedOffset(name);
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  auto probe = zone->OffsetAt(0);
  if (!probe.ok()) return QueryError("time zone '{}' is not known here (is tzdata installed?)", name);
  return zone;
}

// The tz database's rules are asked for years 0 to 9999 and a little; beyond, the nearest answer holds.
constexpr int64_t kLeastAsked = -62'200'000'000, kMostAsked = 253'500'000'000;

Result<int64_t> Zone::OffsetAt(int64_t utc_seconds) const {
  if (fixed_) return *fixed_;
  utc_seconds = std::clamp(utc_seconds, kLeastAsked, kMostAsked);
  arrow::TimestampScalar scalar(utc_seconds, arrow::timestamp(arrow::TimeUnit::SECOND, name_));
  PILUM_ASSIGN_OR_RETURN(arrow::Datum local, arrow::compute::LocalTimestamp(arrow::Datum(scalar)));
  return static_cast<const arrow::TimestampScalar&>(*local.scalar()).value - utc_seconds;
}

Result<Int128> Zone::ToInstant(Int128 wall_nanos) const {
  auto seconds = static_cast<int64_t>(FloorDiv<Int128>(wall_nanos, kNanosPerSecond));
  seconds = std::clamp(seconds, kLeastAsked - kSecondsPerDay, kMostAsked + kSecondsPerDay);  // only to ask with
  PILUM_ASSIGN_OR_RETURN(int64_t before, OffsetAt(seconds - kSecondsPerDay));
  PILUM_ASSIGN_OR_RETURN(int64_t after, OffsetAt(seconds + kSecondsPerDay));
  int64_t chosen = before;
  if (before != after) {
    // With the older offset: right before the change, and the earlier of two in an overlap.
    PILUM_ASSIGN_OR_RETURN(int64_t there, OffsetAt(seconds - before));
    if (there != before) {
      PILUM_ASSIGN_OR_RETURN(int64_t later, OffsetAt(seconds - after));
      if (later == after) chosen = after;  // else a gap: the older offset moves it forward
    }
  }
  return wall_nanos - static_cast<Int128>(chosen) * kNanosPerSecond;
}

Result<std::shared_ptr<arrow::Array>> Zone::ToWall(const std::shared_ptr<arrow::Array>& instants) const {
  const auto& type = static_cast<const arrow::TimestampType&>(*instants->type());
  const auto& in = static_cast<const arrow::TimestampArray&>(*instants);
  const int64_t per_second = kNanosPerSecond / NanosPerUnit(type);
  bool usual = !fixed_;
  for (int64_t i = 0; i < in.length() && usual; ++i) {
    usual = in.IsNull(i) || (in.Value(i) / per_second > kLeastAsked && in.Value(i) / per_second < kMostAsked);
  }
  if (usual) {
    PILUM_ASSIGN_OR_RETURN(arrow::Datum local, arrow::compute::LocalTimestamp(arrow::Datum(instants)));
    return local.make_array();
  }
  arrow::TimestampBuilder out(arrow::timestamp(type.unit()), arrow::default_memory_pool());
  PILUM_RETURN_NOT_OK(out.Reserve(in.length()));
  for (int64_t i = 0; i < in.length(); ++i) {
    if (in.IsNull(i)) {
      out.UnsafeAppendNull();
      continue;
    }
    PILUM_ASSIGN_OR_RETURN(int64_t offset, OffsetAt(FloorDiv(in.Value(i), per_second)));
    int64_t v;
    if (__builtin_add_overflow(in.Value(i), offset * per_second, &v)) {
      out.UnsafeAppendNull();
    } else {
      out.UnsafeAppend(v);
    }
  }
  return out.Finish();
}

}  // namespace pilum
