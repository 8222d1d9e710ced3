// General compression: LZ4 blocks behind a u32 size, zstd frames behind a u64 size; of a chunk's first buffer, of each
// value of a full-zip page, or of a whole block.
#include <new>

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

// With the room that the bounds give, neither fails for any other reason than memory: as any growth here does then.
void AppendZstd(int level, const uint8_t* in, size_t n, Bytes* out) {
  const size_t at = out->size(), bound = ZSTD_compressBound(n);
  out->resize(at + 8 + bound);
  StoreLE<uint64_t>(out->data() + at, n);
  size_t got = ZSTD_compressCCtx(Context(), out->data() + at + 8, bound, in, n, level);
  if (ZSTD_isError(got)) throw std::bad_alloc();
  out->resize(at + 8 + got);
}

void AppendLz4(const uint8_t* in, size_t n, Bytes* out) {
  const size_t at = out->size();
  const int bound = LZ4_compressBound(static_cast<int>(n));
  out->resize(at + 4 + static_cast<size_t>(bound));
  StoreLE<uint32_t>(out->data() + at, static_cast<uint32_t>(n));
  int got = LZ4_compress_default(reinterpret_cast<const char*>(in), reinterpret_cast<char*>(out->data() + at + 4),
                                 static_cast<int>(n), bound);
  if (got <= 0) throw std::bad_alloc();
  out->resize(at + 4 + static_cast<size_t>(got));
}

class GeneralChunks : public ChunkEncoder {
 public:
  GeneralChunks(const ChunkEncoder& inner, const GeneralScheme& scheme) : inner_(inner), scheme_(scheme) {
    codec = GeneralCodec(scheme, inner.codec);
    num_buffers = inner.num_buffers;
  }
  uint64_t Preferred(uint64_t begin) const override { return inner_.Preferred(begin); }
  void Encode(uint64_t begin, uint64_t n, Bytes* out, std::vector<uint64_t>* sizes) const override {
    Bytes plain;
    std::vector<uint64_t> inner_sizes;
    inner_.Encode(begin, n, &plain, &inner_sizes);
    const size_t first = inner_sizes[0], at = out->size();
    AppendCompressed(scheme_, plain.data(), first, out);
    sizes->push_back(out->size() - at);
    sizes->insert(sizes->end(), inner_sizes.begin() + 1, inner_sizes.end());
    const size_t rest = (first + 7) / 8 * 8;  // the other buffers stay as they are, each at a multiple of 8
    if (inner_sizes.size() == 1) return;
    PadTo(out, 8, 0xFE);
    write::Append(out, plain.data() + rest, plain.size() - rest);
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

void AppendCompressed(const GeneralScheme& scheme, const uint8_t* in, size_t n, Bytes* out) {
  if (scheme.scheme == Compression::kLz4) return AppendLz4(in, n, out);
  AppendZstd(scheme.level.value_or(0), in, n, out);  // 0: the library's default
}

std::unique_ptr<ChunkEncoder> MakeGeneralChunks(const ChunkEncoder& inner, const GeneralScheme& scheme) {
  return std::make_unique<GeneralChunks>(inner, scheme);
}

EncodedValues CompressValues(const PageContext& page, const GeneralScheme& scheme) {
  const PageSlice& s = page.slice;
  EncodedValues out;
  out.store.kind = page.kind();
  out.store.slots = s.slots;
  out.store.ends.resize(s.slots);
  out.wrap.kind = CodecKind::kGeneral;
  out.wrap.scheme = scheme.scheme;
  out.wrap.level = scheme.level;
  for (uint64_t i = 0; i < s.slots; ++i) {
    std::string_view v = s.values->Variable(s.first_slot + i);
    if (!v.empty()) {  // no bytes stay no bytes
      AppendCompressed(scheme, reinterpret_cast<const uint8_t*>(v.data()), v.size(), &out.store.bytes);
    }
    out.store.ends[i] = out.store.bytes.size();
  }
  return out;
}

}  // namespace pilum::write
