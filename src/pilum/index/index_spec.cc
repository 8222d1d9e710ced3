#include "pilum/index/index_spec.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

namespace pilum {
namespace {

struct Named {
  std::string_view name;
  uint32_t kinds;
};
constexpr Named kNames[] = {
    {"none", 0},
    {"bloom", static_cast<uint32_t>(IndexKind::kBloom)},
    {"inverted", static_cast<uint32_t>(IndexKind::kInverted)},
    {"nulls", static_cast<uint32_t>(IndexKind::kNulls)},
    {"members", static_cast<uint32_t>(IndexKind::kMembers)},
    {"key", static_cast<uint32_t>(IndexKind::kKey)},
    {"trigrams", static_cast<uint32_t>(IndexKind::kTrigrams)},
    {"words", static_cast<uint32_t>(IndexKind::kWords)},
    {"cuckoo", static_cast<uint32_t>(IndexKind::kCuckoo)},
    {"xor", static_cast<uint32_t>(IndexKind::kFuse)},
    {"time", static_cast<uint32_t>(IndexKind::kRanges)},
    {"owner", static_cast<uint32_t>(IndexKind::kRanges) | static_cast<uint32_t>(IndexKind::kBloom)},
};

std::string AnnotationOf(const arrow::Field& field, bool* found) {
  *found = false;
  if (!field.metadata()) return {};
  const int at = field.metadata()->FindKey(std::string(kIndexKey));
  if (at < 0) return {};
  *found = true;
  return field.metadata()->value(at);
}

bool HasAnnotation(const arrow::Field& field) {
  bool found = false;
  AnnotationOf(field, &found);
  found |= field.metadata() && field.metadata()->Contains(std::string(kPairKey));
  if (found || field.type()->id() != arrow::Type::STRUCT) return found;
  for (const auto& child : field.type()->fields()) {
    if (HasAnnotation(*child)) return true;
  }
  return false;
}

Status CheckField(const arrow::Field& field) {
  const IndexSpec spec = IndexSpec::Of(field, true);
  if (!spec.unknown.empty()) {
    std::string known;
    for (const Named& n : kNames) known += fmt::format("{}{}", known.empty() ? "" : ", ", n.name);
    return UsageError("column '{}': {} asks for an index '{}'; there are {}", field.name(), kIndexKey, spec.unknown[0],
                      known);
  }
  if (field.type()->id() != arrow::Type::STRUCT) return Status::OK();
  for (const auto& child : field.type()->fields()) PILUM_RETURN_NOT_OK(CheckField(*child));
  return Status::OK();
}

void AddPairs(const arrow::Field& field, const std::string& path,
              std::vector<std::pair<std::string, std::string>>* out) {
  const int at = field.metadata() ? field.metadata()->FindKey(std::string(kPairKey)) : -1;
  const std::string list = at < 0 ? std::string() : field.metadata()->value(at);
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find('\n', begin), list.size());
    if (end > begin) out->emplace_back(path, list.substr(begin, end - begin));
    begin = end + 1;
  }
  if (field.type()->id() != arrow::Type::STRUCT) return;
  for (const auto& child : field.type()->fields()) AddPairs(*child, path + "." + child->name(), out);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> PairsAskedFor(const arrow::Schema& schema) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& field : schema.fields()) AddPairs(*field, field->name(), &out);
  return out;
}

IndexSpec IndexSpec::Of(const arrow::Field& field, bool annotated) {
  IndexSpec spec;
  spec.annotated = annotated;
  bool found = false;
  const std::string list = AnnotationOf(field, &found);
  for (size_t at = 0; at < list.size();) {
    size_t end = list.find_first_of(", \t\n", at);
    if (end == std::string::npos) end = list.size();
    const std::string name = list.substr(at, end - at);
    at = end + 1;
    if (name.empty()) continue;
    bool known = false;
    for (const Named& n : kNames) {
      if (n.name != name) continue;
      spec.asked |= n.kinds;
      known = true;
    }
    if (!known) spec.unknown.push_back(name);
  }
  return spec;
}

bool IsAnnotated(const arrow::Schema& schema) {
  for (const auto& field : schema.fields()) {
    if (HasAnnotation(*field)) return true;
  }
  return false;
}

Status CheckIndexSpecs(const arrow::Schema& schema) {
  for (const auto& field : schema.fields()) PILUM_RETURN_NOT_OK(CheckField(*field));
  return Status::OK();
}

}  // namespace pilum
