#include "pilum/file/extents.h"

#include <algorithm>

namespace pilum {
namespace {

constexpr uint64_t kPadding = 4096;          // between buffers of a page: it is no use to leave it out
constexpr uint64_t kLeastPiece = 128 << 10;  // of a page; smaller ones are not worth a place of their own

// A page of which rows are wanted.
struct WantedPage {
  std::vector<Extent> parts;  // where its buffers lie, neighbours as one
  uint64_t bytes = 0;
  size_t num_buffers = 0;
  uint64_t rows = 0, wanted = 0;
  RowRange hull;       // rows of the file, from the first wanted one to the last
  bool known = false;  // its tables were read before
};

WantedPage Describe(const OpenFile& file, size_t leaf, size_t number, const RowSet& in_page) {
  const Page& page = *file.columns[leaf].pages[number];
  const uint64_t first = file.columns[leaf].first_row[number];
  std::vector<ByteRange> buffers = page.stored_ranges();
  std::sort(buffers.begin(), buffers.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  WantedPage out;
  out.rows = page.num_rows();
  out.wanted = in_page.size();
  out.hull = {first + in_page.ranges().front().begin, first + in_page.ranges().back().end};
  out.known = page.cached_bytes() > 0;
  for (const ByteRange& b : buffers) {
    if (b.size == 0) continue;
    ++out.num_buffers;
    if (!out.parts.empty() && b.offset <= out.parts.back().range.end() + kPadding) {
      ByteRange& last = out.parts.back().range;
      last.size = std::max(last.end(), b.end()) - last.offset;
    } else {
      out.parts.push_back({b, {first, first + out.rows}, first, leaf, number});
    }
  }
  for (const Extent& e : out.parts) out.bytes += e.range.size;
  return out;
}

// Of each leaf, in row order.
std::vector<std::vector<WantedPage>> WantedPages(const OpenFile& file, std::span<const int> leaves,
                                                 const RowSet& rows) {
  std::vector<std::vector<WantedPage>> out;
  for (int number : leaves) {
    const auto leaf = static_cast<size_t>(number);
    const OpenColumn& column = file.columns[leaf];
    out.emplace_back();
    if (rows.empty()) continue;
    const auto [first, last] = column.PagesOf(rows.ranges().front().begin, rows.ranges().back().end);
    for (size_t p = first; p < last; ++p) {
      const RowSet in_page = rows.Slice(column.first_row[p], column.first_row[p + 1]);
      if (!in_page.empty()) out.back().push_back(Describe(file, leaf, p, in_page));
    }
  }
  return out;
}

bool IsDense(const WantedPage& page) { return page.wanted >= page.hull.size() / 2; }
bool IsMostOfPage(const WantedPage& page) { return page.hull.size() >= page.rows / 2; }

// Pages that share bytes become one. By offset.
std::vector<Extent> Disjoint(std::vector<Extent> extents) {
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.range.offset < b.range.offset; });
  std::vector<Extent> out;
  for (const Extent& e : extents) {
    if (out.empty() || e.range.offset >= out.back().range.end()) {
      out.push_back(e);
      continue;
    }
    Extent& last = out.back();
    last.range.size = std::max(last.range.end(), e.range.end()) - last.range.offset;
    last.rows = {std::min(last.rows.begin, e.rows.begin), std::max(last.rows.end, e.rows.end)};
    last.expected_row = std::min(last.expected_row, e.expected_row);
  }
  return out;
}

void AddSmall(std::vector<const WantedPage*> pages, const ReadCost& cost, std::vector<Extent>* out) {
  std::stable_sort(pages.begin(), pages.end(), [](auto* a, auto* b) { return a->bytes < b->bytes; });
  uint64_t left = cost.spare;
  for (const WantedPage* page : pages) {
    if (page->bytes > std::min(left, cost.reach)) break;
    left -= page->bytes;
    out->insert(out->end(), page->parts.begin(), page->parts.end());
  }
}

bool Saves(const WantedPage& page) { return page.num_buffers > 1 && !page.known; }

// In equal pieces of at most `most` bytes; those that seem to be for rows of `hull`, and the ones beside them.
void AddPieces(const Extent& extent, uint64_t most, RowRange hull, std::vector<Extent>* out) {
  const uint64_t count = (extent.range.size - 1) / most + 1, size = (extent.range.size - 1) / count + 1;
  const double rows_each = static_cast<double>(extent.rows.size()) / static_cast<double>(count);
  for (uint64_t i = 0; i < count && i * size < extent.range.size; ++i) {
    auto row = [&](double piece) {
      return extent.rows.begin + static_cast<uint64_t>(std::max(0.0, piece) * rows_each);
    };
    const auto at = static_cast<double>(i);
    if (row(at + 2) < hull.begin || row(at - 1) >= hull.end) continue;
    Extent piece = extent;
    piece.range = {extent.range.offset + i * size, std::min(size, extent.range.size - i * size)};
    piece.expected_row = row(at);
    out->push_back(piece);
  }
}

uint64_t HullBytes(const WantedPage& page) {
  const double share = static_cast<double>(page.hull.size()) / static_cast<double>(std::max<uint64_t>(1, page.rows));
  return static_cast<uint64_t>(share * static_cast<double>(page.bytes));
}

// The largest piece such that two of each leaf fit into `room`; 0 where none of some size does.
uint64_t PieceSize(const std::vector<std::vector<WantedPage>>& leaves, uint64_t room, uint64_t most) {
  std::vector<uint64_t> largest;
  for (const auto& pages : leaves) {
    largest.push_back(0);
    for (const WantedPage& page : pages) largest.back() = std::max(largest.back(), page.bytes);
  }
  auto fits = [&](uint64_t piece) {
    uint64_t sum = 0;
    for (uint64_t bytes : largest) sum += std::min(bytes, 2 * piece);
    return sum <= room;
  };
  uint64_t piece = std::min(most, room);
  while (piece >= kLeastPiece && !fits(piece)) piece -= piece / 8;
  return piece < kLeastPiece ? 0 : piece;
}

}  // namespace

