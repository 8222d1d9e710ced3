#include "pilum/table/folder/cleanup_plan.h"

#include <algorithm>

namespace pilum {
namespace {

enum class VersionFate {
  kOther,   // of another branch, or detached
  kKept,    // by the policy
  kTagged,  // goes by the policy, but has a tag
  kRoot,    // goes by the policy, but a branch that began there has files of this one
  kGoes,
};

// A set of holders that is asked whether it meets a run of them.
class HolderSet {
 public:
  explicit HolderSet(size_t size) : marks_(size, false) {}
  void Add(uint32_t i) { marks_[i] = true; }
  void Seal() {
    before_.assign(marks_.size() + 1, 0);
    for (size_t i = 0; i < marks_.size(); ++i) before_[i + 1] = before_[i] + marks_[i];
  }
  bool Meets(const HolderRuns& runs) const {
    return std::any_of(runs.begin(), runs.end(),
                       [&](const HolderRun& r) { return before_[r.last + 1] > before_[r.first]; });
  }

 private:
  std::vector<bool> marks_;
  std::vector<uint32_t> before_;
};

class Planner {
 public:
  Planner(const References& refs, const std::string& branch, uint64_t version, const CleanupPolicy& policy,
          StoreTime now)
      : refs_(refs),
        branch_(branch),
        version_(version),
        ours_(policy.rules == CleanupRules::kPilum),
        now_(now),
        keeps_(refs.holders.size()),
        old_(refs.holders.size()) {
    plan_.policy = policy;
  }

  CleanupPlan Run() {
    Judge();
    if (!plan_.refused.empty()) return std::move(plan_);
    for (uint32_t i = 0; i < refs_.holders.size(); ++i) {
      if (fate_[i] == VersionFate::kGoes) plan_.versions.push_back(i);
    }
    for (uint32_t o = 0; o < refs_.inventory.objects.size(); ++o) {
      if (refs_.inventory.objects[o].branch == branch_) AddObject(o);
    }
    FindBroken();
    return std::move(plan_);
  }

 private:
  // As `retain` counts them: attached versions of the branch, ascending.
  std::vector<uint32_t> Own() const {
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < refs_.holders.size(); ++i) {
      if (refs_.holders[i].branch == branch_ && !refs_.holders[i].detached) out.push_back(i);
    }
    return out;
  }

  // Branches that come from this one, over others too: the version of this one where their line left it.
  std::vector<std::pair<std::string, uint64_t>> Descendants() const {
    std::vector<std::pair<std::string, uint64_t>> out;
    for (const auto& [name, first] : refs_.branches) {
      const TableBranch* at = &first;
      for (size_t depth = 0; depth <= refs_.branches.size(); ++depth) {
        const std::string parent = at->parent.value_or("");
        if (parent == branch_) {
          out.emplace_back(name, at->parent_version);
          break;
        }
        const auto next = refs_.branches.find(parent);
        if (next == refs_.branches.end()) break;
        at = &next->second;
      }
    }
    return out;
  }

  bool HasFilesHere(const HolderSet& branch) const {
    for (uint32_t o = 0; o < refs_.inventory.objects.size(); ++o) {
      if (refs_.inventory.objects[o].branch == branch_ && branch.Meets(refs_.HeldBy(o))) return true;
    }
    return false;
  }

  void Judge() {
    const auto own = Own();
    const CleanupPolicy& policy = plan_.policy;
    if (ours_ && !refs_.refs.ok()) return Refuse(refs_.refs.message());
    const uint64_t before = policy.retain && own.size() > *policy.retain
                                ? refs_.holders[own[own.size() - *policy.retain]].version
                            : own.empty() ? 0
                                          : refs_.holders[own[0]].version;
    fate_.assign(refs_.holders.size(), VersionFate::kOther);
    // By our rules the newest stays wherever it is seen from.
    const uint64_t below = own.empty() || !ours_ ? version_ : std::min(version_, refs_.holders[own.back()].version);
    for (const uint32_t i : own) {
      const Holder& h = refs_.holders[i];
      if (IsGone(h)) continue;
      if (!h.status.ok()) {
        Refuse(fmt::format("version {} cannot be read", h.version));
        return;
      }
      const StoreTime at = TimeOf(i);
      const bool old = IsOld(i) && (!policy.retain || h.version < before) && h.version < below;
      fate_[i] = !old ? VersionFate::kKept : !h.tags.empty() ? VersionFate::kTagged : VersionFate::kGoes;
      if (fate_[i] == VersionFate::kTagged) plan_.tags.insert(plan_.tags.end(), h.tags.begin(), h.tags.end());
      if (fate_[i] != VersionFate::kGoes && (!oldest_kept_ || at < *oldest_kept_)) oldest_kept_ = at;
    }
    JudgeRoots();
    if (ours_) JudgeOthers();
    if (!ours_) JudgeTimes();
    for (uint32_t i = 0; i < refs_.holders.size(); ++i) {
      const VersionFate fate = fate_[i];
      const bool kept_root = ours_ && fate == VersionFate::kRoot;
      if (fate == VersionFate::kKept || fate == VersionFate::kTagged || kept_root) keeps_.Add(i);
      if (fate == VersionFate::kGoes || (fate == VersionFate::kRoot && !kept_root)) old_.Add(i);
    }
    keeps_.Seal();
    old_.Seal();
  }

