#include "pilum/inspect/space.h"

#include <algorithm>
#include <map>

namespace pilum {
namespace {

using std::chrono::hours;

bool Meets(const HolderRuns& a, const HolderRuns& b) {
  for (const HolderRun& x : a) {
    for (const HolderRun& y : b) {
      if (x.first <= y.last && y.first <= x.last) return true;
    }
  }
  return false;
}

bool Within(const HolderRuns& inner, const HolderRuns& outer) {
  return std::all_of(inner.begin(), inner.end(), [&](const HolderRun& x) {
    return std::any_of(outer.begin(), outer.end(),
                       [&](const HolderRun& y) { return y.first <= x.first && x.last <= y.last; });
  });
}

HolderRuns RunsOf(const std::vector<uint32_t>& holders) {
  HolderRuns out;
  for (const uint32_t i : holders) {
    if (!out.empty() && out.back().last + 1 == i) {
      out.back().last = i;
    } else {
      out.push_back({i, i});
    }
  }
  return out;
}

void AddNeeder(Needer::Who who, std::string name, const std::vector<uint32_t>& holders, std::vector<Needer>* out) {
  if (holders.empty()) return;
  Needer n;
  n.who = who;
  n.name = std::move(name);
  n.holders = RunsOf(holders);
  out->push_back(std::move(n));
}

std::vector<Needer> ListNeeders(const References& refs, uint32_t shown) {
  const Holder& s = refs.holders[shown];
  uint32_t newest = shown;
  std::vector<uint32_t> older, newer, detached;
  std::map<std::string, std::vector<uint32_t>> branches;
  for (uint32_t i = 0; i < refs.holders.size(); ++i) {
    const Holder& h = refs.holders[i];
    if (i == shown) continue;
    if (h.detached) {
      detached.push_back(i);
    } else if (h.branch != s.branch) {
      branches[h.branch].push_back(i);
    } else if (!s.detached && h.version > s.version) {
      newest = i;
      newer.push_back(i);
    } else if (h.tags.empty()) {
      older.push_back(i);
    }
  }
  std::vector<Needer> out;
  AddNeeder(Needer::Who::kShown, "", {shown}, &out);
  if (newest != shown) {
    std::erase(newer, newest);
    AddNeeder(Needer::Who::kNewest, "", {newest}, &out);
  }
  for (const auto& [name, tag] : refs.tags) {
    const auto at = refs.FindHolder(tag.branch.value_or(""), tag.version);
    if (at) AddNeeder(Needer::Who::kTag, name, {*at}, &out);
  }
  for (const auto& [name, holders] : branches)
    AddNeeder(Needer::Who::kBranch, name.empty() ? "main" : name, holders, &out);
  AddNeeder(Needer::Who::kNewer, "", newer, &out);
  AddNeeder(Needer::Who::kOlder, "", older, &out);
  AddNeeder(Needer::Who::kDetached, "", detached, &out);
  return out;
}

bool IsBookkeeping(ObjectKind kind) {
  return kind == ObjectKind::kTag || kind == ObjectKind::kBranch || kind == ObjectKind::kHint;
}

void AddObject(const References& refs, uint32_t o, StoreTime now, SpaceReport* out) {
  const TableObject& object = refs.inventory.objects[o];
  const HolderRuns& runs = refs.HeldBy(o);
  out->all.Add(object);
  if (object.kind == ObjectKind::kData && object.branch == refs.holders[out->shown].branch) {
    out->data.Add(object);
    if (refs.IsHeldBy(o, out->shown)) out->data_held.Add(object);
  }
  for (Needer& n : out->needers) {
    if (!Meets(runs, n.holders)) continue;
    n.needs.Add(object);
    if (Within(runs, n.holders)) n.only.Add(object);
  }
  if (IsBookkeeping(object.kind)) {
    out->bookkeeping.Add(object);
  } else if (const auto why = WhyUnneeded(refs, o, now)) {
    out->unneeded[static_cast<size_t>(*why)].Add(object);
  }
}

uint64_t NewestOf(const References& refs, const std::string& branch) {
  uint64_t newest = 0;
  for (const Holder& h : refs.holders) {
    if (h.branch == branch && !h.detached) newest = std::max(newest, h.version);
  }
  return newest;
}

// The clean-ups that are spoken of.
std::vector<CleanupPolicy> Policies() {
  std::vector<CleanupPolicy> out;
  out.push_back({hours(0), std::nullopt, false});
  out.push_back({hours(0), std::nullopt, true});
  for (const int days : {1, 7, 14}) out.push_back({hours(24 * days), std::nullopt, false});
  for (const uint64_t n : {1, 10, 100}) out.push_back({std::nullopt, n, false});
  return out;
}

}  // namespace

std::string_view NeederKey(Needer::Who who) {
  switch (who) {
    case Needer::Who::kShown: return "shown";
    case Needer::Who::kNewest: return "newest";
    case Needer::Who::kTag: return "tag";
    case Needer::Who::kBranch: return "branch";
    case Needer::Who::kOlder: return "older";
    case Needer::Who::kNewer: return "newer";
    default: return "detached";
  }
}

std::string_view UnneededKey(Unneeded why) {
  switch (why) {
    case Unneeded::kLeftover: return "leftover";
    case Unneeded::kInFlight: return "in_flight";
    case Unneeded::kTemporary: return "temporary";
    case Unneeded::kStray: return "stray";
    default: return "unknown";
  }
}

std::string_view UnneededText(Unneeded why) {
  switch (why) {
    case Unneeded::kLeftover: return "left over: no version needs it";
    case Unneeded::kInFlight: return "no version needs it, but it is younger than 7 days: a write may be under way";
    case Unneeded::kTemporary: return "temporary, of a write under way or of one that never ended";
    case Unneeded::kStray: return "not of the table";
    default: return "no readable version needs it, but there are versions that cannot be read";
  }
}

std::optional<Unneeded> WhyUnneeded(const References& refs, uint32_t object, StoreTime now) {
  const TableObject& o = refs.inventory.objects[object];
  if (refs.IsHeld(object) || IsBookkeeping(o.kind)) return std::nullopt;
  if (o.kind == ObjectKind::kTemporary) return Unneeded::kTemporary;
  if (o.kind == ObjectKind::kStray) return Unneeded::kStray;
  if (refs.AnyUnreadable()) return Unneeded::kUnknown;
  return now - o.written < kUnverifiedAge ? Unneeded::kInFlight : Unneeded::kLeftover;
}

Result<SpaceReport> MakeSpace(const References& refs, const std::string& branch, uint64_t version, StoreTime now) {
  const auto shown = refs.FindHolder(branch, version);
  if (!shown) return NotFoundError("there is no version {} any more", version);
  SpaceReport out;
  out.shown = *shown;
  out.needers = ListNeeders(refs, *shown);
  for (uint32_t o = 0; o < refs.inventory.objects.size(); ++o) AddObject(refs, o, now, &out);
  // Seen from a detached version every other is older: what is spoken of is a clean-up of the branch.
  const uint64_t from = refs.holders[*shown].detached ? NewestOf(refs, branch) : version;
  for (const CleanupPolicy& policy : Policies()) {
    out.cleanups.push_back(PlanCleanup(refs, branch, from, policy, now));
  }
  return out;
}

std::vector<std::pair<uint64_t, uint64_t>> VersionRuns(const References& refs, const HolderRuns& runs) {
  std::vector<std::pair<uint64_t, uint64_t>> out;
  for (const HolderRun& run : runs) {
    for (uint32_t i = run.first; i <= run.last;) {
      uint32_t end = i + 1;
      while (end <= run.last && refs.holders[end].version == refs.holders[end - 1].version + 1 &&
             refs.holders[end].branch == refs.holders[i].branch) {
        ++end;
      }
      out.emplace_back(refs.holders[i].version, refs.holders[end - 1].version);
      i = end;
    }
  }
  return out;
}

std::string VersionsText(const References& refs, const HolderRuns& runs) {
  std::string out;
  size_t given = 0;
  for (const auto& [first, last] : VersionRuns(refs, runs)) {
    if (++given > 6) return out + ", …";
    out += fmt::format("{}{}", out.empty() ? "" : ", ", first);
    if (last > first) out += fmt::format("{}{}", last - first == 1 ? ", " : " to ", last);
  }
  return out;
}

}  // namespace pilum