std::vector<Extent> SmallPages(const OpenFile& file, std::span<const int> leaves, const RowSet& rows) {
  const auto wanted = WantedPages(file, leaves, rows);
  std::vector<const WantedPage*> small;
  for (const auto& pages : wanted) {
    for (const WantedPage& page : pages) {
      if (Saves(page)) small.push_back(&page);
    }
  }
  std::vector<Extent> out;
  AddSmall(std::move(small), file.source->cost(), &out);
  return Disjoint(std::move(out));
}

std::vector<Extent> ScanExtents(const OpenFile& file, std::span<const int> leaves, const RowSet& rows, uint64_t room) {
  const ReadCost& cost = file.source->cost();
  const auto wanted = WantedPages(file, leaves, rows);
  const uint64_t most = PieceSize(wanted, room, cost.most);
  std::vector<Extent> whole, parts, out;
  std::vector<const WantedPage*> small;
  for (const auto& pages : wanted) {
    for (const WantedPage& page : pages) {
      const uint64_t piece = std::min(most, HullBytes(page) / 4);
      if (most > 0 && IsDense(page) && IsMostOfPage(page)) {
        whole.insert(whole.end(), page.parts.begin(), page.parts.end());
      } else if (IsDense(page) && piece >= kLeastPiece) {
        for (const Extent& e : page.parts) AddPieces(e, piece, page.hull, &parts);
      } else if (Saves(page)) {
        small.push_back(&page);
      }
    }
  }
  AddSmall(std::move(small), cost, &parts);
  whole.insert(whole.end(), parts.begin(), parts.end());
  for (const Extent& e : Disjoint(std::move(whole))) {
    if (most > 0 && e.range.size > 2 * most) {
      AddPieces(e, most, e.rows, &out);
    } else {
      out.push_back(e);
    }
  }
  return out;
}

}  // namespace pilum
