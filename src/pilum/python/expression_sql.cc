// A pyarrow.compute.Expression as SQL text, with its literals as named parameters: each means what it meant, NULLs included.
// What has no like in SQL is refused by name.
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/expression.h>
#include <arrow/compute/initialize.h>
#include <arrow/datum.h>
#include <arrow/python/pyarrow.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "pilum/python/bindings.h"
#include "pilum/python/errors.h"

namespace nb = nanobind;
namespace cp = arrow::compute;

namespace pilum::python {
namespace {

constexpr int kMaxDepth = 400;  // below that of a statement (query/ast.h)

const std::map<std::string_view, std::string_view> kBinary = {
    {"equal", "="},          {"not_equal", "<>"},      {"less", "<"},        {"less_equal", "<="},
    {"greater", ">"},        {"greater_equal", ">="},  {"add", "+"},         {"subtract", "-"},
    {"divide", "/"},         {"multiply", "*"},        {"add_checked", "+"}, {"subtract_checked", "-"},
    {"divide_checked", "/"}, {"multiply_checked", "*"}};
const std::map<std::string_view, std::string_view> kFunctions = {
    {"abs", "abs"},           {"abs_checked", "abs"},  {"floor", "floor"},      {"ceil", "ceil"},
    {"coalesce", "coalesce"}, {"utf8_lower", "lower"}, {"utf8_upper", "upper"}, {"utf8_length", "length"}};

std::string Quoted(std::string_view name, char quote) {
  std::string out(1, quote);
  for (const char c : name) out.append(c == quote ? 2 : 1, c);
  return out + quote;
}

Status Untranslatable(const std::string& what) {
  return Unsupported("{} in a pyarrow expression has no like in Pilum's SQL; write the filter as text", what);
}

Result<std::string> CastType(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64: return type.name();
    case arrow::Type::FLOAT: return "float32";
    case arrow::Type::DOUBLE: return "float64";
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING: return "text";
    case arrow::Type::DATE32: return "date";
    case arrow::Type::DECIMAL128: {
      const auto& decimal = static_cast<const arrow::Decimal128Type&>(type);
      return fmt::format("decimal({}, {})", decimal.precision(), decimal.scale());
    }
    default: return Untranslatable("a cast to " + type.ToString());
  }
}

class Translator {
 public:
  explicit Translator(size_t first) : next_(first) {}

  Result<std::string> Text(const cp::Expression& e, int depth = 0) {
    if (depth > kMaxDepth) return Untranslatable("nesting this deep");
    if (const arrow::Datum* literal = e.literal()) return Literal(*literal);
    if (const arrow::FieldRef* field = e.field_ref()) return Field(*field);
    const cp::Expression::Call* call = e.call();
    if (call == nullptr) return Untranslatable("an empty expression");
    return CallText(*call, depth + 1);
  }
  nb::dict Params() const {
    nb::dict out;
    for (const auto& [name, value] : params_) {
      PyObject* scalar = arrow::py::wrap_scalar(value);
      if (scalar == nullptr) throw nb::python_error();
      out[name.c_str()] = nb::steal(scalar);
    }
    return out;
  }

 private:
  std::string Param(std::shared_ptr<arrow::Scalar> value) {
    std::string name = fmt::format("literal_{}", next_++);
    params_.emplace_back(name, std::move(value));
    return ":" + name;
  }

  Result<std::string> Literal(const arrow::Datum& d) {
    if (!d.is_scalar()) return Untranslatable("a literal that is no single value");
    const auto& value = d.scalar();
    if (!value->is_valid) return "NULL";
    if (value->type->id() == arrow::Type::BOOL) {
      return static_cast<const arrow::BooleanScalar&>(*value).value ? "TRUE" : "FALSE";
    }
    return Param(value);
  }

  static Result<std::string> Field(const arrow::FieldRef& ref) {
    if (const std::string* name = ref.name()) return Quoted(*name, '"');
    if (const std::vector<arrow::FieldRef>* nested = ref.nested_refs()) {
      std::string out;
      for (const arrow::FieldRef& step : *nested) {
        PILUM_ASSIGN_OR_RETURN(const std::string text, Field(step));
        out += (out.empty() ? "" : ".") + text;
      }
      return out;
    }
    return Untranslatable("a field by its number");
  }

