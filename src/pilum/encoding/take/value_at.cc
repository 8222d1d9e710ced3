#include "pilum/encoding/take/value_at.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/bits.h"

namespace pilum::take {

using codec::BadBytes;
using codec::Bytes;

namespace {

constexpr uint64_t kBlock = 1024;
constexpr int kOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};

// Where value i of a bit-packed block begins: the word (its byte offset) and the bit in it. codec/bitpack.cc has the rule.
struct PackedAt {
  uint64_t offset;
  uint32_t shift;
};

template <typename T>
inline PackedAt PackedPlace(uint64_t width, uint64_t i) {
  constexpr uint64_t kBits = sizeof(T) * 8, kLanes = kBlock / kBits;
  const uint64_t row = kBits == 8 ? i / 128 : kOrder[((i % 128) / 16) & ~(kLanes / 16 - 1)] * 8 + i / 128;
  const uint64_t bit = row * width;
  return {(bit / kBits * kLanes + i % kLanes) * sizeof(T), static_cast<uint32_t>(bit % kBits)};
}

template <typename T>
inline T Unpack(uint64_t width, const uint8_t* in, uint64_t i) {
  constexpr uint64_t kBits = sizeof(T) * 8, kRowBytes = kBlock / 8;
  if (width == 0) return 0;
  const PackedAt at = PackedPlace<T>(width, i);
  T v = static_cast<T>(LoadLE<T>(in + at.offset) >> at.shift);
  if (at.shift + width > kBits) v = static_cast<T>(v | LoadLE<T>(in + at.offset + kRowBytes) << (kBits - at.shift));
  return width == kBits ? v : static_cast<T>(v & static_cast<T>((uint64_t{1} << width) - 1));
}

template <typename T>
Status UnpackCells(std::span<const Cell> cells, uint8_t* out) {
  constexpr uint64_t kBits = sizeof(T) * 8;
  for (const Cell& c : cells) {  // the widths are here already; the words may not be
    const uint64_t width = std::min<uint64_t>(LoadLE<T>(c.bytes), kBits);
    Prefetch(c.bytes + sizeof(T) + PackedPlace<T>(width, c.index).offset);
  }
  for (const Cell& c : cells) {
    if (c.size < sizeof(T)) return BadBytes("a bit-packed block of {} bytes", c.size);
    const uint64_t width = LoadLE<T>(c.bytes);
    if (width > kBits) return BadBytes("{}-bit values packed at {} bits", kBits, width);
    if (c.count > kBlock || c.size < sizeof(T) + 128 * width) {
      return BadBytes("{} values packed at {} bits in {} bytes", c.count, width, c.size);
    }
    StoreLE<T>(out, Unpack<T>(width, c.bytes + sizeof(T), c.index));
    out += sizeof(T);
  }
  return Status::OK();
}

// Which run holds value `index` of `count`; `runs` bounds the answer.
Result<uint64_t> FindRun(const uint8_t* lengths, uint64_t runs, uint64_t index) {
  uint64_t end = 0, i = 0;
  for (; i + 8 <= runs; i += 8) {  // eight lengths a step
    const uint64_t word = LoadLE<uint64_t>(lengths + i);
    constexpr uint64_t kOdd = 0x00ff00ff00ff00ff;
    const uint64_t sums = (word & kOdd) + (word >> 8 & kOdd);
    const uint64_t total = sums * 0x0001000100010001 >> 48;
    if (end + total > index) break;
    end += total;
  }
  for (; i < runs; ++i) {
    end += lengths[i];
    if (end > index) return i;
  }
  return BadBytes("the runs end before value {}", index);
}

Result<uint16_t> RunLevel(Bytes bytes, uint64_t i) {
  if (bytes.size() < 8) return BadBytes("run-length levels of {} bytes", bytes.size());
  const uint64_t size = LoadLE<uint64_t>(bytes.data());
  if (size > bytes.size() - 8) return BadBytes("run values of {} bytes in a block of {}", size, bytes.size());
  const uint64_t runs = std::min(size / 2, bytes.size() - 8 - size);
  PILUM_ASSIGN_OR_RETURN(uint64_t run, FindRun(bytes.data() + 8 + size, runs, i));
  return LoadLE<uint16_t>(bytes.data() + 8 + run * 2);
}

Result<uint16_t> PackedLevel(uint64_t width, Bytes bytes, uint64_t n, uint64_t i) {
  const uint64_t block_bytes = kBlock * width / 8, full = n / kBlock, tail = n % kBlock, block = i / kBlock;
  const bool raw_tail = bytes.size() == full * block_bytes + tail * 2;
  if (!raw_tail && bytes.size() != (full + 1) * block_bytes) {
    return BadBytes("{} levels packed at {} bits in {} bytes", n, width, bytes.size());
  }
  if (block == full && raw_tail) return LoadLE<uint16_t>(bytes.data() + full * block_bytes + i % kBlock * 2);
  return Unpack<uint16_t>(width, bytes.data() + block * block_bytes, i % kBlock);
}

}  // namespace

