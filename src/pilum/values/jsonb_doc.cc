#include "pilum/values/jsonb_doc.h"

#include "pilum/base/utf8.h"
#include "pilum/values/jsonb_layout.h"

namespace pilum {

using jsonb::Word;

bool JsonbDoc::Open(std::string_view bytes) {
  nodes_.clear();
  failed_ = false;
  if (bytes.empty()) return Add(jsonb::kNull, bytes, 0) == 0;  // as pylance has it
  if (bytes.size() < 4) return false;
  if ((Word(bytes, 0) & jsonb::kKindMask) != jsonb::kScalar) return Add(jsonb::kContainer, bytes, 1) == 0 && !failed_;
  if (bytes.size() < 8) return false;
  const uint32_t entry = Word(bytes, 1), type = entry & jsonb::kTypeMask;
  if (type == jsonb::kContainer || (entry & jsonb::kSizeMask) != bytes.size() - 8) return false;
  Add(type, bytes.substr(8), 1);
  (void)kind(0);
  return !failed_;
}

// A container's own depth, else that of the container that holds it.
uint32_t JsonbDoc::Add(uint32_t type, std::string_view bytes, uint32_t depth) const {
  if (type == jsonb::kContainer) {
    const bool sound = depth <= kMaxDepth && bytes.size() >= 4;
    const uint32_t what = sound ? Word(bytes, 0) & jsonb::kKindMask : 0;
    if (what != jsonb::kObject && what != jsonb::kArray) return Fail(kNone);
  }
  if (nodes_.size() == kMostNodes) return Fail(kNone);
  nodes_.push_back({type, depth, bytes});
  return static_cast<uint32_t>(nodes_.size() - 1);
}

JsonKind JsonbDoc::kind(uint32_t i) const {
  const Node& node = nodes_[i];
  if (node.type == jsonb::kString) return JsonKind::kString;
  if (node.type == jsonb::kContainer) {
    return (Word(node.bytes, 0) & jsonb::kKindMask) == jsonb::kObject ? JsonKind::kObject : JsonKind::kArray;
  }
  if (node.type == jsonb::kNumber) {
    const auto number = jsonb::NumberOf(node.bytes);
    if (!number.ok()) return Fail(JsonKind::kNull);
    return jsonb::IsFinite(*number) ? JsonKind::kNumber : JsonKind::kNull;
  }
  if (!node.bytes.empty()) return Fail(JsonKind::kNull);
  if (node.type == jsonb::kTrue) return JsonKind::kTrue;
  if (node.type == jsonb::kFalse) return JsonKind::kFalse;
  return node.type == jsonb::kNull ? JsonKind::kNull : Fail(JsonKind::kNull);
}

void JsonbDoc::AppendCompact(uint32_t i, std::string* out) const {
  const Node& node = nodes_[i];
  const bool container = node.type == jsonb::kContainer;
  failed_ |= !jsonb::AppendText(node.type, node.bytes, node.depth - (container ? 1 : 0), out).ok();
}

std::string JsonbDoc::StringOf(uint32_t i) const {
  failed_ |= !IsUtf8(nodes_[i].bytes);
  return std::string(nodes_[i].bytes);
}

JsonNumber JsonbDoc::NumberOf(uint32_t i) const {
  const auto number = jsonb::NumberOf(nodes_[i].bytes);
  return number.ok() ? *number : Fail(JsonNumber(int64_t{0}));
}

std::optional<JsonbDoc::Values> JsonbDoc::ElementsOf(const Node& node) const {
  const std::string_view inner = node.bytes.substr(4);
  const uint64_t count = Word(node.bytes, 0) & jsonb::kCountMask;
  if (count > inner.size() / 4) return Fail(std::nullopt);
  return Values{count, inner.substr(0, 4 * count), inner.substr(4 * count), node.depth};
}

std::optional<JsonbDoc::Values> JsonbDoc::MembersOf(const Node& node, const std::string_view* key,
                                                    std::optional<uint64_t>* found) const {
  const std::string_view inner = node.bytes.substr(4);
  const uint64_t count = Word(node.bytes, 0) & jsonb::kCountMask;
  if (count > inner.size() / 8) return Fail(std::nullopt);
  uint64_t at = 8 * count;
  for (uint64_t i = 0; i < count; ++i) {
    const uint32_t entry = Word(inner, i);
    const uint64_t size = entry & jsonb::kSizeMask;
    if ((entry & jsonb::kTypeMask) != jsonb::kString || size > inner.size() - at) return Fail(std::nullopt);
    if (key && size == key->size() && inner.substr(at, size) == *key) *found = i;
    at += size;
  }
  return Values{count, inner.substr(4 * count, 4 * count), inner.substr(at), node.depth};
}

uint32_t JsonbDoc::AddValue(const Values& values, uint64_t index) const {
  uint64_t at = 0;
  for (uint64_t i = 0; i < index; ++i) at += Word(values.entries, i) & jsonb::kSizeMask;
  const uint32_t entry = Word(values.entries, index), type = entry & jsonb::kTypeMask;
  const uint64_t size = entry & jsonb::kSizeMask;
  if (at > values.bytes.size() || size > values.bytes.size() - at) return Fail(kNone);
  return Add(type, values.bytes.substr(at, size), values.depth + (type == jsonb::kContainer ? 1 : 0));
}

uint32_t JsonbDoc::Member(uint32_t i, std::string_view key) const {
  if (kind(i) != JsonKind::kObject) return kNone;
  std::optional<uint64_t> found;
  const auto members = MembersOf(nodes_[i], &key, &found);
  return members && found ? AddValue(*members, *found) : kNone;
}

uint32_t JsonbDoc::Element(uint32_t i, uint64_t index) const {
  if (kind(i) != JsonKind::kArray) return kNone;
  const auto elements = ElementsOf(nodes_[i]);
  return elements && index < elements->count ? AddValue(*elements, index) : kNone;
}

uint64_t JsonbDoc::CountElements(uint32_t i) const {
  if (kind(i) != JsonKind::kArray) return 0;
  const auto elements = ElementsOf(nodes_[i]);
  return elements ? elements->count : 0;
}

void JsonbDoc::AddChildren(uint32_t i, std::vector<uint32_t>* out) const {
  const JsonKind what = kind(i);
  if (what != JsonKind::kArray && what != JsonKind::kObject) return;
  const auto values = what == JsonKind::kArray ? ElementsOf(nodes_[i]) : MembersOf(nodes_[i], nullptr, nullptr);
  if (!values) return;
  uint64_t at = 0;
  for (uint64_t k = 0; k < values->count; ++k) {
    const uint32_t entry = Word(values->entries, k), type = entry & jsonb::kTypeMask;
    const uint64_t size = entry & jsonb::kSizeMask;
    const bool fits = size <= values->bytes.size() - at;
    const uint32_t child =
        fits ? Add(type, values->bytes.substr(at, size), values->depth + (type == jsonb::kContainer ? 1 : 0))
             : Fail(kNone);
    if (child == kNone) return;
    out->push_back(child);
    at += size;
  }
}

}  // namespace pilum