  Result<std::vector<std::string>> Arguments(const cp::Expression::Call& call, int depth) {
    std::vector<std::string> out;
    for (const cp::Expression& argument : call.arguments) {
      PILUM_ASSIGN_OR_RETURN(std::string text, Text(argument, depth));
      out.push_back(std::move(text));
    }
    return out;
  }

  Result<std::string> CallText(const cp::Expression::Call& call, int depth) {
    const std::string& name = call.function_name;
    if (name == "and_kleene" || name == "or_kleene") return Chain(call, depth);
    if (name == "if_else" && IsSqlIn(call)) {  // as DuckDB writes IN
      PILUM_ASSIGN_OR_RETURN(const std::string x, Text(call.arguments[0].call()->arguments[0], depth));
      return fmt::format("({} IN ({}))", x, Param(ListOf(*call.arguments[1].call())));
    }
    PILUM_ASSIGN_OR_RETURN(const auto args, Arguments(call, depth));
    if (args.size() == 2) {
      if (const auto op = kBinary.find(name); op != kBinary.end()) {
        return fmt::format("({} {} {})", args[0], op->second, args[1]);
      }
    }
    if (const auto function = kFunctions.find(name); function != kFunctions.end()) {
      return fmt::format("{}({})", function->second, fmt::join(args, ", "));
    }
    if (args.size() == 1) return OfOne(call, args[0]);
    if (name == "if_else" && args.size() == 3) {
      return fmt::format("(CASE WHEN {} THEN {} WHEN {} IS NULL THEN NULL ELSE {} END)", args[0], args[1], args[0],
                         args[2]);
    }
    return Untranslatable(name);
  }

  // Left-deep chains, as `&` builds them, are one flat chain: SQL's may be of any length, its nesting not.
  Result<std::string> Chain(const cp::Expression::Call& call, int depth) {
    std::vector<const cp::Expression*> parts, open = {&call.arguments[1], &call.arguments[0]};
    while (!open.empty()) {
      const cp::Expression* e = open.back();
      open.pop_back();
      const cp::Expression::Call* inner = e->call();
      if (inner == nullptr || inner->function_name != call.function_name) {
        parts.push_back(e);
        continue;
      }
      open.push_back(&inner->arguments[1]);
      open.push_back(&inner->arguments[0]);
    }
    std::vector<std::string> texts;
    for (const cp::Expression* part : parts) {
      PILUM_ASSIGN_OR_RETURN(std::string text, Text(*part, depth));
      texts.push_back(std::move(text));
    }
    return fmt::format("({})", fmt::join(texts, call.function_name == "and_kleene" ? " AND " : " OR "));
  }

  Result<std::string> OfOne(const cp::Expression::Call& call, const std::string& x) {
    const std::string& name = call.function_name;
    if (name == "invert") return fmt::format("(NOT {})", x);
    if (name == "is_valid") return fmt::format("({} IS NOT NULL)", x);
    if (name == "is_nan") return IsNan(x);
    if (name == "negate" || name == "negate_checked") return fmt::format("(- {})", x);
    if (name == "is_null") {
      const auto* options = static_cast<const cp::NullOptions*>(call.options.get());
      if (options == nullptr || !options->nan_is_null) return fmt::format("({} IS NULL)", x);
      return fmt::format("({} IS NULL OR {})", x, IsNan(x));
    }
    if (call.options == nullptr) return Untranslatable(name);
    if (name == "cast") {
      const auto& options = static_cast<const cp::CastOptions&>(*call.options);
      PILUM_ASSIGN_OR_RETURN(const std::string type, CastType(*options.to_type.type));
      return fmt::format("CAST({} AS {})", x, type);
    }
    if (name == "is_in") return IsIn(static_cast<const cp::SetLookupOptions&>(*call.options), x);
    return Match(call, x);
  }

