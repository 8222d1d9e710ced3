// Functions of JSON: of texts that hold it, and of JSONB as Lance stores it (values/jsonb.h). A place that is not there is NULL;
// so is, outside of SELECT, a value that cannot become what is asked for.
#include <charconv>
#include <cmath>

#include <arrow/builder.h>
#include <arrow/type.h>

#include "pilum/query/functions.h"
#include "pilum/values/json_path.h"
#include "pilum/values/jsonb.h"
#include "pilum/values/jsonb_doc.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

// What a function looks at: a member or element by its name or number, or the places that a path leads to.
struct Where {
  std::string key;
  std::optional<uint64_t> index;  // `key` is a number
  JsonPath path;
  std::string wanted;  // of json_array_contains
};

// One row: nothing (NULL), a value, or an error that only SELECT makes one of.
template <typename T>
using Found = Result<std::optional<T>>;

uint32_t Keyed(const JsonTree& doc, const Where& where) {
  const bool array = where.index && doc.kind(0) == JsonKind::kArray;  // else a number is a name like any other
  return array ? doc.Element(0, *where.index) : doc.Member(0, where.key);
}

std::string Compact(const JsonTree& doc, uint32_t at) {
  std::string out;
  doc.AppendCompact(at, &out);
  return out;
}

Status CannotBe(const JsonTree& doc, uint32_t at, std::string_view what) {
  return QueryError("{} is no {}", Compact(doc, at).substr(0, 60), what);
}

Found<std::string> Get(const JsonTree& doc, const Where& where) {
  const uint32_t at = Keyed(doc, where);
  if (at == JsonTree::kNone) return std::nullopt;
  return Compact(doc, at);
}

Found<std::string> Extract(const JsonTree& doc, const Where& where) {
  PILUM_ASSIGN_OR_RETURN(auto places, where.path.Select(doc));
  if (places.empty()) return std::nullopt;
  if (places.size() == 1) return Compact(doc, places[0]);
  std::string out = "[";
  for (const uint32_t place : places) {
    if (out.size() > 1) out += ',';
    doc.AppendCompact(place, &out);
  }
  return out + "]";
}

Found<std::string> TextOf(const JsonTree& doc, uint32_t at) {
  switch (doc.kind(at)) {
    case JsonKind::kString: return doc.StringOf(at);
    case JsonKind::kArray:
    case JsonKind::kObject: return CannotBe(doc, at, "text");
    default: return Compact(doc, at);
  }
}

Found<double> FloatOf(const JsonTree& doc, uint32_t at) {
  std::optional<double> out;
  switch (doc.kind(at)) {
    case JsonKind::kTrue: return 1.0;
    case JsonKind::kFalse: return 0.0;
    case JsonKind::kNumber: return std::visit([](auto v) { return static_cast<double>(v); }, doc.NumberOf(at));
    case JsonKind::kString: out = ParseDouble(doc.StringOf(at)); break;
    default: break;
  }
  if (!out) return CannotBe(doc, at, "number");
  return out;
}

Found<int64_t> Rounded(const JsonTree& doc, uint32_t at, double value) {
  const double whole = std::round(value);
  if (!(whole >= -0x1p63 && whole < 0x1p63)) return CannotBe(doc, at, "whole number of 64 bits");
  return static_cast<int64_t>(whole);
}

Found<int64_t> IntOf(const JsonTree& doc, uint32_t at) {
  const JsonKind kind = doc.kind(at);
  if (kind == JsonKind::kNumber) {
    const JsonNumber n = doc.NumberOf(at);
    if (const auto* i = std::get_if<int64_t>(&n)) return *i;
    if (std::holds_alternative<uint64_t>(n)) return CannotBe(doc, at, "whole number of 64 bits");
    return Rounded(doc, at, std::get<double>(n));
  }
  if (kind == JsonKind::kString) {
    const std::string text = doc.StringOf(at);
    const char* begin = text.data() + (text.starts_with('+') && !text.starts_with("+-") ? 1 : 0);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (error == std::errc() && end == text.data() + text.size()) return value;
  }
  PILUM_ASSIGN_OR_RETURN(auto value, FloatOf(doc, at));
  return Rounded(doc, at, *value);
}

