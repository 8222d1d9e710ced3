// regexp_replace: places of a text that match a pattern (RE2), put anew.
#include <arrow/compute/api.h>

#include "pilum/query/row_function.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

class RegexpReplace : public ValueExpr {
 public:
  RegexpReplace(std::string shown, ValuePtr text, arrow::compute::ReplaceSubstringOptions options,
                std::shared_ptr<arrow::DataType> type)
      : ValueExpr(std::move(type)), shown_(std::move(shown)), text_(std::move(text)), options_(std::move(options)) {}
  std::string ToString() const override { return shown_; }
  double cost() const override { return 300 + text_->cost(); }
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto text, EvalPlain(*text_, in));
    arrow::Datum d(text);
    if (text->type_id() == arrow::Type::STRING_VIEW) {
      PILUM_ASSIGN_OR_RETURN(d, arrow::compute::Cast(d, arrow::large_utf8()));
    }
    PILUM_ASSIGN_OR_RETURN(arrow::Datum out, arrow::compute::CallFunction("replace_substring_regex", {d}, &options_));
    return out.make_array();
  }

 private:
  std::string shown_;
  ValuePtr text_;
  arrow::compute::ReplaceSubstringOptions options_;
};

// Groups of the match are \1, $1, ${1} or $0 here, \1 in RE2; $$ is a dollar sign.
std::string Rewrite(const std::string& replacement) {
  std::string out;
  const auto at = [&](size_t i) { return i < replacement.size() ? replacement[i] : '\0'; };
  for (size_t i = 0; i < replacement.size(); ++i) {
    const char c = at(i);
    const size_t brace = c == '$' && at(i + 1) == '{' ? 1 : 0;
    const char group = at(i + 1 + brace);
    if ((c == '$' || c == '\\') && group >= '0' && group <= '9' && (brace == 0 || at(i + 3) == '}')) {
      out += '\\';
      out += group;
      i += 1 + 2 * brace;
    } else {
      out.append(c == '\\' ? 2 : 1, c);
      if (c == '$' && at(i + 1) == '$') ++i;
    }
  }
  return out;
}

}  // namespace

// regexp_replace(text, pattern, replacement[, flags]): the first place, with 'g' each; 'i' is any case.
Result<Operand> BindRegexpReplace(FunctionCall f) {
  if (HasNullArgument(f)) return NullOperand(f.call.pos);
  for (size_t i = 0; i < f.args.size(); ++i) {
    if (!IsTextOperand(f.args[i])) return WrongArgument(f, i, "a text");
    if (i > 0 && !f.args[i].literal)
      return NotYetAt(f.args[i].pos, "a pattern, replacement or flags that are not a literal are");
  }
  std::string flags = f.args.size() > 3 ? f.args[3].literal->bytes : "", kept;
  bool all = false;
  for (char c : flags) {
    if (std::string_view("gims").find(c) == std::string_view::npos)
      return ErrorAt(f.args[3].pos, "there is no flag '{}': g, i, m or s", c);
    if (c == 'g') {
      all = true;
    } else if (kept.find(c) == kept.npos) {
      kept += c;
    }
  }
  const std::string pattern = (kept.empty() ? "" : "(?" + kept + ")") + f.args[1].literal->bytes;
  arrow::compute::ReplaceSubstringOptions options(pattern, Rewrite(f.args[2].literal->bytes), all ? -1 : 1);
  // What does not compile is an error now, not at the first row.
  auto tried = arrow::compute::CallFunction("replace_substring_regex",
                                            {arrow::Datum(std::make_shared<arrow::StringScalar>(""))}, &options);
  if (!tried.ok()) return ErrorAt(f.args[1].pos, "bad regular expression: {}", tried.status().message());
  const std::string shown = Shown(f);
  PILUM_ASSIGN_OR_RETURN(ValuePtr text, f.binder.AsValue(f.args[0]));
  auto type = PlainType(text->type());
  if (type->id() == arrow::Type::STRING_VIEW) type = arrow::large_utf8();
  return ValueResult(std::make_shared<RegexpReplace>(shown, std::move(text), std::move(options), std::move(type)),
                     f.call.pos);
}

}  // namespace pilum
