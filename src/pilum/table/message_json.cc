#include "pilum/table/message_json.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "pilum/base/bytes.h"
#include "pilum/file/wire_fields.h"
#include "pilum/table/indices.h"
#include "pilum/table/message_specs.h"
#include "pilum/table/roaring.h"

namespace pilum {
namespace {

using Json = nlohmann::ordered_json;
using wire_spec::Field;
using wire_spec::Kind;
using wire_spec::Message;

constexpr int kMostDepth = 24;         // messages in one another; the format has no more than 10, but for JSON indices
constexpr size_t kMostNumbers = 1000;  // of a list that is told in full
constexpr size_t kBytesShown = 32;

Status Bad() { return MakeError(ErrorKind::kCorrupt, "the message does not parse"); }

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes.substr(0, kBytesShown)) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return out;
}

Json BytesToJson(std::string_view bytes) { return {{"bytes", bytes.size()}, {"begins", Hex(bytes)}}; }

template <typename Number>
Json NumbersToJson(const std::vector<Number>& numbers) {
  if (numbers.size() <= kMostNumbers) return numbers;
  return {{"count", numbers.size()}, {"first", numbers.front()}, {"last", numbers.back()}};
}

template <typename Number>
Json FixedNumbers(std::string_view bytes) {
  std::vector<Number> out(bytes.size() / sizeof(Number));
  for (size_t i = 0; i < out.size(); ++i) out[i] = LoadLE<Number>(bytes.data() + i * sizeof(Number));
  return bytes.size() % sizeof(Number) == 0 ? NumbersToJson(out) : BytesToJson(bytes);
}

Json BitmapToJson(std::string_view bytes) {
  auto set = ParseRoaring32(bytes);
  if (!set.ok()) return BytesToJson(bytes);
  Json out = Json::array();
  for (const RowRange& r : set->ranges()) out.push_back({r.begin, r.end - 1});
  return out;
}

Json UnknownToJson(const WireFields& at) {
  static constexpr const char* kTypes[] = {"varint", "fixed64", "bytes", "", "", "fixed32"};
  Json out = {{"number", at.number()}, {"wire_type", kTypes[at.type()]}};
  if (at.type() == WireFields::kVarint) {
    out["value"] = at.value();
  } else {
    const bool bytes = at.type() == WireFields::kBytes;
    const size_t fixed = at.type() == WireFields::kFixed64 ? 8 : 4;
    out.update(BytesToJson(bytes ? at.bytes() : at.whole().substr(at.whole().size() - fixed)));
  }
  return out;
}

class Teller {
 public:
  Result<Json> Tell(std::string_view bytes, const Message& message, int depth) {
    if (depth > kMostDepth) return BytesToJson(bytes);
    std::map<uint32_t, Json> values;
    Json unknown = Json::array();
    WireFields at(bytes);
    while (at.Next()) {
      const Field* field = Find(message, at.number());
      if (!field || !Fits(*field, at)) {
        unknown.push_back(UnknownToJson(at));
        continue;
      }
      PILUM_ASSIGN_OR_RETURN(Json value, Value(*field, at, depth));
      Put(*field, std::move(value), &values[field->number]);
    }
    if (!at.ok()) return Bad();
    Json out = Json::object();
    for (const Field& field : message.fields) {
      const auto it = values.find(field.number);
      if (it != values.end()) {
        out[field.name] = std::move(it->second);
      } else if (field.always) {
        out[field.name] = field.kind == Kind::kEnum ? Json(field.values[0]) : Json(0);
      }
    }
    if (!unknown.empty()) out["unknown"] = std::move(unknown);
    return out;
  }

  Result<Json> TellAny(std::string_view bytes, int depth) {
    std::string_view url, value;
    WireFields at(bytes);
    while (at.Next()) {
      if (at.Is(1, WireFields::kBytes)) url = at.bytes();
      if (at.Is(2, WireFields::kBytes)) value = at.bytes();
    }
    if (!at.ok()) return Bad();
    Json out = Json::object();
    out["type_url"] = std::string(url);
    const Message* message = wire_spec::FindIndexDetails(url);
    auto details = message ? Tell(value, *message, depth + 1) : Result<Json>(BytesToJson(value));
    out["value"] = details.ok() ? std::move(*details) : BytesToJson(value);
    return out;
  }

 private:
  static const Field* Find(const Message& message, uint32_t number) {
    for (const Field& f : message.fields) {
      if (f.number == number) return &f;
    }
    return nullptr;
  }

