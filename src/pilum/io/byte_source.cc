#include "pilum/io/byte_source.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

#include "pilum/base/pool_buffer.h"
#include "pilum/base/recycling_pool.h"

namespace pilum {
namespace {

// Ranges of the caller's list that are fetched together.
struct Fetch {
  ByteRange range;
  std::vector<size_t> members;
};

void Join(Fetch* into, Fetch&& next) {
  into->range.size = std::max(into->range.end(), next.range.end()) - into->range.offset;
  into->members.insert(into->members.end(), next.members.begin(), next.members.end());
}

// Those of the numbers `order`, by offset; those that overlap or lie within cost.gap are one, below cost.most.
std::vector<Fetch> JoinNear(std::span<const ByteRange> ranges, std::vector<size_t> order, const ReadCost& cost) {
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ranges[a].offset < ranges[b].offset; });
  std::vector<Fetch> out;
  auto joins = [&](const ByteRange& last, const ByteRange& r) {
    if (r.offset < last.end()) return true;
    return r.offset - last.end() <= cost.gap && r.end() - last.offset <= cost.most;
  };
  for (size_t i : order) {
    const ByteRange& r = ranges[i];
    if (!out.empty() && joins(out.back().range, r)) {
      Join(&out.back(), {r, {i}});
    } else {
      out.push_back({r, {i}});
    }
  }
  return out;
}

// The gaps up to cost.reach that cost.spare bytes are enough for, the smallest first, closed.
std::vector<Fetch> JoinFar(std::vector<Fetch> fetches, const ReadCost& cost) {
  std::vector<std::pair<uint64_t, size_t>> gaps;  // and before which
  for (size_t i = 1; i < fetches.size(); ++i) {
    const uint64_t gap = fetches[i].range.offset - fetches[i - 1].range.end();
    if (gap <= cost.reach) gaps.push_back({gap, i});
  }
  std::sort(gaps.begin(), gaps.end());
  std::vector<bool> closed(fetches.size(), false);
  uint64_t left = cost.spare;
  for (const auto& [gap, i] : gaps) {
    if (gap > left) break;
    left -= gap;
    closed[i] = true;
  }
  std::vector<Fetch> out;
  for (size_t i = 0; i < fetches.size(); ++i) {
    if (closed[i] && fetches[i].range.end() - out.back().range.offset <= cost.most) {
      Join(&out.back(), std::move(fetches[i]));
    } else {
      out.push_back(std::move(fetches[i]));
    }
  }
  return out;
}

// `wanted`: numbers of the ranges, none of them empty.
std::vector<Fetch> Coalesce(std::span<const ByteRange> ranges, std::vector<size_t> wanted, const ReadCost& cost) {
  std::vector<Fetch> near = JoinNear(ranges, std::move(wanted), cost);
  if (cost.spare == 0) return near;
  return JoinFar(std::move(near), cost);
}

// One ReadAt.
struct Request {
  ByteRange range;
  uint8_t* out;
};

// `range` in equal pieces of at most `most` bytes.
void AddRequests(ByteRange range, uint8_t* out, uint64_t most, std::vector<Request>* requests) {
  const uint64_t pieces = (range.size - 1) / most + 1;
  const uint64_t size = (range.size - 1) / pieces + 1;
  for (uint64_t at = 0; at < range.size; at += size) {
    requests->push_back({{range.offset + at, std::min(size, range.size - at)}, out + at});
  }
}

// Calls run(i) for each i < count until one fails, on up to `threads` threads, this one among them. The first error in
// order.
template <typename Run>
Status RunEach(size_t count, int threads, Run run) {
  std::vector<Status> statuses(count);
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < count; i = next++) {
      try {
        statuses[i] = run(i);
      } catch (const std::bad_alloc&) {  // which no thread may let out
        statuses[i] = MakeError(ErrorKind::kMemory, "out of memory");
      }
      if (!statuses[i].ok()) next = count;
    }
  };
  {
    std::vector<std::jthread> others;
    const size_t wanted = std::min(count, static_cast<size_t>(std::max(1, threads)));
    try {
      for (size_t i = 1; i < wanted; ++i) others.emplace_back(work);
    } catch (const std::system_error&) {  // no more threads to be had: what there are will do
    }
    work();
  }
  for (const Status& st : statuses) PILUM_RETURN_NOT_OK(st);
  return Status::OK();
}

class MemorySource : public ByteSource {
 public:
  MemorySource(std::string name, BufferPtr bytes, std::shared_ptr<SlowReads> slow)
      : name_(std::move(name)), bytes_(std::move(bytes)), slow_(std::move(slow)) {}
  uint64_t size() const override { return static_cast<uint64_t>(bytes_->size()); }
  const std::string& name() const override { return name_; }
  const ReadCost& cost() const override { return slow_ ? slow_->cost : kLocalCost; }

  Status Open(ReadContext& ctx) {
    const ByteRange tail{size() - std::min(size(), cost().tail), std::min(size(), cost().tail)};
    PILUM_ASSIGN_OR_RETURN(BufferPtr bytes, ReadRange(tail, ctx));
    return HoldTail(std::string_view(*bytes));
  }

 protected:
  Status ReadAt(ByteRange range, uint8_t* out, ReadContext& ctx) const override {
    if (slow_) slow_->Answer(range);
    constexpr uint64_t kPiece = 16 << 20;  // between two looks at the deadline
    for (uint64_t done = 0; done < range.size; done += kPiece) {
      if (done > 0) PILUM_RETURN_NOT_OK(ctx.Check());
      std::memcpy(out + done, bytes_->data() + range.offset + done, std::min(kPiece, range.size - done));
    }
    return Status::OK();
  }

