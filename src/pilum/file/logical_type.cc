#include "pilum/file/logical_type.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace pilum {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

constexpr int kMaxListDepth = 32;  // fixed-size lists in one string; each is a level of recursion

const std::vector<std::pair<std::string_view, TypePtr>>& PlainTypes() {
  static const std::vector<std::pair<std::string_view, TypePtr>> types = {
      {"null", arrow::null()},
      {"bool", arrow::boolean()},
      {"int8", arrow::int8()},
      {"uint8", arrow::uint8()},
      {"int16", arrow::int16()},
      {"uint16", arrow::uint16()},
      {"int32", arrow::int32()},
      {"uint32", arrow::uint32()},
      {"int64", arrow::int64()},
      {"uint64", arrow::uint64()},
      {"halffloat", arrow::float16()},
      {"float", arrow::float32()},
      {"double", arrow::float64()},
      {"string", arrow::utf8()},
      {"large_string", arrow::large_utf8()},
      {"binary", arrow::binary()},
      {"large_binary", arrow::large_binary()},
      {"date32:day", arrow::date32()},
      {"date64:ms", arrow::date64()},
  };
  return types;
}

constexpr std::array<std::string_view, 4> kUnits = {"s", "ms", "us", "ns"};  // in the order of arrow::TimeUnit

std::optional<arrow::TimeUnit::type> ParseUnit(std::string_view s) {
  for (size_t i = 0; i < kUnits.size(); ++i) {
    if (kUnits[i] == s) return static_cast<arrow::TimeUnit::type>(i);
  }
  return std::nullopt;
}

std::optional<int32_t> ParseInt(std::string_view s) {
  int32_t v = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), v);
  if (error != std::errc() || end != s.data() + s.size()) return std::nullopt;
  return v;
}

Status Unknown(std::string_view logical) {
  return Unsupported("type '{}' is not known to this Pilum", logical.substr(0, 200));
}

// "head:rest" -> rest where `s` begins with "head:".
std::optional<std::string_view> After(std::string_view s, std::string_view head) {
  if (s.size() <= head.size() || !s.starts_with(head) || s[head.size()] != ':') return std::nullopt;
  return s.substr(head.size() + 1);
}

Result<TypePtr> ParseTemporal(std::string_view logical) {
  if (auto zone = After(logical, "timestamp")) {
    size_t colon = zone->find(':');  // the zone itself may hold colons
    if (colon == std::string_view::npos) return Unknown(logical);
    auto unit = ParseUnit(zone->substr(0, colon));
    if (!unit) return Unknown(logical);
    std::string_view tz = zone->substr(colon + 1);
    return tz == "-" ? arrow::timestamp(*unit) : arrow::timestamp(*unit, std::string(tz));
  }
  for (auto head : {"time32", "time64", "duration"}) {
    auto rest = After(logical, head);
    if (!rest) continue;
    auto unit = ParseUnit(*rest);
    if (!unit) return Unknown(logical);
    bool coarse = *unit <= arrow::TimeUnit::MILLI;
    if (std::string_view(head) == "duration") return arrow::duration(*unit);
    if (std::string_view(head) == "time32" && coarse) return arrow::time32(*unit);
    if (std::string_view(head) == "time64" && !coarse) return arrow::time64(*unit);
    return Unknown(logical);
  }
  return nullptr;
}

Result<TypePtr> ParseDecimal(std::string_view logical, std::string_view rest) {
  size_t a = rest.find(':'), b = a == std::string_view::npos ? a : rest.find(':', a + 1);
  if (b == std::string_view::npos) return Unknown(logical);
  auto precision = ParseInt(rest.substr(a + 1, b - a - 1));
  auto scale = ParseInt(rest.substr(b + 1));
  if (!precision || !scale) return Unknown(logical);
  auto width = rest.substr(0, a);
  auto type = width == "128"   ? arrow::Decimal128Type::Make(*precision, *scale)
              : width == "256" ? arrow::Decimal256Type::Make(*precision, *scale)
                               : Result<TypePtr>(Unknown(logical));
  if (!type.ok()) return Unknown(logical);
  return type;
}

Result<TypePtr> ParseDictionary(std::string_view logical, std::string_view rest) {
  // dict:<value>:<key>:<ordered>, and no value type with a colon is ever written
  size_t b = rest.rfind(':'),
         a = b == std::string_view::npos || b == 0 ? std::string_view::npos : rest.rfind(':', b - 1);
  if (a == std::string_view::npos) return Unknown(logical);
  auto ordered = rest.substr(b + 1);
  auto value_name = rest.substr(0, a);
  if ((ordered != "false" && ordered != "true") || value_name.find(':') != std::string_view::npos)
    return Unknown(logical);
  PILUM_ASSIGN_OR_RETURN(auto value, ParseLogicalType(value_name));
  PILUM_ASSIGN_OR_RETURN(auto key, ParseLogicalType(rest.substr(a + 1, b - a - 1)));
  auto type = arrow::DictionaryType::Make(key, value, ordered == "true");
  if (!type.ok()) return Unknown(logical);
  return type;
}

