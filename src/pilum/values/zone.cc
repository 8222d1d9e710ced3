// Time zones: offsets come from Arrow's kernels, which read the system's tz database; the rule for gaps and overlaps is ours.
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

Result<int64_t> Zone::OffsetAt(int64_t utc_seconds) const {
  if (fixed_) return *fixed_;
  arrow::TimestampScalar scalar(utc_seconds, arrow::timestamp(arrow::TimeUnit::SECOND, name_));
  PILUM_ASSIGN_OR_RETURN(arrow::Datum local, arrow::compute::LocalTimestamp(arrow::Datum(scalar)));
  return static_cast<const arrow::TimestampScalar&>(*local.scalar()).value - utc_seconds;
}

Result<Int128> Zone::ToInstant(Int128 wall_nanos) const {
  auto seconds = static_cast<int64_t>(FloorDiv<Int128>(wall_nanos, kNanosPerSecond));
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
  if (!fixed_) {
    PILUM_ASSIGN_OR_RETURN(arrow::Datum local, arrow::compute::LocalTimestamp(arrow::Datum(instants)));
    return local.make_array();
  }
  auto wall = arrow::timestamp(type.unit());
  const auto& in = static_cast<const arrow::TimestampArray&>(*instants);
  const int64_t shift = *fixed_ * (kNanosPerSecond / NanosPerUnit(type));
  arrow::TimestampBuilder out(wall, arrow::default_memory_pool());
  PILUM_RETURN_NOT_OK(out.Reserve(in.length()));
  for (int64_t i = 0; i < in.length(); ++i) {
    int64_t v;
    if (in.IsNull(i) || __builtin_add_overflow(in.Value(i), shift, &v)) {
      out.UnsafeAppendNull();
    } else {
      out.UnsafeAppend(v);
    }
  }
  return out.Finish();
}

}  // namespace pilum
