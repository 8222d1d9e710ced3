// Division of unscaled decimals. Arrow 26's BasicDecimal128/256::Divide gives a wrong quotient and rest where a 32-bit
// digit of the quotient is all ones or next to it: (2^64 - 1) * 10^14 / 10^14 among others. Never call it.
#pragma once

#include <optional>

#include <arrow/util/decimal.h>

namespace pilum {

struct DecimalQuotient {
  arrow::Decimal256 quotient;  // truncated toward zero
  arrow::Decimal256 rest;      // with the dividend's sign
};

// nullopt: the divisor is 0.
std::optional<DecimalQuotient> DivideDecimal(const arrow::Decimal256& dividend, const arrow::Decimal256& divisor);

// The quotient rounded half away from zero; nullopt: the divisor is 0.
std::optional<arrow::Decimal256> DivideRounded(const arrow::Decimal256& dividend, const arrow::Decimal256& divisor);

}  // namespace pilum