bool LevelsAreAddressable(const CodecDesc& d) {
  switch (d.kind) {
    case CodecKind::kFlat:
    case CodecKind::kInlineBitpacking:
    case CodecKind::kOutOfLineBitpacking: return d.bits == 16;
    case CodecKind::kRle:
      return d.children[0].kind == CodecKind::kFlat && d.children[0].bits == 16 &&
             d.children[1].kind == CodecKind::kFlat && d.children[1].bits == 8;
    default: return false;
  }
}

void PrefetchLevel(const CodecDesc& d, Bytes bytes, uint64_t i) {
  if (d.kind == CodecKind::kFlat)
    Prefetch(bytes.data() + i * 2);
  else if (d.kind == CodecKind::kInlineBitpacking)  // as if of one bit, which most are
    Prefetch(bytes.data() + 2 + PackedPlace<uint16_t>(1, i).offset);
  else
    Prefetch(bytes.data());
}

Result<uint16_t> LevelAt(const CodecDesc& d, Bytes bytes, uint64_t n, uint64_t i) {
  switch (d.kind) {
    case CodecKind::kFlat:
      if (n * 2 > bytes.size()) return BadBytes("{} levels in {} bytes", n, bytes.size());
      return LoadLE<uint16_t>(bytes.data() + i * 2);
    case CodecKind::kInlineBitpacking: {
      PILUM_ASSIGN_OR_RETURN(codec::InlinePacked in, codec::ParseInlinePacked(16, bytes, n));
      return Unpack<uint16_t>(in.width, in.words, i);
    }
    case CodecKind::kOutOfLineBitpacking: return PackedLevel(d.children[0].bits, bytes, n, i);
    default: return RunLevel(bytes, i);
  }
}

Result<bool> LevelBits(const CodecDesc& d, Bytes bytes, uint64_t n, std::vector<uint64_t>* bits) {
  constexpr uint64_t kBlockBytes = kBlock / 8, kWords = kBlock / 64;
  bits->resize((n + kBlock - 1) / kBlock * kWords);
  uint64_t full = 0;  // whole blocks
  if (d.kind == CodecKind::kInlineBitpacking) {
    PILUM_ASSIGN_OR_RETURN(codec::InlinePacked in, codec::ParseInlinePacked(16, bytes, n));
    if (in.width > 1) return false;
    if (in.width == 1 && n > 0) {
      bits::Unpack1024(in.words, bits->data());
    } else {
      std::fill(bits->begin(), bits->end(), 0);
    }
    full = 1;
  } else if (d.kind == CodecKind::kOutOfLineBitpacking && d.children[0].bits == 1) {
    const uint64_t tail = n % kBlock;
    full = n / kBlock;
    const bool raw_tail = bytes.size() == full * kBlockBytes + tail * 2;
    if (!raw_tail && bytes.size() != (full + 1) * kBlockBytes) {
      return BadBytes("{} levels packed at 1 bit in {} bytes", n, bytes.size());
    }
    const uint8_t* raw = bytes.data() + full * kBlockBytes;
    if (!raw_tail) ++full;
    for (uint64_t b = 0; b < full && b * kWords < bits->size(); ++b) {
      bits::Unpack1024(bytes.data() + b * kBlockBytes, bits->data() + b * kWords);
    }
    if (raw_tail && tail > 0) {
      uint64_t* to = bits->data() + full * kWords;
      std::fill(to, bits->data() + bits->size(), 0);
      for (uint64_t i = 0; i < tail; ++i) {
        const uint16_t level = LoadLE<uint16_t>(raw + i * 2);
        if (level > 1) return false;
        to[i / 64] |= uint64_t{level} << (i % 64);
      }
    }
  } else {
    return false;
  }
  bits->resize((n + 63) / 64);
  if (n % 64) bits->back() &= (uint64_t{1} << (n % 64)) - 1;
  return true;
}

