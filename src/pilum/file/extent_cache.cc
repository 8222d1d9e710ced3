#include "pilum/file/extent_cache.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

namespace pilum {

struct ExtentCache::Batch {
  std::vector<size_t> entries;
  ReadContext ctx;
  Result<std::vector<BufferPtr>> bytes = Status::UnknownError("");
  std::thread thread;

  // Once it is there.
  Status status() {
    if (thread.joinable()) thread.join();
    return bytes.status();
  }
  ~Batch() {
    if (thread.joinable()) thread.join();
  }
};

ExtentCache::ExtentCache(const OpenFile& file, std::vector<Extent> extents, uint64_t budget, const ReadContext& ctx)
    : file_(file), budget_(budget), ctx_(ctx), stop_with_(ctx.stop, [this] { stop_.request_stop(); }) {
  for (Extent& e : extents) entries_.push_back({std::move(e), nullptr, nullptr, false, 0});
  for (size_t i = 0; i < entries_.size(); ++i) by_row_.push_back(i);
  std::stable_sort(by_row_.begin(), by_row_.end(), [&](size_t a, size_t b) {
    return entries_[a].extent.expected_row < entries_[b].extent.expected_row;
  });
}

ExtentCache::~ExtentCache() {
  stop_.request_stop();
  for (size_t e : here_) entries_[e].batch.reset();  // their threads still look at entries
}

// The extents that hold all of `range`, [first, last); none where they do not.
std::pair<size_t, size_t> ExtentCache::Covering(ByteRange range) const {
  auto after = std::upper_bound(entries_.begin(), entries_.end(), range.offset,
                                [](uint64_t at, const Entry& e) { return at < e.extent.range.offset; });
  if (range.size == 0 || after == entries_.begin()) return {0, 0};
  const auto first = static_cast<size_t>(after - entries_.begin()) - 1;
  uint64_t end = entries_[first].extent.range.end();
  size_t last = first + 1;
  if (end <= range.offset) return {0, 0};
  while (end < range.end() && last < entries_.size() && entries_[last].extent.range.offset == end) {
    end = entries_[last++].extent.range.end();
  }
  return end < range.end() ? std::pair<size_t, size_t>{0, 0} : std::pair{first, last};
}

std::string ExtentCache::PlaceOf(size_t entry) const {
  return file_.PlaceOf(entries_[entry].extent.leaf, entries_[entry].extent.page);
}

Result<std::vector<BufferPtr>> ExtentCache::ReadRanges(std::span<const ByteRange> ranges,
                                                       const std::function<std::string(size_t)>& place,
                                                       ReadContext& ctx) {
  std::vector<BufferPtr> out(ranges.size());
  std::vector<std::pair<size_t, size_t>> covering;
  std::vector<size_t> direct, missing;
  for (size_t i = 0; i < ranges.size(); ++i) {
    covering.push_back(Covering(ranges[i]));
    const auto [first, last] = covering.back();
    if (first == last) direct.push_back(i);
    for (size_t e = first; e < last; ++e) {
      entries_[e].last_turn = turn_;
      if (!entries_[e].held()) missing.push_back(e);
    }
  }
  PILUM_RETURN_NOT_OK(Fetch(std::move(missing), ranges, direct, place, ctx, &out));
  for (size_t i = 0; i < ranges.size(); ++i) {
    const auto [first, last] = covering[i];
    if (first == last) continue;
    for (size_t e = first; e < last; ++e) PILUM_RETURN_NOT_OK(Need(e));
    PILUM_ASSIGN_OR_RETURN(out[i], BytesAt(ranges[i], first, last, ctx));
  }
  return out;
}

// `missing` extents, and of `ranges` those of the numbers `direct`, to *out.
Status ExtentCache::Fetch(std::vector<size_t> missing, std::span<const ByteRange> ranges,
                          std::span<const size_t> direct, const std::function<std::string(size_t)>& place,
                          ReadContext& ctx, std::vector<BufferPtr>* out) {
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (budget_ > 0 && !missing.empty()) AddNeighbours(&missing);
  uint64_t bytes = 0;
  std::vector<ByteRange> wanted;
  for (size_t e : missing) {
    wanted.push_back(entries_[e].extent.range);
    bytes += wanted.back().size;
  }
  MakeRoom(bytes);
  auto fetch = [&](ReadContext& with) -> Status {  // extents first, then ranges
    auto place_of = [&](size_t i) {
      return i < missing.size() ? PlaceOf(missing[i]) : place(direct[i - missing.size()]);
    };
    if (wanted.empty()) return Status::OK();
    PILUM_ASSIGN_OR_RETURN(auto fetched, file_.ReadRanges(wanted, place_of, with));
    for (size_t i = 0; i < missing.size(); ++i) PILUM_RETURN_NOT_OK(Keep(missing[i], std::move(fetched[i])));
    for (size_t i = missing.size(); i < fetched.size(); ++i) (*out)[direct[i - missing.size()]] = std::move(fetched[i]);
    return Status::OK();
  };
  if (ctx.pool != ctx_.pool) {  // each with its own memory
    PILUM_RETURN_NOT_OK(fetch(ctx_));
    wanted.clear();
    missing.clear();
  }
  for (size_t i : direct) wanted.push_back(ranges[i]);
  return fetch(ctx);
}

// Small extents beside missing ones come along, as many bytes as a read may spend on gaps.
void ExtentCache::AddNeighbours(std::vector<size_t>* missing) const {
  const ReadCost& cost = file_.source->cost();
  uint64_t left = cost.spare;
  std::vector<size_t> more;
  auto walk = [&](size_t from, int step) {
    ByteRange at = entries_[from].extent.range;
    for (size_t e = from + static_cast<size_t>(step); e < entries_.size(); e += static_cast<size_t>(step)) {
      const ByteRange& r = entries_[e].extent.range;
      const uint64_t gap = step > 0 ? r.offset - at.end() : at.offset - r.end();
      if (gap > cost.gap || r.size > std::min(left, cost.reach)) return;
      if (entries_[e].held() || entries_[e].last_turn > 0) return;          // is or was here
      if (std::binary_search(missing->begin(), missing->end(), e)) return;  // which walks on itself
      left -= r.size;
      more.push_back(e);
      at = r;
    }
  };
  for (size_t e : *missing) {
    walk(e, 1);
    walk(e, -1);
  }
  missing->insert(missing->end(), more.begin(), more.end());
  std::sort(missing->begin(), missing->end());
  missing->erase(std::unique(missing->begin(), missing->end()), missing->end());
}

// Waits for it where it is on its way.
Status ExtentCache::Need(size_t number) {
  Entry& entry = entries_[number];
  if (entry.batch) {
    const std::shared_ptr<Batch> batch = entry.batch;
    PILUM_RETURN_NOT_OK(batch->status());
    for (size_t i = 0; i < batch->entries.size(); ++i) {
      Entry& other = entries_[batch->entries[i]];
      if (other.batch != batch) continue;  // dropped meanwhile
      other.bytes = std::move((*batch->bytes)[i]);
      other.batch.reset();
    }
  }
  if (!std::exchange(entry.used, true)) used_ += entry.extent.range.size;
  return Status::OK();
}

Result<BufferPtr> ExtentCache::BytesAt(ByteRange range, size_t first, size_t last, ReadContext& ctx) const {
  const uint64_t begin = entries_[first].extent.range.offset;
  if (last - first == 1) {
    return arrow::SliceBuffer(entries_[first].bytes, static_cast<int64_t>(range.offset - begin),
                              static_cast<int64_t>(range.size));
  }
  PILUM_ASSIGN_OR_RETURN(BufferPtr joined, AllocateReadBuffer(range.size, ctx.memory_pool()));
  uint8_t* to = joined->mutable_data();
  for (size_t e = first; e < last; ++e) {
    const ByteRange& r = entries_[e].extent.range;
    const uint64_t from = std::max(r.offset, range.offset), end = std::min(r.end(), range.end());
    std::memcpy(to, entries_[e].bytes->data() + (from - r.offset), end - from);
    to += end - from;
  }
  return joined;
}

// Out of a buffer that it shares with others, so that it can go when it is done with.
Result<BufferPtr> OnItsOwn(BufferPtr bytes, arrow::MemoryPool* pool) {
  const arrow::Buffer* whole = bytes.get();
  while (whole->parent()) whole = whole->parent().get();
  if (whole->size() <= bytes->size() + static_cast<int64_t>(ByteSource::kReadSlack)) return bytes;
  PILUM_ASSIGN_OR_RETURN(BufferPtr copy, AllocateReadBuffer(static_cast<uint64_t>(bytes->size()), pool));
  std::memcpy(copy->mutable_data(), bytes->data(), static_cast<size_t>(bytes->size()));
  return copy;
}

Status ExtentCache::Keep(size_t number, BufferPtr bytes) {
  Entry& entry = entries_[number];
  if (budget_ > 0) {
    PILUM_ASSIGN_OR_RETURN(bytes, OnItsOwn(std::move(bytes), ctx_.memory_pool()));
  }
  entry.bytes = std::move(bytes);
  entry.used = false;
  entry.last_turn = turn_;
  held_ += entry.extent.range.size;
  here_.push_back(number);
  return Status::OK();
}

void ExtentCache::Drop(size_t number) {
  Entry& entry = entries_[number];
  held_ -= entry.extent.range.size;
  entry.bytes.reset();
  entry.batch.reset();
  std::erase(here_, number);
}

// Drops what was used, but neither in this turn nor in the one before, longest ago first.
void ExtentCache::MakeRoom(uint64_t bytes) {
  if (budget_ == 0 || held_ + bytes <= budget_) return;
  std::vector<size_t> idle;
  for (size_t e : here_) {
    if (entries_[e].used && entries_[e].last_turn + 1 < turn_) idle.push_back(e);
  }
  std::sort(idle.begin(), idle.end(), [&](size_t a, size_t b) {
    return std::pair(entries_[a].last_turn, a) < std::pair(entries_[b].last_turn, b);
  });
  for (size_t e : idle) {
    if (held_ + bytes <= budget_) return;
    Drop(e);
  }
}

uint64_t ExtentCache::IdleBytes() const {
  uint64_t sum = 0;
  for (size_t e : here_) {
    if (entries_[e].used && entries_[e].last_turn + 1 < turn_) sum += entries_[e].extent.range.size;
  }
  return sum;
}

void ExtentCache::Advance(uint64_t row) {
  ++turn_;
  const std::vector<size_t> here = here_;
  for (size_t e : here) {
    if (entries_[e].extent.rows.end <= row) Drop(e);
  }
  if (turn_ > 1) FetchAhead(row);
}

Result<std::vector<BufferPtr>> ExtentCache::ReadOwned(std::span<const ByteRange> wanted,
                                                      const std::vector<size_t>& entries, ReadContext& ctx) const {
  auto place = [&](size_t i) { return PlaceOf(entries[i]); };
  PILUM_ASSIGN_OR_RETURN(auto bytes, file_.ReadRanges(wanted, place, ctx));
  for (BufferPtr& b : bytes) {
    PILUM_ASSIGN_OR_RETURN(b, OnItsOwn(std::move(b), ctx.memory_pool()));
  }
  return bytes;
}

void ExtentCache::FetchAhead(uint64_t row) {
  uint64_t waiting = 0;
  for (size_t e : here_) waiting += entries_[e].used ? 0 : entries_[e].extent.range.size;
  const uint64_t taken = held_ - std::min(held_, IdleBytes());
  const uint64_t room = budget_ - std::min(budget_, taken);
  if (room < budget_ / 4 || waiting > used_ / 2) return;  // few large batches rather than many small ones
  uint64_t left = std::min(room, used_ - waiting), bytes = 0;
  auto batch = std::make_shared<Batch>();
  std::vector<ByteRange> wanted;
  for (; next_ < by_row_.size(); ++next_) {
    const Entry& entry = entries_[by_row_[next_]];
    if (entry.held() || entry.last_turn > 0 || entry.extent.rows.end <= row) continue;  // is or was here, or is past
    if (entry.extent.range.size > left) break;
    left -= entry.extent.range.size;
    bytes += entry.extent.range.size;
    batch->entries.push_back(by_row_[next_]);
    wanted.push_back(entry.extent.range);
  }
  if (wanted.empty()) return;
  MakeRoom(bytes);
  batch->ctx = ctx_;
  batch->ctx.stop = stop_.get_token();
  try {
    batch->thread = std::thread([this, batch = batch.get(), wanted = std::move(wanted)] {
      try {
        batch->bytes = ReadOwned(wanted, batch->entries, batch->ctx);
      } catch (const std::bad_alloc&) {  // which no thread may let out
        batch->bytes = MakeError(ErrorKind::kMemory, "out of memory");
      }
    });
  } catch (const std::system_error&) {  // no more threads to be had: it is fetched when it is needed
    return;
  }
  for (size_t e : batch->entries) {
    Entry& entry = entries_[e];
    entry.batch = batch;
    entry.used = false;
    entry.last_turn = turn_;
    held_ += entry.extent.range.size;
    here_.push_back(e);
  }
}

}  // namespace pilum
