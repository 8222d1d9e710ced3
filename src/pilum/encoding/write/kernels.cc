// Bit packing in FastLanes order, and small byte helpers.
#include <bit>

#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {
class OwnedBytes : public arrow::Buffer {
 public:
  explicit OwnedBytes(Bytes bytes) : Buffer(nullptr, 0), bytes_(std::move(bytes)) {
    data_ = bytes_.data();
    size_ = capacity_ = static_cast<int64_t>(bytes_.size());
  }

 private:
  Bytes bytes_;
};

constexpr int kOrder[8] = {0, 4, 2, 6, 1, 5, 3, 7};

template <typename T>
void AppendInline(const uint8_t* bytes, uint64_t n, Bytes* out) {
  T in[1024];
  std::memcpy(in, bytes, n * sizeof(T));
  std::fill(in + n, in + 1024, T{0});
  int width = BitWidthOf(in, n);
  T packed[1024];
  BitpackBlock(in, width, packed);
  AppendInt<T>(out, static_cast<T>(width));
  write::Append(out, packed, 128u * static_cast<uint64_t>(width));
}

template <typename T>
uint64_t InlineBytes(const uint8_t* bytes, uint64_t n) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < n; i += 1024) {
    T any = 0;
    uint64_t end = std::min<uint64_t>(n, i + 1024);
    for (uint64_t k = i; k < end; ++k) any |= LoadLE<T>(bytes + k * sizeof(T));
    sum += sizeof(T) + 128u * static_cast<uint64_t>(std::bit_width(any));
  }
  return sum;
}
}  // namespace

BufferPtr ToBuffer(Bytes bytes) { return std::make_shared<OwnedBytes>(std::move(bytes)); }

template <typename T>
int BitWidthOf(const T* in, uint64_t n) {
  T any = 0;
  for (uint64_t i = 0; i < n; ++i) any |= in[i];
  return std::bit_width(any);
}

// Rows of one lane are packed one after another; all lanes of a row shift alike, so the inner loop is plain SIMD and
// needs no instance for each width.
template <typename T>
void BitpackBlock(const T* in, int width, T* out) {
  constexpr int kBits = 8 * sizeof(T), kLanes = 1024 / kBits;
  std::memset(out, 0, 128u * static_cast<size_t>(width));
  if (width == 0) return;
  for (int r = 0; r < kBits; ++r) {
    const T* row = in + kOrder[r / 8] * 16 + (r % 8) * 128;
    int k = r * width / kBits, s = r * width % kBits;
    T* low = out + k * kLanes;
    for (int l = 0; l < kLanes; ++l) low[l] = static_cast<T>(low[l] | static_cast<T>(row[l] << s));
    if (s + width <= kBits) continue;
    T* high = low + kLanes;
    for (int l = 0; l < kLanes; ++l) high[l] = static_cast<T>(row[l] >> (kBits - s));
  }
}

template void BitpackBlock<uint8_t>(const uint8_t*, int, uint8_t*);
template void BitpackBlock<uint16_t>(const uint16_t*, int, uint16_t*);
template void BitpackBlock<uint32_t>(const uint32_t*, int, uint32_t*);
template void BitpackBlock<uint64_t>(const uint64_t*, int, uint64_t*);

void AppendInlineBitpacked(const uint8_t* values, uint64_t width_bytes, uint64_t n, Bytes* out) {
  switch (width_bytes) {
    case 1: return AppendInline<uint8_t>(values, n, out);
    case 2: return AppendInline<uint16_t>(values, n, out);
    case 4: return AppendInline<uint32_t>(values, n, out);
    default: return AppendInline<uint64_t>(values, n, out);
  }
}

uint64_t InlineBitpackedBytes(const uint8_t* values, uint64_t width_bytes, uint64_t n) {
  switch (width_bytes) {
    case 1: return InlineBytes<uint8_t>(values, n);
    case 2: return InlineBytes<uint16_t>(values, n);
    case 4: return InlineBytes<uint32_t>(values, n);
    default: return InlineBytes<uint64_t>(values, n);
  }
}

void AppendBits(const uint8_t* flags, uint64_t n, Bytes* out) {
  size_t at = out->size();
  out->resize(at + (n + 7) / 8);
  uint8_t* p = out->data() + at;
  uint64_t whole = n / 8;
  for (uint64_t i = 0; i < whole; ++i) {  // eight 0/1 bytes -> one byte: the multiply gathers them
    uint64_t v = LoadLE<uint64_t>(flags + 8 * i);
    p[i] = static_cast<uint8_t>((v * 0x0102040810204080ULL) >> 56);
  }
  if (n % 8 == 0) return;
  uint8_t last = 0;
  for (uint64_t i = 8 * whole; i < n; ++i) last |= static_cast<uint8_t>(flags[i] << (i % 8));
  p[whole] = last;
}

}  // namespace pilum::write
