#include "pilum/table/folder/inventory.h"

#include <algorithm>
#include <array>
#include <map>

#include "pilum/table/manifest_names.h"

namespace pilum {
namespace {

constexpr std::array<std::string_view, 5> kTableFolders = {"_versions", "_transactions", "data", "_deletions",
                                                           "_indices"};

bool IsHiddenTemporary(std::string_view name) { return name.starts_with(".tmp") || name.find(".tmp-") != name.npos; }

bool IsDigits(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// FRAGMENT-VERSION-ID, without what follows the dot.
bool IsDeletionStem(std::string_view stem) {
  const size_t first = stem.find('-'), second = first == stem.npos ? first : stem.find('-', first + 1);
  return second != stem.npos && IsDigits(stem.substr(0, first)) &&
         IsDigits(stem.substr(first + 1, second - first - 1)) && IsDigits(stem.substr(second + 1));
}

struct Kind {
  ObjectKind kind = ObjectKind::kStray;
  std::string_view note;
};

Kind Stray(std::string_view note = "no file of a Lance table; never read, and no clean-up takes it") {
  return {ObjectKind::kStray, note};
}
Kind Temporary(std::string_view note = "of a write under way, or of one that never ended") {
  return {ObjectKind::kTemporary, note};
}

Kind InVersions(std::string_view rest) {
  if (rest == "latest_version_hint.json") return {ObjectKind::kHint, {}};
  if (rest.starts_with(".tmp") || rest.find(".tmp-") != rest.npos || rest.find('#') != rest.npos) {
    return Temporary("a manifest of a commit under way, or of one that never ended");
  }
  if (ParseManifestName(rest)) return {ObjectKind::kManifest, {}};
  if (rest.ends_with(".manifest")) return Stray("named like a manifest, but of no version; passed over");
  return Stray();
}

Kind InData(std::string_view rest) {
  const size_t slash = rest.rfind('/');
  const std::string_view name = slash == rest.npos ? rest : rest.substr(slash + 1);
  if (IsHiddenTemporary(name)) return Temporary();
  if (name.ends_with(".blob") && slash != rest.npos) return {ObjectKind::kBlob, {}};
  if (name.ends_with(".lance")) return {ObjectKind::kData, {}};
  return Stray();
}

Kind InDeletions(std::string_view rest) {
  if (IsHiddenTemporary(rest)) return Temporary();
  const size_t dot = rest.rfind('.');
  const std::string_view end = dot == rest.npos ? std::string_view() : rest.substr(dot);
  if (end != ".arrow" && end != ".bin") return Stray();
  if (!IsDeletionStem(rest.substr(0, dot))) return Stray("named like no deletion file; never read");
  return {ObjectKind::kDeletions, {}};
}

Kind InTable(std::string_view folder, std::string_view rest) {
  if (folder == "_versions") return InVersions(rest);
  if (folder == "data") return InData(rest);
  if (folder == "_deletions") return InDeletions(rest);
  if (folder == "_indices") {
    return rest.find('/') == rest.npos ? Stray("beside the folders of indices; never read")
                                       : Kind{ObjectKind::kIndex, {}};
  }
  if (IsHiddenTemporary(rest.substr(rest.rfind('/') + 1))) return Temporary();
  return rest.ends_with(".txn") && rest.find('/') == rest.npos ? Kind{ObjectKind::kTransaction, {}} : Stray();
}

Kind InRefs(std::string_view rest) {
  if (IsHiddenTemporary(rest.substr(rest.rfind('/') + 1))) return Temporary();
  if (!rest.ends_with(".json")) return Stray();
  if (rest.starts_with("tags/") && rest.find('/', 5) == rest.npos) return {ObjectKind::kTag, {}};
  if (rest.starts_with("branches/") && rest.find('/', 9) == rest.npos) return {ObjectKind::kBranch, {}};
  return Stray();
}

// Where below `path` a folder of a table begins: 0 for "data/x", 9 for "tree/dev/data/x". npos: nowhere.
size_t TableFolderAt(std::string_view path) {
  size_t at = path.starts_with("tree/") ? path.find('/', 5) : 0;
  if (at != 0 && at != path.npos) ++at;
  while (at != path.npos && at < path.size()) {
    const size_t slash = path.find('/', at);
    if (slash == path.npos) return path.npos;
    const std::string_view part = path.substr(at, slash - at);
    if (std::find(kTableFolders.begin(), kTableFolders.end(), part) != kTableFolders.end()) return at;
    if (!path.starts_with("tree/")) return path.npos;
    at = slash + 1;
  }
  return path.npos;
}

}  // namespace

std::string_view ObjectKindName(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kManifest: return "manifest";
    case ObjectKind::kTransaction: return "transaction";
    case ObjectKind::kData: return "data file";
    case ObjectKind::kBlob: return "blob file";
    case ObjectKind::kDeletions: return "deletion file";
    case ObjectKind::kIndex: return "index file";
    case ObjectKind::kTag: return "tag";
    case ObjectKind::kBranch: return "branch";
    case ObjectKind::kHint: return "version hint";
    case ObjectKind::kTemporary: return "temporary file";
    default: return "stray file";
  }
}

std::string_view ObjectKindKey(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kManifest: return "manifest";
    case ObjectKind::kTransaction: return "transaction";
    case ObjectKind::kData: return "data";
    case ObjectKind::kBlob: return "blob";
    case ObjectKind::kDeletions: return "deletions";
    case ObjectKind::kIndex: return "index";
    case ObjectKind::kTag: return "tag";
    case ObjectKind::kBranch: return "branch";
    case ObjectKind::kHint: return "hint";
    case ObjectKind::kTemporary: return "temporary";
    default: return "stray";
  }
}

