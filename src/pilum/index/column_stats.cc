#include "pilum/index/column_stats.h"

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "pilum/base/bytes.h"
#include "pilum/sketch/array_hash.h"
#include "pilum/sketch/array_numbers.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

void AppendText(std::string_view text, std::string* out) {
  AppendLE(out, static_cast<uint32_t>(text.size()));
  out->append(text);
}

std::string_view ReadText(ByteCursor* in) { return in->ReadBytes(in->Read<uint32_t>()); }

template <typename S>
Status MergeInto(std::optional<S>* mine, const std::optional<S>& other) {
  if (!*mine || !other) {
    mine->reset();  // unknown on one side is unknown
    return Status::OK();
  }
  return (*mine)->Merge(*other);
}

template <typename S>
Status Parse(std::optional<S>* out, SectionFamily family, const std::map<SectionFamily, std::string>& sections,
             std::string_view source) {
  const auto it = sections.find(family);
  if (!*out || it == sections.end()) {
    out->reset();
    return Status::OK();
  }
  PILUM_ASSIGN_OR_RETURN(S sketch, S::FromBytes(it->second, source));
  if (!(sketch.params() == (*out)->params())) {
    return Corrupt(
        source, "statistics",
        fmt::format("{} is of {}, not of {}", S::kName, sketch.params().ToString(), (*out)->params().ToString()));
  }
  *out = std::move(sketch);
  return Status::OK();
}

}  // namespace

ColumnStats ColumnStats::Make(const arrow::DataType& type) {
  const auto plain = PlainType(type.GetSharedPtr());
  const arrow::DataType& given = *plain;
  ColumnStats s;
  const Domain domain = DomainOf(given);
  s.ordered_ = domain != Domain::kNone;
  if (!s.ordered_) return s;
  s.text_ = domain == Domain::kText;
  s.binary_ = domain == Domain::kBinary;
  s.distinct_ = Hll::Empty({}).ValueOrDie();
  s.top_ = HeavyHitters::Empty({}).ValueOrDie();
  if (s.text_ || s.binary_) return s;
  s.moments_ = Moments::Empty(Moments::ParamsFor(given).ValueOrDie()).ValueOrDie();
  Kll::Params params;
  params.kind = domain == Domain::kInt ? Kll::Kind::kInt : Kll::Kind::kFloat;
  // Not of uint64, whose values past 2^63 - 1 it does not take, so that one column has one answer in every part.
  if (domain != Domain::kInt || IntRangeOf(given).max <= INT64_MAX) s.quantiles_ = Kll::Empty(params).ValueOrDie();
  return s;
}

ColumnStats ColumnStats::AllNull(const arrow::DataType& type, uint64_t rows) {
  ColumnStats s = Make(type);
  s.rows_ = s.nulls_ = rows;
  return s;
}

Status ColumnStats::Update(const arrow::Array& array, const std::function<void(const HashBlock&)>& hashes) {
  rows_ += static_cast<uint64_t>(array.length());
  if (!ordered_) {
    nulls_ += static_cast<uint64_t>(array.ComputeLogicalNullCount());
    return Status::OK();
  }
  uint64_t values = 0;
  PILUM_RETURN_NOT_OK(VisitHashes(array, 0, [&](const HashBlock& block) {  // 0: of both sketches, and of Bloom filters
    values += block.hashes.size();
    distinct_->InsertSeeded(block.hashes);
    top_->Count(block);
    hashes(block);
  }));
  nulls_ += static_cast<uint64_t>(array.length()) - values;
  PILUM_RETURN_NOT_OK(top_->KeepValues(array));
  if (!moments_) return Status::OK();
  PILUM_ASSIGN_OR_RETURN(auto plain, PlainArray(array));
  PILUM_RETURN_NOT_OK(moments_->Update(*plain));
  return quantiles_ ? quantiles_->Update(*plain) : Status::OK();
}

void ColumnStats::WidenExtremes(std::string_view low, std::string_view high) {
  if (extremes_lost_ || low.size() > kMaxExtremeBytes || high.size() > kMaxExtremeBytes) {
    extremes_lost_ = true;
    low_.reset();
    high_.reset();
    return;
  }
  auto value = [&](std::string_view v) { return text_ ? Value::Text(std::string(v)) : Value::Binary(std::string(v)); };
  if (!low_ || low < low_->as_bytes()) low_ = value(low);
  if (!high_ || high > high_->as_bytes()) high_ = value(high);
}