  // Another clean-up took it since it was listed; or it is a guard, which needs nothing.
  bool IsGone(const Holder& h) const {
    return ours_ && (KindOf(h.status) == ErrorKind::kNotFound || (h.branch == kGuardName && branch_ != kGuardName));
  }

  StoreTime TimeOf(uint32_t i) const {
    return StoreTime{std::chrono::microseconds(refs_.holders[i].timestamp_ns / 1000)};
  }

  // By its age, and by the lists of versions.
  bool IsOld(uint32_t i) const {
    const CleanupPolicy& policy = plan_.policy;
    const Holder& h = refs_.holders[i];
    const auto has = [&](const std::vector<uint64_t>& list) {
      return std::find(list.begin(), list.end(), h.version) != list.end();
    };
    if (policy.versions && !has(*policy.versions)) return false;
    if (policy.older_than && TimeOf(i) >= now_ - *policy.older_than) return false;
    if (!ours_) return true;
    if (h.object == kNoObject) return false;
    if (policy.nothing_younger && IsYoung(refs_.inventory.objects[h.object])) return false;
    return !has(policy.roots);
  }
  bool IsYoung(const TableObject& o) const { return now_ - o.written < plan_.policy.in_flight; }

  // By our rules every version of another branch keeps its files, and a detached one unless it is told to go.
  void JudgeOthers() {
    const CleanupPolicy& policy = plan_.policy;
    for (uint32_t i = 0; i < refs_.holders.size(); ++i) {
      const Holder& h = refs_.holders[i];
      if (fate_[i] != VersionFate::kOther || IsGone(h)) continue;
      const bool named = policy.detached_too || policy.versions;
      if (h.detached && h.branch == branch_ && named && IsOld(i) && h.tags.empty()) {
        fate_[i] = VersionFate::kGoes;
        continue;
      }
      if (!h.status.ok()) {
        return Refuse(fmt::format("{}version {}{} cannot be read, so what it needs is not known: {}",
                                  h.detached ? "detached " : "", h.version,
                                  h.branch.empty() ? "" : " of branch " + h.branch, h.status.message()));
      }
      keeps_.Add(i);
    }
  }

  // Branches keep their files, and the version that they began at as long as they have some of it.
  void JudgeRoots() {
    for (const auto& [name, parent_version] : Descendants()) {
      HolderSet of_branch(refs_.holders.size());
      for (uint32_t i = 0; i < refs_.holders.size(); ++i) {
        const Holder& h = refs_.holders[i];
        if (h.branch != name || h.detached || IsGone(h)) continue;
        if (!h.status.ok()) return Refuse(fmt::format("version {} of branch {} cannot be read", h.version, name));
        of_branch.Add(i);
        keeps_.Add(i);
      }
      of_branch.Seal();
      const auto root = refs_.FindHolder(branch_, parent_version);
      if (root && fate_[*root] == VersionFate::kGoes && HasFilesHere(of_branch)) fate_[*root] = VersionFate::kRoot;
    }
  }

  // All that goes is older than all that is kept, so that younger files need not be looked at? Not with a tag among them.
  void JudgeTimes() {
    for (uint32_t i = 0; i < refs_.holders.size(); ++i) {
      const StoreTime at = TimeOf(i);
      const bool needless = fate_[i] == VersionFate::kGoes || fate_[i] == VersionFate::kRoot;
      if (needless && oldest_kept_ && at >= *oldest_kept_) oldest_kept_.reset();
    }
  }

  void Refuse(std::string why) { plan_.refused = std::move(why); }

