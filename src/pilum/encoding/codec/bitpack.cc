// FastLanes bit packing: 1,024 values of T bits in rows of LANES = 1024 / T. For a fixed row the lanes are consecutive
// in the output, so a row is: load, shift, mask, store, over whole vectors.
#include <algorithm>
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {
namespace {

constexpr uint64_t kBlock = 1024;
constexpr int kOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};

// Vectors of 32 bytes, anywhere in memory: the compiler cuts them into what the target has.
template <typename T>
struct Vec {
  typedef T type __attribute__((vector_size(32), aligned(1), may_alias));
};

#define PILUM_INLINE inline __attribute__((always_inline))

// A row of words: all its lanes, in registers.
template <typename T>
struct Row {
  using V = typename Vec<T>::type;
  V a, b, c, d;
  static PILUM_INLINE Row Load(const uint8_t* p) {
    const V* v = reinterpret_cast<const V*>(p);
    return {v[0], v[1], v[2], v[3]};
  }
  PILUM_INLINE void Store(uint8_t* p) const {
    V* v = reinterpret_cast<V*>(p);
    v[0] = a, v[1] = b, v[2] = c, v[3] = d;
  }
  PILUM_INLINE Row Right(T n) const { return {a >> n, b >> n, c >> n, d >> n}; }
  PILUM_INLINE Row Left(T n) const { return {a << n, b << n, c << n, d << n}; }
  PILUM_INLINE Row Or(const Row& o) const { return {a | o.a, b | o.b, c | o.c, d | o.d}; }
  PILUM_INLINE Row And(T m) const { return {a & m, b & m, c & m, d & m}; }
};

// Each word is loaded once: it stays in its register until its last bits are out.
template <typename T>
PILUM_INLINE void UnpackBody(uint64_t width, const uint8_t* in, uint8_t* out) {
  constexpr uint64_t kBits = sizeof(T) * 8, kRowBytes = kBlock / 8;
  const T mask = static_cast<T>(width == kBits ? ~uint64_t{0} : (uint64_t{1} << width) - 1);
  Row<T> word = Row<T>::Load(in);
  uint64_t shift = 0;
  for (uint64_t r = 0; r < kBits; ++r) {
    uint8_t* to = out + (static_cast<uint64_t>(kOrder[r / 8]) * 16 + (r % 8) * 128) * sizeof(T);
    Row<T> v = word.Right(static_cast<T>(shift));
    shift += width;
    if (shift > kBits) {
      shift -= kBits;
      word = Row<T>::Load(in += kRowBytes);
      v = v.Or(word.Left(static_cast<T>(width - shift)));
    } else if (shift == kBits && r + 1 < kBits) {
      shift = 0;
      word = Row<T>::Load(in += kRowBytes);
    }
    v.And(mask).Store(to);
  }
}

// Bytes are shifted as 64-bit words: what leaks in from the neighbour byte is masked off.
PILUM_INLINE void UnpackBody8(uint64_t width, const uint8_t* in, uint8_t* out) {
  using Words = Row<uint64_t>;
  auto each_byte = [](uint64_t b) { return 0x0101010101010101 * b; };
  for (uint64_t r = 0; r < 8; ++r) {
    const uint64_t bit = r * width, shift = bit % 8, have = std::min(8 - shift, width);
    const uint8_t* low = in + bit / 8 * (kBlock / 8);
    Words v = Words::Load(low).Right(shift).And(each_byte((1u << have) - 1));
    if (have < width) {
      const uint64_t high_mask = each_byte(((1u << width) - 1) & ~((1u << have) - 1));
      v = v.Or(Words::Load(low + kBlock / 8).Left(have).And(high_mask));
    }
    v.Store(out + r * 128);
  }
}

using Kernel = void (*)(uint64_t width, const uint8_t* in, uint8_t* out);
struct Kernels {
  Kernel k8, k16, k32, k64;
};

void Base8(uint64_t w, const uint8_t* in, uint8_t* out) { UnpackBody8(w, in, out); }
void Base16(uint64_t w, const uint8_t* in, uint8_t* out) { UnpackBody<uint16_t>(w, in, out); }
void Base32(uint64_t w, const uint8_t* in, uint8_t* out) { UnpackBody<uint32_t>(w, in, out); }
void Base64(uint64_t w, const uint8_t* in, uint8_t* out) { UnpackBody<uint64_t>(w, in, out); }

#define PILUM_AVX2 __attribute__((target("avx2")))
PILUM_AVX2 void Avx8(uint64_t w, const uint8_t* in, uint8_t* out) { UnpackBody8(w, in, out); }
PILUM_AVX2 void Avx16(uint64_t w, const uint8_t* in, uint8_t* out) { UnpackBody<uint16_t>(w, in, out); }
PILUM_AVX2 void Avx32(uint64_t w, const uint8_t* in, uint8_t* out) { UnpackBody<uint32_t>(w, in, out); }
PILUM_AVX2 void Avx64(uint64_t w, const uint8_t* in, uint8_t* out) { UnpackBody<uint64_t>(w, in, out); }

// The one place that asks what the machine has.
const Kernels& Dispatch() {
  static const Kernels kernels =
      __builtin_cpu_supports("avx2") ? Kernels{Avx8, Avx16, Avx32, Avx64} : Kernels{Base8, Base16, Base32, Base64};
  return kernels;
}

template <typename T>
T UnpackOneOf(uint64_t width, const uint8_t* in, uint64_t i) {
  constexpr uint64_t kBits = sizeof(T) * 8, kLanes = kBlock / kBits;
  uint64_t row = kBits == 8 ? i / 128 : kOrder[((i % 128) / 16) & ~(kLanes / 16 - 1)] * 8 + i / 128;
  uint64_t lane = i % kLanes, bit = row * width, k = bit / kBits, shift = bit % kBits;
  T v = static_cast<T>(LoadLE<T>(in + (k * kLanes + lane) * sizeof(T)) >> shift);
  if (shift + width > kBits) {
    v = static_cast<T>(v | LoadLE<T>(in + ((k + 1) * kLanes + lane) * sizeof(T)) << (kBits - shift));
  }
  return width == kBits ? v : static_cast<T>(v & ((T{1} << width) - 1));
}

template <typename T>
void ScalarOf(uint64_t width, const uint8_t* in, uint8_t* out) {
  constexpr uint64_t kBits = sizeof(T) * 8, kLanes = kBlock / kBits;
  for (uint64_t lane = 0; lane < kLanes; ++lane) {
    for (uint64_t row = 0; row < kBits; ++row) {
      T v = 0;
      for (uint64_t b = 0; b < width; ++b) {  // bit by bit: the definition
        uint64_t at = row * width + b;
        T word = LoadLE<T>(in + (at / kBits * kLanes + lane) * sizeof(T));
        v = static_cast<T>(v | static_cast<T>(static_cast<T>(word >> (at % kBits) & 1) << b));
      }
      StoreLE<T>(out + (kOrder[row / 8] * 16 + (row % 8) * 128 + lane) * sizeof(T), v);
    }
  }
}

class BitpackDecoder : public ValueDecoder {
 public:
  Status Init(uint64_t bits, const DecodeSpec& spec) {
    bits_ = bits;
    return out_.Init(bits, spec);
  }
  int num_buffers() const override { return 1; }

  Status Append(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) override {
    PILUM_ASSIGN_OR_RETURN(InlinePacked in, ParseInlinePacked(bits_, buffers[0], n));
    const uint64_t width = bits_ / 8, count = CountOf(ranges);
    if (count == kBlock) {  // the whole chunk, straight into its place
      PILUM_ASSIGN_OR_RETURN(uint8_t * at, out_.Take(kBlock));
      Unpack1024(bits_, in.width, in.words, at);
    } else if (count <= 16) {
      for (const RowRange& r : ranges) {
        PILUM_ASSIGN_OR_RETURN(uint8_t * at, out_.Take(r.size()));
        for (uint64_t i = r.begin; i < r.end; ++i, at += width) {
          uint64_t v = UnpackOne(bits_, in.width, in.words, i);
          std::memcpy(at, &v, width);
        }
      }
    } else {
      Unpack1024(bits_, in.width, in.words, scratch_);
      for (const RowRange& r : ranges) {
        PILUM_ASSIGN_OR_RETURN(uint8_t * at, out_.Take(r.size()));
        std::memcpy(at, scratch_ + r.begin * width, r.size() * width);
      }
    }
    decoded_ += count;
    return Status::OK();
  }

  Result<DataBlock> Finish() override { return out_.Finish(); }
  uint64_t decoded() const override { return decoded_; }

 private:
  uint64_t bits_ = 0, decoded_ = 0;
  FixedOut out_;
  alignas(64) uint8_t scratch_[kBlock * 8];
};

}  // namespace

