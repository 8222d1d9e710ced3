// XXH64 (seed 0) of a value's hash bytes, without making a Value for each row. Equal to
// BloomFilter::HashOf(AppendHashBytes(value)) for every value; the tests hold the two together.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <arrow/util/decimal.h>

#include "pilum/values/value.h"

namespace pilum {

uint64_t HashInt(Int128 v);
uint64_t HashFloat(double v);
uint64_t HashDecimal(const arrow::Decimal256& unscaled, int32_t scale);
uint64_t HashText(std::string_view v);
uint64_t HashBinary(std::string_view v);
uint64_t HashValue(const Value& v, int32_t scale);

// The value that hash bytes (AppendHashBytes) stand for; `scale` is of a decimal. nullopt: no value's hash bytes, except
// that decimals are not asked to be in their shortest form. Text and binary may be cut anywhere.
struct ParsedValue {
  Value value;
  int32_t scale;
};
std::optional<ParsedValue> ParseHashBytes(std::string_view bytes);
// The same as a value of a column of this plain type: hash bytes of decimals are without trailing zeros, its are not.
std::optional<Value> ValueOfHashBytes(std::string_view bytes, const arrow::DataType& type);

}  // namespace pilum
