#include "pilum/values/value.h"

#include <cmath>
#include <limits>

#include "pilum/base/bytes.h"
#include "pilum/values/decimal.h"

namespace pilum {

Domain DomainOf(const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::BOOL:
    case Type::INT8:
    case Type::INT16:
    case Type::INT32:
    case Type::INT64:
    case Type::UINT8:
    case Type::UINT16:
    case Type::UINT32:
    case Type::UINT64:
    case Type::DATE32:
    case Type::DATE64:
    case Type::TIME32:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION: return Domain::kInt;
    case Type::HALF_FLOAT:
    case Type::FLOAT:
    case Type::DOUBLE: return Domain::kFloat;
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256: return Domain::kDecimal;
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW: return Domain::kText;
    case Type::BINARY:
    case Type::LARGE_BINARY:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY: return Domain::kBinary;
    case Type::DICTIONARY: return DomainOf(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case Type::EXTENSION: return DomainOf(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    default: return Domain::kNone;
  }
}

Value Value::Float(double v) {
  Value out(Domain::kFloat);
  out.float_ = std::isnan(v) ? std::numeric_limits<double>::quiet_NaN() : v == 0 ? 0.0 : v;
  return out;
}

Value Value::Decimal(const arrow::Decimal256& unscaled) {
  Value out(Domain::kDecimal);
  out.decimal_ = unscaled;
  return out;
}

int CompareFloat(double a, double b) {
  if (a < b) return -1;
  if (a > b) return 1;
  if (a == b) return 0;
  return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
}

int Compare(const Value& a, const Value& b) {
  switch (a.domain()) {
    case Domain::kInt: return a.as_int() < b.as_int() ? -1 : a.as_int() > b.as_int();
    case Domain::kFloat: return CompareFloat(a.as_float(), b.as_float());
    case Domain::kDecimal: return a.as_decimal() < b.as_decimal() ? -1 : b.as_decimal() < a.as_decimal();
    case Domain::kText:
    case Domain::kBinary: {
      int c = a.as_bytes().compare(b.as_bytes());  // char_traits<char> compares as unsigned bytes
      return c < 0 ? -1 : c > 0;
    }
    case Domain::kNone: break;
  }
  return 0;
}

namespace {

std::string IntText(Int128 v) {
  if (v == 0) return "0";
  bool negative = v < 0;
  auto u = negative ? -static_cast<unsigned __int128>(v) : static_cast<unsigned __int128>(v);
  std::string out;
  for (; u > 0; u /= 10) out.insert(out.begin(), static_cast<char>('0' + static_cast<int>(u % 10)));
  return negative ? "-" + out : out;
}

std::string BytesText(const std::string& bytes, bool text) {
  std::string out = text ? "'" : "x'";
  size_t shown = std::min<size_t>(bytes.size(), 40);
  // Never cut inside a code point.
  while (text && shown < bytes.size() && shown > 0 && (static_cast<uint8_t>(bytes[shown]) & 0xC0) == 0x80) --shown;
  if (text) {
    out.append(bytes, 0, shown);
  } else {
    for (size_t i = 0; i < shown; ++i) out += fmt::format("{:02x}", static_cast<uint8_t>(bytes[i]));
  }
  return out + (shown < bytes.size() ? "…'" : "'");
}

}  // namespace

std::string Value::ToString() const {
  switch (domain_) {
    case Domain::kInt: return IntText(int_);
    case Domain::kFloat: return std::isnan(float_) ? "NaN" : fmt::format("{}", float_);
    case Domain::kDecimal: return decimal_.ToIntegerString() + "u";
    case Domain::kText: return BytesText(bytes_, true);
    case Domain::kBinary: return BytesText(bytes_, false);
    case Domain::kNone: break;
  }
  return "?";
}

namespace {

// Minimal two's complement, little endian: at least one byte; the top bit of the last one is the sign.
void AppendMinimal(const arrow::Decimal256& v, std::string* out) {
  auto bytes = v.ToBytes();  // 32 bytes, little endian on the machines we run on
  size_t n = bytes.size();
  while (n > 1) {
    uint8_t top = bytes[n - 1], below = bytes[n - 2];
    bool drop = (top == 0x00 && below < 0x80) || (top == 0xFF && below >= 0x80);
    if (!drop) break;
    --n;
  }
  out->append(reinterpret_cast<const char*>(bytes.data()), n);
}

void AppendDecimal(arrow::Decimal256 v, int32_t scale, std::string* out) {
  const arrow::Decimal256 zero, ten(10);
  if (v == zero) scale = 0;
  while (v != zero) {
    const auto divided = DivideDecimal(v, ten);
    if (divided->rest != zero) break;
    v = divided->quotient;
    --scale;
  }
  AppendLE<int8_t>(out, static_cast<int8_t>(scale));
  AppendMinimal(v, out);
}

}  // namespace

void AppendHashBytes(const Value& value, int32_t scale, std::string* out) {
  switch (value.domain()) {
    case Domain::kInt:
      out->push_back(1);
      AppendLE<Int128>(out, value.as_int());
      break;
    case Domain::kFloat:
      out->push_back(2);
      AppendLE<double>(out, value.as_float());
      break;
    case Domain::kDecimal:
      out->push_back(3);
      AppendDecimal(value.as_decimal(), scale, out);
      break;
    case Domain::kText:
      out->push_back(4);
      out->append(value.as_bytes());
      break;
    case Domain::kBinary:
      out->push_back(5);
      out->append(value.as_bytes());
      break;
    case Domain::kNone: break;
  }
}

}  // namespace pilum