void Unpack1024(uint64_t type_bits, uint64_t width, const uint8_t* in, uint8_t* out) {
  if (width == 0) {
    std::memset(out, 0, kBlock * type_bits / 8);
    return;
  }
  const Kernels& k = Dispatch();
  switch (type_bits) {
    case 8: return k.k8(width, in, out);
    case 16: return k.k16(width, in, out);
    case 32: return k.k32(width, in, out);
    default: return k.k64(width, in, out);
  }
}

void Unpack1024Scalar(uint64_t type_bits, uint64_t width, const uint8_t* in, uint8_t* out) {
  switch (type_bits) {
    case 8: return ScalarOf<uint8_t>(width, in, out);
    case 16: return ScalarOf<uint16_t>(width, in, out);
    case 32: return ScalarOf<uint32_t>(width, in, out);
    default: return ScalarOf<uint64_t>(width, in, out);
  }
}

uint64_t UnpackOne(uint64_t type_bits, uint64_t width, const uint8_t* in, uint64_t i) {
  if (width == 0) return 0;
  switch (type_bits) {
    case 8: return UnpackOneOf<uint8_t>(width, in, i);
    case 16: return UnpackOneOf<uint16_t>(width, in, i);
    case 32: return UnpackOneOf<uint32_t>(width, in, i);
    default: return UnpackOneOf<uint64_t>(width, in, i);
  }
}

