// general: LZ4 blocks behind a u32 size, zstd frames behind a u64 size (or bare). In a mini-block chunk only the first
// buffer is compressed.
#include <algorithm>
#include <cstring>

#include <lz4.h>
#include <zstd.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {
namespace {

constexpr uint32_t kZstdMagic = 0xFD2FB528;
// No encoder does better: an LZ4 byte extends a match by 255; a zstd block of 4 bytes gives 128 KiB.
constexpr uint64_t kMaxLz4Ratio = 255, kMaxZstdRatio = 1 << 15;
constexpr uint64_t kMaxDecompressed = uint64_t{1} << 31;

struct Frame {
  uint64_t size = 0;
  Bytes body;
};

// A bare frame: the magic, and the reserved bit of the frame header is 0. Otherwise the first 8 bytes are a size.
bool IsBareFrame(Bytes in) { return in.size() >= 5 && LoadLE<uint32_t>(in.data()) == kZstdMagic && (in[4] & 8) == 0; }

Result<Frame> ParseZstd(Bytes in) {
  if (IsBareFrame(in)) {
    unsigned long long size = ZSTD_getFrameContentSize(in.data(), in.size());
    if (size == ZSTD_CONTENTSIZE_UNKNOWN) return Unsupported("a bare zstd frame that does not say its size");
    if (size == ZSTD_CONTENTSIZE_ERROR) return BadBytes("a zstd frame with a broken header");
    return Frame{size, in};
  }
  if (in.size() < 8) return BadBytes("a zstd buffer of {} bytes", in.size());
  return Frame{LoadLE<uint64_t>(in.data()), in.subspan(8)};
}

Result<Frame> ParseFrame(Compression scheme, Bytes in) {
  if (in.empty()) return Frame{};
  Frame f;
  if (scheme == Compression::kZstd) {
    PILUM_ASSIGN_OR_RETURN(f, ParseZstd(in));
  } else if (scheme == Compression::kLz4) {
    if (in.size() < 4) return BadBytes("an LZ4 buffer of {} bytes", in.size());
    f = Frame{LoadLE<uint32_t>(in.data()), in.subspan(4)};
  } else {
    return Unsupported("an unknown compression scheme");
  }
  uint64_t ratio = scheme == Compression::kZstd ? kMaxZstdRatio : kMaxLz4Ratio;
  if (f.size > kMaxDecompressed || f.size > (f.body.size() + 64) * ratio) {
    return BadBytes("{} compressed bytes claim to hold {}", f.body.size(), f.size);
  }
  return f;
}

struct ContextFree {
  void operator()(ZSTD_DCtx* c) const { ZSTD_freeDCtx(c); }
};

ZSTD_DCtx* Context() {  // a context is 150 KB: one a thread, reused
  thread_local std::unique_ptr<ZSTD_DCtx, ContextFree> context(ZSTD_createDCtx());
  return context.get();
}

// Frames of more bytes than this are decompressed in pieces, where somebody may want to stop it: a tenth slower.
constexpr uint64_t kStoppable = 16 << 20, kPiece = 1 << 20;

// What ZSTD_decompressDCtx gives, asking between the pieces. With a context of its own, whose window goes with it.
Result<size_t> DecompressInPieces(Bytes in, uint8_t* out, uint64_t size, StopCheck* stop) {
  std::unique_ptr<ZSTD_DCtx, ContextFree> context(ZSTD_createDCtx());
  ZSTD_inBuffer from{in.data(), in.size(), 0};
  ZSTD_outBuffer to{out, 0, 0};
  while (true) {
    const size_t written = to.pos, read = from.pos;
    to.size = std::min<uint64_t>(size, to.pos + kPiece);
    const size_t left = ZSTD_decompressStream(context.get(), &to, &from);
    if (ZSTD_isError(left)) break;
    if (left == 0 && from.pos == from.size) return to.pos;
    if (to.pos == written && from.pos == read) break;
    PILUM_RETURN_NOT_OK(stop->After(to.pos - written));
  }
  // Broken, or of a larger window than a stream is given: then at once, which says what is wrong.
  return ZSTD_decompressDCtx(Context(), out, size, in.data(), in.size());
}

class GeneralDecoder : public ValueDecoder {
 public:
  Status Init(const CodecDesc& desc, const DecodeSpec& spec) {
    scheme_ = desc.scheme;
    pool_ = spec.pool;
    DecodeSpec inner = spec;
    auto expanded = CheckedMul(spec.input_bytes, scheme_ == Compression::kZstd ? kMaxZstdRatio : kMaxLz4Ratio);
    bool variable = desc.children[0].kind == CodecKind::kVariable || desc.children[0].kind == CodecKind::kFsst;
    // Variable values reserve what they are told: a guess there, and they grow. Fixed ones only check with it.
    inner.input_bytes = variable ? std::max(spec.max_count, spec.input_bytes * 3) : expanded.value_or(UINT64_MAX);
    PILUM_ASSIGN_OR_RETURN(child_, MakeValueDecoder(desc.children[0], inner));
    return Status::OK();
  }
  int num_buffers() const override { return child_->num_buffers(); }