Found<bool> BoolOf(const JsonTree& doc, uint32_t at) {
  const auto is = [](const std::string& text, std::string_view word) {
    return text.size() == word.size() && std::equal(text.begin(), text.end(), word.begin(), [](char a, char b) {
             return (a >= 'A' && a <= 'Z' ? a | 0x20 : a) == b;
           });
  };
  const JsonKind kind = doc.kind(at);
  if (kind == JsonKind::kTrue || kind == JsonKind::kFalse) return kind == JsonKind::kTrue;
  if (kind == JsonKind::kString) {
    const std::string text = doc.StringOf(at);
    if (is(text, "true") || is(text, "yes")) return true;
    if (is(text, "false") || is(text, "no")) return false;
  }
  return CannotBe(doc, at, "boolean");
}

// The value at a key, by one of those above; null is NULL.
template <typename T, Found<T> (*convert)(const JsonTree&, uint32_t)>
Found<T> GetAs(const JsonTree& doc, const Where& where) {
  const uint32_t at = Keyed(doc, where);
  if (at == JsonTree::kNone || doc.kind(at) == JsonKind::kNull) return std::nullopt;
  return convert(doc, at);
}

Found<bool> Exists(const JsonTree& doc, const Where& where) {
  PILUM_ASSIGN_OR_RETURN(auto places, where.path.Select(doc));
  return !places.empty();
}

Found<bool> ArrayContains(const JsonTree& doc, const Where& where) {
  PILUM_ASSIGN_OR_RETURN(auto places, where.path.Select(doc));
  std::vector<uint32_t> elements;
  for (const uint32_t place : places) {
    if (doc.kind(place) == JsonKind::kArray) doc.AddChildren(place, &elements);
  }
  std::string text;
  for (const uint32_t at : elements) {
    text.clear();
    doc.AppendCompact(at, &text);
    if (text == where.wanted || text == '"' + where.wanted + '"') return true;
  }
  return false;
}

Found<int64_t> ArrayLength(const JsonTree& doc, const Where& where) {
  PILUM_ASSIGN_OR_RETURN(auto places, where.path.Select(doc));
  if (places.empty()) return std::nullopt;
  return static_cast<int64_t>(doc.CountElements(places[0]));
}

template <typename T>
using Function = Found<T> (*)(const JsonTree&, const Where&);

template <typename T>
struct TypeOf;
template <>
struct TypeOf<std::string> {
  using Builder = arrow::StringBuilder;
  static auto Make() { return arrow::utf8(); }
};
template <>
struct TypeOf<int64_t> {
  using Builder = arrow::Int64Builder;
  static auto Make() { return arrow::int64(); }
};
template <>
struct TypeOf<double> {
  using Builder = arrow::DoubleBuilder;
  static auto Make() { return arrow::float64(); }
};
template <>
struct TypeOf<bool> {
  using Builder = arrow::BooleanBuilder;
  static auto Make() { return arrow::boolean(); }
};

bool IsDamage(const Status& status) {
  return KindOf(status) == ErrorKind::kCorrupt || KindOf(status) == ErrorKind::kUnsupported;
}