Result<InlinePacked> ParseInlinePacked(uint64_t type_bits, Bytes bytes, uint64_t n) {
  uint64_t header = type_bits / 8, width = 0;
  if (n > kBlock) return BadBytes("{} bit-packed values in one block of 1024", n);
  if (bytes.size() < header) return BadBytes("a bit-packed block of {} bytes", bytes.size());
  std::memcpy(&width, bytes.data(), header);
  if (width > type_bits) return BadBytes("{}-bit values packed at {} bits", type_bits, width);
  if (bytes.size() < header + 128 * width) {
    return BadBytes("a block packed at {} bits has {} bytes, not {}", width, bytes.size(), header + 128 * width);
  }
  return InlinePacked{width, bytes.data() + header};
}

Status DecodeOutOfLine(uint64_t type_bits, uint64_t width, Bytes bytes, uint64_t n, uint8_t* out) {
  const uint64_t value_bytes = type_bits / 8, full = n / kBlock, tail = n % kBlock;
  const uint64_t block_bytes = kBlock * width / 8, packed = full * block_bytes;
  bool raw_tail = bytes.size() == packed + tail * value_bytes;
  if (!raw_tail && bytes.size() != packed + block_bytes) {
    return BadBytes("{} values packed at {} bits in {} bytes", n, width, bytes.size());
  }
  uint64_t blocks = full + (raw_tail ? 0 : 1);
  for (uint64_t b = 0; b < blocks; ++b) {
    Unpack1024(type_bits, width, bytes.data() + b * block_bytes, out + b * kBlock * value_bytes);
  }
  if (raw_tail && tail) std::memcpy(out + full * kBlock * value_bytes, bytes.data() + packed, tail * value_bytes);
  return Status::OK();
}

Result<std::unique_ptr<ValueDecoder>> MakeBitpackDecoder(const CodecDesc& desc, const DecodeSpec& spec) {
  auto d = std::make_unique<BitpackDecoder>();
  PILUM_RETURN_NOT_OK(d->Init(desc.bits, spec));
  return d;
}

}  // namespace pilum::codec
