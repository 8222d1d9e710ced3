#include "pilum/change/cleanup.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>

#include "pilum/base/for_each.h"
#include "pilum/change/branches.h"

namespace pilum {
namespace {

using Clock = std::chrono::steady_clock;

static_assert(kGuardName == kGuardBranch);

// What others judge the age of files by; of two clocks the earlier one, by which all is younger.
Result<StoreTime> AgesAt(const ObjectStore* store) {
  const auto wall = std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  if (store == nullptr || !IsRemoteUri(store->uri())) return wall;
  PILUM_ASSIGN_OR_RETURN(const StoreTime there, store->Now());
  return std::min<StoreTime>(wall, there);
}

uint64_t NewestOf(const References& refs, const std::string& branch) {
  uint64_t newest = 0;
  for (const Holder& h : refs.holders) {
    if (h.branch == branch && !h.detached) newest = std::max(newest, h.version);
  }
  return newest;
}

Status CheckPolicy(const CleanupPolicy& policy) {
  if (policy.retain && *policy.retain == 0) return UsageError("retain: at least 1 version is retained");
  if (policy.in_flight.count() < 0) return UsageError("in_flight: an age is not negative");
  if (policy.older_than && policy.older_than->count() < 0) return UsageError("older_than: an age is not negative");
  return Status::OK();
}

Result<CleanupPlan> PlanOf(const Table& table, const References& refs, const CleanupOptions& options, StoreTime now) {
  CleanupPolicy policy = options.policy;
  policy.rules = CleanupRules::kPilum;
  uint64_t version = table.manifest().version;
  if ((version & kDetachedBit) != 0) {
    policy.roots.push_back(version);
    version = NewestOf(refs, table.branch());
  }
  CleanupPlan plan = PlanCleanup(refs, table.branch(), version, policy, now);
  if (!plan.refused.empty()) {
    return Corrupt(table.uri(), "", fmt::format("nothing is cleaned up: {}", plan.refused));
  }
  if (options.error_if_tagged && !plan.tags.empty()) {
    return UsageError(
        "{}: {} tagged version(s) have been marked for cleanup. Either set `error_if_tagged_old_versions=false` or "
        "delete the following tag(s) to enable cleanup: {}",
        table.uri(), plan.tags.size(), fmt::join(plan.tags, ", "));
  }
  return plan;
}

// In which order files go: of a data file its blobs first, by which they are known to be of a version; manifests last.
int Stage(const TableObject& o) {
  switch (o.kind) {
    case ObjectKind::kBlob: return 0;
    case ObjectKind::kManifest: return 2;
    default: return 1;
  }
}

void Count(const TableObject& o, CleanupStats* stats) {
  stats->bytes_removed += o.size;
  ++stats->files_removed;
  if (o.kind == ObjectKind::kManifest) ++stats->old_versions;
  if (o.kind == ObjectKind::kData || o.kind == ObjectKind::kBlob) ++stats->data_files_removed;
  if (o.kind == ObjectKind::kTransaction) ++stats->transaction_files_removed;
  if (o.kind == ObjectKind::kDeletions) ++stats->deletion_files_removed;
  if (o.kind == ObjectKind::kIndex) ++stats->index_files_removed;
  if (o.kind == ObjectKind::kTemporary) ++stats->temporary_files_removed;
}

class Remover {
 public:
  Remover(ObjectStore* store, const References& refs, std::optional<uint64_t> rate, ReadContext& ctx)
      : store_(*store), refs_(refs), ctx_(ctx) {
    if (rate && *rate > 0) step_ = std::chrono::nanoseconds(1000000000 / *rate);
  }

