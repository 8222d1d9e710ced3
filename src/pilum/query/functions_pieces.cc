// Texts made of pieces of others: left, right, lpad, rpad, replace, split_part, repeat, reverse, translate, trims, and where a
// piece lies. Places and lengths count code points.
#include <algorithm>

#include <arrow/type.h>

#include "pilum/query/find_text.h"
#include "pilum/query/row_function.h"
#include "pilum/values/text.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

// A text of one row is not made longer than this.
constexpr Int128 kLongest = INT32_MAX;

// The byte where code point `n` begins (its size, where there are not so many).
size_t ByteOf(std::string_view s, Int128 n) {
  size_t at = 0;
  for (; n > 0 && at < s.size(); --n) at += CodePointSize(s, at);
  return std::min(at, s.size());
}

// n < 0: all but the last -n.
std::optional<std::string_view> Left(const RowArgs& a, size_t row, std::string*) {
  const std::string_view s = a.text(0, row);
  const Int128 n = a.number(1, row);
  return s.substr(0, ByteOf(s, n >= 0 ? n : std::max<Int128>(0, CountCodePoints(s) + n)));
}

// n < 0: all but the first -n.
std::optional<std::string_view> Right(const RowArgs& a, size_t row, std::string*) {
  const std::string_view s = a.text(0, row);
  const Int128 n = a.number(1, row);
  return s.substr(ByteOf(s, n >= 0 ? std::max<Int128>(0, CountCodePoints(s) - n) : -n));
}

// To `wanted` code points: cut, or filled up with `fill` again and again; as it is where there is nothing to fill with.
std::optional<std::string_view> Pad(const RowArgs& a, size_t row, std::string* room, bool left) {
  const std::string_view s = a.text(0, row), fill = a.size() > 2 ? a.text(2, row) : std::string_view(" ");
  const Int128 wanted = std::max<Int128>(0, a.number(1, row)), have = CountCodePoints(s);
  if (wanted <= have) return s.substr(0, ByteOf(s, wanted));
  if (fill.empty()) return s;
  if ((wanted - have) * static_cast<Int128>(fill.size()) + static_cast<Int128>(s.size()) > kLongest)
    return std::nullopt;
  if (!left) *room = s;
  size_t at = 0;
  for (Int128 n = have; n < wanted; ++n) {
    const size_t size = CodePointSize(fill, at);
    *room += fill.substr(at, size);
    at = at + size >= fill.size() ? 0 : at + size;
  }
  if (left) *room += s;
  return *room;
}
std::optional<std::string_view> Lpad(const RowArgs& a, size_t row, std::string* room) {
  return Pad(a, row, room, true);
}
std::optional<std::string_view> Rpad(const RowArgs& a, size_t row, std::string* room) {
  return Pad(a, row, room, false);
}

// An empty piece lies before every code point, and at the end.
std::optional<std::string_view> Replace(const RowArgs& a, size_t row, std::string* room) {
  const std::string_view s = a.text(0, row), from = a.text(1, row), to = a.text(2, row);
  size_t at = 0;
  while (room->size() <= static_cast<size_t>(kLongest)) {
    const size_t found = from.empty() ? at : at + std::min(FindText(s.substr(at), from), s.size());
    if (found >= s.size() + (from.empty() ? 1 : 0)) return *room += s.substr(std::min(at, s.size()));
    *room += s.substr(at, found - at);
    *room += to;
    at = found + from.size();
    if (!from.empty()) continue;
    if (at < s.size()) *room += s.substr(at, CodePointSize(s, at));
    at += at < s.size() ? CodePointSize(s, at) : 1;
  }
  return std::nullopt;
}

std::optional<std::string_view> Repeat(const RowArgs& a, size_t row, std::string* room) {
  const std::string_view s = a.text(0, row);
  const Int128 n = std::max<Int128>(0, a.number(1, row));
  if (s.empty()) return s;
  if (n > kLongest || n * static_cast<Int128>(s.size()) > kLongest) return std::nullopt;
  for (Int128 i = 0; i < n; ++i) *room += s;
  return *room;
}

std::optional<std::string_view> Reverse(const RowArgs& a, size_t row, std::string* room) {
  const std::string_view s = a.text(0, row);
  room->resize(s.size());
  for (size_t at = 0, size; at < s.size(); at += size) {
    size = std::min(CodePointSize(s, at), s.size() - at);
    std::copy_n(s.data() + at, size, room->data() + (s.size() - at - size));
  }
  return *room;
}

