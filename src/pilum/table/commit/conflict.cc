#include "pilum/table/commit/conflict.h"

#include <algorithm>

#include "pilum/table/commit/apply.h"
#include "pilum/table/roaring.h"

namespace pilum {
namespace {

using T = wire::Transaction;

enum class Verdict { kFine, kRetry, kConflict };

bool Overlap(const std::set<uint64_t>& a, const std::set<uint64_t>& b) {
  return std::any_of(a.begin(), a.end(), [&](uint64_t id) { return b.contains(id); });
}

Verdict RetryIf(bool retry) { return retry ? Verdict::kRetry : Verdict::kFine; }

bool ChangesRows(const T& t) { return t.has_delete_() || t.has_update(); }
// All that was there is gone.
bool ReplacesAll(const T& t) { return t.has_overwrite() || t.has_restore(); }

// The fields that files of a replacement hold, by fragment.
bool ReplacesSameColumns(const T::DataReplacement& ours, const T::DataReplacement& theirs) {
  for (const auto& a : ours.replacements()) {
    for (const auto& b : theirs.replacements()) {
      if (a.fragment_id() != b.fragment_id()) continue;
      const std::set<int32_t> fields(a.new_file().fields().begin(), a.new_file().fields().end());
      for (const int32_t id : b.new_file().fields()) {
        if (fields.contains(id)) return true;
      }
    }
  }
  return false;
}

bool ReplacesIndexed(const T::DataReplacement& replacement, const T::CreateIndex& created) {
  for (const auto& index : created.new_indices()) {
    for (const auto& r : replacement.replacements()) {
      for (const int32_t id : r.new_file().fields()) {
        if (std::count(index.fields().begin(), index.fields().end(), id) > 0) return true;
      }
    }
  }
  return false;
}

// Does an index cover fragments that were rewritten? One that does not say covers all.
bool CoversAny(const T::CreateIndex& created, const std::set<uint64_t>& fragments) {
  for (const auto& index : created.new_indices()) {
    const auto coverage = ParseRoaring32(index.fragment_bitmap());
    if (!coverage.ok()) return true;
    for (const uint64_t id : fragments) {
      if (coverage->Contains(id)) return true;
    }
  }
  return false;
}

bool SameIndexNames(const T::CreateIndex& a, const T::CreateIndex& b) {
  std::set<std::string> names;
  for (const auto& index : a.new_indices()) names.insert(index.name());
  for (const auto& index : a.removed_indices()) names.insert(index.name());
  const auto known = [&](const auto& index) { return names.contains(index.name()); };
  return std::any_of(b.new_indices().begin(), b.new_indices().end(), known) ||
         std::any_of(b.removed_indices().begin(), b.removed_indices().end(), known);
}

bool SameKeys(const T::UpdateMap& a, const T::UpdateMap& b) {
  if (a.replace() || b.replace()) return true;
  std::set<std::string> keys;
  for (const auto& e : a.entries()) keys.insert(e.key());
  return std::any_of(b.entries().begin(), b.entries().end(), [&](const auto& e) { return keys.contains(e.key()); });
}

// Config keys that a transaction sets or removes; older writers have two lists.
T::UpdateMap ConfigKeys(const T& t) {
  T::UpdateMap out;
  if (t.has_overwrite()) {
    for (const auto& [key, value] : t.overwrite().config_upsert_values()) out.add_entries()->set_key(key);
  }
  if (!t.has_update_config()) return out;
  if (t.update_config().has_config_updates()) out = t.update_config().config_updates();
  for (const auto& [key, value] : t.update_config().old_upsert_values()) out.add_entries()->set_key(key);
  for (const auto& key : t.update_config().old_delete_keys()) out.add_entries()->set_key(key);
  return out;
}

bool SameSettings(const T::UpdateConfig& a, const T::UpdateConfig& b) {
  if (a.has_table_metadata_updates() && b.has_table_metadata_updates() &&
      SameKeys(a.table_metadata_updates(), b.table_metadata_updates())) {
    return true;
  }
  if (a.has_schema_metadata_updates() && b.has_schema_metadata_updates() &&
      SameKeys(a.schema_metadata_updates(), b.schema_metadata_updates())) {
    return true;
  }
  return std::any_of(a.field_metadata_updates().begin(), a.field_metadata_updates().end(), [&](const auto& update) {
    const auto other = b.field_metadata_updates().find(update.first);
    return other != b.field_metadata_updates().end() && SameKeys(update.second, other->second);
  });
}

bool SameBases(const T::UpdateBases& a, const T::UpdateBases& b) {
  for (const auto& x : a.new_bases()) {
    for (const auto& y : b.new_bases()) {
      if ((x.id() != 0 && x.id() == y.id()) || x.path() == y.path() || (x.has_name() && x.name() == y.name())) {
        return true;
      }
    }
  }
  return false;
}

Verdict JudgeRows(const T& ours, bool knows_rows, const T& theirs) {
  if (ReplacesAll(theirs)) return Verdict::kConflict;
  if (theirs.has_merge()) return Verdict::kRetry;
  if (!Overlap(ChangedFragments(ours), ChangedFragments(theirs))) return Verdict::kFine;
  return RetryIf(!ChangesRows(theirs) || !knows_rows);
}

Verdict JudgeCreateIndex(const T& ours, const T& theirs) {
  if (ReplacesAll(theirs)) return Verdict::kConflict;
  if (theirs.has_create_index()) return RetryIf(SameIndexNames(ours.create_index(), theirs.create_index()));
  if (theirs.has_rewrite()) return RetryIf(CoversAny(ours.create_index(), ChangedFragments(theirs)));
  if (theirs.has_data_replacement()) {
    return RetryIf(ReplacesIndexed(theirs.data_replacement(), ours.create_index()));
  }
  return Verdict::kFine;
}

Verdict JudgeRewrite(const T& ours, const T& theirs) {
  if (ReplacesAll(theirs)) return Verdict::kConflict;
  if (theirs.has_merge()) return Verdict::kRetry;
  if (theirs.has_create_index()) {
    // A new index would lose its coverage; whether an old one was rewritten rightly cannot be told.
    return RetryIf(ours.rewrite().rewritten_indices_size() > 0 ||
                   CoversAny(theirs.create_index(), ChangedFragments(ours)));
  }
  return RetryIf(Overlap(ChangedFragments(ours), ChangedFragments(theirs)));
}

Verdict JudgeReplacement(const T& ours, const T& theirs) {
  if (ReplacesAll(theirs)) return Verdict::kConflict;
  if (theirs.has_merge()) return Verdict::kRetry;
  if (theirs.has_create_index()) {
    return RetryIf(ReplacesIndexed(ours.data_replacement(), theirs.create_index()));
  }
  if (theirs.has_data_replacement()) {
    return RetryIf(ReplacesSameColumns(ours.data_replacement(), theirs.data_replacement()));
  }
  const bool moves_rows = theirs.has_rewrite() || theirs.has_update();
  return RetryIf(moves_rows && Overlap(ChangedFragments(ours), ChangedFragments(theirs)));
}

// It names every fragment and the whole schema.
Verdict JudgeMerge(const T& theirs) {
  if (ReplacesAll(theirs)) return Verdict::kConflict;
  const bool beside = theirs.has_create_index() || theirs.has_reserve_fragments() || theirs.has_clone() ||
                      theirs.has_update_bases() || theirs.has_update_config();
  return RetryIf(!beside);
}

// One that forbids NULLs somewhere has looked at the rows that were there.
Verdict JudgeProject(const T::Project& ours, const T& theirs) {
  if (ReplacesAll(theirs)) return Verdict::kConflict;
  const bool adds_rows = theirs.has_append() || theirs.has_update() || theirs.has_data_replacement();
  return RetryIf(theirs.has_merge() || theirs.has_project() || (adds_rows && !ours.preserves_nullability()));
}

Verdict JudgeSettings(const T& ours, const T& theirs) {
  const auto& op = ours.update_config();
  const bool of_schema = op.has_schema_metadata_updates() || op.field_metadata_updates_size() > 0;
  if (ReplacesAll(theirs) && of_schema) return Verdict::kConflict;
  const bool same = SameKeys(ConfigKeys(ours), ConfigKeys(theirs)) ||
                    (theirs.has_update_config() && SameSettings(op, theirs.update_config()));
  return same ? Verdict::kConflict : Verdict::kFine;
}

Verdict Judge(const T& ours, bool knows_rows, const T& theirs) {
  if (theirs.operation_case() == T::OPERATION_NOT_SET) return Verdict::kRetry;  // of a newer Lance
  if (theirs.has_data_overlay()) return Verdict::kRetry;
  switch (ours.operation_case()) {
    case T::kAppend: return ReplacesAll(theirs) ? Verdict::kConflict : Verdict::kFine;
    case T::kDelete:
    case T::kUpdate: return JudgeRows(ours, knows_rows, theirs);
    case T::kOverwrite:
      if (SameKeys(ConfigKeys(ours), ConfigKeys(theirs)) && ours.overwrite().config_upsert_values_size() > 0) {
        return Verdict::kConflict;
      }
      return RetryIf(theirs.has_overwrite());
    case T::kCreateIndex: return JudgeCreateIndex(ours, theirs);
    case T::kRewrite: return JudgeRewrite(ours, theirs);
    case T::kMerge: return JudgeMerge(theirs);
    case T::kRestore: return Verdict::kFine;
    case T::kReserveFragments: return ReplacesAll(theirs) ? Verdict::kConflict : Verdict::kFine;
    case T::kProject: return JudgeProject(ours.project(), theirs);
    case T::kUpdateConfig: return JudgeSettings(ours, theirs);
    case T::kDataReplacement: return JudgeReplacement(ours, theirs);
    case T::kUpdateBases:
      return theirs.has_update_bases() && SameBases(ours.update_bases(), theirs.update_bases()) ? Verdict::kConflict
                                                                                                : Verdict::kFine;
    default: return Verdict::kConflict;
  }
}

}  // namespace

std::set<uint64_t> ChangedFragments(const wire::Transaction& t) {
  std::set<uint64_t> out;
  const auto add = [&](const auto& fragments) {
    for (const auto& f : fragments) out.insert(f.id());
  };
  if (t.has_delete_()) {
    add(t.delete_().updated_fragments());
    out.insert(t.delete_().deleted_fragment_ids().begin(), t.delete_().deleted_fragment_ids().end());
  } else if (t.has_update()) {
    add(t.update().updated_fragments());
    out.insert(t.update().removed_fragment_ids().begin(), t.update().removed_fragment_ids().end());
  } else if (t.has_rewrite()) {
    add(t.rewrite().old_fragments());
    for (const auto& group : t.rewrite().groups()) add(group.old_fragments());
  } else if (t.has_data_replacement()) {
    for (const auto& r : t.data_replacement().replacements()) out.insert(r.fragment_id());
  }
  return out;
}

Status JudgeConflict(const wire::Transaction& ours, bool knows_rows, const wire::Transaction& theirs,
                     uint64_t their_version) {
  switch (Judge(ours, knows_rows, theirs)) {
    case Verdict::kFine: return Status::OK();
    case Verdict::kRetry:
      return MakeError(ErrorKind::kRetry,
                       fmt::format("Retryable commit conflict for version {}: This {} transaction was preempted by "
                                   "concurrent transaction {} at version {}. Please retry.",
                                   their_version, OperationName(ours), OperationName(theirs), their_version));
    default:
      return MakeError(ErrorKind::kConflict,
                       fmt::format("Commit conflict for version {}: This {} transaction is incompatible with "
                                   "concurrent transaction {} at version {}.",
                                   their_version, OperationName(ours), OperationName(theirs), their_version));
  }
}

}  // namespace pilum