  Result<CleanupStats> Run(const std::vector<CleanupFile>& goes) {
    for (int stage = 0; stage < 3; ++stage) {
      if (stage == 2 && stats_.failed_deletes > 0) break;
      std::vector<uint32_t> objects;
      for (const CleanupFile& f : goes) {
        if (Stage(refs_.inventory.objects[f.object]) == stage) objects.push_back(f.object);
      }
      const int threads = step_.count() > 0 ? 1 : IsRemoteUri(store_.uri()) ? 16 : 1;
      PILUM_RETURN_NOT_OK(
          ForEach(objects.size(), threads, [&](size_t i) { return Remove(refs_.inventory.objects[objects[i]]); }));
    }
    return stats_;
  }

 private:
  Status Remove(const TableObject& o) {
    PILUM_RETURN_NOT_OK(ctx_.Check());
    Wait();
    const Status removed =
        o.unfinished.empty() ? store_.Remove(o.path) : store_.RemoveUnfinished({o.unfinished, o.size, {}, {}});
    std::lock_guard lock(mutex_);
    if (removed.ok()) {
      Count(o, &stats_);
    } else if (stats_.failed_deletes++ == 0) {
      stats_.first_failure = removed.message();
    }
    return Status::OK();
  }

  void Wait() {
    if (step_.count() == 0) return;
    std::this_thread::sleep_until(next_);
    next_ = std::max(next_, Clock::now()) + step_;
  }

  ObjectStore& store_;
  const References& refs_;
  ReadContext& ctx_;
  std::chrono::nanoseconds step_{0};
  Clock::time_point next_ = Clock::now();
  std::mutex mutex_;
  CleanupStats stats_;
};

Result<ForeseenCleanup> Foresee(const Table& table, const ReadOnlyStore& root, const ObjectStore* store,
                                const CleanupOptions& options, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(CheckPolicy(options.policy));
  ForeseenCleanup out;
  PILUM_ASSIGN_OR_RETURN(out.refs, CollectReferences(root, {}, ctx));
  for (const std::string& uri : options.clones) {
    PILUM_ASSIGN_OR_RETURN(auto clone, ReadOnlyStore::Open(uri, table.options()));
    PILUM_RETURN_NOT_OK(AddClone(*clone, &out.refs, ctx));
  }
  PILUM_ASSIGN_OR_RETURN(const StoreTime now, AgesAt(store));
  PILUM_ASSIGN_OR_RETURN(out.plan, PlanOf(table, out.refs, options, now));
  return out;
}

}  // namespace

Result<ForeseenCleanup> ForeseeCleanup(const Table& table, const CleanupOptions& options, ReadContext& ctx) {
  return Foresee(table, table.main_store(), nullptr, options, ctx);
}

CleanupStats StatsOf(const ForeseenCleanup& foreseen) {
  CleanupStats stats;
  for (const CleanupFile& f : foreseen.plan.goes) Count(foreseen.refs.inventory.objects[f.object], &stats);
  return stats;
}

Result<CleanupStats> CleanUp(const WritableTable& table, const CleanupOptions& options, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto foreseen, Foresee(*table.table, *table.main, table.main.get(), options, ctx));
  return CleanUp(table, std::move(foreseen), options, ctx);
}

Result<CleanupStats> CleanUp(const WritableTable& table, ForeseenCleanup foreseen, const CleanupOptions& options,
                             ReadContext& ctx) {
  // Others may have committed, tagged and branched while all was read.
  PILUM_RETURN_NOT_OK(AddNewVersions(*table.main, &foreseen.refs, ctx));
  PILUM_ASSIGN_OR_RETURN(const StoreTime now, AgesAt(table.main.get()));
  PILUM_ASSIGN_OR_RETURN(const CleanupPlan plan, PlanOf(*table.table, foreseen.refs, options, now));
  std::set<uint32_t> shown;
  for (const CleanupFile& f : foreseen.plan.goes) shown.insert(f.object);
  std::vector<CleanupFile> goes;
  for (const CleanupFile& f : plan.goes) {
    if (shown.contains(f.object)) goes.push_back(f);
  }
  return Remover(table.main.get(), foreseen.refs, options.rate_limit, ctx).Run(goes);
}

}  // namespace pilum
