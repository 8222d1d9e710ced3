// CAST: type names, and conversion row by row through the exact forms; what cannot be is NULL.
#include <arrow/compute/api.h>

#include "pilum/query/binder.h"
#include "pilum/values/time.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

struct NamedType {
  const char* name;
  std::shared_ptr<arrow::DataType> type;
};

const std::vector<NamedType>& Types() {
  static const std::vector<NamedType> types = {
      {"int8", arrow::int8()},
      {"int16", arrow::int16()},
      {"int32", arrow::int32()},
      {"int64", arrow::int64()},
      {"uint8", arrow::uint8()},
      {"uint16", arrow::uint16()},
      {"uint32", arrow::uint32()},
      {"uint64", arrow::uint64()},
      {"float16", arrow::float16()},
      {"float32", arrow::float32()},
      {"float64", arrow::float64()},
      {"tinyint", arrow::int8()},
      {"smallint", arrow::int16()},
      {"int", arrow::int32()},
      {"integer", arrow::int32()},
      {"bigint", arrow::int64()},
      {"real", arrow::float32()},
      {"float", arrow::float32()},
      {"double", arrow::float64()},
      {"text", arrow::utf8()},
      {"string", arrow::utf8()},
      {"varchar", arrow::utf8()},
      {"bytea", arrow::binary()},
      {"binary", arrow::binary()},
      {"bool", arrow::boolean()},
      {"boolean", arrow::boolean()},
      {"date", arrow::date32()},
      {"time", arrow::time64(arrow::TimeUnit::MICRO)},
      {"timestamp", arrow::timestamp(arrow::TimeUnit::MICRO)},
      {"datetime", arrow::timestamp(arrow::TimeUnit::MICRO)},
      {"timestamp(0)", arrow::timestamp(arrow::TimeUnit::SECOND)},
      {"timestamp(3)", arrow::timestamp(arrow::TimeUnit::MILLI)},
      {"timestamp(6)", arrow::timestamp(arrow::TimeUnit::MICRO)},
      {"timestamp(9)", arrow::timestamp(arrow::TimeUnit::NANO)},
      {"datetime(0)", arrow::timestamp(arrow::TimeUnit::SECOND)},
      {"datetime(3)", arrow::timestamp(arrow::TimeUnit::MILLI)},
      {"datetime(6)", arrow::timestamp(arrow::TimeUnit::MICRO)},
      {"datetime(9)", arrow::timestamp(arrow::TimeUnit::NANO)},
      {"timestamptz", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")},
  };
  return types;
}

class Cast : public ValueExpr {
 public:
  Cast(ValuePtr value, std::shared_ptr<arrow::DataType> type, std::shared_ptr<const Zone> zone, bool try_cast)
      : ValueExpr(std::move(type)), value_(std::move(value)), zone_(std::move(zone)), try_(try_cast) {}
  std::string ToString() const override {
    return fmt::format("CAST({} AS {})", value_->ToString(), type()->ToString());
  }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*value_, in));
    if (array->type_id() == arrow::Type::NA) return arrow::MakeArrayOfNull(type(), in.rows);
    if (zone_) {
      PILUM_ASSIGN_OR_RETURN(array, zone_->ToWall(array));
    }
    const bool to_text = DomainOf(*type()) == Domain::kText;
    const bool widening = arrow::is_integer(array->type_id()) && arrow::is_integer(type()->id());
    if (to_text || widening) {
      auto cast = arrow::compute::Cast(*array, type(), arrow::compute::CastOptions::Safe());
      if (cast.ok() || to_text) return cast;
    }
    std::vector<std::optional<Value>> out(static_cast<size_t>(in.rows));
    for (int64_t i = 0; i < in.rows; ++i) {
      if (i % 4096 == 0) PILUM_RETURN_NOT_OK(in.ctx.Check());
      PILUM_ASSIGN_OR_RETURN(auto v, ValueAt(*array, i));
      if (!v) continue;
      PILUM_ASSIGN_OR_RETURN(Literal l, LiteralOfValue(*v, array->type(), 0, true));
      PILUM_ASSIGN_OR_RETURN(out[static_cast<size_t>(i)], CastLiteral(l, type()));
    }
    PILUM_ASSIGN_OR_RETURN(auto result, MakeArrayOf(type(), out));
    if (!try_) PILUM_RETURN_NOT_OK(CheckHasValues(in, *result, {array.get()}, ToString()));
    return result;
  }

 private:
  ValuePtr value_;
  std::shared_ptr<const Zone> zone_;  // of the value, where the result is on its wall clock
  bool try_;
};

}  // namespace

