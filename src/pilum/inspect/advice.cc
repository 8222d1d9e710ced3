#include "pilum/inspect/advice.h"

#include <algorithm>

#include "pilum/base/amounts.h"
#include "pilum/inspect/check.h"

namespace pilum {
namespace {

constexpr uint64_t kSmallFragment = 100000;    // rows: what LanceDB calls small
constexpr uint64_t kTargetFragment = 1 << 20;  // rows: what compaction aims at
constexpr uint64_t kManyFragments = 10;
constexpr uint64_t kLargeManifest = 4096;  // bytes

uint64_t CountGoing(const References& refs, const CleanupPlan& plan, ObjectKind kind, uint64_t* bytes) {
  uint64_t n = 0;
  for (const CleanupFile& f : plan.goes) {
    const TableObject& o = refs.inventory.objects[f.object];
    if (o.kind == kind) ++n, *bytes += o.size;
  }
  return n;
}

bool AnyStays(const CleanupPlan& plan, CleanupReason reason) {
  return std::any_of(plan.stays.begin(), plan.stays.end(), [&](const CleanupFile& f) { return f.reason == reason; });
}

void AdviseCleanUp(const References& refs, const SpaceReport& space, std::vector<Advice>* out) {
  const CleanupPlan& careful = space.cleanups[0];
  const CleanupPlan& all = space.cleanups[1];
  if (!careful.refused.empty()) {
    out->push_back({"clean_up_refused", "No clean-up would remove anything: " + careful.refused + ".", "", ""});
    return;
  }
  // Files of a copied table are younger than its versions; a clean-up that is told to take all looks at them too.
  const bool copied = AnyStays(careful, CleanupReason::kYoungerThan) && all.bytes > careful.bytes;
  const CleanupPlan& plan = copied ? all : careful;
  if (plan.bytes == 0) return;
  uint64_t data_bytes = 0, manifest_bytes = 0;
  const uint64_t data = CountGoing(refs, plan, ObjectKind::kData, &data_bytes);
  const uint64_t manifests = CountGoing(refs, plan, ObjectKind::kManifest, &manifest_bytes);
  std::string what;
  if (data > 0) {
    what =
        fmt::format("{} of {} belong to no retained version: ", Thousands(data), Plural(space.data.files, "data file"));
  }
  what +=
      fmt::format("{}leaning versions older than 0 s would free {}", what.empty() ? "C" : "c", HumanBytes(plan.bytes));
  std::string parts;
  if (data > 0) parts = HumanBytes(data_bytes) + " in data files";
  if (manifests > 0) {
    parts +=
        fmt::format("{}{} in {}", parts.empty() ? "" : ", ", HumanBytes(manifest_bytes), Plural(manifests, "manifest"));
  }
  if (!parts.empty()) what += " (" + parts + ")";
  what += ".";
  if (!plan.versions.empty())
    what += fmt::format(" {} could then no longer be opened.", Plural(plan.versions.size(), "version"));
  if (copied) {
    what +=
        " File times are later than the versions kept, as in a copied table: only delete_unverified (--unverified) "
        "takes the data files, and nobody may be writing meanwhile.";
  }
  if (!plan.tags.empty()) what += fmt::format(" {} kept by tags.", Plural(plan.tags.size(), "version"));
  for (const uint32_t i : plan.broken) {
    const Holder& h = refs.holders[i];
    what += fmt::format(" Version {}{} would stay listed but lose files.", h.version,
                        h.detached         ? " (detached)"
                        : h.branch.empty() ? ""
                                           : " of branch " + h.branch);
  }
  out->push_back({"clean_up", std::move(what), PolicyCall(plan), PolicyVerb(plan)});
}

void AdviseLeftovers(const SpaceReport& space, std::vector<Advice>* out) {
  const FileSum& in_flight = space.unneeded[static_cast<size_t>(Unneeded::kInFlight)];
  if (in_flight.files > 0) {
    out->push_back(
        {"in_flight",
         fmt::format("{} ({}) belong to no version and are younger than 7 days: of a write under way, or of one "
                     "that failed. If nobody is writing, a clean-up can be told to take them.",
                     Plural(in_flight.files, "file"), HumanBytes(in_flight.bytes)),
         "ds.cleanup_old_versions(delete_unverified=True)", "cleanup --unverified"});
  }
  const FileSum& strays = space.unneeded[static_cast<size_t>(Unneeded::kStray)];
  if (strays.files > 0) {
    out->push_back({"strays",
                    fmt::format("{} ({}) are not of the table; no clean-up takes them.", Plural(strays.files, "file"),
                                HumanBytes(strays.bytes)),
                    "", "ls"});
  }
}

void AdviseFragments(const Manifest& m, std::vector<Advice>* out) {
  const TableTotals t = TotalsOf(m);
  uint64_t small = 0;
  std::vector<uint64_t> rows;
  for (const Fragment& f : m.fragments) {
    rows.push_back(f.physical_rows);
    small += f.physical_rows < kSmallFragment;
  }
  std::sort(rows.begin(), rows.end());
  const uint64_t after = std::max<uint64_t>(1, (t.rows + kTargetFragment - 1) / kTargetFragment);
  if (small >= kManyFragments && after * 2 <= t.fragments) {
    out->push_back({"small_fragments",
                    fmt::format("{} of {} are small (the median has {}): compaction would make about {} of them. Each "
                                "commit writes a manifest that names them all.",
                                Thousands(small), Plural(t.fragments, "fragment"), Plural(rows[rows.size() / 2], "row"),
                                Thousands(after)),
                    "ds.optimize.compact_files()", "compact"});
  }
  if (t.deleted_rows * 10 >= t.physical_rows && t.deleted_rows > 0) {
    out->push_back(
        {"deleted_rows",
         fmt::format("{} of {} ({}) are deleted and still in the data files: each scan reads over them.",
                     Thousands(t.deleted_rows), Plural(t.physical_rows, "row"), Share(t.deleted_rows, t.physical_rows)),
         "ds.optimize.compact_files(materialize_deletions=True, materialize_deletions_threshold=0)",
         "compact --deletions 0"});
  }
}

void AdviseManifest(const Manifest& m, std::vector<Advice>* out) {
  const uint64_t beside = m.file_size - std::min(m.file_size, m.section.size + 20);
  if (m.file_size < kLargeManifest || beside < m.section.size) return;
  const char* carries = m.indices
                            ? "the list of indices and a copy of the transaction that made it"
                            : "a copy of the transaction that made it, which names all that was rewritten; the next "
                              "commit leaves that behind";
  out->push_back({"large_manifest",
                  fmt::format("The manifest has {}, and {} of that is no list of fragments: it carries {}.",
                              HumanBytes(m.file_size), Share(beside, m.file_size), carries),
                  "", "manifest"});
}

}  // namespace

std::string PolicyText(const CleanupPolicy& policy) {
  std::string out;
  if (policy.older_than) {
    const auto hours = std::chrono::duration_cast<std::chrono::hours>(*policy.older_than).count();
    out = hours == 0        ? "older than 0 s"
          : hours % 24 == 0 ? "older than " + Plural(static_cast<uint64_t>(hours / 24), "day")
                            : "older than " + Plural(static_cast<uint64_t>(hours), "hour");
  }
  if (policy.retain) {
    out += (out.empty() ? "" : ", ") + (*policy.retain == 1 ? std::string("all but the newest")
                                                            : "all but the newest " + Thousands(*policy.retain));
  }
  if (policy.delete_unverified) out += ", unverified too";
  return out;
}

std::string PolicyCall(const CleanupPlan& plan) {
  std::string args;
  const auto add = [&](std::string arg) { args += (args.empty() ? "" : ", ") + arg; };
  if (plan.policy.older_than) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*plan.policy.older_than).count();
    add(seconds == 0           ? "older_than=timedelta(0)"
        : seconds % 86400 == 0 ? fmt::format("older_than=timedelta(days={})", seconds / 86400)
                               : fmt::format("older_than=timedelta(seconds={})", seconds));
  }
  if (plan.policy.retain) add(fmt::format("retain_versions={}", *plan.policy.retain));
  if (plan.policy.delete_unverified) add("delete_unverified=True");
  if (!plan.tags.empty()) add("error_if_tagged_old_versions=False");
  return "ds.cleanup_old_versions(" + args + ")";
}

std::string PolicyVerb(const CleanupPlan& plan) {
  std::string out = "cleanup";
  if (plan.policy.older_than) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*plan.policy.older_than).count();
    out += seconds != 0 && seconds % 86400 == 0 ? fmt::format(" --older-than {}d", seconds / 86400)
                                                : fmt::format(" --older-than {}s", seconds);
  }
  if (plan.policy.retain) out += fmt::format(" --retain {}", *plan.policy.retain);
  if (plan.policy.delete_unverified) out += " --unverified";
  return out;
}

std::vector<Advice> Advise(const References& refs, const SpaceReport& space, const Manifest& manifest,
                           const std::vector<TableIndex>& indices) {
  std::vector<Advice> out;
  AdviseCleanUp(refs, space, &out);
  AdviseFragments(manifest, &out);
  Findings findings;
  CheckIndices(manifest, indices, &findings);
  for (const Finding& f : findings.Take()) {
    if (f.code == "index_behind") out.push_back({f.code, "I" + f.where.substr(1) + ": " + f.what + ".", f.fix});
  }
  AdviseLeftovers(space, &out);
  AdviseManifest(manifest, &out);
  return out;
}

}  // namespace pilum