  // NULL if x is, else whether it is among values that are not NULL.
  static bool IsSqlIn(const cp::Expression::Call& call) {
    if (call.arguments.size() != 3) return false;
    const cp::Expression::Call* valid = call.arguments[0].call();
    const cp::Expression::Call* in = call.arguments[1].call();
    const arrow::Datum* other = call.arguments[2].literal();
    if (valid == nullptr || in == nullptr || other == nullptr || !other->is_scalar() || other->scalar()->is_valid)
      return false;
    if (valid->function_name != "is_valid" || in->function_name != "is_in" || in->options == nullptr) return false;
    const auto& options = static_cast<const cp::SetLookupOptions&>(*in->options);
    return valid->arguments[0].Equals(in->arguments[0]) && options.value_set.is_array() &&
           options.value_set.null_count() == 0;
  }

  static std::shared_ptr<arrow::Scalar> ListOf(const cp::Expression::Call& in) {
    return std::make_shared<arrow::ListScalar>(
        static_cast<const cp::SetLookupOptions&>(*in.options).value_set.make_array());
  }

  static std::string IsNan(const std::string& x) { return fmt::format("({} = CAST('NaN' AS float64))", x); }

  Result<std::string> IsIn(const cp::SetLookupOptions& options, const std::string& x) {
    if (!options.value_set.is_array()) return Untranslatable("is_in with values in several chunks");
    PILUM_ASSIGN_OR_RETURN(arrow::Datum known, cp::DropNull(options.value_set));
    const bool with_null = options.value_set.null_count() > 0;
    const std::string list = Param(std::make_shared<arrow::ListScalar>(known.make_array()));
    using Options = cp::SetLookupOptions;
    const std::string in = fmt::format("{} IN ({}", x, list);
    switch (options.null_matching_behavior) {
      case Options::MATCH:
        if (with_null) return fmt::format("({} IS NULL OR {}))", x, in);
        [[fallthrough]];
      case Options::SKIP: return fmt::format("({} IS NOT NULL AND {}))", x, in);
      case Options::EMIT_NULL: return fmt::format("({}))", in);
      default: return fmt::format("({}{}))", in, with_null ? ", NULL" : "");
    }
  }

  Result<std::string> Match(const cp::Expression::Call& call, const std::string& x) {
    const std::string& name = call.function_name;
    static const std::map<std::string_view, std::string_view> kMatches = {
        {"starts_with", "starts_with"}, {"ends_with", "ends_with"}, {"match_substring", "contains"}};
    const auto function = kMatches.find(name);
    if (function == kMatches.end() && name != "match_like" && name != "match_substring_regex")
      return Untranslatable(name);
    const auto& options = static_cast<const cp::MatchSubstringOptions&>(*call.options);
    if (function != kMatches.end() && options.ignore_case) return Untranslatable(name + " without regard to case");
    const std::string pattern = Quoted(options.pattern, '\'');
    if (function != kMatches.end()) return fmt::format("{}({}, {})", function->second, x, pattern);
    if (name == "match_like") return fmt::format("({} {} {})", x, options.ignore_case ? "ILIKE" : "LIKE", pattern);
    if (!options.ignore_case) return fmt::format("regexp_like({}, {})", x, pattern);
    return fmt::format("regexp_like({}, {})", x, Quoted("(?i)" + options.pattern, '\''));
  }

  size_t next_;
  std::vector<std::pair<std::string, std::shared_ptr<arrow::Scalar>>> params_;
};

// `serialized`: what the expression is pickled as. Parameters are named literal_N, from N = `first`.
nb::tuple ExpressionSql(const nb::bytes& serialized, size_t first) {
  Check(arrow::compute::Initialize());
  auto buffer = arrow::Buffer::FromString(std::string(serialized.c_str(), serialized.size()));
  const cp::Expression expression = Unwrap(cp::Deserialize(std::move(buffer)));
  Translator translator(first);
  const std::string text = Unwrap(translator.Text(expression));
  return nb::make_tuple(text, translator.Params());
}

}  // namespace

void BindExpressions(nb::module_& m) {
  m.def("expression_sql", &ExpressionSql, nb::arg("serialized"), nb::arg("first") = 0);
}

}  // namespace pilum::python
