// The bytes of extents (extents.h) between the rounds of a read: whatever asks for a part of one has it fetched whole,
// once. Of a scan also ahead of the rows that it is at, within a budget. Called by take.cc, scan.cc and unit.cc; one a
// read. Not thread-safe: a scan's units come one after the other, in their order, so that what is fetched depends on
// nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "pilum/file/extents.h"

namespace pilum {

class ExtentCache {
 public:
  // `extents`: by offset, disjoint. `file` must outlive it, and what `ctx` names. `budget`: bytes that are held at once,
  // which only what one call needs may exceed; 0: a take, which holds everything and fetches nothing ahead.
  ExtentCache(const OpenFile& file, std::vector<Extent> extents, uint64_t budget, const ReadContext& ctx);
  ~ExtentCache();  // stops what is on its way

  // As OpenFile::ReadRanges. What lies in extents has the memory of the cache's context, the rest of `ctx`'s.
  Result<std::vector<BufferPtr>> ReadRanges(std::span<const ByteRange> ranges,
                                            const std::function<std::string(size_t)>& place, ReadContext& ctx);
  // A unit begins at `row`: what only rows before it needed goes, and from the second unit on more is fetched ahead, up
  // to as much again as was used so far.
  void Advance(uint64_t row);

  uint64_t held_bytes() const { return held_; }  // on their way, too

 private:
  struct Batch;  // extents that are fetched together in the background
  struct Entry {
    Extent extent;
    BufferPtr bytes;               // null: not here
    std::shared_ptr<Batch> batch;  // on their way
    bool used = false;             // asked for, since it came
    uint64_t last_turn = 0;
    bool held() const { return bytes || batch; }
  };

  std::pair<size_t, size_t> Covering(ByteRange range) const;
  Status Fetch(std::vector<size_t> missing, std::span<const ByteRange> ranges, std::span<const size_t> direct,
               const std::function<std::string(size_t)>& place, ReadContext& ctx, std::vector<BufferPtr>* out);
  void AddNeighbours(std::vector<size_t>* missing) const;
  Status Need(size_t entry);
  Result<BufferPtr> BytesAt(ByteRange range, size_t first, size_t last, ReadContext& ctx) const;
  Status Keep(size_t entry, BufferPtr bytes);
  void Drop(size_t entry);
  void MakeRoom(uint64_t bytes);
  uint64_t IdleBytes() const;
  void FetchAhead(uint64_t row);
  Result<std::vector<BufferPtr>> ReadOwned(std::span<const ByteRange> wanted, const std::vector<size_t>& entries,
                                           ReadContext& ctx) const;
  std::string PlaceOf(size_t entry) const;

  const OpenFile& file_;
  const uint64_t budget_;
  ReadContext ctx_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> stop_with_;
  std::vector<Entry> entries_;  // by offset
  std::vector<size_t> by_row_;  // their numbers, by when they will be needed
  size_t next_ = 0;             // of those, the first that may not have been fetched
  std::vector<size_t> here_;    // held ones
  uint64_t held_ = 0, used_ = 0, turn_ = 0;
};

}  // namespace pilum
