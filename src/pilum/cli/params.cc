#include "pilum/cli/params.h"

#include <cctype>
#include <charconv>

#include <arrow/scalar.h>
#include <arrow/type.h>
#include <nlohmann/json.hpp>

namespace pilum::cli {
namespace {

using ScalarPtr = std::shared_ptr<arrow::Scalar>;

struct Parts {
  std::string name, type, value;
  bool typed = false;
};

bool IsName(std::string_view s) {
  if (s.empty() || std::isdigit(static_cast<unsigned char>(s[0]))) return false;
  return std::all_of(s.begin(), s.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

Parts Split(const std::string& text) {
  Parts p{"", "", text, false};
  size_t eq = text.find('=');
  if (eq == std::string::npos) return p;
  std::string head = text.substr(0, eq);
  size_t colon = head.find(':');
  std::string name = head.substr(0, colon);
  bool typed = colon != std::string::npos;
  std::string type = typed ? head.substr(colon + 1) : "";
  if ((!name.empty() && !IsName(name)) || (typed && !IsName(type))) return p;
  return {name, type, text.substr(eq + 1), typed};
}

ScalarPtr Text(std::string value) { return std::make_shared<arrow::StringScalar>(std::move(value)); }

// A JSON number, exactly: int64, uint64, decimal where 38 digits hold it, else double; null if it is no number.
ScalarPtr Number(const std::string& s) {
  size_t i = s.starts_with('-') ? 1 : 0, digits = 0, point = 0;
  bool exponent = false, bad = i == s.size();
  for (size_t k = i; k < s.size() && !bad; ++k) {
    if (std::isdigit(static_cast<unsigned char>(s[k])))
      digits += exponent ? 0 : 1;
    else if (s[k] == '.' && !point && !exponent && k > i && k + 1 < s.size())
      point = k;
    else if ((s[k] == 'e' || s[k] == 'E') && !exponent && digits) {
      exponent = true;
      if (k + 1 < s.size() && (s[k + 1] == '+' || s[k + 1] == '-')) ++k;
    } else
      bad = true;
  }
  if (bad || digits == 0 || !std::isdigit(static_cast<unsigned char>(s.back()))) return nullptr;
  const char *begin = s.data(), *end = begin + s.size();
  if (!point && !exponent) {
    int64_t v;
    if (auto r = std::from_chars(begin, end, v); r.ec == std::errc()) return arrow::MakeScalar(v);
    uint64_t u;
    if (auto r = std::from_chars(begin, end, u); r.ec == std::errc()) return arrow::MakeScalar(u);
  }
  if (!exponent && digits <= 38) {
    auto type = arrow::decimal128(static_cast<int32_t>(digits), point ? static_cast<int32_t>(s.size() - point - 1) : 0);
    if (auto scalar = arrow::Scalar::Parse(type, s); scalar.ok()) return *scalar;
  }
  double d;
  if (auto r = std::from_chars(begin, end, d); r.ec == std::errc()) return arrow::MakeScalar(d);
  return nullptr;
}

Result<ScalarPtr> Inferred(const std::string& value) {
  if (value == "null") return std::make_shared<arrow::NullScalar>();
  if (value == "true" || value == "false") return arrow::MakeScalar(value == "true");
  if (value.starts_with('"')) {
    const auto json = nlohmann::json::parse(value, nullptr, /*allow_exceptions=*/false);
    if (json.is_string()) return Text(json.get<std::string>());
  }
  if (ScalarPtr number = Number(value)) return number;
  return Text(value);
}

// Types whose literals are texts in SQL too (date, timestamp, decimal) stay text: they take the other side's type.
Result<ScalarPtr> Typed(const std::string& type, const std::string& value) {
  auto bad = [&] { return UsageError("--param: '{}' is not {}", value, type); };
  if (type == "text" || type == "string" || type == "date" || type == "time" || type == "timestamp" ||
      type == "decimal" || type == "uuid") {
    return Text(value);
  }
  if (type == "null") return std::make_shared<arrow::NullScalar>();
  if (type == "bool" || type == "boolean") {
    if (value != "true" && value != "false") return bad();
    return arrow::MakeScalar(value == "true");
  }
  if (type == "int" || type == "bigint" || type == "int64") {
    ScalarPtr number = Number(value);
    if (!number || !arrow::is_integer(number->type->id())) return bad();
    return number;
  }
  if (type == "float" || type == "double" || type == "float64") {
    auto scalar = arrow::Scalar::Parse(arrow::float64(), value);
    if (!scalar.ok()) return bad();
    return *scalar;
  }
  return UsageError(
      "--param: unknown type '{}'; there are int, double, bool, text, date, time, timestamp, decimal, uuid, null",
      type);
}

}  // namespace

Result<Params> ParseParams(const std::vector<std::string>& texts) {
  Params params;
  for (const std::string& text : texts) {
    Parts p = Split(text);
    PILUM_ASSIGN_OR_RETURN(ScalarPtr value, p.typed ? Typed(p.type, p.value) : Inferred(p.value));
    if (p.name.empty()) {
      params.positional.push_back(std::move(value));
    } else if (!params.named.emplace(p.name, std::move(value)).second) {
      return UsageError("--param: '{}' is given twice", p.name);
    }
  }
  return params;
}

void AddParamOption(CLI::App& command, std::vector<std::string>* texts) {
  command.add_option("--param", *texts, "A value of the predicate: NAME=VALUE for :name, VALUE for ?; again for more")
      ->type_name("[NAME=]VALUE")
      ->take_all()
      ->allow_extra_args(false);
}

}  // namespace pilum::cli