  // Is it of those that a clean-up looks at?
  bool Considered(const TableObject& o) const {
    const std::string_view path = o.below_branch();
    if (ours_ && o.kind == ObjectKind::kTemporary) return true;
    switch (o.kind) {
      case ObjectKind::kTransaction:
      case ObjectKind::kData:
      case ObjectKind::kBlob:
      case ObjectKind::kIndex: return true;
      case ObjectKind::kDeletions: return true;
      case ObjectKind::kTemporary:
        return path.starts_with("_versions/.tmp") || (path.starts_with("data/") && o.name().starts_with(".tmp"));
      default:
        return path.starts_with("_indices/") ||
               (path.starts_with("_deletions/") && (path.ends_with(".arrow") || path.ends_with(".bin")));
    }
  }

  void AddObject(uint32_t o) {
    const TableObject& object = refs_.inventory.objects[o];
    if (object.kind == ObjectKind::kManifest) {
      const HolderRuns& runs = refs_.HeldBy(o);
      if (!runs.empty() && fate_[runs[0].first] == VersionFate::kGoes) Goes(o, CleanupReason::kOldVersion);
      return;
    }
    if (!Considered(object) || keeps_.Meets(refs_.HeldBy(o))) return;
    if (ours_ && refs_.IsPinned(o)) return;
    const bool verified = old_.Meets(refs_.HeldBy(o));
    const bool old = !IsYoung(object);
    const bool anyway = plan_.policy.delete_unverified;
    const bool too_young = ours_ && plan_.policy.nothing_younger && !old;
    if (too_young || (!verified && !old && !anyway)) return Stays(o, CleanupReason::kInFlight);
    const CleanupReason why = verified ? CleanupReason::kOnlyOld
                              : old    ? CleanupReason::kAbandoned
                                       : CleanupReason::kUnverified;
    if (ours_) return Goes(o, why);
    // Indices are looked up by their folders, all else in a listing of what is older than the versions kept.
    const bool is_index = object.below_branch().starts_with("_indices/");
    const bool is_data = object.below_branch().starts_with("data/");
    const bool listed = is_index || (is_data && anyway) || !oldest_kept_ || object.written <= *oldest_kept_;
    if (!listed) return Stays(o, CleanupReason::kYoungerThan);
    Goes(o, why);
  }

  void Goes(uint32_t o, CleanupReason reason) {
    plan_.goes.push_back({o, reason});
    plan_.bytes += refs_.inventory.objects[o].size;
  }
  void Stays(uint32_t o, CleanupReason reason) {
    plan_.stays.push_back({o, reason});
    plan_.stays_bytes += refs_.inventory.objects[o].size;
  }

  void FindBroken() {
    std::vector<int64_t> change(refs_.holders.size() + 1, 0);
    for (const CleanupFile& file : plan_.goes) {
      const ObjectKind kind = refs_.inventory.objects[file.object].kind;
      if (kind == ObjectKind::kManifest || kind == ObjectKind::kTransaction) continue;
      for (const HolderRun& run : refs_.HeldBy(file.object)) ++change[run.first], --change[run.last + 1];
    }
    int64_t lost = 0;
    for (uint32_t i = 0; i < refs_.holders.size(); ++i) {
      lost += change[i];
      if (lost > 0 && fate_[i] != VersionFate::kGoes) plan_.broken.push_back(i);
    }
  }

  const References& refs_;
  const std::string& branch_;
  const uint64_t version_;
  const bool ours_;
  const StoreTime now_;
  std::vector<VersionFate> fate_;
  HolderSet keeps_;                       // those whose files stay
  HolderSet old_;                         // those of this branch whose files need not
  std::optional<StoreTime> oldest_kept_;  // none: files of any time go
  CleanupPlan plan_;
};

}  // namespace

std::string_view CleanupReasonText(CleanupReason reason) {
  switch (reason) {
    case CleanupReason::kOldVersion: return "the manifest of a version that goes";
    case CleanupReason::kOnlyOld: return "only versions that go need it";
    case CleanupReason::kAbandoned: return "no version needs it, and it is older than 7 days";
    case CleanupReason::kUnverified: return "no version needs it";
    case CleanupReason::kInFlight:
      return "no version needs it, but it is younger than 7 days: a write may be under way";
    default: return "nothing kept needs it, but its time is after that of the oldest version kept";
  }
}

std::string_view CleanupReasonKey(CleanupReason reason) {
  switch (reason) {
    case CleanupReason::kOldVersion: return "old_version";
    case CleanupReason::kOnlyOld: return "only_old_versions";
    case CleanupReason::kAbandoned: return "abandoned";
    case CleanupReason::kUnverified: return "unverified";
    case CleanupReason::kInFlight: return "in_flight";
    default: return "younger_than_versions";
  }
}

CleanupPlan PlanCleanup(const References& refs, const std::string& branch, uint64_t version,
                        const CleanupPolicy& policy, StoreTime now) {
  return Planner(refs, branch, version, policy, now).Run();
}

}  // namespace pilum