// Part n between the separators, from 1, or from the end where n < 0; '' where there are not so many.
std::optional<std::string_view> SplitPart(const RowArgs& a, size_t row, std::string*) {
  const std::string_view s = a.text(0, row), by = a.text(1, row);
  const Int128 n = a.number(2, row);
  if (n == 0) return std::nullopt;
  if (by.empty()) return n == 1 || n == -1 ? s : std::string_view();
  std::vector<size_t> begins = {0};
  for (size_t at = 0;;) {
    const size_t found = FindText(s.substr(at), by);
    if (found == std::string_view::npos || (n > 0 && static_cast<Int128>(begins.size()) > n)) break;
    at += found + by.size();
    begins.push_back(at);
  }
  const Int128 parts = static_cast<Int128>(begins.size()), i = n > 0 ? n - 1 : parts + n;
  if (i < 0 || i >= parts) return std::string_view();
  const size_t begin = begins[static_cast<size_t>(i)];
  const size_t end = i + 1 < parts ? begins[static_cast<size_t>(i) + 1] - by.size() : s.size();
  return s.substr(begin, end - begin);
}

bool HasCodePoint(std::string_view points, std::string_view one) {
  for (size_t at = 0; at < points.size(); at += CodePointSize(points, at)) {
    if (points.substr(at, CodePointSize(points, at)) == one) return true;
  }
  return false;
}

// Without the code points of the second text (spaces) at its ends.
std::string_view Trimmed(const RowArgs& a, size_t row, bool front, bool back) {
  std::string_view s = a.text(0, row);
  const std::string_view chars = a.size() > 1 ? a.text(1, row) : std::string_view(" ");
  while (front && !s.empty() && HasCodePoint(chars, s.substr(0, CodePointSize(s, 0)))) {
    s.remove_prefix(std::min(CodePointSize(s, 0), s.size()));
  }
  while (back && !s.empty()) {
    size_t at = s.size() - 1;
    while (at > 0 && (static_cast<uint8_t>(s[at]) & 0xC0) == 0x80) --at;
    if (!HasCodePoint(chars, s.substr(at))) break;
    s.remove_suffix(s.size() - at);
  }
  return s;
}
std::optional<std::string_view> Ltrim(const RowArgs& a, size_t row, std::string*) {
  return Trimmed(a, row, true, false);
}
std::optional<std::string_view> Rtrim(const RowArgs& a, size_t row, std::string*) {
  return Trimmed(a, row, false, true);
}
std::optional<std::string_view> Btrim(const RowArgs& a, size_t row, std::string*) {
  return Trimmed(a, row, true, true);
}

// Each code point of the second text becomes the one at its place in the third, or goes where there is none.
std::optional<std::string_view> Translate(const RowArgs& a, size_t row, std::string* room) {
  const std::string_view s = a.text(0, row), from = a.text(1, row), to = a.text(2, row);
  for (size_t at = 0; at < s.size(); at += CodePointSize(s, at)) {
    const std::string_view point = s.substr(at, CodePointSize(s, at));
    size_t f = 0, t = 0;
    for (; f < from.size() && from.substr(f, CodePointSize(from, f)) != point; f += CodePointSize(from, f)) {
      if (t < to.size()) t += CodePointSize(to, t);
    }
    if (f >= from.size()) {
      *room += point;
    } else if (t < to.size()) {
      *room += to.substr(t, CodePointSize(to, t));
    }
  }
  return *room;
}

std::optional<std::string_view> Chr(const RowArgs& a, size_t row, std::string* room) {
  const Int128 n = a.number(0, row);
  if (n < 0 || n > 0x10FFFF || (n >= 0xD800 && n < 0xE000)) return std::nullopt;
  AppendUtf8(static_cast<uint32_t>(n), room);
  return *room;
}

std::optional<std::string_view> ToHex(const RowArgs& a, size_t row, std::string* room) {
  *room = fmt::format("{:x}", static_cast<uint64_t>(a.number(0, row)));
  return *room;
}

