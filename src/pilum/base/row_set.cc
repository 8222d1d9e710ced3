#include "pilum/base/row_set.h"

#include <algorithm>

#include <fmt/format.h>

namespace pilum {

RowSet RowSet::Range(uint64_t begin, uint64_t end) {
  RowSet s;
  s.Append(begin, end);
  return s;
}

void RowSet::Append(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  if (!ranges_.empty() && begin <= ranges_.back().end) {
    ranges_.back().end = std::max(ranges_.back().end, end);
  } else {
    ranges_.push_back({begin, end});
  }
}

RowSet RowSet::FromSorted(const std::vector<uint64_t>& rows) {
  RowSet s;
  for (uint64_t r : rows) s.Append(r, r + 1);
  return s;
}

RowSet RowSet::FromRanges(std::vector<RowRange> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const RowRange& a, const RowRange& b) { return a.begin < b.begin; });
  RowSet s;
  for (const auto& r : ranges) s.Append(r.begin, r.end);
  return s;
}

uint64_t RowSet::size() const {
  uint64_t n = 0;
  for (const auto& r : ranges_) n += r.size();
  return n;
}

bool RowSet::Contains(uint64_t row) const {
  auto it =
      std::upper_bound(ranges_.begin(), ranges_.end(), row, [](uint64_t v, const RowRange& r) { return v < r.begin; });
  return it != ranges_.begin() && row < std::prev(it)->end;
}

RowSet RowSet::Union(const RowSet& other) const {
  RowSet out;
  auto a = ranges_.begin(), b = other.ranges_.begin();
  while (a != ranges_.end() || b != other.ranges_.end()) {
    bool take_a = b == other.ranges_.end() || (a != ranges_.end() && a->begin <= b->begin);
    const RowRange& r = take_a ? *a++ : *b++;
    out.Append(r.begin, r.end);
  }
  return out;
}

RowSet RowSet::Intersect(const RowSet& other) const {
  RowSet out;
  auto a = ranges_.begin(), b = other.ranges_.begin();
  while (a != ranges_.end() && b != other.ranges_.end()) {
    out.Append(std::max(a->begin, b->begin), std::min(a->end, b->end));
    if (a->end < b->end)
      ++a;
    else
      ++b;
  }
  return out;
}

RowSet RowSet::Minus(const RowSet& other) const {
  RowSet out;
  auto b = other.ranges_.begin();
  for (RowRange r : ranges_) {
    while (b != other.ranges_.end() && b->end <= r.begin) ++b;
    for (auto c = b; c != other.ranges_.end() && c->begin < r.end; ++c) {
      out.Append(r.begin, std::min(c->begin, r.end));
      r.begin = std::max(r.begin, c->end);
    }
    out.Append(r.begin, r.end);
  }
  return out;
}

RowSet RowSet::Complement(uint64_t num_rows) const { return All(num_rows).Minus(*this); }

RowSet RowSet::Slice(uint64_t begin, uint64_t end) const {
  RowSet out;
  auto it =
      std::lower_bound(ranges_.begin(), ranges_.end(), begin, [](const RowRange& r, uint64_t v) { return r.end <= v; });
  for (; it != ranges_.end() && it->begin < end; ++it) {
    out.Append(std::max(it->begin, begin) - begin, std::min(it->end, end) - begin);
  }
  return out;
}

RowSet RowSet::SliceByRank(uint64_t k, uint64_t n) const {
  RowSet out;
  for (const auto& r : ranges_) {
    if (n == 0) break;
    if (k >= r.size()) {
      k -= r.size();
      continue;
    }
    uint64_t take = std::min(n, r.size() - k);
    out.Append(r.begin + k, r.begin + k + take);
    n -= take;
    k = 0;
  }
  return out;
}

RowSet RowSet::Shift(uint64_t by) const {
  RowSet out = *this;
  for (auto& r : out.ranges_) {
    r.begin += by;
    r.end += by;
  }
  return out;
}

std::vector<uint64_t> RowSet::ToVector() const {
  std::vector<uint64_t> out;
  out.reserve(size());
  for (const auto& r : ranges_)
    for (uint64_t i = r.begin; i < r.end; ++i) out.push_back(i);
  return out;
}

std::string RowSet::ToString() const {
  std::string s = "{";
  for (const auto& r : ranges_) {
    if (s.size() > 1) s += ", ";
    s += r.size() == 1 ? fmt::format("{}", r.begin) : fmt::format("{}..{}", r.begin, r.end - 1);
  }
  return s + "}";
}

}  // namespace pilum
