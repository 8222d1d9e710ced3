#include "pilum/values/jsonb.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "pilum/values/jsonb_layout.h"

namespace pilum {

using namespace jsonb;

namespace {

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

Result<std::string> JsonbOfText(std::string_view text) {
  JsonDoc doc;
  PILUM_RETURN_NOT_OK(doc.Parse(text));
  return Encoder(doc).Run();
}

}  // namespace pilum