 private:
  std::string name_;
  BufferPtr bytes_;
  std::shared_ptr<SlowReads> slow_;
};

class MemorySink : public ByteSink {
 public:
  MemorySink(std::string name, BufferPtr* out) : name_(std::move(name)), out_(out) {}
  Status Write(const void* data, uint64_t size) override {
    bytes_.append(static_cast<const char*>(data), size);
    position_ += size;
    return Status::OK();
  }
  uint64_t position() const override { return position_; }
  Status Close() override {
    *out_ = arrow::Buffer::FromString(std::move(bytes_));
    return Status::OK();
  }
  const std::string& name() const override { return name_; }

 private:
  std::string name_, bytes_;
  uint64_t position_ = 0;  // after Close too
  BufferPtr* out_;
};

}  // namespace

Result<BufferPtr> AllocateReadBuffer(uint64_t size, arrow::MemoryPool* pool) {
  PILUM_ASSIGN_OR_RETURN(auto buffer, MakePoolBuffer(size, ByteSource::kReadSlack, pool));
  std::memset(buffer->mutable_data() + size, 0, ByteSource::kReadSlack);
  return BufferPtr(std::move(buffer));
}

Result<std::vector<BufferPtr>> ByteSource::ReadRanges(std::span<const ByteRange> ranges, ReadContext& ctx) const {
  for (const ByteRange& r : ranges) {
    if (r.offset > size() || r.size > size() - r.offset) {
      return Corrupt(name(), fmt::format("offset {}", r.offset),
                     fmt::format("{} bytes wanted, but the file ends at {}", r.size, size()));
    }
  }
  std::vector<BufferPtr> out(ranges.size());
  std::vector<size_t> wanted;
  const uint64_t held_from = tail_ ? size() - static_cast<uint64_t>(tail_->size()) : UINT64_MAX;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].size == 0) continue;
    if (ranges[i].offset >= held_from) {
      out[i] = arrow::SliceBuffer(tail_, static_cast<int64_t>(ranges[i].offset - held_from),
                                  static_cast<int64_t>(ranges[i].size));
    } else {
      wanted.push_back(i);
    }
  }
  const ReadCost& cost = this->cost();
  const std::vector<Fetch> fetches = Coalesce(ranges, std::move(wanted), cost);
  std::vector<Request> requests;
  for (const Fetch& f : fetches) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(BufferPtr whole, AllocateReadBuffer(f.range.size, ctx.memory_pool()));
    AddRequests(f.range, whole->mutable_data(), cost.most, &requests);
    for (size_t i : f.members) {
      if (ranges[i] == f.range) {
        out[i] = whole;
        continue;
      }
      out[i] = arrow::SliceBuffer(whole, static_cast<int64_t>(ranges[i].offset - f.range.offset),
                                  static_cast<int64_t>(ranges[i].size));
    }
  }
  PILUM_RETURN_NOT_OK(RunEach(requests.size(), cost.parallel, [&](size_t i) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    return CountedRead(requests[i].range, requests[i].out, ctx);
  }));
  BufferPtr nothing;
  for (BufferPtr& b : out) {
    if (b) continue;
    if (!nothing) {
      PILUM_ASSIGN_OR_RETURN(nothing, AllocateReadBuffer(0, ctx.memory_pool()));
    }
    b = nothing;
  }
  return out;
}

Status ByteSource::CountedRead(ByteRange range, uint8_t* out, ReadContext& ctx) const {
  PILUM_RETURN_NOT_OK(ReadAt(range, out, ctx));
  if (ctx.stats) {
    ctx.stats->requests += 1;
    ctx.stats->bytes += range.size;
  }
  return Status::OK();
}

Status ByteSource::HoldTail(std::string_view bytes) {
  PILUM_ASSIGN_OR_RETURN(BufferPtr copy, AllocateReadBuffer(bytes.size(), DefaultReadPool()));
  if (!bytes.empty()) std::memcpy(copy->mutable_data(), bytes.data(), bytes.size());
  tail_ = std::move(copy);
  return Status::OK();
}

Result<BufferPtr> ByteSource::ReadRange(ByteRange range, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto buffers, ReadRanges(std::span(&range, 1), ctx));
  return buffers[0];
}

void SlowReads::Answer(ByteRange range) {
  const int now = ++in_flight;
  int most = most_in_flight;
  while (now > most && !most_in_flight.compare_exchange_weak(most, now)) {
  }
  std::this_thread::sleep_for(latency);
  requests += 1;
  bytes += range.size;
  --in_flight;
}

std::shared_ptr<const ByteSource> MakeMemorySource(std::string name, BufferPtr bytes) {
  return std::make_shared<MemorySource>(std::move(name), std::move(bytes), nullptr);
}

Result<std::shared_ptr<const ByteSource>> OpenSlowMemorySource(std::string name, BufferPtr bytes,
                                                               std::shared_ptr<SlowReads> slow, ReadContext& ctx) {
  auto source = std::make_shared<MemorySource>(std::move(name), std::move(bytes), std::move(slow));
  PILUM_RETURN_NOT_OK(source->Open(ctx));
  return source;
}

std::unique_ptr<ByteSink> MakeMemorySink(std::string name, BufferPtr* out) {
  return std::make_unique<MemorySink>(std::move(name), out);
}

}  // namespace pilum