Status ColumnStats::Merge(const ColumnStats& other) {
  if (ordered_ != other.ordered_ || text_ != other.text_ || binary_ != other.binary_) {
    return UsageError("statistics of columns of different kinds");
  }
  ColumnStats next = *this;  // so that a failure leaves this as it was
  next.rows_ += other.rows_;
  next.nulls_ += other.nulls_;
  PILUM_RETURN_NOT_OK(MergeInto(&next.moments_, other.moments_));
  PILUM_RETURN_NOT_OK(MergeInto(&next.distinct_, other.distinct_));
  PILUM_RETURN_NOT_OK(MergeInto(&next.top_, other.top_));
  PILUM_RETURN_NOT_OK(MergeInto(&next.quantiles_, other.quantiles_));
  next.extremes_lost_ |= other.extremes_lost_;
  if (next.extremes_lost_) {
    next.low_.reset();
    next.high_.reset();
  } else if (other.low_) {
    next.WidenExtremes(other.low_->as_bytes(), other.high_->as_bytes());
  }
  *this = std::move(next);
  return Status::OK();
}

std::string ColumnStats::CountsBytes() const {
  std::string out;
  AppendLE(&out, rows_);
  AppendLE(&out, nulls_);
  out.push_back(static_cast<char>((low_ ? 1 : 0) | (extremes_lost_ ? 2 : 0)));
  if (low_) {
    AppendText(low_->as_bytes(), &out);
    AppendText(high_->as_bytes(), &out);
  }
  return out;
}

Status ColumnStats::ParseCounts(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  rows_ = in.Read<uint64_t>();
  nulls_ = in.Read<uint64_t>();
  const auto flags = in.Read<uint8_t>();
  const bool has_extremes = flags & 1;
  extremes_lost_ = flags & 2;
  const std::string_view low = has_extremes ? ReadText(&in) : "", high = has_extremes ? ReadText(&in) : "";
  if (!in.ok() || in.remaining() > 0 || flags > 2 || nulls_ > rows_ || (has_extremes && !(text_ || binary_)) ||
      low > high) {
    return Corrupt(source, "statistics", "counts that contradict themselves");
  }
  if (has_extremes) WidenExtremes(low, high);
  return Status::OK();
}

void ColumnStats::AddTo(const FieldPath& path, SidecarWriter* out) const {
  out->Add({path}, SectionFamily::kCounts, CountsBytes());
  if (moments_) out->Add({path}, SectionFamily::kMoments, moments_->ToBytes());
  if (distinct_) out->Add({path}, SectionFamily::kDistinct, distinct_->ToBytes());
  if (quantiles_) out->Add({path}, SectionFamily::kQuantiles, quantiles_->ToBytes());
  if (top_) out->Add({path}, SectionFamily::kTopValues, top_->ToBytes());
}

Result<ColumnStats> ColumnStats::FromSections(const arrow::DataType& type,
                                              const std::map<SectionFamily, std::string>& sections,
                                              std::string_view source) {
  ColumnStats s = Make(type);
  const auto counts = sections.find(SectionFamily::kCounts);
  if (counts == sections.end()) return Corrupt(source, "statistics", "a column without counts");
  PILUM_RETURN_NOT_OK(s.ParseCounts(counts->second, source));
  const bool numbers = s.moments_.has_value();
  PILUM_RETURN_NOT_OK(Parse(&s.moments_, SectionFamily::kMoments, sections, source));
  if (numbers && !s.moments_) s.extremes_lost_ = true;
  PILUM_RETURN_NOT_OK(Parse(&s.distinct_, SectionFamily::kDistinct, sections, source));
  PILUM_RETURN_NOT_OK(Parse(&s.quantiles_, SectionFamily::kQuantiles, sections, source));
  PILUM_RETURN_NOT_OK(Parse(&s.top_, SectionFamily::kTopValues, sections, source));
  if (s.moments_ && (s.moments_->nulls() != s.nulls_ || s.moments_->count() != s.rows_ - s.nulls_)) {
    return Corrupt(source, "statistics", "counts that contradict the moments");
  }
  return s;
}

std::string DecisionsToBytes(const std::vector<BuildDecision>& decisions) {
  std::string out;
  AppendLE(&out, static_cast<uint32_t>(decisions.size()));
  for (const BuildDecision& d : decisions) {
    AppendText(d.column, &out);
    AppendText(d.family, &out);
    out.push_back(d.built ? 1 : 0);
    AppendText(d.reason, &out);
  }
  return out;
}

Result<std::vector<BuildDecision>> DecisionsFromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  const auto n = in.Read<uint32_t>();
  std::vector<BuildDecision> out;
  for (uint32_t i = 0; i < n && in.ok(); ++i) {
    BuildDecision d;
    d.column = ReadText(&in);
    d.family = ReadText(&in);
    d.built = in.Read<uint8_t>() != 0;
    d.reason = ReadText(&in);
    out.push_back(std::move(d));
  }
  if (!in.ok() || in.remaining() > 0) return Corrupt(source, "statistics", "decisions that end early or late");
  return out;
}

}  // namespace pilum