template <typename T>
class JsonFunction : public ValueExpr {
 public:
  JsonFunction(std::string shown, ValuePtr json, Where where, Function<T> function)
      : ValueExpr(TypeOf<T>::Make()),
        shown_(std::move(shown)),
        json_(std::move(json)),
        where_(std::move(where)),
        function_(function) {}
  std::string ToString() const override { return shown_; }
  double cost() const override { return json_->cost() + 1000; }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto json, EvalPlain(*json_, in));
    PILUM_ASSIGN_OR_RETURN(auto views, BytesOf(*json));
    const bool binary = DomainOf(*json->type()) == Domain::kBinary;
    // A column of JSON as it is stored: what it holds is JSON, or damaged.
    const bool stored = binary && DomainOf(*json_->type()) != Domain::kBinary;
    typename TypeOf<T>::Builder out;
    Rows rows;
    for (int64_t i = 0; i < in.rows; ++i) {
      if (i % 1024 == 0) PILUM_RETURN_NOT_OK(in.ctx.Check());
      const bool asked = in.active == nullptr || ((*in.active)[static_cast<size_t>(i / 64)] >> (i % 64) & 1) != 0;
      if (!asked || json->IsNull(i)) {
        PILUM_RETURN_NOT_OK(out.AppendNull());
        continue;
      }
      auto found = OfRow(views[static_cast<size_t>(i)], binary, &rows);
      if (!found.ok() && (in.strict || (stored && IsDamage(found.status()))))
        return WithContext(shown_, found.status());
      PILUM_RETURN_NOT_OK(found.ok() && *found ? out.Append(**found) : out.AppendNull());
    }
    return out.Finish();
  }

 private:
  // What is used row after row.
  struct Rows {
    JsonDoc doc;
    JsonbDoc jsonb;
    std::string text;
  };

  Found<T> OfRow(std::string_view bytes, bool binary, Rows* rows) const {
    if (binary) {
      if (rows->jsonb.Open(bytes)) {
        auto found = function_(rows->jsonb, where_);
        if (!rows->jsonb.failed()) return found;
      }
      rows->text.clear();
      PILUM_RETURN_NOT_OK(AppendJsonbText(bytes, &rows->text));
      bytes = rows->text;
    }
    PILUM_RETURN_NOT_OK(rows->doc.Parse(bytes));
    return function_(rows->doc, where_);
  }

  const std::string shown_;
  const ValuePtr json_;
  const Where where_;
  const Function<T> function_;
};

template <typename T>
ValuePtr Make(const FunctionCall& f, ValuePtr json, Where where, Function<T> function) {
  return std::make_shared<JsonFunction<T>>(Shown(f), std::move(json), std::move(where), function);
}

Result<Where> BindWhere(const FunctionCall& f) {
  Where where;
  for (size_t i = 1; i < f.args.size(); ++i) {
    if (!IsTextOperand(f.args[i])) return WrongArgument(f, i, "a text");
    if (!f.args[i].literal) return NotYetAt(f.args[i].pos, "a place in JSON that is not a literal is");
  }
  where.key = f.args[1].literal->bytes;
  if (f.args.size() > 2) where.wanted = f.args[2].literal->bytes;
  if (f.call.name.starts_with("json_get")) {
    uint64_t index = 0;
    const char* end = where.key.data() + where.key.size();
    const auto [at, error] = std::from_chars(where.key.data(), end, index);
    if (error == std::errc() && at == end) where.index = index;
    return where;
  }
  auto path = JsonPath::Parse(where.key);
  if (!path.ok()) return ErrorAt(f.args[1].pos, "{}", path.status().message());
  where.path = std::move(*path);
  return where;
}

}  // namespace

Result<Operand> BindJsonFunction(FunctionCall f) {
  for (const Operand& arg : f.args) {
    if (IsNullOperand(arg)) return NullOperand(f.call.pos);
  }
  const Operand& json = f.args[0];
  const bool binary = json.value && DomainOf(*json.value->type()) == Domain::kBinary;
  if (!IsTextOperand(json) && !binary) return WrongArgument(f, 0, "JSON");
  PILUM_ASSIGN_OR_RETURN(Where where, BindWhere(f));
  PILUM_ASSIGN_OR_RETURN(ValuePtr value, f.binder.AsValue(json));
  const std::string& name = f.call.name;
  const auto make = [&](auto function) { return Make(f, std::move(value), std::move(where), function); };
  ValuePtr out = name == "json_get"              ? make(Function<std::string>(Get))
                 : name == "json_get_string"     ? make(Function<std::string>(GetAs<std::string, TextOf>))
                 : name == "json_get_int"        ? make(Function<int64_t>(GetAs<int64_t, IntOf>))
                 : name == "json_get_float"      ? make(Function<double>(GetAs<double, FloatOf>))
                 : name == "json_get_bool"       ? make(Function<bool>(GetAs<bool, BoolOf>))
                 : name == "json_extract"        ? make(Function<std::string>(Extract))
                 : name == "json_exists"         ? make(Function<bool>(Exists))
                 : name == "json_array_contains" ? make(Function<bool>(ArrayContains))
                                                 : make(Function<int64_t>(ArrayLength));
  return ValueResult(std::move(out), f.call.pos);
}

}  // namespace pilum
