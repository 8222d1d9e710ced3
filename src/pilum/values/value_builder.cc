#include "pilum/values/value_builder.h"

#include <limits>

#include <arrow/util/float16.h>

namespace pilum {

std::shared_ptr<arrow::DataType> PlainType(const std::shared_ptr<arrow::DataType>& type) {
  if (type->id() == arrow::Type::EXTENSION) {
    return PlainType(static_cast<const arrow::ExtensionType&>(*type).storage_type());
  }
  if (type->id() == arrow::Type::DICTIONARY) {
    return PlainType(static_cast<const arrow::DictionaryType&>(*type).value_type());
  }
  return type;
}

IntRange IntRangeOf(const arrow::DataType& type) {
  auto of = [](auto zero) {
    using T = decltype(zero);
    return IntRange{std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  };
  switch (type.id()) {
    case arrow::Type::BOOL: return {0, 1};
    case arrow::Type::INT8: return of(int8_t{});
    case arrow::Type::INT16: return of(int16_t{});
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32: return of(int32_t{});
    case arrow::Type::UINT8: return of(uint8_t{});
    case arrow::Type::UINT16: return of(uint16_t{});
    case arrow::Type::UINT32: return of(uint32_t{});
    case arrow::Type::UINT64: return of(uint64_t{});
    default: return of(int64_t{});
  }
}

namespace {

struct Appender {
  arrow::ArrayBuilder* builder;
  const std::vector<std::optional<Value>>& values;

  template <typename BuilderType, typename Get>
  Status Append(Get get) {
    auto* b = static_cast<BuilderType*>(builder);
    for (const auto& v : values) {
      if (v) {
        PILUM_RETURN_NOT_OK(b->Append(get(*v)));
      } else {
        PILUM_RETURN_NOT_OK(b->AppendNull());
      }
    }
    return Status::OK();
  }
  template <typename T>
  Status Ints() {
    return Append<typename arrow::TypeTraits<T>::BuilderType>(
        [](const Value& v) { return static_cast<typename T::c_type>(v.as_int()); });
  }
  template <typename T>
  Status Bytes() {
    return Append<typename arrow::TypeTraits<T>::BuilderType>(
        [](const Value& v) { return std::string_view(v.as_bytes()); });
  }

  Status Run(const arrow::DataType& type) {
    using arrow::Type;
    switch (type.id()) {
      case Type::BOOL: return Append<arrow::BooleanBuilder>([](const Value& v) { return v.as_int() != 0; });
      case Type::INT8: return Ints<arrow::Int8Type>();
      case Type::INT16: return Ints<arrow::Int16Type>();
      case Type::INT32: return Ints<arrow::Int32Type>();
      case Type::INT64: return Ints<arrow::Int64Type>();
      case Type::UINT8: return Ints<arrow::UInt8Type>();
      case Type::UINT16: return Ints<arrow::UInt16Type>();
      case Type::UINT32: return Ints<arrow::UInt32Type>();
      case Type::UINT64: return Ints<arrow::UInt64Type>();
      case Type::DATE32: return Ints<arrow::Date32Type>();
      case Type::DATE64: return Ints<arrow::Date64Type>();
      case Type::TIME32: return Ints<arrow::Time32Type>();
      case Type::TIME64: return Ints<arrow::Time64Type>();
      case Type::TIMESTAMP: return Ints<arrow::TimestampType>();
      case Type::DURATION: return Ints<arrow::DurationType>();
      case Type::HALF_FLOAT:
        return Append<arrow::HalfFloatBuilder>(
            [](const Value& v) { return arrow::util::Float16::FromDouble(v.as_float()).bits(); });
      case Type::FLOAT:
        return Append<arrow::FloatBuilder>([](const Value& v) { return static_cast<float>(v.as_float()); });
      case Type::DOUBLE: return Append<arrow::DoubleBuilder>([](const Value& v) { return v.as_float(); });
      case Type::DECIMAL32:
        return Append<arrow::Decimal32Builder>([](const Value& v) {
          return arrow::Decimal32(static_cast<int32_t>(v.as_decimal().little_endian_array()[0]));
        });
      case Type::DECIMAL64:
        return Append<arrow::Decimal64Builder>([](const Value& v) {
          return arrow::Decimal64(static_cast<int64_t>(v.as_decimal().little_endian_array()[0]));
        });
      case Type::DECIMAL128:
        return Append<arrow::Decimal128Builder>([](const Value& v) {
          auto words = v.as_decimal().little_endian_array();
          return arrow::Decimal128(static_cast<int64_t>(words[1]), words[0]);
        });
      case Type::DECIMAL256: return Append<arrow::Decimal256Builder>([](const Value& v) { return v.as_decimal(); });
      case Type::STRING: return Bytes<arrow::StringType>();
      case Type::LARGE_STRING: return Bytes<arrow::LargeStringType>();
      case Type::STRING_VIEW: return Bytes<arrow::StringViewType>();
      case Type::BINARY: return Bytes<arrow::BinaryType>();
      case Type::LARGE_BINARY: return Bytes<arrow::LargeBinaryType>();
      case Type::BINARY_VIEW: return Bytes<arrow::BinaryViewType>();
      case Type::FIXED_SIZE_BINARY: return Bytes<arrow::FixedSizeBinaryType>();
      default: return Status::TypeError("no value of type ", type.ToString(), " has a normal form");
    }
  }
};

}  // namespace

Result<std::shared_ptr<arrow::Array>> MakeArrayOf(const std::shared_ptr<arrow::DataType>& type,
                                                  const std::vector<std::optional<Value>>& values) {
  auto plain = PlainType(type);
  PILUM_ASSIGN_OR_RETURN(auto builder, arrow::MakeBuilder(plain));
  PILUM_RETURN_NOT_OK(builder->Reserve(static_cast<int64_t>(values.size())));
  PILUM_RETURN_NOT_OK((Appender{builder.get(), values}.Run(*plain)));
  return builder->Finish();
}

}  // namespace pilum
