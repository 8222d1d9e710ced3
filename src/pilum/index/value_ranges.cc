#include "pilum/index/value_ranges.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/type.h>

#include "pilum/base/bytes.h"
#include "pilum/index/index.h"

namespace pilum {
namespace {

using Range = ValueRanges::Range;

// Joins neighbours over the narrowest gaps until at most `most` are left. Equal gaps: the earlier ones are joined first.
void Reduce(std::vector<Range>* ranges, size_t most) {
  if (ranges->size() <= most) return;
  std::vector<std::pair<uint64_t, size_t>> gaps;  // width, index of the range behind it
  for (size_t i = 1; i < ranges->size(); ++i) {
    gaps.emplace_back(static_cast<uint64_t>((*ranges)[i].low) - static_cast<uint64_t>((*ranges)[i - 1].high), i);
  }
  const size_t joined = ranges->size() - most;
  std::nth_element(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(joined - 1), gaps.end());
  std::vector<bool> join(ranges->size(), false);
  for (size_t i = 0; i < joined; ++i) join[gaps[i].second] = true;
  size_t out = 0;
  for (size_t i = 1; i < ranges->size(); ++i) {
    if (join[i])
      (*ranges)[out].high = (*ranges)[i].high;
    else
      (*ranges)[++out] = (*ranges)[i];
  }
  ranges->resize(out + 1);
}

// Sorted by low, perhaps overlapping or adjoining, into disjoint ones.
void Unite(std::vector<Range>* ranges) {
  if (ranges->empty()) return;
  size_t out = 0;
  for (size_t i = 1; i < ranges->size(); ++i) {
    const Range& r = (*ranges)[i];
    Range& last = (*ranges)[out];
    if (r.low <= last.high || (last.high != INT64_MAX && r.low == last.high + 1))
      last.high = std::max(last.high, r.high);
    else
      (*ranges)[++out] = r;
  }
  ranges->resize(out + 1);
}

}  // namespace

bool ValueRangesBuilder::Fits(const arrow::DataType& type) {
  if (type.id() == arrow::Type::EXTENSION) return Fits(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  return type.id() != arrow::Type::UINT64 && type.id() != arrow::Type::BOOL && type.id() != arrow::Type::DICTIONARY &&
         DomainOf(type) == Domain::kInt;
}

template <typename T>
void ValueRangesBuilder::AddAll(const arrow::Array& array) {
  const T* values = array.data()->GetValues<T>(1);
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i)) continue;
    buffer_.push_back(static_cast<int64_t>(values[i]));
    if (buffer_.size() == kBuffer) Fold();
  }
}

void ValueRangesBuilder::Append(const arrow::Array& array) {
  using arrow::Type;
  switch (array.type_id()) {
    case Type::EXTENSION: return Append(*static_cast<const arrow::ExtensionArray&>(array).storage());
    case Type::INT8: return AddAll<int8_t>(array);
    case Type::INT16: return AddAll<int16_t>(array);
    case Type::INT32:
    case Type::DATE32:
    case Type::TIME32: return AddAll<int32_t>(array);
    case Type::INT64:
    case Type::DATE64:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION: return AddAll<int64_t>(array);
    case Type::UINT8: return AddAll<uint8_t>(array);
    case Type::UINT16: return AddAll<uint16_t>(array);
    case Type::UINT32: return AddAll<uint32_t>(array);
    default: return;
  }
}

void ValueRangesBuilder::Fold() {
  if (buffer_.empty()) return;
  const auto [low, high] = std::minmax_element(buffer_.begin(), buffer_.end());
  const bool inside =
      std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& r) { return r.low <= *low && *high <= r.high; });
  if (!inside) {
    if (!std::is_sorted(buffer_.begin(), buffer_.end())) std::sort(buffer_.begin(), buffer_.end());
    for (int64_t v : buffer_) ranges_.push_back({v, v});
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.low < b.low; });
    Unite(&ranges_);
    Reduce(&ranges_, kKept);
  }
  buffer_.clear();
}

ValueRanges ValueRangesBuilder::Finish() {
  Fold();
  Reduce(&ranges_, ValueRanges::kMost);
  ValueRanges out;
  out.ranges_ = std::move(ranges_);
  return out;
}

bool ValueRanges::MayOverlap(const ValueSet& set) const {
  if (!AllOfDomain(set, Domain::kInt)) return true;
  return std::any_of(ranges_.begin(), ranges_.end(),
                     [&](const Range& r) { return set.Overlaps(Value::Int(r.low), Value::Int(r.high)); });
}

bool ValueRanges::Covers(const ValueRanges& other) const {
  return std::all_of(other.ranges_.begin(), other.ranges_.end(), [&](const Range& o) {
    return std::any_of(ranges_.begin(), ranges_.end(),
                       [&](const Range& r) { return r.low <= o.low && o.high <= r.high; });
  });
}

std::string ValueRanges::ToBytes() const {
  std::string out;
  AppendLE<uint32_t>(&out, static_cast<uint32_t>(ranges_.size()));
  for (const Range& r : ranges_) {
    AppendLE<int64_t>(&out, r.low);
    AppendLE<int64_t>(&out, r.high);
  }
  return out;
}

Result<ValueRanges> ValueRanges::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  const auto n = in.Read<uint32_t>();
  if (!in.ok() || n == 0 || n > kMost || in.remaining() != uint64_t{16} * n)
    return Corrupt(source, "ranges", "not 1 to 32 of them");
  ValueRanges out;
  for (uint32_t i = 0; i < n; ++i) {
    Range r{in.Read<int64_t>(), 0};
    r.high = in.Read<int64_t>();
    if (r.low > r.high || (i > 0 && r.low <= out.ranges_.back().high))
      return Corrupt(source, "ranges", "they are not disjoint and ascending");
    out.ranges_.push_back(r);
  }
  return out;
}

}  // namespace pilum
