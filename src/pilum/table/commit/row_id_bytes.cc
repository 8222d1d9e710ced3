#include "pilum/table/commit/row_id_bytes.h"

#include <algorithm>

#include "pilum/base/bytes.h"
#include "pilum/table/commit/wire.h"
#include "pilum/table/row_ids.h"

namespace pilum {
namespace {

void SetNumbers(const std::vector<uint64_t>& numbers, wire::EncodedU64Array* out) {
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  const uint64_t base = numbers.empty() ? 0 : *least, span = numbers.empty() ? 0 : *most - *least;
  std::string bytes;
  for (const uint64_t n : numbers) {
    if (span <= UINT16_MAX) {
      AppendLE<uint16_t>(&bytes, static_cast<uint16_t>(n - base));
    } else if (span <= UINT32_MAX) {
      AppendLE<uint32_t>(&bytes, static_cast<uint32_t>(n - base));
    } else {
      AppendLE<uint64_t>(&bytes, n);
    }
  }
  if (span <= UINT16_MAX) {
    out->mutable_u16_array()->set_base(base);
    out->mutable_u16_array()->set_offsets(std::move(bytes));
  } else if (span <= UINT32_MAX) {
    out->mutable_u32_array()->set_base(base);
    out->mutable_u32_array()->set_offsets(std::move(bytes));
  } else {
    out->mutable_u64_array()->set_values(std::move(bytes));
  }
}

bool IsAscending(const std::vector<uint64_t>& ids) {
  return std::adjacent_find(ids.begin(), ids.end(), [](uint64_t a, uint64_t b) { return a >= b; }) == ids.end();
}

template <typename Range>
void SetRange(uint64_t begin, uint64_t end, Range* out) {
  out->set_start(begin);
  out->set_end(end);
}

void SetHoles(const std::vector<uint64_t>& ids, wire::U64Segment::RangeWithHoles* out) {
  SetRange(ids.front(), ids.back() + 1, out);
  std::vector<uint64_t> holes;
  for (size_t i = 1; i < ids.size(); ++i) {
    for (uint64_t hole = ids[i - 1] + 1; hole < ids[i]; ++hole) holes.push_back(hole);
  }
  SetNumbers(holes, out->mutable_holes());
}

void SetBitmap(const std::vector<uint64_t>& ids, wire::U64Segment::RangeWithBitmap* out) {
  SetRange(ids.front(), ids.back() + 1, out);
  std::string bits((ids.back() - ids.front()) / 8 + 1, '\0');
  for (const uint64_t id : ids) {
    const uint64_t at = id - ids.front();
    bits[at / 8] = static_cast<char>(static_cast<uint8_t>(bits[at / 8]) | 1u << (at % 8));
  }
  out->set_bitmap(std::move(bits));
}

void SetSegment(const std::vector<uint64_t>& ids, wire::U64Segment* out) {
  if (ids.empty()) return SetRange(0, 0, out->mutable_range());
  if (!IsAscending(ids)) return SetNumbers(ids, out->mutable_array());
  const uint64_t n = ids.size(), slots = ids.back() - ids.front() + 1;
  if (slots == n) return SetRange(ids.front(), ids.back() + 1, out->mutable_range());
  // What each form weighs; where the ids lie far apart the first two weigh more than a number can say.
  const double holes = 24 + 4.0 * static_cast<double>(slots - n), bitmap = 24 + static_cast<double>(slots) / 8;
  const double array = 24 + 2.0 * static_cast<double>(n);
  if (holes <= bitmap && holes <= array) return SetHoles(ids, out->mutable_range_with_holes());
  if (bitmap <= array) return SetBitmap(ids, out->mutable_range_with_bitmap());
  SetNumbers(ids, out->mutable_sorted_array());
}

// Where the next piece ends whose ids lie close together, ascending.
size_t EndOfPiece(const std::vector<uint64_t>& ids, size_t begin) {
  constexpr uint64_t kFar = 256;  // as bits of a bitmap these weigh as much as another segment
  size_t end = begin + 1;
  while (end < ids.size() && ids[end] > ids[end - 1] && ids[end] - ids[end - 1] < kFar) ++end;
  return end;
}

}  // namespace

// Long pieces are segments of their own; short ones beside each other are one together.
std::string SerializeRowIds(const std::vector<uint64_t>& ids) {
  constexpr size_t kLong = 16;  // ids that weigh as much as a segment
  wire::RowIdSequence out;
  size_t begin = 0;
  const auto cut = [&](size_t end) {
    if (end > begin)
      SetSegment({ids.begin() + static_cast<ptrdiff_t>(begin), ids.begin() + static_cast<ptrdiff_t>(end)},
                 out.add_segments());
    begin = end;
  };
  for (size_t at = 0; at < ids.size();) {
    const size_t end = EndOfPiece(ids, at);
    if (end - at >= kLong) {
      cut(at);
      cut(end);
    }
    at = end;
  }
  cut(ids.size());
  if (ids.empty()) SetSegment(ids, out.add_segments());
  return SerializeWire(out);
}

std::string SerializeRowIdRange(uint64_t begin, uint64_t end) {
  wire::RowIdSequence out;
  SetRange(begin, end, out.add_segments()->mutable_range());
  return SerializeWire(out);
}

Result<std::vector<uint64_t>> ParseRowIds(std::string_view bytes, uint64_t most) {
  PILUM_ASSIGN_OR_RETURN(const uint64_t rows, RowIdSequence::Count(bytes, most));
  PILUM_ASSIGN_OR_RETURN(auto sequence, RowIdSequence::Parse(bytes, rows));
  std::vector<uint64_t> out;
  out.reserve(rows);
  sequence.Append(RowSet::All(rows), &out);
  return out;
}

std::string SerializeRowVersion(uint64_t rows, uint64_t version) {
  wire::RowDatasetVersionSequence out;
  auto* run = out.add_runs();
  SetRange(0, rows, run->mutable_span()->mutable_range());
  run->set_version(version);
  return SerializeWire(out);
}

std::string SerializeRowVersions(const std::vector<uint64_t>& versions) {
  wire::RowDatasetVersionSequence out;
  for (size_t begin = 0; begin < versions.size();) {
    size_t end = begin + 1;
    while (end < versions.size() && versions[end] == versions[begin]) ++end;
    auto* run = out.add_runs();
    SetRange(begin, end, run->mutable_span()->mutable_range());
    run->set_version(versions[begin]);
    begin = end;
  }
  return SerializeWire(out);
}

}  // namespace pilum
