#include "pilum/values/jsonb.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include <arrow/util/decimal.h>

#include "pilum/base/bytes.h"
#include "pilum/base/utf8.h"
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

class Decoder {
 public:
  explicit Decoder(std::string* out) : out_(*out) {}

  Status Container(std::string_view bytes, size_t depth) {
    if (depth > JsonDoc::kMaxDepth) return Bad(fmt::format("more than {} levels", JsonDoc::kMaxDepth));
    if (bytes.size() < 4) return Bad("a container without its first word");
    const uint32_t word = Word(bytes, 0);
    const uint64_t count = word & kCountMask;
    switch (word & kKindMask) {
      case kScalar: return Values(bytes.substr(4), 1, depth, std::nullopt);
      case kArray: return Array(bytes.substr(4), count, depth);
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
    out_ += type == kNull ? "null" : type == kTrue ? "true" : "false";
    return Status::OK();
  }

 private:
  Status Array(std::string_view bytes, uint64_t count, size_t depth) {
    out_.push_back('[');
    PILUM_RETURN_NOT_OK(Values(bytes, count, depth, std::nullopt));
    out_.push_back(']');
    return Status::OK();
  }

  // Entries of the keys, of the values, then all keys, then all values.
  Status Object(std::string_view bytes, uint64_t count, size_t depth) {
    if (count > bytes.size() / 8) return Bad("an object without its entries");
    const size_t first_key = keys_.size();
    uint64_t at = 8 * count;
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t entry = Word(bytes, i);
      const uint64_t size = entry & kSizeMask;
      if ((entry & kTypeMask) != kString) return Bad("a key that is no string");
      if (size > bytes.size() - at) return Bad("a key that ends behind its object");
      keys_.push_back(bytes.substr(at, size));
      at += size;
    }
    out_.push_back('{');
    PILUM_RETURN_NOT_OK(Values(bytes.substr(4 * count), count, depth, first_key, at - 4 * count));
    keys_.resize(first_key);
    out_.push_back('}');
    return Status::OK();
  }

  // `bytes` begin with the entries; the values lie one after another at `at`, by default behind them. `first_key`: among keys_.
  Status Values(std::string_view bytes, uint64_t count, size_t depth, std::optional<size_t> first_key,
                uint64_t at = 0) {
    if (count > bytes.size() / 4) return Bad("a container without its entries");
    if (at == 0) at = 4 * count;
    for (uint64_t i = 0; i < count; ++i) {
      const uint32_t entry = Word(bytes, i);
      const uint64_t size = entry & kSizeMask;
      if (size > bytes.size() - at) return Bad("a value that ends behind its container");
      if (i > 0) out_.push_back(',');
      if (first_key) {
        PILUM_RETURN_NOT_OK(String(keys_[*first_key + i]));
        out_.push_back(':');
      }
      PILUM_RETURN_NOT_OK(Value(entry & kTypeMask, bytes.substr(at, size), depth));
      at += size;
    }
    if (at != bytes.size()) return Bad("bytes behind the last value of a container");
    return Status::OK();
  }

  Status String(std::string_view bytes) {
    if (!IsUtf8(bytes)) return Bad("a string that is not UTF-8");
    AppendJsonLiteral(bytes, &out_);
    return Status::OK();
  }

  Status Number(std::string_view bytes) {
    PILUM_ASSIGN_OR_RETURN(const JsonNumber number, NumberOf(bytes));
    if (const auto* d = std::get_if<double>(&number)) {
      AppendJsonDouble(*d, &out_);
      return Status::OK();
    }
    char digits[24];
    char* const end = digits + sizeof digits;
    const auto* i = std::get_if<int64_t>(&number);
    const auto printed = i ? std::to_chars(digits, end, *i) : std::to_chars(digits, end, std::get<uint64_t>(number));
    out_.append(digits, printed.ptr);
    return Status::OK();
  }

  std::string& out_;
  std::vector<std::string_view> keys_;  // of the objects that are open
};

void AppendBE(std::string* out, uint64_t bits, size_t size) {
  for (size_t i = size; i > 0; --i) out->push_back(static_cast<char>(bits >> (8 * (i - 1))));
}

size_t BytesFor(uint64_t magnitude_bits) {
  return magnitude_bits <= 0xFF ? 1 : magnitude_bits <= 0xFFFF ? 2 : magnitude_bits <= 0xFFFFFFFF ? 4 : 8;
}

class Encoder {
 public:
  explicit Encoder(const JsonDoc& doc) : doc_(doc) {}

