// The text of JSONB. Written through a pointer, with room made before each value: most are a few bytes long.
#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>

#include <arrow/util/decimal.h>

#include "pilum/base/utf8.h"
#include "pilum/values/jsonb.h"
#include "pilum/values/jsonb_layout.h"

namespace pilum {

using namespace jsonb;

namespace {

Status Bad(std::string_view what) { return MakeError(ErrorKind::kCorrupt, fmt::format("JSONB: {}", what)); }

// Of 1, 2, 4 or 8 bytes, signed or not.
std::optional<uint64_t> WholeBits(std::string_view bytes, bool is_signed) {
  uint64_t v = 0;
  if (bytes.size() != 1 && bytes.size() != 2 && bytes.size() != 4 && bytes.size() != 8) return std::nullopt;
  if (is_signed && (static_cast<uint8_t>(bytes[0]) & 0x80) != 0) v = ~v;
  for (const char c : bytes) v = v << 8 | static_cast<uint8_t>(c);
  return v;
}

// A whole number of 8, 16 or 32 bytes, then (in older ones) the precision, then the scale. A double, as pylance has it.
Result<JsonNumber> DecimalOf(std::string_view bytes) {
  const size_t n = bytes.size(), digits = n == 9 ? 8 : n == 17 || n == 18 ? 16 : n == 33 || n == 34 ? 32 : 0;
  if (digits == 0) return Bad(fmt::format("a decimal of {} bytes", n));
  PILUM_ASSIGN_OR_RETURN(auto value, arrow::Decimal256::FromBigEndian(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                                      static_cast<int32_t>(digits)));
  return value.ToDouble(0) / std::pow(10.0, static_cast<uint8_t>(bytes.back()));
}

}  // namespace

Result<JsonNumber> jsonb::NumberOf(std::string_view bytes) {
  if (bytes.empty()) return Bad("a number without bytes");
  const auto type = static_cast<uint8_t>(bytes[0]);
  bytes.remove_prefix(1);
  switch (type) {
    case kZero: return bytes.empty() ? Result<JsonNumber>(int64_t{0}) : Bad("a zero with bytes");
    case kNan: return bytes.empty() ? Result<JsonNumber>(std::nan("")) : Bad("a NaN with bytes");
    case kInfinity:
    case kMinusInfinity: return bytes.empty() ? Result<JsonNumber>(HUGE_VAL) : Bad("an infinity with bytes");
    case kInt:
    case kUInt: {
      const auto bits = WholeBits(bytes, type == kInt);
      if (!bits) return Bad(fmt::format("a whole number of {} bytes", bytes.size()));
      if (type == kInt || *bits <= INT64_MAX) return static_cast<int64_t>(*bits);
      return *bits;
    }
    case kFloat:
      if (bytes.size() != 8) return Bad(fmt::format("a float of {} bytes", bytes.size()));
      return std::bit_cast<double>(*WholeBits(bytes, false));
    case kDecimal: return DecimalOf(bytes);
    default: return Bad("a number of an unknown type");
  }
}

namespace {

// The end of a string; what lies behind what was written is room.
class Writer {
 public:
  Writer(std::string* out, size_t expected) : out_(*out), at_(out->data() + out->size()), end_(at_) { Room(expected); }
  // Room for `n` more bytes, some of which may hold anything afterwards.
  char* Room(size_t n) {
    if (static_cast<size_t>(end_ - at_) < n) Grow(n);
    return at_;
  }
  void WrittenTo(char* at) { at_ = at; }
  void Add(char c) {
    *Room(1) = c;
    ++at_;
  }
  void Add(std::string_view text) { at_ = std::copy(text.begin(), text.end(), Room(text.size())); }
  void Finish() { out_.resize(static_cast<size_t>(at_ - out_.data())); }

 private:
  [[gnu::noinline]] void Grow(size_t n) {
    const auto used = static_cast<size_t>(at_ - out_.data());
    out_.resize(std::max(used + n, out_.size() + out_.size() / 2));
    at_ = out_.data() + used;
    end_ = out_.data() + out_.size();
  }

  std::string& out_;
  char *at_, *end_;
};

class Decoder {
 public:
  Decoder(std::string* out, size_t bytes) : out_(out, bytes + bytes / 2 + 64) {}
  void Finish() { out_.Finish(); }

  Status Container(std::string_view bytes, size_t depth) {
    if (depth > JsonDoc::kMaxDepth) return Bad(fmt::format("more than {} levels", JsonDoc::kMaxDepth));
    if (bytes.size() < 4) return Bad("a container without its first word");
    const uint32_t word = Word(bytes, 0);
    const uint64_t count = word & kCountMask;
    switch (word & kKindMask) {
      case kScalar: return Elements(bytes.substr(4), 1, depth);
      case kArray:
        out_.Add('[');
        PILUM_RETURN_NOT_OK(Elements(bytes.substr(4), count, depth));
        out_.Add(']');
        return Status::OK();
      case kObject: return Object(bytes.substr(4), count, depth);
      default: return Bad("neither a scalar nor an array nor an object");
    }
  }

