#include "pilum/index/key_index.h"

#include <algorithm>

#include "pilum/base/bytes.h"

namespace pilum {

Result<KeyIndex> KeyIndex::Open(std::shared_ptr<const SidecarReader> reader, const SectionEntry& entry,
                                uint64_t num_rows, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(BlockRoot root, reader->ReadRootOfRows(entry, num_rows, ctx));
  KeyIndex index;
  index.reader_ = std::move(reader);
  index.num_rows_ = num_rows;
  index.blocks_ = std::move(root.blocks);
  ByteCursor in(root.family);
  in.Read<uint64_t>();  // entries
  const size_t n = index.blocks_.size();
  if (!in.ok() || in.remaining() != uint64_t{8} * n)
    return Corrupt(index.reader_->name(), "key", "its root does not add up");
  for (size_t i = 0; i < n; ++i) index.firsts_.push_back(in.Read<uint64_t>());
  if (!std::is_sorted(index.firsts_.begin(), index.firsts_.end()))
    return Corrupt(index.reader_->name(), "key", "its blocks are not in order");
  return index;
}

Result<std::optional<RowSet>> KeyIndex::Rows(std::vector<uint64_t> hashes, uint64_t possible, ReadContext& ctx) const {
  std::sort(hashes.begin(), hashes.end());
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  std::vector<size_t> touched;
  uint64_t bytes = 0;
  for (uint64_t h : hashes) {
    // Equal hashes may begin in the block before the one that starts with them.
    size_t b = static_cast<size_t>(std::lower_bound(firsts_.begin(), firsts_.end(), h) - firsts_.begin());
    for (b = b > 0 ? b - 1 : 0; b < firsts_.size() && firsts_[b] <= h; ++b) {
      if (!touched.empty() && touched.back() >= b) continue;
      touched.push_back(b);
      bytes += reader_->FetchCost(blocks_[b].offset, blocks_[b].stored) + blocks_[b].raw;
    }
  }
  constexpr uint64_t kAlways = 4096;
  if (bytes > possible * 2 + kAlways) return std::optional<RowSet>();
  std::vector<BlockRef> refs;
  for (size_t b : touched) refs.push_back(blocks_[b]);
  PILUM_ASSIGN_OR_RETURN(const auto blocks, reader_->ReadBlocks(refs, ctx));
  std::vector<RowRange> rows;
  auto corrupt = [&](std::string_view what) { return Corrupt(reader_->name(), "key", what); };
  for (const std::string& block : blocks) {
    if (block.size() % 12 != 0) return corrupt("a block does not add up");
    const size_t n = block.size() / 12;
    auto hash_at = [&](size_t i) { return LoadLE<uint64_t>(block.data() + 8 * i); };
    size_t from = 0;
    auto next = n == 0 ? hashes.end() : std::lower_bound(hashes.begin(), hashes.end(), hash_at(0));
    for (; next != hashes.end() && from < n; ++next) {
      const uint64_t h = *next;
      size_t low = from, high = n;
      while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (hash_at(mid) < h)
          low = mid + 1;
        else
          high = mid;
      }
      for (from = low; from < n && hash_at(from) == h; ++from) {
        const uint64_t row = LoadLE<uint32_t>(block.data() + 8 * n + 4 * from);
        if (row >= num_rows_) return corrupt("a row past the part");
        rows.push_back({row, row + 1});
      }
    }
  }
  return std::optional(RowSet::FromRanges(std::move(rows)));
}

}  // namespace pilum
