#include <algorithm>
#include <map>

#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include "pilum/part/widen.h"

namespace pilum {
namespace {

using arrow::DataType;
using arrow::Type;
using TypePtr = std::shared_ptr<DataType>;

struct IntShape {
  int bits;
  bool is_signed;
};

std::optional<IntShape> IntShapeOf(const DataType& t) {
  switch (t.id()) {
    case Type::INT8: return IntShape{8, true};
    case Type::INT16: return IntShape{16, true};
    case Type::INT32: return IntShape{32, true};
    case Type::INT64: return IntShape{64, true};
    case Type::UINT8: return IntShape{8, false};
    case Type::UINT16: return IntShape{16, false};
    case Type::UINT32: return IntShape{32, false};
    case Type::UINT64: return IntShape{64, false};
    default: return std::nullopt;
  }
}

// 0: not a float.
int FloatBits(const DataType& t) {
  return t.id() == Type::HALF_FLOAT ? 16 : t.id() == Type::FLOAT ? 32 : t.id() == Type::DOUBLE ? 64 : 0;
}

TypePtr SignedOf(int bits) {
  switch (bits) {
    case 8: return arrow::int8();
    case 16: return arrow::int16();
    case 32: return arrow::int32();
    default: return arrow::int64();
  }
}

TypePtr CommonInt(const TypePtr& a, const TypePtr& b, IntShape x, IntShape y) {
  if (x.is_signed == y.is_signed) return x.bits >= y.bits ? a : b;
  const IntShape s = x.is_signed ? x : y, u = x.is_signed ? y : x;
  if (u.bits == 64) return arrow::decimal128(20, 0);  // nothing smaller holds both int64 and uint64
  return SignedOf(std::max(s.bits, u.bits * 2));
}

// The narrowest float that is at least `least` bits and holds every value of the integer type exactly.
TypePtr FloatFor(IntShape i, int least) {
  const int digits = i.is_signed ? i.bits - 1 : i.bits;
  if (digits <= 11 && least <= 16) return arrow::float16();
  if (digits <= 24 && least <= 32) return arrow::float32();
  if (digits <= 53) return arrow::float64();
  return nullptr;
}

int DigitsOf(IntShape i) {
  switch (i.bits) {
    case 8: return 3;
    case 16: return 5;
    case 32: return 10;
    default: return i.is_signed ? 19 : 20;
  }
}

TypePtr DecimalOf(int whole, int scale, bool wide) {
  const int precision = whole + scale;
  if (precision < 1 || precision > 76) return nullptr;
  if (!wide && precision <= 38) return arrow::decimal128(precision, scale);
  return arrow::decimal256(precision, scale);
}

bool IsDecimal(const DataType& t) { return arrow::is_decimal(t.id()); }

TypePtr CommonDecimal(const DataType& a, const DataType& b) {
  int whole = 0, scale = 0;
  bool wide = false, first = true;
  for (const DataType* t : {&a, &b}) {
    int t_scale = 0, t_whole = 0;
    if (const auto i = IntShapeOf(*t)) {
      t_whole = DigitsOf(*i);
    } else {
      const auto& d = static_cast<const arrow::DecimalType&>(*t);
      t_scale = d.scale();
      t_whole = d.precision() - d.scale();
      wide |= t->id() == Type::DECIMAL256;
    }
    scale = first ? t_scale : std::max(scale, t_scale);
    whole = std::max(whole, t_whole);
    first = false;
  }
  return DecimalOf(whole, scale, wide);
}

TypePtr CommonTime(const DataType& a, const DataType& b) {
  const auto &x = static_cast<const arrow::TimeType&>(a), &y = static_cast<const arrow::TimeType&>(b);
  const auto unit = std::max(x.unit(), y.unit());
  if (unit == arrow::TimeUnit::SECOND || unit == arrow::TimeUnit::MILLI) return arrow::time32(unit);
  return arrow::time64(unit);
}

// Which of the three text or binary layouts: 0 none.
int TextKind(const DataType& t) {
  return t.id() == Type::STRING || t.id() == Type::STRING_VIEW ? 1 : t.id() == Type::LARGE_STRING ? 2 : 0;
}
int BinaryKind(const DataType& t) {
  if (t.id() == Type::FIXED_SIZE_BINARY || t.id() == Type::BINARY || t.id() == Type::BINARY_VIEW) return 1;
  return t.id() == Type::LARGE_BINARY ? 2 : 0;
}

bool HasTwice(const arrow::FieldVector& fields) {
  std::map<std::string, int> seen;
  return std::any_of(fields.begin(), fields.end(), [&](const auto& f) { return ++seen[f->name()] > 1; });
}

TypePtr CommonStruct(const DataType& a, const DataType& b) {
  if (HasTwice(a.fields()) || HasTwice(b.fields())) return nullptr;
  arrow::FieldVector fields;
  for (const auto& f : a.fields()) {
    const int at = static_cast<const arrow::StructType&>(b).GetFieldIndex(f->name());
    auto field = at < 0 ? f->WithNullable(true) : CommonField(f, b.field(at));
    if (!field) return nullptr;
    fields.push_back(std::move(field));
  }
  for (const auto& f : b.fields()) {
    if (static_cast<const arrow::StructType&>(a).GetFieldIndex(f->name()) < 0) fields.push_back(f->WithNullable(true));
  }
  return arrow::struct_(std::move(fields));
}

bool IsList(const DataType& t) { return t.id() == Type::LIST || t.id() == Type::LARGE_LIST; }

TypePtr CommonNested(const TypePtr& a, const TypePtr& b) {
  if (a->id() == Type::STRUCT && b->id() == Type::STRUCT) return CommonStruct(*a, *b);
  if (IsList(*a) && IsList(*b)) {
    auto item = CommonField(a->field(0), b->field(0));
    if (!item) return nullptr;
    const bool large = a->id() == Type::LARGE_LIST || b->id() == Type::LARGE_LIST;
    return large ? arrow::large_list(std::move(item)) : arrow::list(std::move(item));
  }
  if (a->id() != b->id()) return nullptr;
  if (a->id() == Type::FIXED_SIZE_LIST) {
    const auto &x = static_cast<const arrow::FixedSizeListType&>(*a),
               &y = static_cast<const arrow::FixedSizeListType&>(*b);
    auto item = CommonField(a->field(0), b->field(0));
    if (!item || x.list_size() != y.list_size()) return nullptr;
    return arrow::fixed_size_list(std::move(item), x.list_size());
  }
  if (a->id() == Type::MAP) {
    const auto &x = static_cast<const arrow::MapType&>(*a), &y = static_cast<const arrow::MapType&>(*b);
    auto key = CommonType(x.key_type(), y.key_type());
    auto item = CommonField(x.item_field(), y.item_field());
    if (!key || !item) return nullptr;
    return std::make_shared<arrow::MapType>(x.key_field()->WithType(key), std::move(item),
                                            x.keys_sorted() && y.keys_sorted());
  }
  return nullptr;
}

TypePtr CommonNumber(const TypePtr& a, const TypePtr& b) {
  const auto i = IntShapeOf(*a), j = IntShapeOf(*b);
  if (i && j) return CommonInt(a, b, *i, *j);
  const int f = FloatBits(*a), g = FloatBits(*b);
  if (f && g) return f >= g ? a : b;
  if (f && j) return FloatFor(*j, f);
  if (i && g) return FloatFor(*i, g);
  if ((i || IsDecimal(*a)) && (j || IsDecimal(*b))) return CommonDecimal(*a, *b);
  return nullptr;
}

}  // namespace

TypePtr CommonType(const TypePtr& a, const TypePtr& b) {
  if (a->Equals(*b)) return a;
  if (a->id() == Type::NA) return b;
  if (b->id() == Type::NA) return a;
  if (a->id() == Type::EXTENSION || b->id() == Type::EXTENSION) return nullptr;
  if (a->id() == Type::DICTIONARY || b->id() == Type::DICTIONARY) {  // its value type takes part
    auto plain = [](const TypePtr& t) {
      return t->id() == Type::DICTIONARY ? static_cast<const arrow::DictionaryType&>(*t).value_type() : t;
    };
    return CommonType(plain(a), plain(b));
  }
  if (auto number = CommonNumber(a, b)) return number;
  if (TextKind(*a) && TextKind(*b))
    return std::max(TextKind(*a), TextKind(*b)) == 2 ? arrow::large_utf8() : arrow::utf8();
  if (BinaryKind(*a) && BinaryKind(*b)) {
    return std::max(BinaryKind(*a), BinaryKind(*b)) == 2 ? arrow::large_binary() : arrow::binary();
  }
  if (arrow::is_date(a->id()) && arrow::is_date(b->id())) return arrow::date64();
  if (arrow::is_time(a->id()) && arrow::is_time(b->id())) return CommonTime(*a, *b);
  if (a->id() == Type::DURATION && b->id() == Type::DURATION) {
    return arrow::duration(std::max(static_cast<const arrow::DurationType&>(*a).unit(),
                                    static_cast<const arrow::DurationType&>(*b).unit()));
  }
  if (a->id() == Type::TIMESTAMP && b->id() == Type::TIMESTAMP) {
    const auto &x = static_cast<const arrow::TimestampType&>(*a), &y = static_cast<const arrow::TimestampType&>(*b);
    if (x.timezone() != y.timezone()) return nullptr;
    return arrow::timestamp(std::max(x.unit(), y.unit()), x.timezone());
  }
  return CommonNested(a, b);
}

std::shared_ptr<arrow::Field> CommonField(const std::shared_ptr<arrow::Field>& a,
                                          const std::shared_ptr<arrow::Field>& b) {
  auto type = CommonType(a->type(), b->type());
  if (!type) return nullptr;
  return arrow::field(a->name(), std::move(type), a->nullable() || b->nullable(), a->metadata());
}

}  // namespace pilum
