// Operations that add, delete and move whole rows.
#include <algorithm>

#include "pilum/table/commit/applying.h"
#include "pilum/table/commit/index_coverage.h"

namespace pilum {
namespace {

std::set<uint64_t> SetOf(const google::protobuf::RepeatedField<uint64_t>& ids) { return {ids.begin(), ids.end()}; }

// The files hold every field that may not be NULL. Where they do not because others changed the schema, they can be
// written again.
Status CheckRequiredFields(const Applying& next, const WireFragments& fragments) {
  const auto& m = next.manifest;
  for (const auto& field : m.fields()) {
    if (field.nullable() || field.parent_id() != -1) continue;
    std::set<int32_t> below{field.id()};
    for (const auto& f : m.fields()) {
      if (below.contains(f.parent_id())) below.insert(f.id());
    }
    for (const auto& fragment : fragments) {
      const bool held = std::any_of(fragment.files().begin(), fragment.files().end(), [&](const wire::DataFile& file) {
        return std::any_of(file.fields().begin(), file.fields().end(), [&](int32_t id) { return below.contains(id); });
      });
      if (held) continue;
      const bool was_so = next.current->version() == next.transaction->read_version();
      return MakeError(was_so ? ErrorKind::kUsage : ErrorKind::kRetry,
                       fmt::format("column '{}' may not be NULL and the new rows have none", field.name()));
    }
  }
  return Status::OK();
}

}  // namespace

Status ApplyAppend(const wire::Transaction::Append& op, Applying* next) {
  WireFragments added = op.fragments();
  PILUM_RETURN_NOT_OK(CheckRequiredFields(*next, added));
  next->AssignIds(&added);
  PILUM_RETURN_NOT_OK(next->AssignRowIds(&added));
  next->StampVersions(&added);
  next->AddFragments(added);
  return Status::OK();
}

Status ApplyDelete(const wire::Transaction::Delete& op, Applying* next) {
  next->RemoveFragments(SetOf(op.deleted_fragment_ids()));
  return next->PutUpdated(op.updated_fragments());
}

Status ApplyOverwrite(const wire::Transaction::Overwrite& op, Applying* next) {
  auto& m = next->manifest;
  if (op.initial_bases_size() > 0) {
    if (next->current) return UsageError("base paths are given to a new table, not when one is overwritten");
    *m.mutable_base_paths() = op.initial_bases();
  }
  WireFragments added = op.fragments();
  for (auto& f : added) {
    if (f.has_deletion_file())
      return UsageError("rows of fragment {} are deleted; an overwrite has new ones only", f.id());
    f.set_id(0);
  }
  next->AssignIds(&added);
  PILUM_RETURN_NOT_OK(next->AssignRowIds(&added));
  next->StampVersions(&added);
  *m.mutable_fragments() = added;
  *m.mutable_fields() = op.schema();
  *m.mutable_schema_metadata() = op.schema_metadata();
  for (const auto& [key, value] : op.config_upsert_values()) (*m.mutable_config())[key] = value;
  next->indices.clear_indices();
  return Status::OK();
}

Status ApplyRewrite(const wire::Transaction::Rewrite& op, Applying* next) {
  std::vector<RewrittenFragments> groups;
  for (const auto& group : op.groups()) {
    RewrittenFragments one;
    for (const auto& old : group.old_fragments()) {
      PILUM_RETURN_NOT_OK(next->FindFragment(old.id()).status());
      one.old_ids.insert(old.id());
    }
    WireFragments added = group.new_fragments();
    next->AssignIds(&added);
    for (const auto& f : added) one.new_ids.insert(f.id());
    next->RemoveFragments(one.old_ids);
    next->AddFragments(added);
    groups.push_back(std::move(one));
  }
  return MoveCoverage(groups, op, next->stable_row_ids, &next->indices);
}

Status ApplyReserveFragments(const wire::Transaction::ReserveFragments& op, Applying* next) {
  // Of a table without fragments id 0 counts as used too; pylance has it so, and nothing is lost.
  const uint64_t most = uint64_t{next->manifest.max_fragment_id()} + op.num_fragments();
  if (most > UINT32_MAX) return Unsupported("the table has used all its 2^32 ids of fragments; make a new one");
  next->manifest.set_max_fragment_id(static_cast<uint32_t>(most));
  return Status::OK();
}

void ApplyRestore(const StoredVersion& restored, Applying* next) {
  const wire::Manifest before = std::move(next->manifest);
  next->manifest = restored.manifest;
  next->indices = restored.indices;
  auto& m = next->manifest;
  // What was given out once is not given out again.
  m.set_next_row_id(std::max(m.next_row_id(), before.next_row_id()));
  if (before.has_max_fragment_id()) m.set_max_fragment_id(std::max(m.max_fragment_id(), before.max_fragment_id()));
  if (before.has_branch()) m.set_branch(before.branch());
}

}  // namespace pilum
