#include "tests/support/random_table.h"

#include <cmath>
#include <limits>
#include <stdexcept>

namespace pilum::testing {
namespace {

using arrow::Type;

constexpr int64_t kSecond = 1000000000, kDay = 86400 * kSecond;
constexpr int64_t kEpoch = 1704862800 * kSecond;  // 2024-01-10 05:00:00 UTC

std::vector<Column> AllColumns() {
  auto st = arrow::struct_({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())});
  auto us = arrow::TimeUnit::MICRO;
  return {
      {"i8", "i8", arrow::int8(), nullptr},
      {"i16", "i16", arrow::int16(), arrow::int8()},
      {"i32", "i32", arrow::int32(), arrow::int16()},
      {"i64", "i64", arrow::int64(), arrow::int32()},
      {"u8", "u8", arrow::uint8(), nullptr},
      {"u16", "u16", arrow::uint16(), nullptr},
      {"u32", "u32", arrow::uint32(), arrow::uint8()},
      {"u64", "u64", arrow::uint64(), arrow::uint32()},
      {"f16", "f16", arrow::float16(), nullptr},
      {"f32", "f32", arrow::float32(), nullptr},
      {"f64", "f64", arrow::float64(), arrow::float32()},
      {"dc", "dc", arrow::decimal128(12, 2), arrow::decimal128(8, 1)},
      {"big dec", "\"big dec\"", arrow::decimal256(40, 3), nullptr},
      {"s", "s", arrow::utf8(), nullptr},
      {"ls", "ls", arrow::large_utf8(), arrow::utf8()},
      {"Cat", "\"Cat\"", arrow::dictionary(arrow::int32(), arrow::utf8()), nullptr},
      {"bin", "bin", arrow::binary(), nullptr},
      {"fsb", "fsb", arrow::fixed_size_binary(2), nullptr},
      {"b", "b", arrow::boolean(), nullptr},
      {"d", "d", arrow::date32(), nullptr},
      {"d64", "d64", arrow::date64(), nullptr},
      {"t32", "t32", arrow::time32(arrow::TimeUnit::SECOND), nullptr},
      {"t64", "t64", arrow::time64(us), nullptr},
      {"ts", "ts", arrow::timestamp(us), arrow::timestamp(arrow::TimeUnit::SECOND)},
      {"tns", "tns", arrow::timestamp(arrow::TimeUnit::NANO), nullptr},
      {"tms", "tms", arrow::timestamp(arrow::TimeUnit::MILLI), nullptr},
      {"tz", "tz", arrow::timestamp(us, "UTC"), nullptr},
      {"ny", "ny", arrow::timestamp(arrow::TimeUnit::MILLI, "America/New_York"), nullptr},
      {"dur", "dur", arrow::duration(us), nullptr},
      {"li", "li", arrow::list(arrow::int64()), nullptr},
      {"lt", "lt", arrow::list(arrow::utf8()), nullptr},
      {"st", "st", st, nullptr},
      {"lst", "lst", arrow::list(st), nullptr},
  };
}

const std::vector<std::string>& Texts() {
  static const std::vector<std::string> texts = {"",
                                                 "a",
                                                 "ab",
                                                 "abc",
                                                 "Ab",
                                                 "b%c",
                                                 "x_y",
                                                 "é",
                                                 "検索",
                                                 "a'b",
                                                 "line\nbreak",
                                                 "The ab, a ABC; k3",
                                                 "k12 the é-検索 k14",
                                                 "a, b, " + std::string(70, 'W') + "1 the",
                                                 "ab " + std::string(70, 'w') + "2 ",
                                                 std::string(80, 'z'),
                                                 std::string(79, 'z') + "y",
                                                 "\xf4\x8f\xbf\xbf"};
  return texts;
}

template <typename T>
Cell RandomInt(Random& rng, int64_t near) {
  constexpr __int128 lo = std::numeric_limits<T>::min(), hi = std::numeric_limits<T>::max();
  if (rng.Chance(0.05)) return Cell::Exact(rng.Chance(0.5) ? lo : hi);
  if (sizeof(T) == 8 && rng.Chance(0.05)) return Cell::Exact((__int128{1} << 53) + rng.Below(2));
  const __int128 v = near + rng.Below(8) - (lo < 0 && rng.Chance(0.2) ? 6 : 0);
  return Cell::Exact(std::min(hi, std::max(lo, v)));
}

Cell RandomFloat(Random& rng, const arrow::DataType& type, int64_t near) {
  static const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  if (rng.Chance(0.5)) return Cell::Float(static_cast<double>(near + rng.Below(6)) + (rng.Chance(0.3) ? 0.5 : 0.0));
  double v = rng.Pick(std::vector<double>{0.1, -0.0, 0.0, 1.5, nan, nan, inf, -inf, -1e30, 3.0, 16777216.0,
                                          9007199254740992.0, 3.4028234663852886e38});
  if (type.id() == Type::HALF_FLOAT) v = std::isfinite(v) && std::abs(v) > 4 ? 65504.0 : v == 0.1 ? 0.25 : v;
  return Cell::Float(type.id() == Type::FLOAT ? static_cast<double>(static_cast<float>(v)) : v);
}

Cell RandomTime(Random& rng, const arrow::DataType& type, int64_t near) {
  const int64_t tick = TickNanos(type);
  int64_t v;
  switch (type.id()) {
    case Type::DATE32:
    case Type::DATE64: v = (19732 + near + rng.Below(4) - (rng.Chance(0.1) ? 20000 : 0)) * kDay; break;
    case Type::TIME32:
    case Type::TIME64: v = (near % 20) * 3600 * kSecond + rng.Below(4) * kSecond + rng.Below(2) * kSecond / 2; break;
    case Type::DURATION: v = (near + rng.Below(5) - 2) * kSecond; break;
    default:
      v = kEpoch + (near * 3600 + rng.Below(3)) * kSecond + rng.Pick(std::vector<int64_t>{0, 0, kSecond / 2, 1000, 1});
      if (rng.Chance(0.1)) v = -304369139 * kSecond + 250 * 1000000;  // before 1970
  }
  const int64_t floored = v >= 0 ? v / tick * tick : -((-v + tick - 1) / tick * tick);
  return Cell::Exact(floored);
}

// `near`: where this part's values lie, so that parts and zones can be told apart.
Cell RandomCell(Random& rng, const arrow::DataType& type, int64_t near, double nulls) {
  if (rng.Chance(nulls)) return Cell::Null();
  switch (type.id()) {
    case Type::BOOL: return Cell::Bool(rng.Chance(0.5));
    case Type::INT8: return RandomInt<int8_t>(rng, near);
    case Type::INT16: return RandomInt<int16_t>(rng, near);
    case Type::INT32: return RandomInt<int32_t>(rng, near);
    case Type::INT64: return RandomInt<int64_t>(rng, near);
    case Type::UINT8: return RandomInt<uint8_t>(rng, near);
    case Type::UINT16: return RandomInt<uint16_t>(rng, near);
    case Type::UINT32: return RandomInt<uint32_t>(rng, near);
    case Type::UINT64: return RandomInt<uint64_t>(rng, near);
    case Type::HALF_FLOAT:
    case Type::FLOAT:
    case Type::DOUBLE: return RandomFloat(rng, type, near);
    case Type::DECIMAL128:
    case Type::DECIMAL256: {
      const int scale = static_cast<const arrow::DecimalType&>(type).scale();
      return Cell::Exact((near + rng.Below(4) - 2) * (scale == 1 ? 10 : scale == 2 ? 100 : 1000) + rng.Below(3), scale);
    }
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::DICTIONARY:
      return Cell::Bytes(rng.Chance(0.3) ? "k" + std::to_string(near + rng.Below(9)) : rng.Pick(Texts()));
    case Type::BINARY:
      return Cell::Bytes(
          rng.Pick(std::vector<std::string>{"", std::string(1, '\0'), "\xff", std::string("\0\xff", 2), "ab"}));
    case Type::FIXED_SIZE_BINARY:
      return Cell::Bytes(rng.Pick(std::vector<std::string>{"ab", std::string(2, '\0'), "\xff\xff", "ac"}));
    case Type::LIST: {
      Cell list;
      list.kind = Cell::Kind::kList;
      for (int64_t n = rng.Below(4); n > 0; --n)
        list.items.push_back(RandomCell(rng, *type.field(0)->type(), near, 0.15));
      return list;
    }
    case Type::STRUCT: {
      Cell out;
      out.kind = Cell::Kind::kStruct;
      for (const auto& f : type.fields()) out.items.push_back(RandomCell(rng, *f->type(), near, 0.15));
      return out;
    }
    default: return RandomTime(rng, type, near);
  }
}

std::shared_ptr<arrow::Array> Build(const std::vector<Row>& rows, size_t column,
                                    const std::shared_ptr<arrow::DataType>& type) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  if (type->id() == Type::DICTIONARY)
    builder = std::make_unique<arrow::StringDictionary32Builder>();
  else
    builder = arrow::MakeBuilder(type).ValueOrDie();
  for (const Row& row : rows) AppendCell(row[column], *type, builder.get());
  return builder->Finish().ValueOrDie();
}

}  // namespace

