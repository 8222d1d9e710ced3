#include "pilum/table/folder/references.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>
#include <unordered_map>

#include "pilum/table/find_version.h"

namespace pilum {
namespace {

void AddHolder(HolderRuns* runs, uint32_t holder) {
  if (!runs->empty() && runs->back().last == holder) return;
  if (!runs->empty() && runs->back().last + 1 == holder) {
    runs->back().last = holder;
  } else {
    runs->push_back({holder, holder});
  }
}

std::string BranchPrefix(const std::string& branch) { return branch.empty() ? "" : BranchFolder(branch) + "/"; }

// "/a/b" of "file:///a/b/" and of "a/b"; a URI without its last slash.
std::string NormalPath(std::string path) {
  if (path.starts_with("file://")) path.erase(0, 7);
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  if (IsRemoteUri(path)) return path;
  std::error_code ec;
  const auto real = std::filesystem::weakly_canonical(path, ec);
  return ec ? path : real.string();
}

class Collector {
 public:
  Collector(const ReadOnlyStore& root, const VisitManifest& visit, ReadContext& ctx, References so_far = {})
      : root_(root), visit_(visit), ctx_(ctx), root_path_(NormalPath(root.uri())), out_(std::move(so_far)) {}

  Result<References> Run() {
    PILUM_ASSIGN_OR_RETURN(out_.inventory, ListInventory(root_, ctx_));
    ListLeaders();
    CountGroups();
    PILUM_RETURN_NOT_OK(ListRefs());
    ListHolders();
    for (uint32_t i = 0; i < out_.holders.size(); ++i) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      PILUM_RETURN_NOT_OK(ReadHolder(i));
    }
    for (auto& [path, wrong] : wrong_) out_.wrong.push_back(std::move(wrong));
    return std::move(out_);
  }

  // What appeared since.
  Result<References> Update() {
    CountGroups();
    PILUM_RETURN_NOT_OK(ListRefs());
    const uint32_t known = static_cast<uint32_t>(out_.holders.size());
    std::set<std::tuple<std::string, uint64_t>> seen;
    for (const Holder& h : out_.holders) seen.emplace(h.branch, h.version);
    std::set<std::string> folders = {""};
    for (const auto& [name, branch] : out_.branches) folders.insert(name);
    for (const std::string& branch : folders) {
      PILUM_ASSIGN_OR_RETURN(auto paths, root_.ListPaths(BranchPrefix(branch) + "_versions/", ctx_));
      for (const std::string& path : paths) {
        const auto name = ParseManifestName(std::string_view(path).substr(path.rfind('/') + 1));
        if (!name || seen.contains({branch, name->version})) continue;
        Holder h;
        h.branch = branch;
        h.version = name->version;
        h.detached = name->scheme == ManifestScheme::kDetached;
        h.object = kNoObject;
        paths_[{branch, name->version}] = path;
        out_.holders.push_back(std::move(h));
      }
    }
    std::sort(out_.holders.begin() + known, out_.holders.end(), [](const Holder& a, const Holder& b) {
      return std::tie(a.detached, a.branch, a.version) < std::tie(b.detached, b.branch, b.version);
    });
    NameHolders();
    for (uint32_t i = known; i < out_.holders.size(); ++i) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      PILUM_RETURN_NOT_OK(ReadHolder(i));
    }
    return std::move(out_);
  }

 private:
  void ListLeaders() {
    const auto& objects = out_.inventory.objects;
    out_.held.resize(objects.size());
    out_.leader.resize(objects.size());
    out_.pinned.resize(objects.size(), false);
    for (uint32_t i = 0; i < objects.size(); ++i) {
      out_.leader[i] = i;
      const std::string_view path = objects[i].path;
      if (objects[i].kind == ObjectKind::kBlob) {
        const auto data = out_.inventory.Find(std::string(path.substr(0, path.rfind('/'))) + ".lance");
        if (data) out_.leader[i] = *data;
      } else if (objects[i].kind == ObjectKind::kIndex) {
        const size_t folder = path.size() - objects[i].below_branch().size() + std::string_view("_indices/").size();
        out_.leader[i] = out_.inventory.Below(path.substr(0, path.find('/', folder) + 1)).first;
      }
    }
  }