  // Is it in a form that a field of its kind may have?
  static bool Fits(const Field& field, const WireFields& at) {
    switch (field.kind) {
      case Kind::kUint:
      case Kind::kInt:
      case Kind::kBool:
      case Kind::kEnum: return at.type() == WireFields::kVarint;
      case Kind::kDouble: return at.type() == WireFields::kFixed64;
      case Kind::kInts:
      case Kind::kUints: return at.type() == WireFields::kVarint || at.type() == WireFields::kBytes;
      default: return at.type() == WireFields::kBytes;
    }
  }

  Result<Json> Value(const Field& field, const WireFields& at, int depth) {
    switch (field.kind) {
      case Kind::kUint: return Json(at.value());
      case Kind::kInt: return Json(static_cast<int64_t>(at.value()));
      case Kind::kBool: return Json(at.value() != 0);
      case Kind::kEnum: return EnumToJson(field, at.value());
      case Kind::kDouble: {
        double value = 0;
        std::memcpy(&value, at.whole().data() + at.whole().size() - sizeof value, sizeof value);
        return Json(value);
      }
      case Kind::kText: return Json(std::string(at.bytes()));
      case Kind::kBytes: return BytesToJson(at.bytes());
      case Kind::kInts:
      case Kind::kUints: return Numbers(at, field.kind == Kind::kInts);
      case Kind::kBitmap: return BitmapToJson(at.bytes());
      case Kind::kU16s: return FixedNumbers<uint16_t>(at.bytes());
      case Kind::kU32s: return FixedNumbers<uint32_t>(at.bytes());
      case Kind::kU64s: return FixedNumbers<uint64_t>(at.bytes());
      case Kind::kUuid: return Uuid(at.bytes());
      case Kind::kAny: return TellAny(at.bytes(), depth);
      default: return Tell(at.bytes(), *field.message, depth + 1);
    }
  }

  static Json EnumToJson(const Field& field, uint64_t value) {
    uint64_t i = 0;
    for (const char* const* name = field.values; *name; ++name, ++i) {
      if (i == value) return *name;
    }
    return value;
  }

  static Result<Json> Numbers(const WireFields& at, bool is_signed) {
    std::vector<uint64_t> numbers;
    if (!at.AddTo(&numbers)) return Bad();
    if (!is_signed) return Json(numbers);
    std::vector<int64_t> out(numbers.size());
    std::transform(numbers.begin(), numbers.end(), out.begin(), [](uint64_t n) { return static_cast<int64_t>(n); });
    return Json(out);
  }

  static Result<Json> Uuid(std::string_view message) {
    WireFields at(message);
    while (at.Next()) {
      if (at.Is(1, WireFields::kBytes) && at.bytes().size() == 16) return Json(UuidText(at.bytes()));
    }
    return BytesToJson(message);
  }

  // Lists grow, maps gain a key, other fields that come twice keep the last, as protobuf has it.
  static void Put(const Field& field, Json value, Json* into) {
    if (field.kind == Kind::kMap) {
      if (into->is_null()) *into = Json::object();
      const Json key = value.is_object() && value.contains("key") ? value["key"] : Json("");
      (*into)[key.is_string() ? key.get<std::string>() : key.dump()] =
          value.is_object() && value.contains("value") ? value["value"] : Json("");
    } else if (field.kind == Kind::kInts || field.kind == Kind::kUints) {
      if (into->is_null()) *into = Json::array();
      for (Json& n : value) into->push_back(std::move(n));
    } else if (field.repeated) {
      if (into->is_null()) *into = Json::array();
      into->push_back(std::move(value));
    } else {
      *into = std::move(value);
    }
  }
};

const Message& MessageOf(TableMessage kind) {
  switch (kind) {
    case TableMessage::kManifest: return wire_spec::kManifest;
    case TableMessage::kIndexSection: return wire_spec::kIndexSection;
    default: return wire_spec::kTransaction;
  }
}

}  // namespace

Result<Json> MessageToJson(std::string_view message, TableMessage kind) {
  return Teller().Tell(message, MessageOf(kind), 0);
}

Result<Json> IndexDetailsToJson(std::string_view type_url, std::string_view details) {
  const Message* message = wire_spec::FindIndexDetails(type_url);
  return message ? Teller().Tell(details, *message, 0) : Result<Json>(BytesToJson(details));
}

Result<std::vector<FieldShare>> FieldShares(std::string_view message, TableMessage kind) {
  std::map<uint32_t, FieldShare> shares;
  WireFields at(message);
  while (at.Next()) {
    FieldShare& share = shares[at.number()];
    share.number = at.number();
    ++share.count;
    share.bytes += at.whole().size();
  }
  if (!at.ok()) return Bad();
  std::vector<FieldShare> out;
  for (auto& [number, share] : shares) {
    for (const Field& f : MessageOf(kind).fields) {
      if (f.number == number) share.name = f.name;
    }
    out.push_back(std::move(share));
  }
  return out;
}

}  // namespace pilum
