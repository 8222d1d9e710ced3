// General compression: LZ4 blocks behind a u32 size, zstd frames behind a u64 size; of a chunk's first buffer, of each
// value of a full-zip page, or of a whole block.
#include <lz4.h>
#include <zstd.h>

#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

struct ContextFree {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
};

ZSTD_CCtx* Context() {  // its tables are large: one a thread, reused; what it wrote before changes no bytes
  thread_local std::unique_ptr<ZSTD_CCtx, ContextFree> context(ZSTD_createCCtx());
  return context.get();
}

Status Failed(const char* what, size_t n, const char* why) {
  return MakeError(ErrorKind::kMemory, fmt::format("{} of {} bytes failed: {}", what, n, why));
}

Status SetUp(const GeneralScheme& scheme, ZSTD_CCtx* c) {
  if (!c) return MakeError(ErrorKind::kMemory, "no memory for a zstd context");
  ZSTD_CCtx_reset(c, ZSTD_reset_session_and_parameters);
  ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, scheme.level.value_or(0));  // 0: the library's default
  if (scheme.quick) {
    // The strategy of level 1 with shorter matches and more room to find them: as small as level 3 on values of some
    // 10 KB, in two thirds of its time.
    ZSTD_CCtx_setParameter(c, ZSTD_c_strategy, ZSTD_fast);
    ZSTD_CCtx_setParameter(c, ZSTD_c_minMatch, 5);
    ZSTD_CCtx_setParameter(c, ZSTD_c_hashLog, 17);
  }
  return Status::OK();
}

// A frame of `in`, of which the first `head` bytes are a block of their own: statistics of their own.
Status AppendZstd(const GeneralScheme& scheme, const uint8_t* in, size_t n, size_t head, Bytes* out) {
  ZSTD_CCtx* c = Context();
  PILUM_RETURN_NOT_OK(SetUp(scheme, c));
  const size_t at = out->size(), bound = ZSTD_compressBound(n) + 64;
  out->resize(at + 8 + bound);
  StoreLE<uint64_t>(out->data() + at, n);
  ZSTD_outBuffer to{out->data() + at + 8, bound, 0};
  size_t left = 0;
  if (head > 0 && head < n) {
    ZSTD_CCtx_setPledgedSrcSize(c, n);
    ZSTD_inBuffer first{in, head, 0}, rest{in + head, n - head, 0};
    left = ZSTD_compressStream2(c, &to, &first, ZSTD_e_flush);
    if (left == 0) left = ZSTD_compressStream2(c, &to, &rest, ZSTD_e_end);
  } else {
    left = ZSTD_compress2(c, to.dst, bound, in, n);
    if (!ZSTD_isError(left)) {
      to.pos = left;
      left = 0;
    }
  }
  if (left != 0) return Failed("zstd", n, ZSTD_isError(left) ? ZSTD_getErrorName(left) : "no room");
  out->resize(at + 8 + to.pos);
  return Status::OK();
}

Status AppendLz4(const uint8_t* in, size_t n, Bytes* out) {
  const size_t at = out->size();
  if (n > LZ4_MAX_INPUT_SIZE) return Failed("lz4", n, "more than a block holds");
  const int bound = LZ4_compressBound(static_cast<int>(n));
  out->resize(at + 4 + static_cast<size_t>(bound));
  StoreLE<uint32_t>(out->data() + at, static_cast<uint32_t>(n));
  int got = LZ4_compress_default(reinterpret_cast<const char*>(in), reinterpret_cast<char*>(out->data() + at + 4),
                                 static_cast<int>(n), bound);
  if (got <= 0) return Failed("lz4", n, "no room");
  out->resize(at + 4 + static_cast<size_t>(got));
  return Status::OK();
}

class GeneralChunks : public ChunkEncoder {
 public:
  GeneralChunks(const ChunkEncoder& inner, const GeneralScheme& scheme) : inner_(inner), scheme_(scheme) {
    codec = GeneralCodec(scheme, inner.codec);
    num_buffers = inner.num_buffers;
  }
  uint64_t Preferred(uint64_t begin) const override { return inner_.Preferred(begin); }
  Status Encode(uint64_t begin, uint64_t n, Bytes* out, std::vector<uint64_t>* sizes) const override {
    Bytes plain;
    std::vector<uint64_t> inner_sizes;
    PILUM_RETURN_NOT_OK(inner_.Encode(begin, n, &plain, &inner_sizes));
    const size_t first = inner_sizes[0], at = out->size();
    PILUM_RETURN_NOT_OK(AppendCompressed(scheme_, plain.data(), first, out, inner_.head_bytes(n)));
    sizes->push_back(out->size() - at);
    sizes->insert(sizes->end(), inner_sizes.begin() + 1, inner_sizes.end());
    const size_t rest = (first + 7) / 8 * 8;  // the other buffers stay as they are, each at a multiple of 8
    if (inner_sizes.size() == 1) return Status::OK();
    PadTo(out, 8, 0xFE);
    write::Append(out, plain.data() + rest, plain.size() - rest);
    return Status::OK();
  }

 private:
  const ChunkEncoder& inner_;
  GeneralScheme scheme_;
};

}  // namespace

CodecDesc GeneralCodec(const GeneralScheme& scheme, CodecDesc values) {
  CodecDesc d;
  d.kind = CodecKind::kGeneral;
  d.scheme = scheme.scheme;
  d.level = scheme.level;
  d.children = {std::move(values)};
  return d;
}

Status AppendCompressed(const GeneralScheme& scheme, const uint8_t* in, size_t n, Bytes* out, size_t head) {
  if (scheme.scheme == Compression::kLz4) return AppendLz4(in, n, out);
  return AppendZstd(scheme, in, n, scheme.split ? head : 0, out);
}

std::unique_ptr<ChunkEncoder> MakeGeneralChunks(const ChunkEncoder& inner, const GeneralScheme& scheme) {
  return std::make_unique<GeneralChunks>(inner, scheme);
}

Result<EncodedValues> CompressValues(const PageContext& page, const GeneralScheme& asked) {
  const PageSlice& s = page.slice;
  GeneralScheme scheme = asked;
  if (scheme.scheme == Compression::kLz4) {
    bool any_empty = false;
    for (uint64_t i = 0; i < s.slots; ++i) any_empty |= s.values->Variable(s.first_slot + i).empty();
    // No bytes stay no bytes (so do nulls), but pylance wants LZ4's size in front of an empty value too: zstd then.
    if (any_empty) scheme = {Compression::kZstd, 1};
  }
  EncodedValues out;
  out.store.kind = page.kind();
  out.store.slots = s.slots;
  out.store.ends.resize(s.slots);
  out.store.bytes.reserve(s.values->VariableBytes(s.first_slot, s.slots) / 2);
  out.wrap.kind = CodecKind::kGeneral;
  out.wrap.scheme = scheme.scheme;
  out.wrap.level = scheme.level;
  for (uint64_t i = 0; i < s.slots; ++i) {
    std::string_view v = s.values->Variable(s.first_slot + i);
    if (!v.empty()) {
      PILUM_RETURN_NOT_OK(
          AppendCompressed(scheme, reinterpret_cast<const uint8_t*>(v.data()), v.size(), &out.store.bytes));
    }
    out.store.ends[i] = out.store.bytes.size();
  }
  return out;
}

}  // namespace pilum::write