  void CountGroups() {
    const auto& objects = out_.inventory.objects;
    groups_.resize(objects.size());
    for (uint32_t i = 0; i < objects.size(); ++i) {
      ++groups_[out_.leader[i]].files;
      groups_[out_.leader[i]].bytes += objects[i].size;
    }
  }

  Status ListRefs() {
    auto tags = ListTags(root_, ctx_);
    auto branches = ListBranches(root_, ctx_);
    if (tags.ok()) out_.tags = std::move(*tags);
    if (branches.ok()) out_.branches = std::move(*branches);
    out_.refs = !tags.ok() ? tags.status() : branches.status();
    return out_.refs.ok() || KindOf(out_.refs) == ErrorKind::kCorrupt ? Status::OK() : out_.refs;
  }

  void ListHolders() {
    for (uint32_t i = 0; i < out_.inventory.objects.size(); ++i) {
      const TableObject& o = out_.inventory.objects[i];
      if (o.kind != ObjectKind::kManifest) continue;
      const auto name = ParseManifestName(o.name());
      Holder h;
      h.branch = o.branch;
      h.version = name->version;
      h.detached = name->scheme == ManifestScheme::kDetached;
      h.object = i;
      out_.holders.push_back(std::move(h));
    }
    std::stable_sort(out_.holders.begin(), out_.holders.end(), [](const Holder& a, const Holder& b) {
      return std::tie(a.detached, a.branch, a.version) < std::tie(b.detached, b.branch, b.version);
    });
    NameHolders();
  }

  void NameHolders() {
    for (Holder& h : out_.holders) {
      h.tags.clear();
      h.branches.clear();
      for (const auto& [name, tag] : out_.tags) {
        if (tag.version == h.version && tag.branch.value_or("") == h.branch) h.tags.push_back(name);
      }
      for (const auto& [name, branch] : out_.branches) {
        if (branch.parent_version == h.version && branch.parent.value_or("") == h.branch) h.branches.push_back(name);
      }
    }
  }

  // What stops the whole is passed on; what is wrong with this manifest is noted.
  Status ReadHolder(uint32_t i) {
    Holder& h = out_.holders[i];
    const bool listed = h.object != kNoObject;
    const std::string path = listed ? out_.inventory.objects[h.object].path : paths_[{h.branch, h.version}];
    if (listed) Hold(i, h.object);
    Status visited;
    auto read = [&]() -> Status {
      PILUM_ASSIGN_OR_RETURN(auto source, root_.OpenSource(path, ctx_));
      PILUM_ASSIGN_OR_RETURN(auto manifest, ReadManifest(*source, ctx_));
      if (manifest->version != h.version) {
        return Corrupt(source->name(), "",
                       fmt::format("it is named as version {}, but says that it is {}", h.version, manifest->version));
      }
      PILUM_ASSIGN_OR_RETURN(auto indices, ReadIndexSection(*source, *manifest, ctx_));
      AddManifest(i, *manifest, indices);
      if (visit_) visited = visit_(out_, i, *manifest, indices, *source);
      return Status::OK();
    };
    const Status st = read();
    PILUM_RETURN_NOT_OK(visited);
    switch (KindOf(st)) {
      case ErrorKind::kCorrupt:
      case ErrorKind::kUnsupported:
      case ErrorKind::kNotFound: h.status = st; return Status::OK();
      default: return st;
    }
  }

