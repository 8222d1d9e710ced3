// Levels of one bit, straight to bitmaps.
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/bits.h"
#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/rep_def.h"

namespace pilum::codec {
namespace {

constexpr uint64_t kBlock = 1024;

Status PackLevels(const uint16_t* levels, uint64_t n, uint64_t* out) {
  if (n == 0) return Status::OK();
  if (const uint16_t most = MaxLevel(levels, n); most > 1) return BadBytes("a level of {}, where the page has 1", most);
  BelowToBits(levels, n, 1, reinterpret_cast<uint8_t*>(out));
  for (uint64_t w = 0; w < bits::Words(n); ++w) out[w] = ~out[w];
  return Status::OK();
}

}  // namespace

Status DecodeLevelBits(const CodecDesc& d, Bytes bytes, uint64_t n, uint64_t* out) {
  const bool packed = d.kind == CodecKind::kOutOfLineBitpacking && d.bits == 16 && d.children[0].bits == 1;
  const uint64_t full = n / kBlock, tail = n % kBlock, block_bytes = kBlock / 8;
  if (packed && bytes.size() == (full + (tail ? 1 : 0)) * block_bytes) {  // not with a tail of levels as they are
    for (uint64_t b = 0; b * kBlock < n; ++b) bits::Unpack1024(bytes.data() + b * block_bytes, out + b * kBlock / 64);
    return Status::OK();
  }
  LevelBuffer levels;
  PILUM_RETURN_NOT_OK(levels.Reserve(n, arrow::default_memory_pool()));
  const RowRange all{0, n};
  PILUM_RETURN_NOT_OK(DecodeLevels(d, bytes, n, {&all, 1}, levels.data()));
  return PackLevels(levels.data(), n, out);
}

}  // namespace pilum::codec
