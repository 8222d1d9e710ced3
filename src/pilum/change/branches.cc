#include "pilum/change/branches.h"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "pilum/change/clone.h"
#include "pilum/io/folder_store.h"
#include "pilum/table/commit/commit_clone.h"
#include "pilum/table/commit/names.h"
#include "pilum/table/find_version.h"

namespace pilum {
namespace {

std::string ToJson(const TableBranch& branch) {
  nlohmann::ordered_json j;
  j["parentBranch"] = nullptr;
  if (branch.parent) j["parentBranch"] = *branch.parent;
  auto mapping = nlohmann::ordered_json::array();
  for (const auto& [version, id] : branch.identifier) mapping.push_back({version, id});
  j["identifier"]["version_mapping"] = std::move(mapping);
  j["parentVersion"] = branch.parent_version;
  j["createAt"] = branch.created_at;
  j["manifestSize"] = branch.manifest_size;
  j["metadata"] = nlohmann::ordered_json::object();
  for (const auto& [key, value] : branch.metadata) j["metadata"][key] = value;
  return j.dump(2);
}

std::string HexUuid() {
  std::string out = RandomUuid();
  std::erase(out, '-');
  return out;
}

// Folders of a table inside another's would be taken for its own.
Status CheckNewName(const std::string& name) {
  PILUM_RETURN_NOT_OK(CheckBranchName(name));
  static constexpr std::string_view kTaken[] = {"_versions", "_transactions", "_deletions", "_indices",
                                                "_refs",     "data",          "tree"};
  for (size_t slash = name.find('/'); slash != name.npos; slash = name.find('/', slash + 1)) {
    const std::string segment = name.substr(slash + 1, name.find('/', slash + 1) - slash - 1);
    if (std::find(std::begin(kTaken), std::end(kTaken), segment) == std::end(kTaken)) continue;
    return UsageError("'{}' cannot be the name of a branch: '{}' is a folder of branch '{}'", name, segment,
                      name.substr(0, slash));
  }
  return Status::OK();
}

Status NotThere(const WritableTable& table, const std::string& name) {
  return NotFoundError("{}: Ref not found error: Branch {} does not exist", table.table->uri(), name);
}

Status AlreadyThere(const WritableTable& table, const std::string& name) {
  return UsageError("{}: Ref conflict error: branch {} already exists", table.table->uri(), name);
}

// The one version in a branch's folder, if it is what CreateBranch would put there: somebody's creation did not end.
Result<std::optional<Committed>> Unfinished(const ObjectStore& store, const wire::Transaction::Clone& wanted,
                                            ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const ListedVersions listed, ListVersions(store, ctx));
  if (listed.attached.empty()) return std::optional<Committed>();
  const ListedVersion& first = listed.attached.front();
  auto made = LoadTransaction(store, first, ctx);
  const bool same = listed.attached.size() == 1 && made.ok() && *made && (*made)->has_clone() &&
                    SerializeWire((*made)->clone()) == SerializeWire(wanted);
  if (same) return std::optional(Committed{first.name.version, first});
  return UsageError("{}: holds versions of a branch that was not wholly made or deleted; delete the branch first",
                    store.uri());
}

Result<TableBranch> Describe(const WritableTable& at, ReadContext& ctx) {
  TableBranch out;
  const Table& t = *at.table;
  if (!t.branch().empty()) {
    out.parent = t.branch();
    PILUM_ASSIGN_OR_RETURN(auto parent, FindBranch(*at.main, t.branch(), ctx));
    if (!parent) return NotThere(at, t.branch());
    out.identifier = std::move(parent->identifier);
  }
  out.parent_version = t.manifest().version;
  out.identifier.emplace_back(out.parent_version, HexUuid());
  out.manifest_size = t.manifest().file_size;
  using namespace std::chrono;
  out.created_at = duration_cast<seconds>(system_clock::now().time_since_epoch()).count();
  return out;
}

// Branches that began on `branch`, or on one that did.
std::vector<std::string> BegunOn(const std::string& name, const TableBranch& branch,
                                 const std::map<std::string, TableBranch>& all) {
  std::vector<std::string> out;
  for (const auto& [other, b] : all) {
    if (other == name) continue;
    const bool by_id = !branch.identifier.empty() && b.identifier.size() > branch.identifier.size() &&
                       std::equal(branch.identifier.begin(), branch.identifier.end(), b.identifier.begin());
    const bool by_name = (branch.identifier.empty() || b.identifier.empty()) && b.parent == name;
    if (by_id || by_name) out.push_back(fmt::format("{} (at version {})", other, b.parent_version));
  }
  return out;
}

Status CheckUnused(const WritableTable& table, const std::string& name, const TableBranch& branch,
                   const std::map<std::string, TableBranch>& all, ReadContext& ctx) {
  const auto begun = BegunOn(name, branch, all);
  if (!begun.empty()) {
    return UsageError("{}: Ref conflict error: Branch {} cannot be deleted: branches began on it: {}",
                      table.table->uri(), name, fmt::join(begun, ", "));
  }
  PILUM_ASSIGN_OR_RETURN(const auto tags, ListTags(*table.main, ctx));
  std::vector<std::string> named;
  for (const auto& [tag, t] : tags) {
    if (t.branch == name) named.push_back(fmt::format("{} (version {})", tag, t.version));
  }
  if (named.empty()) return Status::OK();
  return UsageError("{}: Ref conflict error: Branch {} cannot be deleted: tags name its versions: {}",
                    table.table->uri(), name, fmt::join(named, ", "));
}

// Folders without files mean nothing, and only disks have them: best effort.
void RemoveEmptyFolders(const std::string& store, const std::string& folder) {
  if (IsRemoteUri(store) || store.find("://") != store.npos) return;
  std::vector<std::filesystem::path> folders{std::filesystem::path(store) / folder};
  std::error_code ec;
  for (auto it = std::filesystem::recursive_directory_iterator(folders[0], ec); !ec && it != std::filesystem::end(it);
       it.increment(ec)) {
    if (it->is_directory(ec)) folders.push_back(it->path());
  }
  for (auto f = folders.rbegin(); f != folders.rend(); ++f) {
    if (std::filesystem::is_empty(*f, ec) && !ec) std::filesystem::remove(*f, ec);
  }
}

Result<bool> RemoveFolder(const WritableTable& table, const std::string& name,
                          const std::map<std::string, TableBranch>& all, ReadContext& ctx) {
  const std::string folder = BranchFolder(name) + "/";
  PILUM_ASSIGN_OR_RETURN(auto files, table.main->ListPaths(folder, ctx));
  // Manifests go first: what is left then is no table.
  std::stable_partition(files.begin(), files.end(),
                        [&](const std::string& path) { return path.starts_with(folder + "_versions/"); });
  bool any = false;
  for (const std::string& path : files) {
    const bool others = std::any_of(all.begin(), all.end(), [&](const auto& b) {
      return b.first != name && b.first.starts_with(name + "/") && path.starts_with(BranchFolder(b.first) + "/");
    });
    if (others) continue;
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_RETURN_NOT_OK(table.main->Remove(path));
    any = true;
  }
  RemoveEmptyFolders(table.main->uri(), BranchFolder(name));
  return any;
}

}  // namespace

