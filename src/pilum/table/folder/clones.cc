// Shallow clones: tables elsewhere whose versions name files of this one.
#include <set>

#include "pilum/table/folder/references.h"

namespace pilum {
namespace {

std::string Below(const std::string& branch) { return branch.empty() ? "" : BranchFolder(branch) + "/"; }

class Pinner {
 public:
  explicit Pinner(References* refs) : refs_(*refs) {
    for (const TableObject& o : refs->inventory.objects) places_.insert(Below(o.branch));
  }

  void Pin(const Manifest& m, const std::vector<TableIndex>& indices) {
    for (const Fragment& f : m.fragments) {
      for (const DataFile& file : f.files) {
        if (file.base_id) PinName("data/" + file.path);
      }
      if (f.deletions && f.deletions->base_id) PinName(f.deletions->Path(f.id));
    }
    for (const TableIndex& index : indices) {
      if (index.base_id) PinFolder("_indices/" + index.uuid + "/");
    }
  }

 private:
  // By its name alone, which is nobody else's: what the clone calls the way to this table does not count.
  void PinName(const std::string& name) {
    for (const std::string& place : places_) {
      if (const auto o = refs_.inventory.Find(place + name)) refs_.pinned[refs_.leader[*o]] = true;
    }
  }
  void PinFolder(const std::string& name) {
    for (const std::string& place : places_) {
      const auto [first, end] = refs_.inventory.Below(place + name);
      for (uint32_t o = first; o < end; ++o) refs_.pinned[refs_.leader[o]] = true;
    }
  }

  References& refs_;
  std::set<std::string> places_;
};

}  // namespace

Status AddClone(const ReadOnlyStore& clone, References* refs, ReadContext& ctx) {
  Pinner pinner(refs);
  PILUM_ASSIGN_OR_RETURN(const auto branches, ListBranches(clone, ctx));
  std::set<std::string> folders = {""};
  for (const auto& [name, branch] : branches) folders.insert(Below(name));
  bool any = false;
  for (const std::string& folder : folders) {
    PILUM_ASSIGN_OR_RETURN(auto paths, clone.ListPaths(folder + "_versions/", ctx));
    for (const std::string& path : paths) {
      if (!ParseManifestName(std::string_view(path).substr(path.rfind('/') + 1))) continue;
      PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_ASSIGN_OR_RETURN(auto source, clone.OpenSource(path, ctx));
      PILUM_ASSIGN_OR_RETURN(auto manifest, ReadManifest(*source, ctx));
      PILUM_ASSIGN_OR_RETURN(auto indices, ReadIndexSection(*source, *manifest, ctx));
      pinner.Pin(*manifest, indices);
      any = true;
    }
  }
  return any ? Status::OK() : NotFoundError("{}: there is no table here, so no clone", clone.uri());
}

}  // namespace pilum
