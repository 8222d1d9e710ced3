#include "pilum/sketch/array_numbers.h"

#include <cmath>
#include <limits>

#include <arrow/api.h>
#include <arrow/util/float16.h>

#include "pilum/values/value.h"

namespace pilum {
namespace {

using arrow::Array;
using arrow::Type;

double Normal(double v) { return v != v ? std::numeric_limits<double>::quiet_NaN() : v + 0.0; }

// Calls f(span of Out) over the slots of `array` that are not null, each through get(row).
template <typename Out, typename Get, typename F>
Status VisitEach(const Array& array, Get get, F f) {
  Out block[kNumberBlock];
  size_t n = 0;
  for (int64_t row = 0; row < array.length(); ++row) {
    if (array.IsNull(row)) continue;
    block[n++] = get(row);
    if (n < kNumberBlock) continue;
    PILUM_RETURN_NOT_OK(f(std::span<const Out>(block, n)));
    n = 0;
  }
  return n > 0 ? f(std::span<const Out>(block, n)) : Status::OK();
}

// The same for plain values without nulls, which need no test a row.
template <typename Out, typename T, typename F>
Status VisitAll(const T* values, int64_t length, F f) {
  Out block[kNumberBlock];
  for (int64_t at = 0; at < length; at += kNumberBlock) {
    const size_t n = static_cast<size_t>(std::min<int64_t>(length - at, kNumberBlock));
    for (size_t i = 0; i < n; ++i) {
      if constexpr (std::is_same_v<Out, double>) {
        block[i] = Normal(static_cast<double>(values[at + static_cast<int64_t>(i)]));
      } else {
        block[i] = static_cast<Out>(values[at + static_cast<int64_t>(i)]);
      }
    }
    PILUM_RETURN_NOT_OK(f(std::span<const Out>(block, n)));
  }
  return Status::OK();
}

template <typename Out, typename ArrayType, typename F>
Status VisitPlain(const Array& given, F f) {
  const auto& array = static_cast<const ArrayType&>(given);
  if constexpr (!std::is_same_v<ArrayType, arrow::BooleanArray>) {
    if (array.null_count() == 0) return VisitAll<Out>(array.raw_values(), array.length(), f);
  }
  return VisitEach<Out>(
      array,
      [&](int64_t row) {
        if constexpr (std::is_same_v<Out, double>) {
          return Normal(static_cast<double>(array.Value(row)));
        } else {
          return static_cast<Out>(array.Value(row));
        }
      },
      f);
}

template <typename Out, typename F>
Result<bool> VisitIntegers(const Array& array, F f) {
  const auto as = [&](auto* type) -> Result<bool> {
    PILUM_RETURN_NOT_OK((VisitPlain<Out, std::remove_pointer_t<decltype(type)>>(array, f)));
    return true;
  };
  switch (array.type_id()) {
    case Type::BOOL: return as(static_cast<arrow::BooleanArray*>(nullptr));
    case Type::INT8: return as(static_cast<arrow::Int8Array*>(nullptr));
    case Type::INT16: return as(static_cast<arrow::Int16Array*>(nullptr));
    case Type::INT32: return as(static_cast<arrow::Int32Array*>(nullptr));
    case Type::INT64: return as(static_cast<arrow::Int64Array*>(nullptr));
    case Type::UINT8: return as(static_cast<arrow::UInt8Array*>(nullptr));
    case Type::UINT16: return as(static_cast<arrow::UInt16Array*>(nullptr));
    case Type::UINT32: return as(static_cast<arrow::UInt32Array*>(nullptr));
    case Type::UINT64: return as(static_cast<arrow::UInt64Array*>(nullptr));
    case Type::DATE32: return as(static_cast<arrow::Date32Array*>(nullptr));
    case Type::DATE64: return as(static_cast<arrow::Date64Array*>(nullptr));
    case Type::TIME32: return as(static_cast<arrow::Time32Array*>(nullptr));
    case Type::TIME64: return as(static_cast<arrow::Time64Array*>(nullptr));
    case Type::TIMESTAMP: return as(static_cast<arrow::TimestampArray*>(nullptr));
    case Type::DURATION: return as(static_cast<arrow::DurationArray*>(nullptr));
    default: return false;
  }
}

template <typename F>
Status VisitDecimals(const Array& array, F f) {
  const int32_t scale = static_cast<const arrow::DecimalType&>(*array.type()).scale();
  Status status;
  PILUM_RETURN_NOT_OK(VisitEach<double>(
      array,
      [&](int64_t row) {
        const auto value = ValueAt(array, row);
        if (!value.ok()) status = value.status();
        return value.ok() && *value ? Normal((*value)->as_decimal().ToDouble(scale)) : 0.0;
      },
      f));
  return status;
}

}  // namespace

Result<std::shared_ptr<Array>> PlainArray(const Array& array) {
  std::shared_ptr<Array> out = arrow::MakeArray(array.data());
  if (array.type_id() == Type::EXTENSION) {
    return PlainArray(*static_cast<const arrow::ExtensionArray&>(*out).storage());
  }
  if (array.type_id() != Type::DICTIONARY) return out;
  const auto& coded = static_cast<const arrow::DictionaryArray&>(*out);
  PILUM_ASSIGN_OR_RETURN(auto builder, arrow::MakeBuilder(coded.dictionary()->type()));
  const arrow::ArraySpan values(*coded.dictionary()->data());
  for (int64_t row = 0; row < coded.length(); ++row) {
    if (coded.IsNull(row)) continue;
    const int64_t index = coded.GetValueIndex(row);
    if (index < 0 || index >= values.length) {
      return Corrupt("dictionary array", fmt::format("row {}", row),
                     fmt::format("index {} of {}", index, values.length));
    }
    PILUM_RETURN_NOT_OK(builder->AppendArraySlice(values, index, 1));
  }
  PILUM_ASSIGN_OR_RETURN(out, builder->Finish());
  return PlainArray(*out);
}

Status VisitDoubles(const Array& given, const std::function<void(std::span<const double>)>& f) {
  if (given.type_id() == Type::NA) return Status::OK();
  if (given.type_id() == Type::DICTIONARY || given.type_id() == Type::EXTENSION) {
    PILUM_ASSIGN_OR_RETURN(const auto plain, PlainArray(given));
    return VisitDoubles(*plain, f);
  }
  const auto g = [&](std::span<const double> block) {
    f(block);
    return Status::OK();
  };
  switch (given.type_id()) {
    case Type::HALF_FLOAT: {
      const auto& array = static_cast<const arrow::HalfFloatArray&>(given);
      return VisitEach<double>(
          array, [&](int64_t row) { return Normal(arrow::util::Float16::FromBits(array.Value(row)).ToDouble()); }, g);
    }
    case Type::FLOAT: return VisitPlain<double, arrow::FloatArray>(given, g);
    case Type::DOUBLE: return VisitPlain<double, arrow::DoubleArray>(given, g);
    default: break;
  }
  if (arrow::is_decimal(given.type_id())) return VisitDecimals(given, g);
  PILUM_ASSIGN_OR_RETURN(const bool known, VisitIntegers<double>(given, g));
  if (known) return Status::OK();
  return UsageError("values of type {} are not numbers; give a column of numbers or times", given.type()->ToString());
}

Status VisitInts(const Array& given, const std::function<Status(std::span<const int64_t>, bool)>& f) {
  if (given.type_id() == Type::NA) return Status::OK();
  if (given.type_id() == Type::DICTIONARY || given.type_id() == Type::EXTENSION) {
    PILUM_ASSIGN_OR_RETURN(const auto plain, PlainArray(given));
    return VisitInts(*plain, f);
  }
  const bool is_unsigned = given.type_id() == Type::UINT64;
  PILUM_ASSIGN_OR_RETURN(const bool known, VisitIntegers<int64_t>(given, [&](std::span<const int64_t> block) {
                           return f(block, is_unsigned);
                         }));
  if (known) return Status::OK();
  return UsageError("values of type {} are not whole numbers", given.type()->ToString());
}

}  // namespace pilum