RandomTable MakeRandomTable(Random& rng) {
  RandomTable table;
  table.columns.push_back({"id", "id", arrow::int64(), nullptr});
  std::vector<Column> all = AllColumns();
  for (int64_t n = 3 + rng.Below(8); n > 0; --n) {
    const size_t i = static_cast<size_t>(rng.Below(static_cast<int64_t>(all.size())));
    table.columns.push_back(all[i]);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
  std::vector<bool> wide(table.columns.size());  // some part has the widest type
  int64_t id = 0;
  for (int64_t p = 0, parts = 1 + rng.Below(4); p < parts; ++p) {
    const int64_t rows = rng.Pick(std::vector<int64_t>{0, 1, 2, 9, 50, 50, 300, rng.Chance(0.2) ? 2600 : 100});
    const bool lacks_some = p > 0 && rng.Chance(0.3);
    const double nulls = rng.Pick(std::vector<double>{0, 0, 0.12, 0.5, 1});
    const bool moves = rng.Chance(0.5);  // values drift with the row number: zones differ
    std::vector<std::shared_ptr<arrow::DataType>> types;
    for (const Column& c : table.columns) {
      const bool first = types.empty();
      types.push_back(!first && lacks_some && rng.Chance(0.3) ? nullptr
                      : c.narrow && rng.Chance(0.4)           ? c.narrow
                                                              : c.type);
    }
    std::vector<Row> cells;
    for (int64_t r = 0; r < rows; ++r) {
      const int64_t near = 12 * p + (moves ? r / 40 : 0);
      Row row = {Cell::Exact(id++)};
      for (size_t c = 1; c < types.size(); ++c)
        row.push_back(types[c] ? RandomCell(rng, *types[c], near, nulls) : Cell::Null());
      cells.push_back(std::move(row));
    }
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (size_t c = 0; c < types.size(); ++c) {
      if (!types[c]) continue;
      if (types[c] == table.columns[c].type) wide[c] = true;
      fields.push_back(arrow::field(table.columns[c].name, types[c]));
      arrays.push_back(Build(cells, c, types[c]));
    }
    if (fields.size() > 2 && rng.Chance(0.3)) {
      std::swap(fields[1], fields[2]);
      std::swap(arrays[1], arrays[2]);
    }
    table.batches.push_back(arrow::RecordBatch::Make(arrow::schema(fields), rows, arrays));
    table.parts.push_back(std::move(cells));
  }
  arrow::FieldVector widest;
  for (size_t c = 0; c < wide.size(); ++c)
    if (!wide[c]) table.columns[c].type = table.columns[c].narrow;
  for (const Column& c : table.columns) widest.push_back(arrow::field(c.name, c.type));
  table.schema = arrow::schema(widest);
  return table;
}

}  // namespace pilum::testing