namespace {

inline __attribute__((always_inline)) uint64_t Ones(const uint64_t* bits, uint64_t n) {
  uint64_t total = 0, w = 0;
  for (; w < n / 64; ++w) total += static_cast<uint64_t>(std::popcount(bits[w]));
  if (n % 64) total += static_cast<uint64_t>(std::popcount(bits[w] & ((uint64_t{1} << (n % 64)) - 1)));
  return total;
}

inline __attribute__((always_inline)) uint64_t PlaceOf(const uint64_t* bits, uint64_t words, uint64_t n, uint64_t k) {
  for (uint64_t w = 0; w < words; ++w) {
    uint64_t word = bits[w];
    const auto ones = static_cast<uint64_t>(std::popcount(word));
    if (k >= ones) {
      k -= ones;
      continue;
    }
    while (k-- > 0) word &= word - 1;
    return w * 64 + static_cast<uint64_t>(std::countr_zero(word));
  }
  return n;
}

#define PILUM_POPCNT __attribute__((target("popcnt")))
PILUM_POPCNT uint64_t FastOnes(const uint64_t* bits, uint64_t n) { return Ones(bits, n); }
PILUM_POPCNT uint64_t FastPlaceOf(const uint64_t* bits, uint64_t words, uint64_t n, uint64_t k) {
  return PlaceOf(bits, words, n, k);
}
const bool kHasPopcnt = __builtin_cpu_supports("popcnt");

}  // namespace

uint64_t CountOnes(const std::vector<uint64_t>& bits, uint64_t n) {
  return kHasPopcnt ? FastOnes(bits.data(), n) : Ones(bits.data(), n);
}

uint64_t PlaceOfOne(const std::vector<uint64_t>& bits, uint64_t n, uint64_t k) {
  return kHasPopcnt ? FastPlaceOf(bits.data(), bits.size(), n, k) : PlaceOf(bits.data(), bits.size(), n, k);
}

Result<std::optional<ValueReader>> ValueReader::Make(const CodecDesc& desc) {
  ValueReader r;
  const CodecDesc* d = &desc;
  uint64_t items = 1;
  for (; d->kind == CodecKind::kFixedSizeList; d = &d->children[0]) {
    auto n = CheckedMul(items, d->num_items);
    if (!n || d->has_validity) return std::nullopt;
    items = *n;
  }
  switch (d->kind) {
    case CodecKind::kFlat: {
      if (items == 1 && d->bits == 1) {
        r.kind_ = Kind::kBit;
        r.width_ = 1;
        return r;
      }
      auto bits = CheckedMul(items, d->bits);
      if (!bits || d->bits % 8 != 0 || *bits > (uint64_t{1} << 32)) return std::nullopt;
      r.width_ = *bits / 8;
      return r;
    }
    case CodecKind::kInlineBitpacking: r.kind_ = Kind::kBitpack; break;
    case CodecKind::kByteStreamSplit: r.kind_ = Kind::kByteStreamSplit; break;
    case CodecKind::kRle:
      if (d->children[0].kind != CodecKind::kFlat || d->children[1].kind != CodecKind::kFlat ||
          d->children[1].bits != 8) {
        return std::nullopt;
      }
      r.kind_ = Kind::kRle;
      break;
    case CodecKind::kFsst: {
      PILUM_ASSIGN_OR_RETURN(r.table_, codec::FsstTable::Parse(d->bytes));
      d = &d->children[0];
      [[fallthrough]];
    }
    case CodecKind::kVariable: r.kind_ = Kind::kVariable; break;
    default: return std::nullopt;
  }
  if (items != 1) return std::nullopt;
  if (r.kind_ == Kind::kVariable) {
    if (d->kind != CodecKind::kVariable || d->children[0].kind != CodecKind::kFlat) return std::nullopt;
    r.width_ = d->children[0].bits / 8;
  } else {
    r.width_ = (r.kind_ == Kind::kBitpack ? d->bits : d->children[0].bits) / 8;
  }
  return r;
}