// From 1; 0: it is not there.
std::optional<Int128> Strpos(const RowArgs& a, size_t row) {
  const size_t found = FindText(a.text(0, row), a.text(1, row));
  return found == std::string_view::npos ? 0 : CountCodePoints(a.text(0, row).substr(0, found)) + 1;
}
std::optional<Int128> CharLength(const RowArgs& a, size_t row) { return CountCodePoints(a.text(0, row)); }
std::optional<Int128> OctetLength(const RowArgs& a, size_t row) { return static_cast<Int128>(a.text(0, row).size()); }
std::optional<Int128> BitLength(const RowArgs& a, size_t row) { return static_cast<Int128>(a.text(0, row).size()) * 8; }
std::optional<Int128> Ascii(const RowArgs& a, size_t row) {
  const std::string_view s = a.text(0, row);
  if (s.empty()) return 0;
  const CodePoint point = DecodeCodePoint(s, 0);
  return point.size > 0 ? static_cast<Int128>(point.value) : static_cast<uint8_t>(s[0]);
}

// concat_ws(separator, …): NULL parts are left out, with their separator.
class Joined : public ValueExpr {
 public:
  explicit Joined(std::vector<ValuePtr> parts) : ValueExpr(arrow::large_utf8()), parts_(std::move(parts)) {}
  std::string ToString() const override { return fmt::format("concat_ws({}, …)", parts_[0]->ToString()); }
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(const RowArgs parts, EvalArgs(parts_, "", in));
    arrow::LargeStringBuilder out(in.ctx.memory_pool());
    std::string row;
    for (int64_t i = 0; i < in.rows; ++i) {
      row.clear();
      bool first = true;
      for (size_t p = 1; p < parts.size(); ++p) {
        if (parts.arrays[p]->IsNull(i)) continue;
        if (!first) row += parts.text(0, static_cast<size_t>(i));
        row += parts.text(p, static_cast<size_t>(i));
        first = false;
      }
      PILUM_RETURN_NOT_OK(parts.arrays[0]->IsNull(i) ? out.AppendNull() : out.Append(row));
    }
    return out.Finish();
  }

 private:
  std::vector<ValuePtr> parts_;
};

struct Piece {
  std::string_view name, forms;
  TextRow text;
  NumberRow number;
};
constexpr Piece kPieces[] = {
    {"left", "ti", Left, nullptr},
    {"right", "ti", Right, nullptr},
    {"lpad", "tit", Lpad, nullptr},
    {"rpad", "tit", Rpad, nullptr},
    {"replace", "ttt", Replace, nullptr},
    {"repeat", "ti", Repeat, nullptr},
    {"reverse", "t", Reverse, nullptr},
    {"split_part", "tti", SplitPart, nullptr},
    {"ltrim", "tt", Ltrim, nullptr},
    {"rtrim", "tt", Rtrim, nullptr},
    {"btrim", "tt", Btrim, nullptr},
    {"translate", "ttt", Translate, nullptr},
    {"chr", "i", Chr, nullptr},
    {"to_hex", "i", ToHex, nullptr},
    {"strpos", "tt", nullptr, Strpos},
    {"instr", "tt", nullptr, Strpos},
    {"char_length", "t", nullptr, CharLength},
    {"character_length", "t", nullptr, CharLength},
    {"octet_length", "t", nullptr, OctetLength},
    {"bit_length", "t", nullptr, BitLength},
    {"ascii", "t", nullptr, Ascii},
};

}  // namespace

Result<Operand> BindPiece(FunctionCall f) {
  if (HasNullArgument(f)) return NullOperand(f.call.pos);
  const auto* piece =
      std::find_if(std::begin(kPieces), std::end(kPieces), [&](const Piece& p) { return p.name == f.call.name; });
  PILUM_ASSIGN_OR_RETURN(auto args, BindArgs(f, piece->forms));
  if (piece->number)
    return ValueResult(MakeNumberRows(Shown(f), std::move(args), piece->forms, piece->number), f.call.pos);
  // A text of the first one's type.
  const auto first = PlainType(args[0]->type());
  const auto type = piece->forms[0] == 'i' || first->id() == arrow::Type::STRING ? arrow::utf8() : arrow::large_utf8();
  return ValueResult(MakeTextRows(Shown(f), std::move(args), piece->forms, type, piece->text), f.call.pos);
}

Result<Operand> BindConcatWs(FunctionCall f) {
  if (IsNullOperand(f.args[0])) return NullOperand(f.call.pos);
  std::vector<ValuePtr> parts;
  for (size_t i = 0; i < f.args.size(); ++i) {
    if (IsNullOperand(f.args[i])) continue;
    if (!IsTextOperand(f.args[i])) return WrongArgument(f, i, "a text (use CAST)");
    PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValue(f.args[i]));
    parts.push_back(std::move(v));
  }
  return ValueResult(std::make_shared<Joined>(std::move(parts)), f.call.pos);
}

}  // namespace pilum