  void AddManifest(uint32_t i, const Manifest& m, const std::vector<TableIndex>& indices) {
    Holder& h = out_.holders[i];
    h.timestamp_ns = m.timestamp_ns;
    h.writer = m.writer;
    h.totals = TotalsOf(m);
    const std::string own = BranchPrefix(h.branch);
    if (!m.transaction_file.empty()) {
      if (const auto o = out_.inventory.Find(own + "_transactions/" + m.transaction_file)) Hold(i, *o);
    }
    for (const Fragment& f : m.fragments) {
      for (const DataFile& file : f.files) {
        Need(i, m, file.base_id, "data/", file.path, ObjectKind::kData, file.is_legacy() ? 0 : file.size);
      }
      if (f.deletions) {
        const std::string path = f.deletions->Path(f.id);
        Need(i, m, f.deletions->base_id, "_deletions/", path.substr(path.find('/') + 1), ObjectKind::kDeletions, 0);
      }
      for (const SequenceBytes* ids : {&f.row_ids, &f.created_at, &f.last_updated_at}) {
        if (ids->where != SequenceBytes::Where::kExternal) continue;
        if (const auto o = out_.inventory.Find(own + ids->path)) Hold(i, *o);
      }
    }
    for (const TableIndex& index : indices) NeedIndex(i, m, index);
  }

  // Where the files of a base path lie in this folder ("", "tree/dev/"); nullopt: elsewhere.
  struct Place {
    std::optional<std::string> prefix;
    bool has_folders = true, moved = false;
  };
  const Place& PlaceOf(uint32_t i, const Manifest& m, uint32_t base_id) {
    const BasePath* base = nullptr;
    for (const BasePath& b : m.base_paths) base = b.id == base_id ? &b : base;
    const std::string given = base == nullptr ? "" : base->path;
    const std::string key =
        fmt::format("{}\n{}\n{}", base == nullptr ? -1 : base->is_dataset_root, out_.holders[i].branch, given);
    const auto [at, is_new] = places_.try_emplace(key);
    Place& place = at->second;
    if (!is_new || base == nullptr) return place;
    place.has_folders = base->is_dataset_root;
    const std::string path = NormalPath(given);
    if (path == root_path_) {
      place.prefix = "";
    } else if (path.starts_with(root_path_ + "/")) {
      place.prefix = path.substr(root_path_.size() + 1) + "/";
    } else if (!out_.holders[i].branch.empty()) {
      // A branch's files lie in its table, wherever that was when it was made.
      place.moved = true;
      place.prefix = "";
      for (const auto& [name, branch] : out_.branches) {
        if (path.ends_with("/" + BranchFolder(name))) place.prefix = BranchPrefix(name);
      }
    }
    return place;
  }

  void Need(uint32_t i, const Manifest& m, std::optional<uint32_t> base_id, std::string_view folder,
            const std::string& name, ObjectKind kind, uint64_t said) {
    Holder& h = out_.holders[i];
    std::string path = BranchPrefix(h.branch) + std::string(folder) + name;
    if (base_id) {
      const Place& place = PlaceOf(i, m, *base_id);
      if (!place.prefix) {
        ++h.outside_files;
        // Names are nobody else's: this is the place under another address.
        if (const auto o = out_.inventory.Find(std::string(folder) + name)) Hold(i, *o);
        return;
      }
      path = *place.prefix + (place.has_folders ? std::string(folder) : "") + name;
      if (place.moved) {
        if (!out_.inventory.Find(path)) {
          ++h.outside_files;
          return;
        }
        for (const BasePath& b : m.base_paths) h.moved_from = b.id == *base_id ? b.path : h.moved_from;
      }
    }
    NeedPath(i, path, kind, said);
  }

  void NeedPath(uint32_t i, const std::string& path, ObjectKind kind, uint64_t said) {
    auto [at, is_new] = found_.try_emplace(path, kMissing);
    if (is_new) at->second = out_.inventory.Find(path).value_or(kMissing);
    if (at->second == kMissing) {
      Wrong(i, path, kind, std::nullopt, std::nullopt);
      return;
    }
    Hold(i, at->second);
    const uint64_t size = out_.inventory.objects[at->second].size;
    if (said > 0 && said != size) Wrong(i, path, kind, size, said);
  }