  // Of a container that is `depth` levels deep.
  Status Value(uint32_t type, std::string_view bytes, size_t depth) {
    if (type == kString) return String(bytes);
    if (type == kNumber) return Number(bytes);
    if (type == kContainer) return Container(bytes, depth + 1);
    if (type == kExtension) return Unsupported("JSONB: a value that JSON has not (binary, date or interval)");
    if (!bytes.empty()) return Bad("bytes where a value has none");
    if (type != kNull && type != kTrue && type != kFalse) return Bad("a value of an unknown type");
    out_.Add(type == kNull ? "null" : type == kTrue ? "true" : "false");
    return Status::OK();
  }

 private:
  // Entries, then the values.
  Status Elements(std::string_view bytes, uint64_t count, size_t depth) {
    if (count > bytes.size() / 4) return Bad("a container without its entries");
    uint64_t at = 4 * count;
    for (uint64_t i = 0; i < count; ++i) {
      if (i > 0) out_.Add(',');
      PILUM_RETURN_NOT_OK(Next(bytes, Word(bytes, i), depth, &at));
    }
    return End(bytes, at);
  }

  // Entries of the keys, of the values, then all keys, then all values.
  Status Object(std::string_view bytes, uint64_t count, size_t depth) {
    if (count > bytes.size() / 8) return Bad("an object without its entries");
    uint64_t key_at = 8 * count, at = key_at;
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t entry = Word(bytes, i);
      const uint64_t size = entry & kSizeMask;
      if ((entry & kTypeMask) != kString) return Bad("a key that is no string");
      if (size > bytes.size() - at) return Bad("a key that ends behind its object");
      at += size;
    }
    out_.Add('{');
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t size = Word(bytes, i) & kSizeMask;
      if (i > 0) out_.Add(',');
      PILUM_RETURN_NOT_OK(String(bytes.substr(key_at, size)));
      out_.Add(':');
      PILUM_RETURN_NOT_OK(Next(bytes, Word(bytes, count + i), depth, &at));
      key_at += size;
    }
    out_.Add('}');
    return End(bytes, at);
  }

  Status Next(std::string_view bytes, uint32_t entry, size_t depth, uint64_t* at) {
    const uint64_t size = entry & kSizeMask;
    if (size > bytes.size() - *at) return Bad("a value that ends behind its container");
    PILUM_RETURN_NOT_OK(Value(entry & kTypeMask, bytes.substr(*at, size), depth));
    *at += size;
    return Status::OK();
  }
  static Status End(std::string_view bytes, uint64_t at) {
    return at == bytes.size() ? Status::OK() : Bad("bytes behind the last value of a container");
  }

  Status String(std::string_view bytes) {
    constexpr size_t kPiece = 4096;  // so that room for the worst case stays small
    bool ascii = true;
    out_.Add('"');
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::string_view piece = rest.substr(0, kPiece);
      out_.WrittenTo(WriteJsonText(piece, out_.Room(MostJsonText(piece.size())), &ascii));
      rest.remove_prefix(piece.size());
    }
    out_.Add('"');
    if (!ascii && !IsUtf8(bytes)) return Bad("a string that is not UTF-8");
    return Status::OK();
  }

  Status Number(std::string_view bytes) {
    PILUM_ASSIGN_OR_RETURN(const JsonNumber number, NumberOf(bytes));
    char* const at = out_.Room(kMostJsonNumber);
    char* const end = at + kMostJsonNumber;
    if (const auto* d = std::get_if<double>(&number)) {
      out_.WrittenTo(WriteJsonDouble(*d, at));
    } else if (const auto* i = std::get_if<int64_t>(&number)) {
      out_.WrittenTo(std::to_chars(at, end, *i).ptr);
    } else {
      out_.WrittenTo(std::to_chars(at, end, std::get<uint64_t>(number)).ptr);
    }
    return Status::OK();
  }

  Writer out_;
};

}  // namespace

Status jsonb::AppendText(uint32_t type, std::string_view bytes, size_t depth, std::string* out) {
  Decoder decoder(out, bytes.size());
  const Status status = decoder.Value(type, bytes, depth);
  decoder.Finish();
  return status;
}

Status AppendJsonbText(std::string_view bytes, std::string* out) {
  if (bytes.empty()) {
    *out += "null";
    return Status::OK();
  }
  const size_t before = out->size();
  Decoder decoder(out, bytes.size());
  Status decoded = decoder.Container(bytes, 1);
  decoder.Finish();
  if (decoded.ok() || KindOf(decoded) != ErrorKind::kCorrupt) return decoded;
  out->resize(before);
  JsonDoc doc;
  if (!doc.Parse(bytes).ok()) return decoded;
  *out += bytes;
  return Status::OK();
}

}  // namespace pilum
