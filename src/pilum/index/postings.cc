#include "pilum/index/postings.h"

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
