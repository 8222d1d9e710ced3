// Runs, and the streams of byte stream split.
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

constexpr uint64_t kRunChunk = 2048;  // values; at worst 9 bytes each
constexpr uint64_t kLongestRun = 255;

CodecDesc Flat(uint64_t bits) {
  CodecDesc d;
  d.bits = bits;
  return d;
}

// fn(first value of the run, its length) for each run of values [begin, end),
// cut at 255.
template <typename T, typename Fn>
void ForRuns(const uint8_t* values, uint64_t begin, uint64_t end, Fn fn) {
  for (uint64_t i = begin; i < end;) {
    const T v = LoadLE<T>(values + i * sizeof(T));
    const uint64_t limit = std::min(end, i + kLongestRun);
    uint64_t k = i + 1;
    while (k < limit && LoadLE<T>(values + k * sizeof(T)) == v) ++k;
    fn(i, k - i);
    i = k;
  }
}

template <typename T>
uint64_t CountChanges(const uint8_t* values,
                      uint64_t n) {  // a plain loop, which vectorises
  uint64_t changes = 0;
  for (uint64_t i = 1; i < n; ++i) {
    changes += LoadLE<T>(values + i * sizeof(T)) != LoadLE<T>(values + (i - 1) * sizeof(T));
  }
  return changes;
}

template <typename T>
uint64_t CountRuns(const uint8_t* values, uint64_t n, uint64_t give_up) {
  if (n == 0 || CountChanges<T>(values, n) + 1 >= give_up) return give_up;
  uint64_t runs = 0;
  for (uint64_t i = 0; i < n; i += kRunChunk) {
    ForRuns<T>(values, i, std::min(n, i + kRunChunk), [&](uint64_t, uint64_t) { ++runs; });
  }
  return std::min(runs, give_up);
}

template <typename Fn>  // fn(T{}) with the unsigned type of `width` bytes
auto OfWidth(uint64_t width, Fn fn) {
  switch (width) {
    case 1: return fn(uint8_t{});
    case 2: return fn(uint16_t{});
    case 4: return fn(uint32_t{});
    default: return fn(uint64_t{});
  }
}

class RunChunks : public ChunkEncoder {
 public:
  RunChunks(const uint8_t* values, uint64_t width, uint64_t slots) : values_(values), width_(width), slots_(slots) {
    codec.kind = CodecKind::kRle;
    codec.children = {Flat(width * 8), Flat(8)};
    num_buffers = 2;
  }
  uint64_t Preferred(uint64_t begin) const override { return std::min(kRunChunk, slots_ - begin); }
  Status Encode(uint64_t begin, uint64_t n, Bytes* out, std::vector<uint64_t>* sizes) const override {
    Bytes lengths;
    const size_t at = out->size();
    OfWidth(width_, [&]([[maybe_unused]] auto zero) {
      ForRuns<decltype(zero)>(values_, begin, begin + n, [&](uint64_t first, uint64_t length) {
        write::Append(out, values_ + first * width_, width_);
        lengths.push_back(static_cast<uint8_t>(length));
      });
    });
    sizes->push_back(out->size() - at);
    PadTo(out, 8, 0xFE);
    write::Append(out, lengths.data(), lengths.size());
    sizes->push_back(lengths.size());
    return Status::OK();
  }

 private:
  const uint8_t* values_;
  uint64_t width_, slots_;
};

// All first bytes of the chunk, all second bytes, ...
class SplitChunks : public ChunkEncoder {
 public:
  SplitChunks(const uint8_t* values, uint64_t width, uint64_t slots, ChunkSize size)
      : values_(values), width_(width), slots_(slots), step_(size == ChunkSize::kLarge ? 32768 : 4096 / width) {
    codec.kind = CodecKind::kByteStreamSplit;
    codec.children = {Flat(width * 8)};
  }
  uint64_t Preferred(uint64_t begin) const override { return std::min(step_, slots_ - begin); }
  Status Encode(uint64_t begin, uint64_t n, Bytes* out, std::vector<uint64_t>* sizes) const override {
    const size_t at = out->size();
    out->resize(at + n * width_);
    uint8_t* o = out->data() + at;
    for (uint64_t b = 0; b < width_; ++b) {
      const uint8_t* in = values_ + begin * width_ + b;
      for (uint64_t i = 0; i < n; ++i) *o++ = in[i * width_];
    }
    sizes->push_back(n * width_);
    return Status::OK();
  }

 private:
  const uint8_t* values_;
  uint64_t width_, slots_, step_;
};

}  // namespace

uint64_t RunsOf(const uint8_t* values, uint64_t width_bytes, uint64_t n, uint64_t give_up) {
  return OfWidth(width_bytes,
                 [&]([[maybe_unused]] auto zero) { return CountRuns<decltype(zero)>(values, n, give_up); });
}

std::unique_ptr<ChunkEncoder> MakeRunChunks(const uint8_t* values, uint64_t width_bytes, uint64_t slots) {
  return std::make_unique<RunChunks>(values, width_bytes, slots);
}

std::unique_ptr<ChunkEncoder> MakeSplitChunks(const uint8_t* values, uint64_t width_bytes, uint64_t slots,
                                              ChunkSize size) {
  return std::make_unique<SplitChunks>(values, width_bytes, slots, size);
}

}  // namespace pilum::write