  void NeedIndex(uint32_t i, const Manifest& m, const TableIndex& index) {
    if (index.files.empty() && index.fields.empty()) return;  // Lance's own notes, which may lie in the manifest whole
    std::string prefix = BranchPrefix(out_.holders[i].branch);
    bool moved = false;
    if (index.base_id) {
      const Place& place = PlaceOf(i, m, *index.base_id);
      if (!place.prefix) {
        ++out_.holders[i].outside_files;
        return;
      }
      prefix = *place.prefix;
      moved = place.moved;
    }
    const std::string folder = prefix + "_indices/" + index.uuid + "/";
    const auto [first, end] = out_.inventory.Below(folder);
    if (first == end) {
      if (!moved) Wrong(i, folder, ObjectKind::kIndex, std::nullopt, std::nullopt);
      return;
    }
    for (uint32_t o = first; o < end; ++o) Hold(i, o);
    for (const IndexFile& file : index.files) {
      const auto o = out_.inventory.Find(folder + file.path);
      if (!o) {
        Wrong(i, folder + file.path, ObjectKind::kIndex, std::nullopt, std::nullopt);
      } else if (file.size > 0 && out_.inventory.objects[*o].size != file.size) {
        Wrong(i, folder + file.path, ObjectKind::kIndex, out_.inventory.objects[*o].size, file.size);
      }
    }
  }

  void Wrong(uint32_t i, const std::string& path, ObjectKind kind, std::optional<uint64_t> size,
             std::optional<uint64_t> said) {
    auto [at, is_new] = wrong_.try_emplace(path);
    if (is_new) at->second = {path, kind, size, said, {}};
    AddHolder(&at->second.holders, i);
  }

  void Hold(uint32_t i, uint32_t object) {
    Holder& h = out_.holders[i];
    HolderRuns& runs = out_.held[out_.leader[object]];
    const bool counted = !runs.empty() && runs.back().last == i;
    const bool is_new = runs.empty();
    AddHolder(&runs, i);
    if (counted) return;
    const Group& group = groups_[out_.leader[object]];
    h.files += group.files;
    h.bytes += group.bytes;
    if (is_new) h.new_files += group.files, h.new_bytes += group.bytes;
  }

  struct Group {  // what goes together: the files of an index; a data file and its blobs
    uint64_t files = 0, bytes = 0;
  };

  static constexpr uint32_t kMissing = UINT32_MAX;
  const ReadOnlyStore& root_;
  const VisitManifest& visit_;
  ReadContext& ctx_;
  const std::string root_path_;
  References out_;
  std::vector<Group> groups_;                                      // by leader
  std::map<std::pair<std::string, uint64_t>, std::string> paths_;  // of manifests that are not in the inventory
  std::map<std::string, Place> places_;
  std::unordered_map<std::string, uint32_t> found_;  // by path
  std::map<std::string, WrongFile> wrong_;
};

}  // namespace

bool References::IsHeldBy(uint32_t object, uint32_t holder) const {
  const HolderRuns& runs = HeldBy(object);
  return std::any_of(runs.begin(), runs.end(),
                     [&](const HolderRun& r) { return r.first <= holder && holder <= r.last; });
}

std::optional<uint32_t> References::FindHolder(const std::string& branch, uint64_t version) const {
  for (uint32_t i = 0; i < holders.size(); ++i) {
    if (holders[i].branch == branch && holders[i].version == version) return i;
  }
  return std::nullopt;
}

bool References::AnyUnreadable() const {
  return std::any_of(holders.begin(), holders.end(), [](const Holder& h) { return !h.status.ok(); });
}

Result<References> CollectReferences(const ReadOnlyStore& root, const VisitManifest& visit, ReadContext& ctx) {
  return Collector(root, visit, ctx).Run();
}

Status AddNewVersions(const ReadOnlyStore& root, References* refs, ReadContext& ctx) {
  const VisitManifest none;
  PILUM_ASSIGN_OR_RETURN(*refs, Collector(root, none, ctx, std::move(*refs)).Update());
  return Status::OK();
}

}  // namespace pilum