Result<std::shared_ptr<arrow::DataType>> ParseType(const std::string& name, size_t pos) {
  const size_t open = name.find('(');
  const std::string word = name.substr(0, open);
  std::vector<std::string> names;
  bool known = false;
  for (const auto& t : Types()) {
    if (name == t.name) return t.type;
    if (std::string_view(t.name).find('(') == std::string_view::npos) names.push_back(t.name);
    known = known || word == t.name;
  }
  if (known) return ErrorAt(pos, "the type {} takes no such arguments", word);
  if (word == "decimal" || word == "numeric") {
    int precision = 38, scale = 0;
    if (open != std::string::npos) {
      const std::string inner = name.substr(open + 1, name.size() - open - 2);
      const size_t comma = inner.find(',');
      auto number = [](const std::string& digits, int* out) {
        if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos)
          return false;
        *out = std::stoi(digits);
        return true;
      };
      if (!number(inner.substr(0, comma), &precision) ||
          (comma != std::string::npos && !number(inner.substr(comma + 1), &scale))) {
        return ErrorAt(pos, "decimal takes a precision and a scale, as in decimal(10, 2)");
      }
    }
    if (precision < 1 || precision > 76 || scale < 0 || scale > precision) {
      return ErrorAt(pos, "decimal takes a precision of 1 to 76 and a scale up to it");
    }
    if (precision <= 38) return arrow::decimal128(precision, scale);
    return arrow::decimal256(precision, scale);
  }
  names.push_back("decimal");
  return ErrorAt(pos, "there is no type '{}'{}", word, NearNames(word, names));
}

Result<ValuePtr> MakeCast(ValuePtr value, std::shared_ptr<arrow::DataType> type, bool try_cast) {
  const auto from = PlainType(value->type());
  if (from->Equals(*type)) return value;
  if (from->id() == arrow::Type::NA)
    return std::make_shared<Cast>(std::move(value), std::move(type), nullptr, try_cast);
  const Domain a = DomainOf(*from), b = DomainOf(*type);
  if (a == Domain::kNone) return Unsupported("CAST of {} is not supported yet", from->ToString());
  auto is_number = [](const arrow::DataType& t) {
    return arrow::is_integer(t.id()) || arrow::is_floating(t.id()) || arrow::is_decimal(t.id());
  };
  const bool temporal_a = arrow::is_temporal(from->id()), temporal_b = arrow::is_temporal(type->id());
  const bool possible = (is_number(*from) && is_number(*type)) || a == Domain::kText ||
                        (b == Domain::kText && a != Domain::kBinary) ||
                        (a == Domain::kBinary && b == Domain::kBinary) || (temporal_a && temporal_b) ||
                        (from->id() == arrow::Type::BOOL && arrow::is_integer(type->id())) ||
                        (arrow::is_integer(from->id()) && type->id() == arrow::Type::BOOL);
  if (!possible) return QueryError("{} cannot be cast to {}", from->ToString(), type->ToString());
  // A zoned timestamp's date, time and zone-less form are those on its wall clock.
  auto zone_of = [](const arrow::DataType& t) {
    return t.id() == arrow::Type::TIMESTAMP ? static_cast<const arrow::TimestampType&>(t).timezone() : std::string();
  };
  std::shared_ptr<const Zone> zone;
  if (!zone_of(*from).empty() && temporal_b && zone_of(*type).empty()) {
    PILUM_ASSIGN_OR_RETURN(zone, Zone::Load(zone_of(*from)));
  }
  return std::make_shared<Cast>(std::move(value), std::move(type), std::move(zone), try_cast);
}

}  // namespace pilum
