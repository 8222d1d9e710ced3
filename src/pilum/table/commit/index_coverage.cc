#include "pilum/table/commit/index_coverage.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>

#include "pilum/table/roaring.h"

namespace pilum {
namespace {

constexpr std::string_view kFragmentReuse = "__lance_frag_reuse", kMemWal = "__lance_mem_wal";

bool IsSystem(const wire::IndexMetadata& index) { return index.name() == kFragmentReuse || index.name() == kMemWal; }

bool IsOfType(const wire::IndexMetadata& index, std::string_view type) {
  return std::string_view(index.index_details().type_url()).ends_with(type);
}

// nullopt: it does not say, or not so that it could be understood.
std::optional<RowSet> CoverageOf(const wire::IndexMetadata& index) {
  if (index.fragment_bitmap().empty()) return std::nullopt;
  auto parsed = ParseRoaring32(index.fragment_bitmap());
  return parsed.ok() ? std::optional(std::move(*parsed)) : std::nullopt;
}

void SetCoverage(const RowSet& coverage, wire::IndexMetadata* index) {
  index->set_fragment_bitmap(SerializeRoaring32(coverage));
}

RowSet SetOfIds(const std::set<uint64_t>& ids) { return RowSet::FromSorted({ids.begin(), ids.end()}); }

template <typename Set>
bool UsesAny(const wire::IndexMetadata& index, const Set& fields) {
  return std::any_of(index.fields().begin(), index.fields().end(),
                     [&](int32_t id) { return fields.contains(static_cast<typename Set::value_type>(id)); });
}

bool CoversNothing(const wire::IndexMetadata& index, const RowSet& live) {
  const auto coverage = CoverageOf(index);
  return !coverage || coverage->Intersect(live).empty();
}

// Of the segments of one index.
void KeepSegments(const std::vector<const wire::IndexMetadata*>& segments, const RowSet& live,
                  std::set<const wire::IndexMetadata*>* kept) {
  bool any = false;
  for (const auto* s : segments) {
    if (CoversNothing(*s, live)) continue;
    kept->insert(s);
    any = true;
  }
  if (any) return;
  const auto* oldest = *std::min_element(segments.begin(), segments.end(), [](const auto* a, const auto* b) {
    return a->dataset_version() < b->dataset_version();
  });
  if (!IsOfType(*oldest, "VectorIndexDetails")) kept->insert(oldest);
}

// "0.8.15" as a number that can be compared.
uint64_t NumberOf(const std::string& version) {
  unsigned major = 0, minor = 0, patch = 0;
  if (std::sscanf(version.c_str(), "%5u.%5u.%5u", &major, &minor, &patch) < 2) return 0;
  return uint64_t{major} << 40 | uint64_t{minor} << 20 | patch;
}

}  // namespace

bool HoldsAddresses(std::string_view details, int32_t version) {
  return (details.ends_with("BTreeIndexDetails") && version > 0) || details.ends_with("ZoneMapIndexDetails") ||
         details.ends_with("BloomFilterIndexDetails");
}
bool HoldsAddresses(const wire::IndexMetadata& index) {
  return HoldsAddresses(index.index_details().type_url(), index.index_version());
}

void KeepRelevantIndices(const wire::Manifest& manifest, wire::IndexSection* indices) {
  if (indices->indices_size() == 0) return;
  std::set<int32_t> fields;
  for (const auto& f : manifest.fields()) fields.insert(f.id());
  std::set<uint64_t> ids;
  for (const auto& f : manifest.fragments()) ids.insert(f.id());
  const RowSet live = SetOfIds(ids);
  std::map<std::string, std::vector<const wire::IndexMetadata*>> by_name;
  std::set<const wire::IndexMetadata*> kept;
  for (const auto& index : indices->indices()) {
    const bool on_columns =
        std::all_of(index.fields().begin(), index.fields().end(), [&](int32_t id) { return fields.contains(id); });
    if (IsSystem(index)) {
      kept.insert(&index);
    } else if (on_columns) {
      by_name[index.name()].push_back(&index);
    }
  }
  for (const auto& [name, segments] : by_name) KeepSegments(segments, live, &kept);
  wire::IndexSection out = *indices;
  out.clear_indices();
  for (const auto& index : indices->indices()) {
    if (kept.contains(&index)) *out.add_indices() = index;
  }
  *indices = std::move(out);
}

void ForgetUnsureCoverage(const wire::Manifest& manifest, wire::IndexSection* indices) {
  const auto& writer = manifest.writer_version();
  if (writer.library() != "lance" && !writer.library().empty()) return;
  if (!writer.library().empty() && NumberOf(writer.version()) >= NumberOf("0.8.15")) return;
  for (auto& index : *indices->mutable_indices()) {
    if (!IsSystem(index)) index.clear_fragment_bitmap();
  }
}

void CutCoverage(const google::protobuf::RepeatedPtrField<wire::DataFragment>& updated,
                 const std::set<uint32_t>& fields, wire::IndexSection* indices) {
  if (fields.empty() || updated.empty()) return;
  std::set<uint64_t> ids;
  for (const auto& f : updated) ids.insert(f.id());
  for (auto& index : *indices->mutable_indices()) {
    if (!UsesAny(index, fields)) continue;
    if (auto coverage = CoverageOf(index)) SetCoverage(coverage->Minus(SetOfIds(ids)), &index);
  }
}

void ExtendCoverage(const std::set<uint64_t>& added, const std::set<uint64_t>& from, const std::set<uint32_t>& changed,
                    wire::IndexSection* indices) {
  if (added.empty()) return;
  for (auto& index : *indices->mutable_indices()) {
    if (IsSystem(index) || HoldsAddresses(index) || UsesAny(index, changed)) continue;
    const auto coverage = CoverageOf(index);
    if (coverage && SetOfIds(from).IsSubsetOf(*coverage)) SetCoverage(coverage->Union(SetOfIds(added)), &index);
  }
}

Status MoveCoverage(const std::vector<RewrittenFragments>& groups, const wire::Transaction::Rewrite& op,
                    bool stable_row_ids, wire::IndexSection* indices) {
  std::map<std::string, std::string> rewritten;  // uuid -> uuid
  for (const auto& r : op.rewritten_indices()) rewritten[r.old_id().uuid()] = r.new_id().uuid();
  for (auto& index : *indices->mutable_indices()) {
    const auto renewed = rewritten.find(index.uuid().uuid());
    const bool follows = renewed != rewritten.end() || (stable_row_ids && !HoldsAddresses(index));
    auto coverage = CoverageOf(index);
    if (IsSystem(index) || !coverage) continue;
    for (const RewrittenFragments& group : groups) {
      const RowSet old_ids = SetOfIds(group.old_ids);
      const RowSet covered = coverage->Intersect(old_ids);
      if (covered.empty()) continue;
      if (follows && !(covered == old_ids)) {
        return UsageError("a group of rewritten fragments mixes some that index '{}' covers with others", index.name());
      }
      // What does not follow still names the old ones, which tells of rows that are nowhere: harmless, and a reuse
      // index may lead from them to the new ones.
      if (follows) coverage = coverage->Minus(old_ids).Union(SetOfIds(group.new_ids));
    }
    SetCoverage(*coverage, &index);
    if (renewed != rewritten.end()) {
      index.mutable_uuid()->set_uuid(renewed->second);
      rewritten.erase(renewed);
    }
  }
  if (!rewritten.empty()) return UsageError("the rewrite names an index that the table does not have");
  return Status::OK();
}

}  // namespace pilum
