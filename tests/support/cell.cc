#include "tests/support/cell.h"

#include <cmath>
#include <cstring>
#include <stdexcept>

#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>
#include <fmt/format.h>

namespace pilum::testing {
namespace {

using arrow::Type;
using arrow::internal::checked_cast;

__int128 Pow10(int n) {
  __int128 v = 1;
  while (n-- > 0) v *= 10;
  return v;
}

template <typename T>
int Sign(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int CompareFloats(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return Sign(std::isnan(a), std::isnan(b));
  return Sign(a, b);
}

// Exact for scales up to 3 and |units| below 1e30, which is all that the generators make.
int CompareExactFloat(const Cell& a, double b) {
  if (std::isnan(b) || b > 1e30) return -1;
  if (b < -1e30) return 1;
  const double whole = std::floor(b);
  const __int128 ten = Pow10(a.scale);
  __int128 q = a.units / ten, r = a.units % ten;
  if (r < 0) {
    r += ten;
    --q;
  }
  if (int c = Sign(q, static_cast<__int128>(whole))) return c;
  return Sign(static_cast<long double>(r), static_cast<long double>(b - whole) * static_cast<long double>(ten));
}

__int128 ToInt128(const arrow::Decimal256& d) {
  const auto words = d.little_endian_array();
  return static_cast<__int128>((static_cast<unsigned __int128>(words[1]) << 64) | words[0]);
}

arrow::Decimal128 DecimalOf(const Cell& c, const arrow::DataType& type) {
  const __int128 units = c.units * Pow10(checked_cast<const arrow::DecimalType&>(type).scale() - c.scale);
  return arrow::Decimal128(static_cast<int64_t>(units >> 64), static_cast<uint64_t>(units));
}

std::string Digits(__int128 v) {
  if (v < 0) return "-" + Digits(-v);
  return v < 10 ? std::string(1, static_cast<char>('0' + static_cast<int>(v)))
                : Digits(v / 10) + static_cast<char>('0' + static_cast<int>(v % 10));
}

void Must(const arrow::Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <typename Builder, typename T>
void Put(arrow::ArrayBuilder* builder, const T& v) {
  Must(checked_cast<Builder&>(*builder).Append(v));
}

template <typename ArrayType>
Cell IntOf(const arrow::Array& a, int64_t i, int64_t tick) {
  return Cell::Exact(static_cast<__int128>(checked_cast<const ArrayType&>(a).Value(i)) * (tick ? tick : 1));
}

}  // namespace

int64_t TickNanos(const arrow::DataType& type) {
  auto of = [](arrow::TimeUnit::type unit) -> int64_t {
    switch (unit) {
      case arrow::TimeUnit::SECOND: return 1000000000;
      case arrow::TimeUnit::MILLI: return 1000000;
      case arrow::TimeUnit::MICRO: return 1000;
      default: return 1;
    }
  };
  switch (type.id()) {
    case Type::DATE32: return 86400ll * 1000000000;
    case Type::DATE64: return 1000000;
    case Type::TIME32:
    case Type::TIME64: return of(checked_cast<const arrow::TimeType&>(type).unit());
    case Type::TIMESTAMP: return of(checked_cast<const arrow::TimestampType&>(type).unit());
    case Type::DURATION: return of(checked_cast<const arrow::DurationType&>(type).unit());
    default: return 0;
  }
}

int CompareCells(const Cell& a, const Cell& b) {
  using K = Cell::Kind;
  if (a.kind == K::kExact && b.kind == K::kExact) {
    const int scale = std::max(a.scale, b.scale);
    return Sign(a.units * Pow10(scale - a.scale), b.units * Pow10(scale - b.scale));
  }
  if (a.kind == K::kFloat && b.kind == K::kFloat) return CompareFloats(a.real, b.real);
  if (a.kind == K::kExact && b.kind == K::kFloat) return CompareExactFloat(a, b.real);
  if (a.kind == K::kFloat && b.kind == K::kExact) return -CompareExactFloat(b, a.real);
  if (a.kind == K::kBytes && b.kind == K::kBytes) return Sign(a.bytes.compare(b.bytes), 0);
  if (a.kind == K::kBool && b.kind == K::kBool) return Sign(a.truth, b.truth);
  throw std::runtime_error("cells that do not compare: " + ToString(a) + " and " + ToString(b));
}

bool Identical(const Cell& a, const Cell& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case Cell::Kind::kNull: return true;
    case Cell::Kind::kFloat:
      return std::isnan(a.real) ? std::isnan(b.real) : a.real == b.real && std::signbit(a.real) == std::signbit(b.real);
    case Cell::Kind::kList:
    case Cell::Kind::kStruct:
      if (a.items.size() != b.items.size()) return false;
      for (size_t i = 0; i < a.items.size(); ++i)
        if (!Identical(a.items[i], b.items[i])) return false;
      return true;
    default: return CompareCells(a, b) == 0;
  }
}

std::string ToString(const Cell& c) {
  switch (c.kind) {
    case Cell::Kind::kNull: return "NULL";
    case Cell::Kind::kExact: return c.scale ? Digits(c.units) + "e-" + std::to_string(c.scale) : Digits(c.units);
    case Cell::Kind::kFloat: return fmt::format("{}f", c.real);
    case Cell::Kind::kBytes: return fmt::format("'{}'", c.bytes);
    case Cell::Kind::kBool: return c.truth ? "true" : "false";
    default: break;
  }
  std::string out = c.kind == Cell::Kind::kList ? "[" : "{";
  for (const Cell& item : c.items) out += (out.size() > 1 ? ", " : "") + ToString(item);
  return out + (c.kind == Cell::Kind::kList ? "]" : "}");
}

void AppendCell(const Cell& c, const arrow::DataType& type, arrow::ArrayBuilder* b) {
  if (c.is_null()) return Must(b->AppendNull());
  const int64_t tick = TickNanos(type);
  const int64_t n = static_cast<int64_t>(c.units / (tick ? tick : 1));
  switch (type.id()) {
    case Type::BOOL: return Put<arrow::BooleanBuilder>(b, c.truth);
    case Type::INT8: return Put<arrow::Int8Builder>(b, static_cast<int8_t>(n));
    case Type::INT16: return Put<arrow::Int16Builder>(b, static_cast<int16_t>(n));
    case Type::INT32: return Put<arrow::Int32Builder>(b, static_cast<int32_t>(n));
    case Type::INT64: return Put<arrow::Int64Builder>(b, n);
    case Type::UINT8: return Put<arrow::UInt8Builder>(b, static_cast<uint8_t>(n));
    case Type::UINT16: return Put<arrow::UInt16Builder>(b, static_cast<uint16_t>(n));
    case Type::UINT32: return Put<arrow::UInt32Builder>(b, static_cast<uint32_t>(n));
    case Type::UINT64: return Put<arrow::UInt64Builder>(b, static_cast<uint64_t>(c.units));
    case Type::HALF_FLOAT: return Put<arrow::HalfFloatBuilder>(b, arrow::util::Float16::FromDouble(c.real).bits());
    case Type::FLOAT: return Put<arrow::FloatBuilder>(b, static_cast<float>(c.real));
    case Type::DOUBLE: return Put<arrow::DoubleBuilder>(b, c.real);
    case Type::DECIMAL128: return Put<arrow::Decimal128Builder>(b, DecimalOf(c, type));
    case Type::DECIMAL256: return Put<arrow::Decimal256Builder>(b, arrow::Decimal256(DecimalOf(c, type)));
    case Type::STRING: return Put<arrow::StringBuilder>(b, c.bytes);
    case Type::LARGE_STRING: return Put<arrow::LargeStringBuilder>(b, c.bytes);
    case Type::BINARY: return Put<arrow::BinaryBuilder>(b, c.bytes);
    case Type::LARGE_BINARY: return Put<arrow::LargeBinaryBuilder>(b, c.bytes);
    case Type::FIXED_SIZE_BINARY: return Put<arrow::FixedSizeBinaryBuilder>(b, c.bytes);
    case Type::DICTIONARY: return Put<arrow::StringDictionary32Builder>(b, c.bytes);
    case Type::DATE32: return Put<arrow::Date32Builder>(b, static_cast<int32_t>(n));
    case Type::DATE64: return Put<arrow::Date64Builder>(b, n);
    case Type::TIME32: return Put<arrow::Time32Builder>(b, static_cast<int32_t>(n));
    case Type::TIME64: return Put<arrow::Time64Builder>(b, n);
    case Type::TIMESTAMP: return Put<arrow::TimestampBuilder>(b, n);
    case Type::DURATION: return Put<arrow::DurationBuilder>(b, n);
    case Type::LIST: {
      auto& list = checked_cast<arrow::ListBuilder&>(*b);
      Must(list.Append());
      for (const Cell& item : c.items) AppendCell(item, *type.field(0)->type(), list.value_builder());
      return;
    }
    case Type::STRUCT: {
      Must(checked_cast<arrow::StructBuilder&>(*b).Append());
      for (int i = 0; i < type.num_fields(); ++i)
        AppendCell(c.items[static_cast<size_t>(i)], *type.field(i)->type(), b->child(i));
      return;
    }
    default: throw std::runtime_error("AppendCell: " + type.ToString());
  }
}

Cell ReadCell(const arrow::Array& a, int64_t i) {
  if (a.IsNull(i)) return Cell::Null();
  const int64_t tick = TickNanos(*a.type());
  switch (a.type_id()) {
    case Type::BOOL: return Cell::Bool(checked_cast<const arrow::BooleanArray&>(a).Value(i));
    case Type::INT8: return IntOf<arrow::Int8Array>(a, i, 0);
    case Type::INT16: return IntOf<arrow::Int16Array>(a, i, 0);
    case Type::INT32: return IntOf<arrow::Int32Array>(a, i, 0);
    case Type::INT64: return IntOf<arrow::Int64Array>(a, i, 0);
    case Type::UINT8: return IntOf<arrow::UInt8Array>(a, i, 0);
    case Type::UINT16: return IntOf<arrow::UInt16Array>(a, i, 0);
    case Type::UINT32: return IntOf<arrow::UInt32Array>(a, i, 0);
    case Type::UINT64: return IntOf<arrow::UInt64Array>(a, i, 0);
    case Type::HALF_FLOAT:
      return Cell::Float(
          arrow::util::Float16::FromBits(checked_cast<const arrow::HalfFloatArray&>(a).Value(i)).ToDouble());
    case Type::FLOAT: return Cell::Float(checked_cast<const arrow::FloatArray&>(a).Value(i));
    case Type::DOUBLE: return Cell::Float(checked_cast<const arrow::DoubleArray&>(a).Value(i));
    case Type::DECIMAL128:
      return Cell::Exact(
          ToInt128(arrow::Decimal256(arrow::Decimal128(checked_cast<const arrow::Decimal128Array&>(a).GetValue(i)))),
          checked_cast<const arrow::DecimalType&>(*a.type()).scale());
    case Type::DECIMAL256:
      return Cell::Exact(ToInt128(arrow::Decimal256(checked_cast<const arrow::Decimal256Array&>(a).GetValue(i))),
                         checked_cast<const arrow::DecimalType&>(*a.type()).scale());
    case Type::STRING:
    case Type::BINARY: return Cell::Bytes(std::string(checked_cast<const arrow::BinaryArray&>(a).GetView(i)));
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return Cell::Bytes(std::string(checked_cast<const arrow::LargeBinaryArray&>(a).GetView(i)));
    case Type::FIXED_SIZE_BINARY:
      return Cell::Bytes(std::string(checked_cast<const arrow::FixedSizeBinaryArray&>(a).GetView(i)));
    case Type::DICTIONARY: {
      const auto& d = checked_cast<const arrow::DictionaryArray&>(a);
      return ReadCell(*d.dictionary(), d.GetValueIndex(i));
    }
    case Type::DATE32: return IntOf<arrow::Date32Array>(a, i, tick);
    case Type::DATE64: return IntOf<arrow::Date64Array>(a, i, tick);
    case Type::TIME32: return IntOf<arrow::Time32Array>(a, i, tick);
    case Type::TIME64: return IntOf<arrow::Time64Array>(a, i, tick);
    case Type::TIMESTAMP: return IntOf<arrow::TimestampArray>(a, i, tick);
    case Type::DURATION: return IntOf<arrow::DurationArray>(a, i, tick);
    case Type::LIST: {
      const auto& list = checked_cast<const arrow::ListArray&>(a);
      Cell out;
      out.kind = Cell::Kind::kList;
      for (int32_t k = list.value_offset(i); k < list.value_offset(i + 1); ++k)
        out.items.push_back(ReadCell(*list.values(), k));
      return out;
    }
    case Type::STRUCT: {
      Cell out;
      out.kind = Cell::Kind::kStruct;
      for (const auto& child : checked_cast<const arrow::StructArray&>(a).fields())
        out.items.push_back(ReadCell(*child, i));
      return out;
    }
    default: throw std::runtime_error("ReadCell: " + a.type()->ToString());
  }
}

}  // namespace pilum::testing