Result<TypePtr> Parse(std::string_view logical, int depth);

Result<TypePtr> ParseFixedSizeList(std::string_view logical, std::string_view rest, int depth) {
  size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || depth >= kMaxListDepth) return Unknown(logical);
  auto dimension = ParseInt(rest.substr(colon + 1));
  if (!dimension || *dimension <= 0) return Unknown(logical);
  std::string_view item = rest.substr(0, colon);
  PILUM_ASSIGN_OR_RETURN(auto item_type, Parse(item, depth + 1));
  std::shared_ptr<const arrow::KeyValueMetadata> metadata;
  if (item == kBfloat16) {
    metadata = arrow::key_value_metadata({std::string(kExtensionName), std::string(kExtensionMetadata)},
                                         {std::string(kBfloat16), ""});
  }
  return arrow::fixed_size_list(arrow::field("item", item_type, true, metadata), *dimension);
}

Result<TypePtr> Parse(std::string_view logical, int depth) {
  for (const auto& [name, type] : PlainTypes()) {
    if (name == logical) return type;
  }
  if (logical == "json") return arrow::large_binary();
  if (logical == kBfloat16) return arrow::fixed_size_binary(2);
  PILUM_ASSIGN_OR_RETURN(auto temporal, ParseTemporal(logical));
  if (temporal) return temporal;
  if (auto rest = After(logical, "decimal")) return ParseDecimal(logical, *rest);
  if (auto rest = After(logical, "dict")) return ParseDictionary(logical, *rest);
  if (auto rest = After(logical, "fixed_size_list")) return ParseFixedSizeList(logical, *rest, depth);
  if (auto rest = After(logical, "fixed_size_binary")) {
    auto width = ParseInt(*rest);
    if (!width || *width < 0) return Unknown(logical);
    return arrow::fixed_size_binary(*width);
  }
  return Unknown(logical);
}

std::string_view UnitName(arrow::TimeUnit::type unit) { return kUnits[static_cast<size_t>(unit)]; }

}  // namespace

bool IsBfloat16(const arrow::Field& field) {
  if (field.type()->id() != arrow::Type::FIXED_SIZE_BINARY || !field.metadata()) return false;
  if (static_cast<const arrow::FixedSizeBinaryType&>(*field.type()).byte_width() != 2) return false;
  auto name = field.metadata()->Get(kExtensionName);
  return name.ok() && *name == kBfloat16;
}

Result<std::shared_ptr<arrow::DataType>> ParseLogicalType(std::string_view logical) { return Parse(logical, 0); }

int32_t FixedSizeListOfStruct(std::string_view logical) {
  auto rest = After(logical, "fixed_size_list:struct");
  auto dimension = rest ? ParseInt(*rest) : std::nullopt;
  return dimension && *dimension > 0 ? *dimension : 0;
}

Result<std::string> FormatLogicalType(const arrow::DataType& type) {
  for (const auto& [name, plain] : PlainTypes()) {
    if (plain->id() == type.id()) return std::string(name);
  }
  switch (type.id()) {
    case arrow::Type::TIME32:
      return fmt::format("time32:{}", UnitName(static_cast<const arrow::Time32Type&>(type).unit()));
    case arrow::Type::TIME64:
      return fmt::format("time64:{}", UnitName(static_cast<const arrow::Time64Type&>(type).unit()));
    case arrow::Type::DURATION:
      return fmt::format("duration:{}", UnitName(static_cast<const arrow::DurationType&>(type).unit()));
    case arrow::Type::TIMESTAMP: {
      const auto& t = static_cast<const arrow::TimestampType&>(type);
      return fmt::format("timestamp:{}:{}", UnitName(t.unit()), t.timezone().empty() ? "-" : t.timezone());
    }
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256: {
      const auto& t = static_cast<const arrow::DecimalType&>(type);
      return fmt::format("decimal:{}:{}:{}", t.bit_width(), t.precision(), t.scale());
    }
    case arrow::Type::FIXED_SIZE_BINARY:
      return fmt::format("fixed_size_binary:{}", static_cast<const arrow::FixedSizeBinaryType&>(type).byte_width());
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& t = static_cast<const arrow::FixedSizeListType&>(type);
      std::string item(kBfloat16);
      if (!IsBfloat16(*t.value_field())) {
        PILUM_ASSIGN_OR_RETURN(item, FormatLogicalType(*t.value_type()));
      }
      return fmt::format("fixed_size_list:{}:{}", item, t.list_size());
    }
    case arrow::Type::DICTIONARY: {
      const auto& t = static_cast<const arrow::DictionaryType&>(type);
      PILUM_ASSIGN_OR_RETURN(auto value, FormatLogicalType(*t.value_type()));
      PILUM_ASSIGN_OR_RETURN(auto key, FormatLogicalType(*t.index_type()));
      return fmt::format("dict:{}:{}:false", value, key);
    }
    default: return Unsupported("type {} cannot be stored in a Lance file", type.ToString());
  }
}

}  // namespace pilum
