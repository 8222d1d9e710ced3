// Texts that have words (values/words.h): contains_words whatever the case, contains_tokens as they stand.
#include "pilum/query/functions.h"
#include "pilum/values/words.h"

namespace pilum {

Result<Operand> BindWordSearch(FunctionCall f) {
  for (size_t i = 0; i < 2; ++i) {
    if (IsNullOperand(f.args[i])) return NullOperand(f.call.pos);
    if (!IsTextOperand(f.args[i])) return WrongArgument(f, i, "a text");
  }
  const bool folded = f.call.name == "contains_words";
  const Operand &text = f.args[0], &words = f.args[1];
  if (!words.literal || text.literal) {
    if (text.literal && words.literal)
      return Boolean(MakeConst(WordMatcher(words.literal->bytes, folded).Matches(text.literal->bytes)), f.call.pos);
    PILUM_ASSIGN_OR_RETURN(ValuePtr a, f.binder.AsValue(text));
    PILUM_ASSIGN_OR_RETURN(ValuePtr b, f.binder.AsValue(words));
    auto test = [folded](std::string_view x, std::string_view y) {
      return std::optional<bool>(WordMatcher(y, folded).Matches(x));
    };
    return Boolean(MakeTextPairTest(std::move(a), std::move(b), test, Shown(f)), f.call.pos);
  }
  const auto matcher = std::make_shared<const WordMatcher>(words.literal->bytes, folded);
  if (matcher->wanted().empty()) return Boolean(MakeInSet(text.value, ValueSet::All(), Shown(f)), f.call.pos);
  auto test = [matcher](std::string_view x) { return matcher->Matches(x); };
  Needles needles{.words = WordsOf(words.literal->bytes, true), .exact = folded};
  return Boolean(MakeTextTest(text.value, test, std::nullopt, Shown(f), 200, std::move(needles)), f.call.pos);
}

}  // namespace pilum