std::string_view TableObject::name() const { return std::string_view(path).substr(path.rfind('/') + 1); }

std::string_view TableObject::below_branch() const {
  return std::string_view(path).substr(branch.empty() ? 0 : 5 + branch.size() + 1);
}

TableObject ClassifyObject(const ObjectInfo& object) {
  TableObject out;
  out.path = object.path;
  out.size = object.size;
  out.written = object.written;
  const std::string_view path = out.path;
  Kind kind = Stray();
  if (const size_t at = TableFolderAt(path); at != path.npos) {
    if (at > 0) out.branch = path.substr(5, at - 6);
    const size_t slash = path.find('/', at);
    kind = InTable(path.substr(at, slash - at), path.substr(slash + 1));
  } else if (path.starts_with("_refs/")) {
    kind = InRefs(path.substr(6));
  } else if (path == "_latest.manifest") {
    kind = {ObjectKind::kHint, "a copy of the newest manifest, as very old Lance kept one; not read"};
  } else if (IsHiddenTemporary(out.name())) {
    kind = Temporary();
  }
  out.kind = kind.kind;
  out.note = kind.note;
  return out;
}

std::optional<uint32_t> Inventory::Find(std::string_view path) const {
  const auto at = std::lower_bound(objects.begin(), objects.end(), path,
                                   [](const TableObject& o, std::string_view p) { return o.path < p; });
  if (at == objects.end() || at->path != path) return std::nullopt;
  return static_cast<uint32_t>(at - objects.begin());
}

std::pair<uint32_t, uint32_t> Inventory::Below(std::string_view prefix) const {
  const auto first =
      std::partition_point(objects.begin(), objects.end(), [&](const TableObject& o) { return o.path < prefix; });
  const auto end =
      std::partition_point(first, objects.end(), [&](const TableObject& o) { return o.path.starts_with(prefix); });
  return {static_cast<uint32_t>(first - objects.begin()), static_cast<uint32_t>(end - objects.begin())};
}

Result<Inventory> ListInventory(const ReadOnlyStore& root, ReadContext& ctx) {
  Inventory out;
  PILUM_ASSIGN_OR_RETURN(auto listed, root.List("", ctx));
  for (const ObjectInfo& o : listed) out.objects.push_back(ClassifyObject(o));
  // Listings leave out what Pilum itself has not finished. Keys that may list no uploads are no reason to stop.
  auto unfinished = root.ListUnfinished("");
  if (unfinished.ok()) {
    for (const ObjectInfo& o : *unfinished) {
      TableObject object = ClassifyObject(o);
      object.kind = ObjectKind::kTemporary;
      object.note = "of a write that never ended";
      object.unfinished = o.path;
      if (!IsHiddenTemporary(object.name())) object.path += " (upload)";  // of a store that has no such files
      out.objects.push_back(std::move(object));
    }
  }
  if (out.objects.empty()) return NotFoundError("{}: there is nothing", root.uri());
  if (out.objects.size() > UINT32_MAX - 1) return Unsupported("{}: more than 2^32 objects", root.uri());
  std::sort(out.objects.begin(), out.objects.end(),
            [](const TableObject& a, const TableObject& b) { return a.path < b.path; });
  return out;
}

std::vector<KindTotals> TotalsByKind(const Inventory& inventory) {
  std::map<ObjectKind, std::vector<const TableObject*>> by_kind;
  for (const TableObject& o : inventory.objects) by_kind[o.kind].push_back(&o);
  std::vector<KindTotals> out;
  for (auto& [kind, objects] : by_kind) {
    KindTotals t;
    t.kind = kind;
    t.count = objects.size();
    for (const TableObject* o : objects) t.bytes += o->size;
    std::stable_sort(objects.begin(), objects.end(),
                     [](const TableObject* a, const TableObject* b) { return a->size < b->size; });
    t.median = objects[objects.size() / 2]->size;
    t.largest = objects.back()->size;
    t.largest_path = objects.back()->path;
    out.push_back(std::move(t));
  }
  return out;
}

}  // namespace pilum
