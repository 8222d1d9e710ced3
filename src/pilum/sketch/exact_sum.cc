#include "pilum/sketch/exact_sum.h"

#include <bit>
#include <cmath>

namespace pilum {

void ExactSum::Add(double v) {
  const uint64_t bits = std::bit_cast<uint64_t>(v);
  const uint32_t exponent = static_cast<uint32_t>(bits >> 52) & 0x7FF;
  uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  uint32_t shift = 0;  // of the mantissa, in units of 2^-1074
  if (exponent != 0) {
    mantissa |= uint64_t{1} << 52;
    shift = exponent - 1;
  }
  const unsigned __int128 wide = static_cast<unsigned __int128>(mantissa) << (shift & 31);
  const int64_t low = static_cast<int64_t>(static_cast<uint32_t>(wide));
  const int64_t middle = static_cast<int64_t>(static_cast<uint32_t>(wide >> 32));
  const int64_t high = static_cast<int64_t>(static_cast<uint32_t>(wide >> 64));
  const int64_t sign = static_cast<int64_t>(bits) >> 63;  // 0 or -1
  int64_t* at = chunks_.data() + (shift >> 5);
  at[0] += (low ^ sign) - sign;
  at[1] += (middle ^ sign) - sign;
  at[2] += (high ^ sign) - sign;
  if (++added_ >= kCarryAfter) {
    chunks_ = Normal();
    added_ = 1;
  }
}

void ExactSum::Add(const ExactSum& other) {
  chunks_ = Normal();
  const Chunks theirs = other.Normal();
  for (size_t i = 0; i < kChunks; ++i) chunks_[i] += theirs[i];
  added_ = 2;
}

ExactSum::Chunks ExactSum::Normal() const {
  Chunks out = chunks_;
  for (size_t i = 0; i + 1 < kChunks; ++i) {
    out[i + 1] += out[i] >> 32;
    out[i] &= 0xFFFFFFFF;
  }
  return out;
}

double ExactSum::Rounded() const {
  Chunks c = Normal();
  const bool negative = c[kChunks - 1] < 0;
  if (negative) {
    ExactSum minus;
    for (size_t i = 0; i < kChunks; ++i) minus.chunks_[i] = -c[i];
    c = minus.Normal();
  }
  size_t top = kChunks;
  while (top > 0 && c[top - 1] == 0) --top;
  if (top == 0) return 0;
  const int width = static_cast<int>(std::bit_width(static_cast<uint64_t>(c[top - 1])));
  const int64_t highest = static_cast<int64_t>(top - 1) * 32 + width - 1;  // the number of the highest bit
  const int64_t lowest = std::max<int64_t>(0, highest - 52);               // of the 53 that stay
  const auto bit = [&](int64_t at) { return static_cast<uint64_t>(c[static_cast<size_t>(at / 32)]) >> (at % 32) & 1; };
  uint64_t mantissa = 0;
  for (int64_t at = highest; at >= lowest; --at) {
    // The highest chunk may have more than 32 bits.
    const int64_t chunk = std::min<int64_t>(at / 32, static_cast<int64_t>(top) - 1);
    mantissa = mantissa << 1 | (static_cast<uint64_t>(c[static_cast<size_t>(chunk)]) >> (at - chunk * 32) & 1);
  }
  if (lowest > 0) {
    const bool half = bit(lowest - 1) != 0;
    bool rest = false;
    for (int64_t at = lowest - 2; at >= 0 && !rest; --at) rest = bit(at) != 0;
    if (half && (rest || (mantissa & 1) != 0)) ++mantissa;
  }
  const double out = std::ldexp(static_cast<double>(mantissa), static_cast<int>(lowest) - 1074);
  return negative ? -out : out;
}

void ExactSum::AppendTo(std::string* out) const {
  const Chunks c = Normal();
  // As 32-bit words of two's complement: the highest chunk is a small signed number.
  size_t first = 0, end = kChunks;
  const auto word = [&](size_t i) { return static_cast<uint32_t>(c[i]); };
  const uint32_t fill = c[kChunks - 1] < 0 ? ~0u : 0;
  while (first < kChunks && word(first) == 0) ++first;
  if (first == kChunks) first = end = 0;
  while (end > first + 1 && word(end - 1) == fill && (word(end - 2) >> 31) == (fill & 1)) --end;
  out->push_back(static_cast<char>(first));
  out->push_back(static_cast<char>(end - first));
  for (size_t i = first; i < end; ++i) AppendLE<uint32_t>(out, word(i));
}

std::optional<ExactSum> ExactSum::Read(ByteCursor* in) {
  const size_t first = in->Read<uint8_t>(), count = in->Read<uint8_t>();
  if (!in->ok() || first + count >= kChunks || in->remaining() < count * 4) return std::nullopt;
  ExactSum out;
  int64_t last = 0;
  const uint64_t begin = in->offset();
  for (size_t i = 0; i < count; ++i) {
    last = static_cast<int32_t>(in->Read<uint32_t>());
    out.chunks_[first + i] = i + 1 < count ? last & 0xFFFFFFFF : last;  // the last has the sign
  }
  std::string again;
  out.AppendTo(&again);
  const bool same_shape = static_cast<uint8_t>(again[0]) == first && static_cast<uint8_t>(again[1]) == count;
  if (!same_shape || in->offset() - begin != count * 4) return std::nullopt;
  return out;
}

}  // namespace pilum