  Status Append(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) override {
    PILUM_ASSIGN_OR_RETURN(uint64_t size, DecompressedSize(scheme_, buffers[0]));
    if (!scratch_ || static_cast<uint64_t>(scratch_->size()) < size) {
      PILUM_ASSIGN_OR_RETURN(scratch_, Allocate(size, pool_));
    }
    PILUM_RETURN_NOT_OK(DecompressInto(scheme_, buffers[0], scratch_->mutable_data(), size));
    parts_.assign(buffers.begin(), buffers.end());
    parts_[0] = Bytes(scratch_->data(), size);
    decoded_ += n;
    return child_->Append(parts_, n, ranges);
  }

  Result<DataBlock> Finish() override { return child_->Finish(); }
  uint64_t decoded() const override { return decoded_; }

 private:
  Compression scheme_ = Compression::kNone;
  arrow::MemoryPool* pool_ = nullptr;
  std::unique_ptr<ValueDecoder> child_;
  std::shared_ptr<arrow::ResizableBuffer> scratch_;
  std::vector<Bytes> parts_;
  uint64_t decoded_ = 0;
};

}  // namespace

Result<uint64_t> DecompressedSize(Compression scheme, Bytes in) {
  PILUM_ASSIGN_OR_RETURN(Frame f, ParseFrame(scheme, in));
  return f.size;
}

Status DecompressInto(Compression scheme, Bytes in, uint8_t* out, uint64_t size, StopCheck* stop) {
  if (in.empty()) return Status::OK();
  PILUM_ASSIGN_OR_RETURN(Frame f, ParseFrame(scheme, in));
  if (scheme == Compression::kLz4) {
    if (f.body.size() > INT32_MAX || size > INT32_MAX) return BadBytes("an LZ4 block of {} bytes", f.body.size());
    int got = LZ4_decompress_safe(reinterpret_cast<const char*>(f.body.data()), reinterpret_cast<char*>(out),
                                  static_cast<int>(f.body.size()), static_cast<int>(size));
    if (got < 0 || static_cast<uint64_t>(got) != size)
      return BadBytes("an LZ4 block of {} bytes does not decompress to {}", f.body.size(), size);
    return Status::OK();
  }
  size_t got = 0;
  if (stop && size > kStoppable) {
    PILUM_ASSIGN_OR_RETURN(got, DecompressInPieces(f.body, out, size, stop));
  } else {
    got = ZSTD_decompressDCtx(Context(), out, size, f.body.data(), f.body.size());
  }
  if (ZSTD_isError(got) || got != size) {
    return BadBytes("a zstd frame of {} bytes does not decompress to {}: {}", f.body.size(), size,
                    ZSTD_isError(got) ? ZSTD_getErrorName(got) : "it holds fewer");
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::Buffer>> Decompress(Compression scheme, Bytes in, std::optional<uint64_t> expected,
                                                  arrow::MemoryPool* pool, StopCheck* stop) {
  PILUM_ASSIGN_OR_RETURN(uint64_t size, DecompressedSize(scheme, in));
  if (expected && *expected != size) return BadBytes("compressed bytes hold {} bytes, not {}", size, *expected);
  PILUM_ASSIGN_OR_RETURN(auto out, Allocate(size, pool));
  PILUM_RETURN_NOT_OK(DecompressInto(scheme, in, out->mutable_data(), size, stop));
  return std::shared_ptr<arrow::Buffer>(std::move(out));
}

Result<std::unique_ptr<ValueDecoder>> MakeGeneralDecoder(const CodecDesc& desc, const DecodeSpec& spec) {
  auto d = std::make_unique<GeneralDecoder>();
  PILUM_RETURN_NOT_OK(d->Init(desc, spec));
  return d;
}

}  // namespace pilum::codec
