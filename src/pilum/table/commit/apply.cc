#include "pilum/table/commit/apply.h"

#include <algorithm>

#include "pilum/table/commit/applying.h"
#include "pilum/table/commit/index_coverage.h"
#include "pilum/table/commit/row_id_bytes.h"
#include "pilum/table/feature_flags.h"

namespace pilum {
namespace {

using Op = wire::Transaction;

Status Dispatch(const wire::Transaction& t, const StoredVersion* restored, Applying* next) {
  switch (t.operation_case()) {
    case Op::kAppend: return ApplyAppend(t.append(), next);
    case Op::kDelete: return ApplyDelete(t.delete_(), next);
    case Op::kOverwrite: return ApplyOverwrite(t.overwrite(), next);
    case Op::kCreateIndex: return ApplyCreateIndex(t.create_index(), next);
    case Op::kRewrite: return ApplyRewrite(t.rewrite(), next);
    case Op::kMerge: return ApplyMerge(t.merge(), next);
    case Op::kRestore: ApplyRestore(*restored, next); return Status::OK();
    case Op::kReserveFragments: return ApplyReserveFragments(t.reserve_fragments(), next);
    case Op::kUpdate: return ApplyUpdate(t.update(), next);
    case Op::kProject: return ApplyProject(t.project(), next);
    case Op::kUpdateConfig: return ApplyUpdateConfig(t.update_config(), next);
    case Op::kDataReplacement: return ApplyDataReplacement(t.data_replacement(), next);
    case Op::kClone: return ApplyClone(t.clone(), next);
    case Op::kUpdateBases: return ApplyUpdateBases(t.update_bases(), next);
    default: return Unsupported("an operation of kind {} cannot be committed by this Pilum", OperationName(t));
  }
}

// "2.1" of a data file; legacy ones "0.1".
std::string VersionOf(const wire::DataFile& f) {
  if (f.file_major_version() == 0) return f.file_minor_version() == 3 ? "2.0" : "0.1";
  return fmt::format("{}.{}", f.file_major_version(), f.file_minor_version());
}

std::set<std::string> FileVersions(const wire::Manifest& m) {
  std::set<std::string> out;
  for (const auto& fragment : m.fragments()) {
    for (const auto& file : fragment.files()) out.insert(VersionOf(file));
  }
  return out;
}

Status CheckFileVersions(const std::set<std::string>& versions) {
  if (versions.size() > 1 && versions.contains("0.1")) {
    return UsageError("data files of version 0.1 and of 2.x cannot be in one version of a table");
  }
  return Status::OK();
}

Status SetDataFormat(const std::set<std::string>& versions, Applying* next) {
  const bool overwrites = next->transaction->has_overwrite();
  auto* format = next->manifest.mutable_data_format();
  format->set_file_format("lance");
  if (overwrites && !next->options->data_version.empty()) {
    format->set_version(next->options->data_version);
  } else if (format->version().empty() || format->version() == "0.1") {
    // Of 2.x files under a manifest that says 0.1 (a fault of pylance 0.16) the files are right.
    format->set_version(versions.size() == 1 ? *versions.begin() : format->version().empty() ? "2.2" : "0.1");
  }
  return CheckFileVersions(versions);
}

// Both words anew from what the version holds; what only says of the past that it happened stays.
Status SetFlags(const std::set<std::string>& versions, Applying* next) {
  auto& m = next->manifest;
  const uint64_t sticky = m.writer_feature_flags() & (table_flags::kMixedFileVersions | table_flags::kCoveringIndices);
  uint64_t both = sticky & table_flags::kMixedFileVersions, writer = sticky & table_flags::kCoveringIndices;
  if (writer != 0) both |= m.reader_feature_flags() & table_flags::kCoveringIndices;
  for (const auto& fragment : m.fragments()) {
    if (fragment.has_deletion_file()) both |= table_flags::kDeletionFiles;
    const bool has_ids = fragment.row_id_sequence_case() != wire::DataFragment::ROW_ID_SEQUENCE_NOT_SET;
    if (has_ids != next->stable_row_ids) {
      return UsageError("fragment {} has {} row ids, the table's are {}stable", fragment.id(), has_ids ? "its" : "no",
                        next->stable_row_ids ? "" : "not ");
    }
  }
  if (next->stable_row_ids) both |= table_flags::kStableRowIds;
  if (m.base_paths_size() > 0) both |= table_flags::kBasePaths;
  std::set<std::string> with_default = versions;
  with_default.insert(m.data_format().version());
  with_default.erase("0.1");
  if (with_default.size() > 1) both |= table_flags::kMixedFileVersions;
  if (!m.config().empty()) writer |= table_flags::kConfig;
  m.set_reader_feature_flags(both);
  m.set_writer_feature_flags(both | writer);
  return Status::OK();
}

// The highest id ever used never falls.
void RaiseMaxFragmentId(wire::Manifest* m) {
  for (const auto& fragment : m->fragments()) {
    if (!m->has_max_fragment_id() || fragment.id() > m->max_fragment_id()) {
      m->set_max_fragment_id(static_cast<uint32_t>(fragment.id()));
    }
  }
}

Status Begin(const StoredVersion* current, Applying* next) {
  if (!current) {
    if (!next->transaction->has_overwrite()) {
      return UsageError("there is no table for an operation of kind {}", OperationName(*next->transaction));
    }
    next->stable_row_ids = next->options->stable_row_ids;
    return Status::OK();
  }
  next->manifest = current->manifest;
  next->indices = current->indices;
  next->stable_row_ids = (current->manifest.reader_feature_flags() & table_flags::kStableRowIds) != 0;
  if (current->manifest.has_max_fragment_id()) {
    next->next_fragment_id = uint64_t{current->manifest.max_fragment_id()} + 1;
  }
  for (const auto& f : current->manifest.fragments())
    next->next_fragment_id = std::max(next->next_fragment_id, f.id() + 1);
  ForgetUnsureCoverage(current->manifest, &next->indices);
  return Status::OK();
}

bool MayCutIndices(const wire::Transaction& t) {
  return t.has_delete_() || t.has_update() || t.has_merge() || t.has_project();
}

Status CheckFragments(const wire::Manifest& m) {
  std::set<uint64_t> ids;
  for (const auto& f : m.fragments()) {
    if (f.id() > UINT32_MAX) return Unsupported("the table has used all its 2^32 ids of fragments; make a new one");
    if (!ids.insert(f.id()).second) return UsageError("two fragments would have id {}", f.id());
    for (const auto& file : f.files()) {
      if (file.fields_size() == 0) return UsageError("data file {} is said to hold no field", file.path());
    }
  }
  return Status::OK();
}

}  // namespace

void Applying::AssignIds(WireFragments* fragments) {
  for (auto& f : *fragments) {
    if (f.id() == 0) f.set_id(next_fragment_id++);
  }
}

Result<wire::DataFragment*> Applying::FindFragment(uint64_t id) {
  for (auto& f : *manifest.mutable_fragments()) {
    if (f.id() == id) return &f;
  }
  return MakeError(ErrorKind::kRetry, fmt::format("fragment {} is not in the table any more", id));
}

Status Applying::PutUpdated(const WireFragments& updated) {
  for (const auto& f : updated) {
    PILUM_ASSIGN_OR_RETURN(auto* fragment, FindFragment(f.id()));
    *fragment = f;
  }
  return Status::OK();
}

void Applying::RemoveFragments(const std::set<uint64_t>& ids) {
  auto* all = manifest.mutable_fragments();
  all->erase(std::remove_if(all->begin(), all->end(), [&](const auto& f) { return ids.contains(f.id()); }), all->end());
}

Status Applying::AssignRowIds(WireFragments* fragments) {
  if (!stable_row_ids) return Status::OK();
  uint64_t next = manifest.next_row_id();
  for (auto& f : *fragments) {
    const uint64_t rows = f.physical_rows();
    if (f.row_id_sequence_case() == wire::DataFragment::ROW_ID_SEQUENCE_NOT_SET) {
      f.set_inline_row_ids(SerializeRowIdRange(next, next + rows));
      next += rows;
      continue;
    }
    if (!f.has_inline_row_ids()) continue;
    // Of an upsert: rows that moved have their ids, new ones behind them none.
    PILUM_ASSIGN_OR_RETURN(auto ids, ParseRowIds(f.inline_row_ids(), rows));
    if (ids.size() == rows) continue;
    while (ids.size() < rows) ids.push_back(next++);
    f.set_inline_row_ids(SerializeRowIds(ids));
  }
  manifest.set_next_row_id(next);
  return Status::OK();
}

void Applying::StampVersions(WireFragments* fragments) const {
  if (!stable_row_ids) return;
  for (auto& f : *fragments) {
    const std::string stamp = SerializeRowVersion(f.physical_rows(), options->version);
    f.set_inline_created_at(stamp);
    f.set_inline_last_updated_at(stamp);
  }
}

Result<NextVersion> ApplyTransaction(const StoredVersion* current, const StoredVersion* restored,
                                     const wire::Transaction& transaction, const ApplyOptions& options,
                                     const ReadOnlyStore& table, ReadContext& ctx) {
  Applying next{.current = current, .transaction = &transaction, .options = &options, .table = &table, .ctx = &ctx};
  PILUM_RETURN_NOT_OK(Begin(current, &next));
  PILUM_RETURN_NOT_OK(Dispatch(transaction, restored, &next));
  auto& m = next.manifest;
  std::stable_sort(m.mutable_fragments()->pointer_begin(), m.mutable_fragments()->pointer_end(),
                   [](const auto* a, const auto* b) { return a->id() < b->id(); });
  PILUM_RETURN_NOT_OK(CheckFragments(m));
  if (MayCutIndices(transaction)) KeepRelevantIndices(m, &next.indices);
  const std::set<std::string> versions = FileVersions(m);
  PILUM_RETURN_NOT_OK(SetDataFormat(versions, &next));
  PILUM_RETURN_NOT_OK(SetFlags(versions, &next));
  RaiseMaxFragmentId(&m);
  m.set_version(options.version);
  m.set_tag(transaction.tag());
  return NextVersion{std::move(next.manifest), std::move(next.indices)};
}

std::string OperationName(const wire::Transaction& t) {
  switch (t.operation_case()) {
    case Op::kAppend: return "Append";
    case Op::kDelete: return "Delete";
    case Op::kOverwrite: return "Overwrite";
    case Op::kCreateIndex: return "CreateIndex";
    case Op::kRewrite: return "Rewrite";
    case Op::kMerge: return "Merge";
    case Op::kRestore: return "Restore";
    case Op::kReserveFragments: return "ReserveFragments";
    case Op::kUpdate: return "Update";
    case Op::kProject: return "Project";
    case Op::kUpdateConfig: return "UpdateConfig";
    case Op::kDataReplacement: return "DataReplacement";
    case Op::kUpdateMemWalState: return "UpdateMemWalState";
    case Op::kClone: return "Clone";
    case Op::kUpdateBases: return "UpdateBases";
    case Op::kDataOverlay: return "DataOverlay";
    default: return "Unknown";
  }
}

}  // namespace pilum