namespace {

Result<Committed> MakeBranch(const WritableTable& at, const std::string& name, bool sync, uint64_t also_flags,
                             ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(CheckNewName(name));
  PILUM_ASSIGN_OR_RETURN(const auto there, FindBranch(*at.main, name, ctx));
  if (there) return AlreadyThere(at, name);
  PILUM_ASSIGN_OR_RETURN(const TableBranch branch, Describe(at, ctx));
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(at, ctx));
  wire::Transaction t;
  auto* op = t.mutable_clone();
  DescribeSource(*at.table, /*shallow=*/true, op);
  op->set_branch_name(name);
  const auto store = FolderOf(at.main, BranchFolder(name));
  PILUM_ASSIGN_OR_RETURN(auto made, Unfinished(*store, *op, ctx));
  if (!made) {
    PILUM_ASSIGN_OR_RETURN(made, CommitClone(store, *base.store, *base.stored, t, {}, sync, ctx, also_flags));
  }
  PILUM_ASSIGN_OR_RETURN(const bool put, at.main->PutIfAbsent(BranchRefPath(name), ToJson(branch)));
  if (!put) return AlreadyThere(at, name);
  return *made;
}

constexpr uint64_t kUnknownFlag = uint64_t{1} << 40;

}  // namespace

Result<Committed> CreateBranch(const WritableTable& at, const std::string& name, bool sync, ReadContext& ctx) {
  return MakeBranch(at, name, sync, 0, ctx);
}

Status GuardDetached(const WritableTable& at, bool sync, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto there, FindBranch(*at.main, kGuardBranch, ctx));
  return there ? Status::OK() : MakeBranch(at, kGuardBranch, sync, kUnknownFlag, ctx).status();
}

Status DeleteBranch(const WritableTable& table, const std::string& name, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto branch, FindBranch(*table.main, name, ctx));
  PILUM_ASSIGN_OR_RETURN(const auto all, ListBranches(*table.main, ctx));
  if (branch) {
    PILUM_RETURN_NOT_OK(CheckUnused(table, name, *branch, all, ctx));
    PILUM_RETURN_NOT_OK(table.main->Remove(BranchRefPath(name)));
  }
  PILUM_ASSIGN_OR_RETURN(const bool any, RemoveFolder(table, name, all, ctx));
  return branch || any ? Status::OK() : NotThere(table, name);
}

Status SetBranchMetadata(const WritableTable& table, const std::string& name,
                         const std::map<std::string, std::string>& metadata, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto branch, FindBranch(*table.main, name, ctx));
  if (!branch) return NotThere(table, name);
  branch->metadata = metadata;
  const std::string text = ToJson(*branch);
  PILUM_ASSIGN_OR_RETURN(auto sink, table.main->Create(BranchRefPath(name)));
  PILUM_RETURN_NOT_OK(sink->Write(text.data(), text.size()));
  return sink->Close();
}

}  // namespace pilum
