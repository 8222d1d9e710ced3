#include "pilum/values/decimal.h"

#include <array>
#include <bit>
#include <cstdint>

namespace pilum {
namespace {

using Words = std::array<uint64_t, 4>;  // little-endian, without a sign

bool IsNegative(const Words& w) { return w[3] >> 63; }

Words Negated(const Words& w) {
  Words out;
  bool carry = true;
  for (size_t i = 0; i < 4; ++i) {
    out[i] = ~w[i] + carry;
    carry = carry && out[i] == 0;
  }
  return out;
}

int BitLength(const Words& w) {
  for (int i = 3; i >= 0; --i) {
    if (w[static_cast<size_t>(i)] != 0) return 64 * i + std::bit_width(w[static_cast<size_t>(i)]);
  }
  return 0;
}

bool NotLess(const Words& a, const Words& b) {
  for (size_t i = 4; i-- > 0;) {
    if (a[i] != b[i]) return a[i] > b[i];
  }
  return true;
}

void Subtract(const Words& b, Words* a) {
  bool borrow = false;
  for (size_t i = 0; i < 4; ++i) {
    const uint64_t before = (*a)[i];
    (*a)[i] = before - b[i] - borrow;
    borrow = before < b[i] || (before == b[i] && borrow);
  }
}

Words ShiftedLeft(const Words& w, int bits) {
  Words out = {};
  const auto words = static_cast<size_t>(bits / 64);
  const int rest = bits % 64;
  for (size_t i = words; i < 4; ++i) {
    out[i] = w[i - words] << rest;
    if (rest != 0 && i > words) out[i] |= w[i - words - 1] >> (64 - rest);
  }
  return out;
}

// `a` becomes the rest.
Words DivideWords(const Words& b, Words* a) {
  Words quotient = {};
  const int size = BitLength(b);
  if (size <= 64) {
    unsigned __int128 rest = 0;
    for (size_t i = 4; i-- > 0;) {
      const unsigned __int128 top = rest << 64 | (*a)[i];
      quotient[i] = static_cast<uint64_t>(top / b[0]);
      rest = top % b[0];
    }
    *a = {static_cast<uint64_t>(rest), 0, 0, 0};
    return quotient;
  }
  for (int shift = BitLength(*a) - size; shift >= 0; --shift) {
    const Words shifted = ShiftedLeft(b, shift);
    if (!NotLess(*a, shifted)) continue;
    Subtract(shifted, a);
    quotient[static_cast<size_t>(shift / 64)] |= uint64_t{1} << (shift % 64);
  }
  return quotient;
}

}  // namespace

std::optional<DecimalQuotient> DivideDecimal(const arrow::Decimal256& dividend, const arrow::Decimal256& divisor) {
  Words a = dividend.little_endian_array(), b = divisor.little_endian_array();
  if (BitLength(b) == 0) return std::nullopt;
  const bool negative_a = IsNegative(a), negative_b = IsNegative(b);
  if (negative_a) a = Negated(a);
  if (negative_b) b = Negated(b);
  Words quotient = DivideWords(b, &a);
  if (negative_a != negative_b) quotient = Negated(quotient);
  if (negative_a) a = Negated(a);
  return DecimalQuotient{arrow::Decimal256(arrow::Decimal256::LittleEndianArray, quotient),
                         arrow::Decimal256(arrow::Decimal256::LittleEndianArray, a)};
}

std::optional<arrow::Decimal256> DivideRounded(const arrow::Decimal256& dividend, const arrow::Decimal256& divisor) {
  auto divided = DivideDecimal(dividend, divisor);
  if (!divided) return std::nullopt;
  auto& [q, rest] = *divided;
  const arrow::Decimal256 zero(0);
  const arrow::Decimal256 twice = arrow::Decimal256::Abs(rest) + arrow::Decimal256::Abs(rest);
  if (!(twice < arrow::Decimal256::Abs(divisor)))
    q += arrow::Decimal256((dividend < zero) != (divisor < zero) ? -1 : 1);
  return q;
}

}  // namespace pilum
