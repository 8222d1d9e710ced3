// Query text -> tokens with positions (1-based bytes). Called by parse.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/status.h"

namespace pilum {

struct Token {
  enum class Kind {
    kEnd,
    kName,        // unquoted word: keyword or name, as written
    kQuotedName,  // "x" or `x`, unescaped
    kText,        // '…', unescaped
    kBinary,      // X'00ff', as bytes
    kNumber,      // as written
    kParam,       // "?1" of the first ?, "1" of $1, or the name of :name
    kOp,          // one of = == <> != < <= > >= + - * / % || ( ) [ ] , . :: ; ^
  };
  Kind kind = Kind::kEnd;
  std::string text;
  size_t pos = 0;
  bool named_param = false;  // :name

  bool Is(std::string_view op) const { return kind == Kind::kOp && text == op; }
  bool IsWord(std::string_view upper) const;  // unquoted, without regard to case
};

Result<std::vector<Token>> Lex(std::string_view sql);

// "at N: …", of kind kQuery.
template <typename... A>
Status ErrorAt(size_t pos, fmt::format_string<A...> f, A&&... a) {
  return QueryError("at {}: {}", pos, fmt::format(f, std::forward<A>(a)...));
}
template <typename... A>
Status NotYetAt(size_t pos, fmt::format_string<A...> f, A&&... a) {
  return Unsupported("at {}: {} not supported yet", pos, fmt::format(f, std::forward<A>(a)...));
}

std::string Upper(std::string_view ascii);

}  // namespace pilum
