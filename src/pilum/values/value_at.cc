// Slot i of any array, in normal form.
#include <arrow/util/float16.h>

#include "pilum/values/value.h"

namespace pilum {
namespace {

template <typename ArrayType>
Value IntAt(const arrow::Array& a, int64_t i) {
  return Value::Int(static_cast<Int128>(static_cast<const ArrayType&>(a).Value(i)));
}

template <typename ArrayType>
std::string BytesAt(const arrow::Array& a, int64_t i) {
  return std::string(static_cast<const ArrayType&>(a).GetView(i));
}

template <typename ArrayType, typename DecimalType>
Value DecimalAt(const arrow::Array& a, int64_t i) {
  const DecimalType v(static_cast<const ArrayType&>(a).GetValue(i));
  if constexpr (std::is_same_v<DecimalType, arrow::Decimal256>) {
    return Value::Decimal(v);
  } else if constexpr (std::is_same_v<DecimalType, arrow::Decimal128>) {
    return Value::Decimal(arrow::Decimal256(v));
  } else {
    return Value::Decimal(arrow::Decimal256(arrow::Decimal128(static_cast<int64_t>(v.value()))));
  }
}

}  // namespace

Result<std::optional<Value>> ValueAt(const arrow::Array& a, int64_t i) {
  using arrow::Type;
  if (a.type_id() == Type::EXTENSION) return ValueAt(*static_cast<const arrow::ExtensionArray&>(a).storage(), i);
  if (a.IsNull(i)) {
    if (!IsNormalizable(*a.type())) return Status::TypeError("values of type ", a.type()->ToString(), " have no order");
    return std::optional<Value>();
  }
  auto some = [](Value v) { return std::optional<Value>(std::move(v)); };
  switch (a.type_id()) {
    case Type::BOOL: return some(IntAt<arrow::BooleanArray>(a, i));
    case Type::INT8: return some(IntAt<arrow::Int8Array>(a, i));
    case Type::INT16: return some(IntAt<arrow::Int16Array>(a, i));
    case Type::INT32: return some(IntAt<arrow::Int32Array>(a, i));
    case Type::INT64: return some(IntAt<arrow::Int64Array>(a, i));
    case Type::UINT8: return some(IntAt<arrow::UInt8Array>(a, i));
    case Type::UINT16: return some(IntAt<arrow::UInt16Array>(a, i));
    case Type::UINT32: return some(IntAt<arrow::UInt32Array>(a, i));
    case Type::UINT64: return some(IntAt<arrow::UInt64Array>(a, i));
    case Type::DATE32: return some(IntAt<arrow::Date32Array>(a, i));
    case Type::DATE64: return some(IntAt<arrow::Date64Array>(a, i));
    case Type::TIME32: return some(IntAt<arrow::Time32Array>(a, i));
    case Type::TIME64: return some(IntAt<arrow::Time64Array>(a, i));
    case Type::TIMESTAMP: return some(IntAt<arrow::TimestampArray>(a, i));
    case Type::DURATION: return some(IntAt<arrow::DurationArray>(a, i));
    case Type::HALF_FLOAT: {
      auto bits = static_cast<const arrow::HalfFloatArray&>(a).Value(i);
      return some(Value::Float(arrow::util::Float16::FromBits(bits).ToDouble()));
    }
    case Type::FLOAT: return some(Value::Float(static_cast<const arrow::FloatArray&>(a).Value(i)));
    case Type::DOUBLE: return some(Value::Float(static_cast<const arrow::DoubleArray&>(a).Value(i)));
    case Type::DECIMAL32: return some(DecimalAt<arrow::Decimal32Array, arrow::Decimal32>(a, i));
    case Type::DECIMAL64: return some(DecimalAt<arrow::Decimal64Array, arrow::Decimal64>(a, i));
    case Type::DECIMAL128: return some(DecimalAt<arrow::Decimal128Array, arrow::Decimal128>(a, i));
    case Type::DECIMAL256: return some(DecimalAt<arrow::Decimal256Array, arrow::Decimal256>(a, i));
    case Type::STRING: return some(Value::Text(BytesAt<arrow::StringArray>(a, i)));
    case Type::LARGE_STRING: return some(Value::Text(BytesAt<arrow::LargeStringArray>(a, i)));
    case Type::STRING_VIEW: return some(Value::Text(BytesAt<arrow::StringViewArray>(a, i)));
    case Type::BINARY: return some(Value::Binary(BytesAt<arrow::BinaryArray>(a, i)));
    case Type::LARGE_BINARY: return some(Value::Binary(BytesAt<arrow::LargeBinaryArray>(a, i)));
    case Type::BINARY_VIEW: return some(Value::Binary(BytesAt<arrow::BinaryViewArray>(a, i)));
    case Type::FIXED_SIZE_BINARY: return some(Value::Binary(BytesAt<arrow::FixedSizeBinaryArray>(a, i)));
    case Type::DICTIONARY: {
      const auto& d = static_cast<const arrow::DictionaryArray&>(a);
      int64_t index = d.GetValueIndex(i);
      if (index < 0 || index >= d.dictionary()->length()) {
        return Status::Invalid("dictionary index ", index, " of ", d.dictionary()->length(), " entries");
      }
      return ValueAt(*d.dictionary(), index);
    }
    default: return Status::TypeError("values of type ", a.type()->ToString(), " have no order");
  }
}

}  // namespace pilum
