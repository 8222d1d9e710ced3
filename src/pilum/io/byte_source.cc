#include "pilum/io/byte_source.h"

#include <algorithm>
#include <numeric>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>

namespace pilum {
namespace {

// Ranges of the caller's list that one request serves.
struct Fetch {
  ByteRange range;
  std::vector<size_t> members;
};

std::vector<Fetch> Coalesce(std::span<const ByteRange> ranges) {
  std::vector<size_t> order(ranges.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ranges[a].offset < ranges[b].offset; });
  std::vector<Fetch> out;
  for (size_t i : order) {
    const ByteRange& r = ranges[i];
    if (r.size == 0) continue;
    if (!out.empty() && r.offset <= out.back().range.end() + ByteSource::kCoalesceGap) {
      Fetch& last = out.back();
      last.range.size = std::max(last.range.end(), r.end()) - last.range.offset;
      last.members.push_back(i);
    } else {
      out.push_back({r, {i}});
    }
  }
  return out;
}

Result<BufferPtr> AllocateWithSlack(uint64_t size, arrow::MemoryPool* pool) {
  PILUM_ASSIGN_OR_RETURN(std::unique_ptr<arrow::Buffer> buffer,
                         arrow::AllocateBuffer(static_cast<int64_t>(size + ByteSource::kReadSlack), pool));
  std::memset(buffer->mutable_data() + size, 0, ByteSource::kReadSlack);
  return BufferPtr(std::move(buffer));
}

class MemorySource : public ByteSource {
 public:
  MemorySource(std::string name, BufferPtr bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}
  uint64_t size() const override { return static_cast<uint64_t>(bytes_->size()); }
  const std::string& name() const override { return name_; }

 protected:
  Status ReadAt(ByteRange range, uint8_t* out, ReadContext&) const override {
    std::memcpy(out, bytes_->data() + range.offset, range.size);
    return Status::OK();
  }

 private:
  std::string name_;
  BufferPtr bytes_;
};

class MemorySink : public ByteSink {
 public:
  MemorySink(std::string name, BufferPtr* out) : name_(std::move(name)), out_(out) {}
  Status Write(const void* data, uint64_t size) override {
    bytes_.append(static_cast<const char*>(data), size);
    return Status::OK();
  }
  uint64_t position() const override { return bytes_.size(); }
  Status Close() override {
    *out_ = arrow::Buffer::FromString(std::move(bytes_));
    return Status::OK();
  }
  const std::string& name() const override { return name_; }

 private:
  std::string name_, bytes_;
  BufferPtr* out_;
};

}  // namespace

Result<std::vector<BufferPtr>> ByteSource::ReadRanges(std::span<const ByteRange> ranges, ReadContext& ctx) const {
  for (const ByteRange& r : ranges) {
    if (r.offset > size() || r.size > size() - r.offset) {
      return Corrupt(name(), fmt::format("offset {}", r.offset),
                     fmt::format("{} bytes wanted, but the file ends at {}", r.size, size()));
    }
  }
  std::vector<BufferPtr> out(ranges.size());
  for (const Fetch& f : Coalesce(ranges)) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(BufferPtr whole, AllocateWithSlack(f.range.size, ctx.memory_pool()));
    PILUM_RETURN_NOT_OK(ReadAt(f.range, whole->mutable_data(), ctx));
    if (ctx.stats) {
      ctx.stats->requests += 1;
      ctx.stats->bytes += f.range.size;
    }
    for (size_t i : f.members) {
      out[i] = arrow::SliceBuffer(whole, static_cast<int64_t>(ranges[i].offset - f.range.offset),
                                  static_cast<int64_t>(ranges[i].size));
    }
  }
  BufferPtr nothing;
  for (BufferPtr& b : out) {
    if (b) continue;
    if (!nothing) {
      PILUM_ASSIGN_OR_RETURN(BufferPtr slack, AllocateWithSlack(0, ctx.memory_pool()));
      nothing = arrow::SliceBuffer(slack, 0, 0);
    }
    b = nothing;
  }
  return out;
}

Result<BufferPtr> ByteSource::ReadRange(ByteRange range, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto buffers, ReadRanges(std::span(&range, 1), ctx));
  return buffers[0];
}

std::shared_ptr<const ByteSource> MakeMemorySource(std::string name, BufferPtr bytes) {
  return std::make_shared<MemorySource>(std::move(name), std::move(bytes));
}

std::unique_ptr<ByteSink> MakeMemorySink(std::string name, BufferPtr* out) {
  return std::make_unique<MemorySink>(std::move(name), out);
}

}  // namespace pilum
