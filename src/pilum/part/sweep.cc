#include "pilum/part/sweep.h"

#include <algorithm>
#include <map>
#include <set>

#include "pilum/part/list_uniform.h"
#include "pilum/part/maintain.h"
#include "pilum/part/store_view.h"

namespace pilum {
namespace {

// "NAME.lance.idx" and its like: NAME; empty for what is no sidecar.
std::string PartOfSidecar(std::string_view file) {
  for (const std::string_view suffix : {SidecarSuffix::kIndex, SidecarSuffix::kHeader, SidecarSuffix::kStats,
                                        SidecarSuffix::kTerms, std::string_view(".lance.vidx")}) {
    if (file.size() > suffix.size() && file.ends_with(suffix))
      return std::string(file.substr(0, file.size() - suffix.size()));
  }
  return {};
}

class Sweeper {
 public:
  Sweeper(const DatasetFiles& files, const SweepOptions& options, ReadContext& ctx)
      : files_(files), options_(options), ctx_(ctx) {}

  Result<SweepResult> Run() {
    PILUM_RETURN_NOT_OK(Look());
    for (const HiddenPart& hidden : view_.parts.hidden) {
      if (!Old(hidden.since)) {
        ++result_.waiting;
        continue;
      }
      result_.part_bytes += hidden.file.size;
      ++result_.parts;
      PILUM_RETURN_NOT_OK(Remove(hidden.file.path));
      gone_.insert(hidden.file.name);
    }
    PILUM_RETURN_NOT_OK(SweepSidecars());
    PILUM_RETURN_NOT_OK(SweepCaches());
    PILUM_RETURN_NOT_OK(SweepUnfinished());
    return result_;
  }

 private:
  // The clock first, so that ages are never too great; sidecars before parts, so that one whose part is seen to be missing
  // is as old as it seems.
  Status Look() {
    PILUM_ASSIGN_OR_RETURN(auto listed, files_.ListParts(ctx_));
    if (listed.empty()) return files_.NoDataset();
    PILUM_ASSIGN_OR_RETURN(now_, files_.store->Now());
    PILUM_ASSIGN_OR_RETURN(sidecars_, ListUniform(*files_.store, files_.prefix + "side/", ctx_));
    PILUM_ASSIGN_OR_RETURN(unfinished_, files_.store->ListUnfinished(files_.prefix));
    PILUM_ASSIGN_OR_RETURN(view_, ListView(files_, true, ctx_));
    for (const PartFile& file : view_.parts.visible) there_.insert(file.name);
    for (const HiddenPart& hidden : view_.parts.hidden) there_.insert(hidden.file.name);
    return Status::OK();
  }

  bool Old(StoreTime since) const { return now_ - since >= options_.grace; }

  Status Remove(const std::string& path) {
    PILUM_RETURN_NOT_OK(ctx_.Check());
    return options_.dry_run ? Status::OK() : files_.store->Remove(path);
  }

  // Of parts that were removed just now, and of parts that never appeared or went before.
  Status SweepSidecars() {
    const std::string prefix = files_.prefix + "side/";
    for (const ObjectInfo& info : sidecars_) {
      const std::string part = PartOfSidecar(std::string_view(info.path).substr(prefix.size()));
      if (part.empty() || !(gone_.contains(part) || (!there_.contains(part) && Old(info.modified)))) continue;
      if (!gone_.contains(part)) {  // a put that took long may end just now
        PILUM_ASSIGN_OR_RETURN(const bool appeared, Appeared(part));
        if (appeared) continue;
      }
      ++result_.sidecars;
      result_.sidecar_bytes += info.size;
      PILUM_RETURN_NOT_OK(Remove(info.path));
    }
    return Status::OK();
  }

  Result<bool> Appeared(const std::string& part) {
    auto [it, is_new] = appeared_.emplace(part, false);
    if (!is_new) return it->second;
    PILUM_RETURN_NOT_OK(ctx_.Check());
    for (const std::string& path : {files_.PartPath(part), files_.MergedPath(part)}) {
      PILUM_ASSIGN_OR_RETURN(const bool there, files_.store->Exists(path));
      it->second = it->second || there;
    }
    return it->second;
  }

  Status SweepCaches() {
    for (const auto& cache : MaintainedCaches()) {
      PILUM_ASSIGN_OR_RETURN(const auto obsolete, cache->Obsolete(files_, view_, ctx_));
      for (const ObsoleteObject& one : obsolete) {
        if (!Old(one.since)) continue;
        ++result_.caches;
        result_.cache_bytes += one.info.size;
        PILUM_RETURN_NOT_OK(Remove(one.info.path));
      }
    }
    return Status::OK();
  }

  Status SweepUnfinished() {
    for (const ObjectInfo& info : unfinished_) {
      if (!Old(info.modified)) continue;
      PILUM_RETURN_NOT_OK(ctx_.Check());
      ++result_.unfinished;
      if (!options_.dry_run) PILUM_RETURN_NOT_OK(files_.store->RemoveUnfinished(info));
    }
    if (options_.dry_run) return Status::OK();
    PILUM_ASSIGN_OR_RETURN(const uint64_t spools, TempDir::RemoveAbandoned(options_.grace));
    result_.unfinished += spools;
    return Status::OK();
  }

  const DatasetFiles& files_;
  const SweepOptions options_;
  ReadContext& ctx_;
  StoreTime now_{};
  ListedView view_;
  std::vector<ObjectInfo> sidecars_, unfinished_;
  std::set<std::string> there_, gone_;
  std::map<std::string, bool> appeared_;  // parts that were not listed, looked for once more
  SweepResult result_;
};

}  // namespace

Result<SweepResult> Sweep(const DatasetFiles& files, const SweepOptions& options, ReadContext& ctx) {
  if (options.grace < std::chrono::microseconds(0)) return UsageError("a grace below 0 s has no meaning");
  return Sweeper(files, options, ctx).Run();
}

}  // namespace pilum