  Result<std::string> Run() {
    const JsonKind kind = doc_.node(0).kind;
    if (kind == JsonKind::kArray || kind == JsonKind::kObject) return Container(0);
    std::string payload, out;
    PILUM_ASSIGN_OR_RETURN(const uint32_t entry, Value(0, &payload));
    AppendBE(&out, kScalar, 4);
    AppendBE(&out, entry, 4);
    return out + payload;
  }

 private:
  // The entry of a value, whose bytes are added to `payload`.
  Result<uint32_t> Value(uint32_t i, std::string* payload) {
    const size_t before = payload->size();
    uint32_t type = 0;
    switch (doc_.node(i).kind) {
      case JsonKind::kNull: type = kNull; break;
      case JsonKind::kFalse: type = kFalse; break;
      case JsonKind::kTrue: type = kTrue; break;
      case JsonKind::kNumber: type = kNumber, Number(doc_.NumberOf(i), payload); break;
      case JsonKind::kString: type = kString, *payload += doc_.StringOf(i); break;
      default: {
        type = kContainer;
        PILUM_ASSIGN_OR_RETURN(const std::string inner, Container(i));
        *payload += inner;
      }
    }
    if (payload->size() - before > kSizeMask) return UsageError("JSON with a value of more than 256 MiB");
    return type | static_cast<uint32_t>(payload->size() - before);
  }

  Result<std::string> Container(uint32_t i) {
    const JsonDoc::Node& node = doc_.node(i);
    const bool object = node.kind == JsonKind::kObject;
    std::vector<std::pair<std::string, uint32_t>> members;  // by key; those of an array have none
    for (uint32_t at = i + 1; at < node.next; at = doc_.node(members.back().second).next) {
      members.emplace_back(object ? doc_.StringOf(at) : std::string(), object ? at + 1 : at);
    }
    if (object) {
      std::sort(members.begin(), members.end());
      const auto twice = std::adjacent_find(members.begin(), members.end(),
                                            [](const auto& a, const auto& b) { return a.first == b.first; });
      if (twice != members.end()) return UsageError("JSON with two members named '{}'", twice->first);
    }
    std::string entries, keys, payload;
    for (const auto& [key, value] : members) {
      if (object) AppendBE(&entries, kString | key.size(), 4);
      keys += key;
    }
    for (const auto& [key, value] : members) {
      PILUM_ASSIGN_OR_RETURN(const uint32_t entry, Value(value, &payload));
      AppendBE(&entries, entry, 4);
    }
    std::string out;
    AppendBE(&out, (object ? kObject : kArray) | members.size(), 4);
    return out + entries + keys + payload;
  }

  static void Number(const JsonNumber& number, std::string* out) {
    if (const auto* d = std::get_if<double>(&number)) {
      if (std::isfinite(*d)) {
        out->push_back(static_cast<char>(kFloat));
        AppendBE(out, std::bit_cast<uint64_t>(*d), 8);
      } else {
        out->push_back(static_cast<char>(*d > 0 ? kInfinity : kMinusInfinity));
      }
      return;
    }
    const auto* s = std::get_if<int64_t>(&number);
    if (s && *s < 0) {
      out->push_back(static_cast<char>(kInt));
      // One bit for the sign.
      const size_t size = *s >= INT8_MIN ? 1 : *s >= INT16_MIN ? 2 : *s >= INT32_MIN ? 4 : 8;
      AppendBE(out, static_cast<uint64_t>(*s), size);
      return;
    }
    const uint64_t u = s ? static_cast<uint64_t>(*s) : std::get<uint64_t>(number);
    out->push_back(static_cast<char>(u == 0 ? kZero : kUInt));
    if (u > 0) AppendBE(out, u, BytesFor(u));
  }

  const JsonDoc& doc_;
};

}  // namespace

Status jsonb::AppendText(uint32_t type, std::string_view bytes, size_t depth, std::string* out) {
  return Decoder(out).Value(type, bytes, depth);
}

Status AppendJsonbText(std::string_view bytes, std::string* out) {
  if (bytes.empty()) {
    *out += "null";
    return Status::OK();
  }
  const size_t before = out->size();
  Status decoded = Decoder(out).Container(bytes, 1);
  if (decoded.ok() || KindOf(decoded) != ErrorKind::kCorrupt) return decoded;
  out->resize(before);
  JsonDoc doc;
  if (!doc.Parse(bytes).ok()) return decoded;
  *out += bytes;
  return Status::OK();
}

Result<std::string> JsonbOfText(std::string_view text) {
  JsonDoc doc;
  PILUM_RETURN_NOT_OK(doc.Parse(text));
  return Encoder(doc).Run();
}

}  // namespace pilum
