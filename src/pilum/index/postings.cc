#include "pilum/index/postings.h"

#include <algorithm>
#include <bit>

#include "pilum/sketch/varint.h"

namespace pilum {

void PostingsBuilder::Flush() {
  if (end_ == begin_) return;
  const uint64_t length = end_ - begin_;
  AppendVarint((begin_ - written_to_) << 1 | (length > 1), &bytes_);
  if (length > 1) AppendVarint(length - 2, &bytes_);
  flushed_rows_ += length;
  ++flushed_runs_;
  written_to_ = end_;
}

std::string PostingsOf(const RowSet& rows) {
  std::string out;
  uint64_t at = 0;
  for (const RowRange& r : rows.ranges()) {
    AppendVarint((r.begin - at) << 1 | (r.size() > 1), &out);
    if (r.size() > 1) AppendVarint(r.size() - 2, &out);
    at = r.end;
  }
  return out;
}

RowSet UnionOfRuns(std::vector<RowRange> runs, uint64_t num_rows) {
  const auto below = [](const RowRange& a, const RowRange& b) { return a.begin < b.begin; };
  RowSet out;
  if (std::is_sorted(runs.begin(), runs.end(), below)) {
    for (const RowRange& r : runs) out.Append(r.begin, r.end);
    return out;
  }
  if (runs.size() < num_rows / 256) return RowSet::FromRanges(std::move(runs));
  // So many are not sorted, but set as bits.
  std::vector<uint64_t> bits(num_rows / 64 + 1, 0);
  for (const RowRange& r : runs) {
    const uint64_t first = r.begin / 64, last = (r.end - 1) / 64;
    const uint64_t head = ~uint64_t{0} << (r.begin % 64), tail = ~uint64_t{0} >> (63 - (r.end - 1) % 64);
    if (first == last) {
      bits[first] |= head & tail;
      continue;
    }
    bits[first] |= head;
    for (uint64_t w = first + 1; w < last; ++w) bits[w] = ~uint64_t{0};
    bits[last] |= tail;
  }
  for (uint64_t w = 0; w < bits.size(); ++w) {
    for (uint64_t left = bits[w]; left != 0;) {
      const int begin = std::countr_zero(left);
      const int length = std::countr_one(left >> begin);
      out.Append(w * 64 + static_cast<uint64_t>(begin), w * 64 + static_cast<uint64_t>(begin + length));
      if (begin + length == 64) break;
      left &= ~uint64_t{0} << (begin + length);
    }
  }
  return out;
}

bool ReadPostings(std::string_view bytes, uint64_t num_rows, std::vector<RowRange>* out) {
  ByteCursor in(bytes);
  uint64_t at = 0;
  bool first = true;
  while (in.remaining() > 0) {
    const auto head = ReadVarint(&in);
    if (!head) return false;
    const uint64_t gap = *head >> 1;
    if ((gap == 0 && !first) || gap >= num_rows - at) return false;
    uint64_t length = 1;
    if (*head & 1) {
      const auto more = ReadVarint(&in);
      if (!more || *more > num_rows) return false;
      length = *more + 2;
    }
    const uint64_t begin = at + gap;
    if (length > num_rows - begin) return false;
    out->push_back({begin, begin + length});
    at = begin + length;
    first = false;
  }
  return true;
}

}  // namespace pilum
