// Digests of texts and binaries, and binaries as text: md5, sha256 and kin, digest, encode, decode.
#include <arrow/type.h>

#include "pilum/query/row_function.h"
#include "pilum/values/digest.h"

namespace pilum {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string Hex(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (char c : bytes) {
    out += kHex[static_cast<uint8_t>(c) >> 4];
    out += kHex[static_cast<uint8_t>(c) & 15];
  }
  return out;
}

template <Digest kind>
std::optional<std::string_view> RowDigest(const RowArgs& a, size_t row, std::string* room) {
  *room = DigestOf(kind, a.text(0, row));
  return *room;
}
std::optional<std::string_view> RowMd5(const RowArgs& a, size_t row, std::string* room) {
  *room = Hex(DigestOf(Digest::kMd5, a.text(0, row)));
  return *room;
}

TextRow DigestRow(Digest kind) {
  switch (kind) {
    case Digest::kMd5: return RowDigest<Digest::kMd5>;
    case Digest::kSha224: return RowDigest<Digest::kSha224>;
    case Digest::kSha256: return RowDigest<Digest::kSha256>;
    case Digest::kSha384: return RowDigest<Digest::kSha384>;
    default: return RowDigest<Digest::kSha512>;
  }
}

std::optional<std::string_view> EncodeHex(const RowArgs& a, size_t row, std::string* room) {
  *room = Hex(a.text(0, row));
  return *room;
}

template <bool pad>
std::optional<std::string_view> EncodeBase64(const RowArgs& a, size_t row, std::string* room) {
  const std::string_view s = a.text(0, row);
  for (size_t i = 0; i < s.size(); i += 3) {
    const size_t n = std::min<size_t>(3, s.size() - i);
    uint32_t bits = 0;
    for (size_t k = 0; k < 3; ++k) bits = bits << 8 | (k < n ? static_cast<uint8_t>(s[i + k]) : 0);
    for (size_t k = 0; k <= n; ++k) *room += kBase64[bits >> (18 - 6 * k) & 63];
    if (pad) room->append(3 - n, '=');
  }
  return *room;
}

std::optional<std::string_view> DecodeHex(const RowArgs& a, size_t row, std::string* room) {
  const std::string_view s = a.text(0, row);
  if (s.size() % 2 != 0) return std::nullopt;
  for (size_t i = 0; i < s.size(); i += 2) {
    const auto digit = [&](char c) { return kHex.find(static_cast<char>(c >= 'A' && c <= 'F' ? c + 32 : c)); };
    const size_t high = digit(s[i]), low = digit(s[i + 1]);
    if (high == kHex.npos || low == kHex.npos) return std::nullopt;
    *room += static_cast<char>(high << 4 | low);
  }
  return *room;
}

// With `pad` in groups of four, else without '='; bits that are left over are zero.
template <bool pad>
std::optional<std::string_view> DecodeBase64(const RowArgs& a, size_t row, std::string* room) {
  std::string_view s = a.text(0, row);
  if (pad && s.size() % 4 != 0) return std::nullopt;
  for (int i = 0; pad && i < 2 && s.ends_with('='); ++i) s.remove_suffix(1);
  if (s.size() % 4 == 1) return std::nullopt;
  uint32_t bits = 0;
  int have = 0;
  for (char c : s) {
    const size_t digit = kBase64.find(c);
    if (digit == kBase64.npos) return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    have += 6;
    if (have < 8) continue;
    have -= 8;
    *room += static_cast<char>(bits >> have);
    bits &= (1u << have) - 1;
  }
  return bits == 0 ? std::optional<std::string_view>(*room) : std::nullopt;
}

struct Form {
  std::string_view name;
  TextRow encode, decode;
};
constexpr Form kForms[] = {
    {"hex", EncodeHex, DecodeHex},
    {"base64", EncodeBase64<false>, DecodeBase64<false>},
    {"base64pad", EncodeBase64<true>, DecodeBase64<true>},
};

Result<std::string> NameArgument(const FunctionCall& f, const char* wanted) {
  const auto& l = f.args[1].literal;
  if (!l || l->kind != Literal::Kind::kText) return WrongArgument(f, 1, wanted);
  return l->bytes;
}

}  // namespace

// md5 is hexadecimal text, the others are binary; digest(x, 'md5') is binary too.
Result<Operand> BindDigest(FunctionCall f) {
  if (HasNullArgument(f)) return NullOperand(f.call.pos);
  const bool named = f.call.name == "digest";
  std::string name = f.call.name;
  if (named) {
    PILUM_ASSIGN_OR_RETURN(name, NameArgument(f, "'md5', 'sha224', 'sha256', 'sha384' or 'sha512'"));
  }
  const auto kind = DigestNamed(name);
  if (!kind) return ErrorAt(f.args[1].pos, "there is no digest '{}': md5, sha224, sha256, sha384 or sha512", name);
  const bool text = !named && *kind == Digest::kMd5;
  const std::string shown = Shown(f);
  f.args.resize(1);
  PILUM_ASSIGN_OR_RETURN(auto args, BindArgs(f, "b"));
  return ValueResult(MakeTextRows(shown, std::move(args), "b", text ? arrow::utf8() : arrow::binary(),
                                  text ? RowMd5 : DigestRow(*kind)),
                     f.call.pos);
}

Result<Operand> BindEncode(FunctionCall f) {
  if (HasNullArgument(f)) return NullOperand(f.call.pos);
  const bool encode = f.call.name == "encode";
  PILUM_ASSIGN_OR_RETURN(const std::string name, NameArgument(f, "'hex', 'base64' or 'base64pad'"));
  for (const Form& form : kForms) {
    if (name != form.name) continue;
    const std::string shown = Shown(f);
    f.args.resize(1);
    PILUM_ASSIGN_OR_RETURN(auto args, BindArgs(f, "b"));
    return ValueResult(MakeTextRows(shown, std::move(args), "b", encode ? arrow::utf8() : arrow::binary(),
                                    encode ? form.encode : form.decode),
                       f.call.pos);
  }
  return ErrorAt(f.args[1].pos, "there is no encoding '{}': hex, base64 or base64pad", name);
}

}  // namespace pilum
