#include "pilum/table/refs.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <nlohmann/json.hpp>

#include "pilum/base/utf8.h"
#include "pilum/io/percent.h"

namespace pilum {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxRefBytes = 16 << 20;
constexpr std::string_view kTags = "_refs/tags/", kBranches = "_refs/branches/", kSuffix = ".json";

Result<json> ReadJson(const ReadOnlyStore& root, const std::string& path, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto source, root.OpenSource(path, ctx));
  if (source->size() > kMaxRefBytes) return Corrupt(source->name(), "", "too large for a tag or branch");
  PILUM_ASSIGN_OR_RETURN(auto bytes, source->ReadRange({0, source->size()}, ctx));
  json parsed = json::parse(bytes->data(), bytes->data() + bytes->size(), nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) return Corrupt(source->name(), "", "it is no JSON object");
  return parsed;
}

// Missing, null and of another type are all "not said", except where the caller needs it.
std::optional<uint64_t> Number(const json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number_integer() || (!at->is_number_unsigned() && at->get<int64_t>() < 0)) {
    return std::nullopt;
  }
  return at->get<uint64_t>();
}

std::optional<std::string> Text(const json& object, const char* key) {
  const auto at = object.find(key);
  return at == object.end() || !at->is_string() ? std::nullopt : std::optional(at->get<std::string>());
}

std::map<std::string, std::string> Metadata(const json& object) {
  std::map<std::string, std::string> out;
  const auto at = object.find("metadata");
  if (at == object.end() || !at->is_object()) return out;
  for (const auto& [key, value] : at->items()) out[key] = value.is_string() ? value.get<std::string>() : value.dump();
  return out;
}

// [[version, hex], …]; what is no such pair is left out.
std::vector<std::pair<uint64_t, std::string>> Identifier(const json& object) {
  std::vector<std::pair<uint64_t, std::string>> out;
  const auto identifier = object.find("identifier");
  if (identifier == object.end() || !identifier->is_object()) return out;
  const auto mapping = identifier->find("version_mapping");
  if (mapping == identifier->end() || !mapping->is_array()) return out;
  for (const json& pair : *mapping) {
    if (pair.is_array() && pair.size() == 2 && pair[0].is_number_unsigned() && pair[1].is_string()) {
      out.emplace_back(pair[0].get<uint64_t>(), pair[1].get<std::string>());
    }
  }
  return out;
}

Result<TableTag> ReadTag(const ReadOnlyStore& root, const std::string& path, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const json j, ReadJson(root, path, ctx));
  const auto version = Number(j, "version");
  if (!version) return Corrupt(root.uri() + "/" + path, "", "a tag without a version");
  return TableTag{Text(j, "branch"),
                  *version,
                  Number(j, "manifestSize").value_or(0),
                  Text(j, "createdAt").value_or(""),
                  Text(j, "updatedAt").value_or(""),
                  Metadata(j)};
}

Result<TableBranch> ReadBranch(const ReadOnlyStore& root, const std::string& path, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const json j, ReadJson(root, path, ctx));
  const auto version = Number(j, "parentVersion");
  if (!version) return Corrupt(root.uri() + "/" + path, "", "a branch without the version it begins at");
  return TableBranch{Text(j, "parentBranch"),
                     *version,
                     Number(j, "manifestSize").value_or(0),
                     static_cast<int64_t>(Number(j, "createAt").value_or(0)),
                     Identifier(j),
                     Metadata(j)};
}

template <typename Ref, typename Read>
Result<std::map<std::string, Ref>> ListRefs(const ReadOnlyStore& root, std::string_view folder, Read read,
                                            ReadContext& ctx) {
  std::map<std::string, Ref> out;
  PILUM_ASSIGN_OR_RETURN(auto objects, root.List(std::string(folder)));
  for (const ObjectInfo& o : objects) {
    std::string_view name = std::string_view(o.path).substr(folder.size());
    if (!name.ends_with(kSuffix) || name.find('/') != name.npos) continue;
    name.remove_suffix(kSuffix.size());
    PILUM_ASSIGN_OR_RETURN(Ref ref, read(root, o.path, ctx));
    // A branch may be named a/b; its file is a%2Fb.json.
    out.emplace(PercentDecode(name), std::move(ref));
  }
  return out;
}

bool IsRefLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
         c == '_' || (c & 0x80) != 0;
}

bool IsRefName(std::string_view name) {
  return !name.empty() && name.front() != '.' && name.find("..") == name.npos && !name.ends_with(".lock") &&
         std::all_of(name.begin(), name.end(), IsRefLetter) && IsUtf8(name);
}

}  // namespace

Result<std::map<std::string, TableTag>> ListTags(const ReadOnlyStore& root, ReadContext& ctx) {
  return ListRefs<TableTag>(root, kTags, ReadTag, ctx);
}

Result<std::map<std::string, TableBranch>> ListBranches(const ReadOnlyStore& root, ReadContext& ctx) {
  return ListRefs<TableBranch>(root, kBranches, ReadBranch, ctx);
}

Result<std::optional<TableTag>> FindTag(const ReadOnlyStore& root, const std::string& name, ReadContext& ctx) {
  if (!IsRefName(name)) return UsageError("'{}' cannot be the name of a tag", name);
  auto tag = ReadTag(root, std::string(kTags) + name + std::string(kSuffix), ctx);
  if (tag.ok()) return std::optional(std::move(*tag));
  if (KindOf(tag.status()) == ErrorKind::kNotFound) return std::optional<TableTag>();
  return tag.status();
}

Result<std::optional<TableBranch>> FindBranch(const ReadOnlyStore& root, const std::string& name, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(CheckBranchName(name));
  auto branch = ReadBranch(root, BranchRefPath(name), ctx);
  if (branch.ok()) return std::optional(std::move(*branch));
  if (KindOf(branch.status()) == ErrorKind::kNotFound) return std::optional<TableBranch>();
  return branch.status();
}

std::string BranchRefPath(const std::string& name) {
  return std::string(kBranches) + PercentEncode(name) + std::string(kSuffix);
}

Status CheckBranchName(const std::string& name) {
  const auto refuse = [&](const char* why) { return UsageError("'{}' cannot be the name of a branch: {}", name, why); };
  if (name == "main") return refuse("\"main\" is reserved for the default branch");
  if (name.find("..") != name.npos || name.find('\\') != name.npos) return refuse("it has '..' or '\\' in it");
  if (name.ends_with(".lock")) return refuse("it ends with '.lock'");
  if (!IsUtf8(name)) return refuse("it is not UTF-8");
  std::string_view rest = name;
  while (true) {
    const size_t slash = rest.find('/');
    const std::string_view segment = rest.substr(0, slash);
    if (segment.empty() || segment == ".") return refuse("it is empty, or a part between '/' is");
    if (!std::all_of(segment.begin(), segment.end(), IsRefLetter)) {
      return refuse("only letters, digits, '.', '-', '_' and '/' are allowed");
    }
    if (slash == rest.npos) return Status::OK();
    rest = rest.substr(slash + 1);
  }
}

std::string BranchFolder(const std::string& name) { return "tree/" + name; }

}  // namespace pilum