void ValueReader::PrefetchCell(const Cell& c) const {
  switch (kind_) {
    case Kind::kBit: return Prefetch(c.bytes + c.index / 8);
    case Kind::kBitpack: return Prefetch(c.bytes);
    case Kind::kRle: return Prefetch(c.more);
    default: return Prefetch(c.bytes + c.index * width_);
  }
}

Status ValueReader::ReadFixed(std::span<const Cell> cells, uint8_t* out) const {
  if (kind_ == Kind::kBitpack) return ReadBitpacked(cells, out);
  for (const Cell& c : cells) {
    if (kind_ == Kind::kRle) {
      PILUM_RETURN_NOT_OK(ReadRun(c, out));
    } else if (kind_ == Kind::kBit) {
      if ((c.count + uint64_t{7}) / 8 > c.size) return BadBytes("{} bits in {} bytes", c.count, c.size);
      *out = c.bytes[c.index / 8] >> (c.index % 8) & 1;
    } else {
      if (c.count * width_ > c.size) return BadBytes("{} values of {} bytes in {}", c.count, width_, c.size);
      if (kind_ == Kind::kFlat) {
        std::memcpy(out, c.bytes + c.index * width_, width_);
      } else {
        for (uint64_t b = 0; b < width_; ++b) out[b] = c.bytes[b * c.count + c.index];
      }
    }
    out += width_;
  }
  return Status::OK();
}

Status ValueReader::ReadBitpacked(std::span<const Cell> cells, uint8_t* out) const {
  switch (width_) {
    case 1: return UnpackCells<uint8_t>(cells, out);
    case 2: return UnpackCells<uint16_t>(cells, out);
    case 4: return UnpackCells<uint32_t>(cells, out);
    default: return UnpackCells<uint64_t>(cells, out);
  }
}

Status ValueReader::ReadRun(const Cell& c, uint8_t* out) const {
  const uint64_t runs = std::min<uint64_t>(c.size / width_, c.more_size);
  PILUM_ASSIGN_OR_RETURN(uint64_t run, FindRun(c.more, runs, c.index));
  std::memcpy(out, c.bytes + run * width_, width_);
  return Status::OK();
}

Status ValueReader::ReadVariable(std::span<const Cell> cells, Cells* scratch, codec::VariableOut* out) const {
  std::vector<Bytes>& parts = scratch->parts;
  parts.clear();
  for (const Cell& c : cells) {
    if ((c.count + uint64_t{1}) * width_ > c.size) return BadBytes("{} offsets in {} bytes", c.count + 1, c.size);
    const uint8_t* at = c.bytes + c.index * width_;
    const uint64_t begin = width_ == 4 ? LoadLE<uint32_t>(at) : LoadLE<uint64_t>(at);
    const uint64_t end = width_ == 4 ? LoadLE<uint32_t>(at + 4) : LoadLE<uint64_t>(at + 8);
    if (begin > end || end > c.size) return BadBytes("offsets {} to {} in {} bytes", begin, end, c.size);
    parts.emplace_back(c.bytes + begin, end - begin);
    Prefetch(c.bytes + begin);
    if (end - begin > 64) Prefetch(c.bytes + begin + 64);
  }
  for (const Bytes& in : parts) {
    PILUM_RETURN_NOT_OK(encoded() ? AddEncoded(*table_, in, out) : out->Append(in));
  }
  return Status::OK();
}

Status AddEncoded(const codec::FsstTable& table, Bytes in, codec::VariableOut* out) {
  PILUM_ASSIGN_OR_RETURN(uint8_t * to, out->Reserve(table.MaxSize(in.size())));
  PILUM_ASSIGN_OR_RETURN(uint64_t wrote, table.Decode(in, to));
  out->Push(wrote);
  return Status::OK();
}

}  // namespace pilum::take
