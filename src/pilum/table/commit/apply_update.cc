// Updates: rows that move to new fragments, columns that move to new files.
#include <algorithm>
#include <unordered_map>

#include "pilum/table/commit/applying.h"
#include "pilum/table/commit/index_coverage.h"
#include "pilum/table/commit/row_id_bytes.h"
#include "pilum/table/roaring.h"
#include "pilum/table/row_ids.h"

namespace pilum {
namespace {

constexpr int kRewriteRows = 0;

Result<std::string> RowIdsOf(const wire::DataFragment& f, const Applying& next) {
  if (f.has_inline_row_ids()) return f.inline_row_ids();
  if (f.has_external_row_ids()) return BytesAt(f.external_row_ids(), next);
  return Unsupported("fragment {}: its row ids lie where this Pilum does not read them", f.id());
}

// Empty: none is kept, which stands for version 1.
Result<std::string> CreatedAtOf(const wire::DataFragment& f, const Applying& next) {
  if (f.has_inline_created_at()) return f.inline_created_at();
  if (f.has_external_created_at()) return BytesAt(f.external_created_at(), next);
  if (f.has_spilled_created_at()) {
    return Unsupported("fragment {}: its row versions lie where this Pilum does not read them", f.id());
  }
  return std::string();
}

using Created = std::unordered_map<uint64_t, uint64_t>;  // row id -> the version that its row was made in

Status AddCreated(const wire::DataFragment& f, const Applying& next, Created* out) {
  const RowSet all = RowSet::All(f.physical_rows());
  PILUM_ASSIGN_OR_RETURN(const std::string id_bytes, RowIdsOf(f, next));
  PILUM_ASSIGN_OR_RETURN(auto sequence, RowIdSequence::Parse(id_bytes, f.physical_rows()));
  std::vector<uint64_t> ids, versions;
  sequence.Append(all, &ids);
  PILUM_ASSIGN_OR_RETURN(const std::string version_bytes, CreatedAtOf(f, next));
  if (version_bytes.empty()) {
    versions.assign(ids.size(), 1);
  } else {
    PILUM_ASSIGN_OR_RETURN(auto created, RowVersionSequence::Parse(version_bytes, f.physical_rows()));
    created.Append(all, &versions);
  }
  for (size_t i = 0; i < ids.size(); ++i) out->emplace(ids[i], versions[i]);
  return Status::OK();
}

// Rows that moved keep the version that they were made in; all were changed in this one.
void StampMoved(const Created& created, const std::vector<uint64_t>& moved, uint64_t version, wire::DataFragment* f) {
  std::vector<uint64_t> versions;
  for (const uint64_t id : moved) {
    const auto at = created.find(id);
    versions.push_back(at == created.end() ? 1 : at->second);
  }
  versions.resize(f->physical_rows(), version);
  f->set_inline_created_at(SerializeRowVersions(versions));
  f->set_inline_last_updated_at(SerializeRowVersion(f->physical_rows(), version));
}

// The ids that rows of a new fragment brought with them.
Result<std::vector<std::vector<uint64_t>>> MovedIds(const WireFragments& fragments) {
  std::vector<std::vector<uint64_t>> out;
  for (const auto& f : fragments) {
    out.emplace_back();
    if (!f.has_inline_row_ids()) continue;
    PILUM_ASSIGN_OR_RETURN(out.back(), ParseRowIds(f.inline_row_ids(), f.physical_rows()));
  }
  return out;
}

// Empty: none is kept, which stands for version 1.
Result<std::string> LastUpdatedOf(const wire::DataFragment& f, const Applying& next) {
  if (f.has_inline_last_updated_at()) return f.inline_last_updated_at();
  if (f.has_external_last_updated_at()) return BytesAt(f.external_last_updated_at(), next);
  if (f.has_spilled_last_updated_at()) {
    return Unsupported("fragment {}: its row versions lie where this Pilum does not read them", f.id());
  }
  return std::string();
}

// Rows whose columns were written anew in place: `bitmap` says which.
Status StampUpdated(const std::string& bitmap, const Applying& next, wire::DataFragment* f) {
  const uint64_t rows = f->physical_rows();
  PILUM_ASSIGN_OR_RETURN(const RowSet changed, ParseRoaring32(bitmap));
  if (!changed.empty() && changed.ranges().back().end > rows) {
    return UsageError("the update names row {} of fragment {}, which has {}", changed.ranges().back().end - 1, f->id(),
                      rows);
  }
  PILUM_ASSIGN_OR_RETURN(const std::string bytes, LastUpdatedOf(*f, next));
  std::vector<uint64_t> versions;
  if (bytes.empty()) {
    versions.assign(rows, 1);
  } else {
    PILUM_ASSIGN_OR_RETURN(auto stored, RowVersionSequence::Parse(bytes, rows));
    stored.Append(RowSet::All(rows), &versions);
  }
  for (const auto& range : changed.ranges()) {
    for (uint64_t row = range.begin; row < range.end && row < versions.size(); ++row)
      versions[row] = next.options->version;
  }
  f->set_inline_last_updated_at(SerializeRowVersions(versions));
  return Status::OK();
}

}  // namespace

Result<std::string> BytesAt(const wire::ExternalFile& file, const Applying& next) {
  PILUM_ASSIGN_OR_RETURN(auto source, next.table->OpenSource(file.path(), *next.ctx));
  PILUM_ASSIGN_OR_RETURN(auto bytes, source->ReadRange({file.offset(), file.size()}, *next.ctx));
  return bytes->ToString();
}

Status ApplyUpdate(const wire::Transaction::Update& op, Applying* next) {
  std::set<uint64_t> touched(op.removed_fragment_ids().begin(), op.removed_fragment_ids().end());
  const std::set<uint64_t> removed = touched;
  for (const auto& f : op.updated_fragments()) touched.insert(f.id());
  WireFragments added = op.new_fragments();
  std::vector<std::vector<uint64_t>> moved;
  Created created;
  if (next->stable_row_ids) {
    PILUM_ASSIGN_OR_RETURN(moved, MovedIds(added));
    if (std::any_of(moved.begin(), moved.end(), [](const auto& ids) { return !ids.empty(); })) {
      for (const auto& f : next->manifest.fragments()) {
        if (touched.contains(f.id())) PILUM_RETURN_NOT_OK(AddCreated(f, *next, &created));
      }
    }
  }
  next->RemoveFragments(removed);
  PILUM_RETURN_NOT_OK(next->PutUpdated(op.updated_fragments()));
  for (const auto& [id, bitmap] : op.updated_offsets()) {
    if (!next->stable_row_ids || op.update_mode() == kRewriteRows) continue;
    PILUM_ASSIGN_OR_RETURN(auto* fragment, next->FindFragment(id));
    PILUM_RETURN_NOT_OK(StampUpdated(bitmap, *next, fragment));
  }
  next->AssignIds(&added);
  PILUM_RETURN_NOT_OK(next->AssignRowIds(&added));
  std::set<uint64_t> only_moved;
  for (int i = 0; next->stable_row_ids && i < added.size(); ++i) {
    const auto& ids = moved[static_cast<size_t>(i)];
    StampMoved(created, ids, next->options->version, &added[i]);
    if (ids.size() == added[i].physical_rows()) only_moved.insert(added[i].id());
  }
  CutCoverage(op.updated_fragments(), {op.fields_modified().begin(), op.fields_modified().end()}, &next->indices);
  if (next->stable_row_ids && op.update_mode() == kRewriteRows) {
    ExtendCoverage(only_moved, touched,
                   {op.fields_for_preserving_frag_bitmap().begin(), op.fields_for_preserving_frag_bitmap().end()},
                   &next->indices);
  }
  next->AddFragments(added);
  DropEmptyFiles(FieldIdsOf(next->manifest.fields()), next->manifest.mutable_fragments());
  return Status::OK();
}

Status ApplyDataReplacement(const wire::Transaction::DataReplacement& op, Applying* next) {
  const std::set<int32_t> known = FieldIdsOf(next->manifest.fields());
  WireFragments changed;
  std::set<uint32_t> fields;
  for (const auto& replacement : op.replacements()) {
    PILUM_ASSIGN_OR_RETURN(auto* fragment, next->FindFragment(replacement.fragment_id()));
    const auto& file = replacement.new_file();
    for (const int32_t id : file.fields()) {
      if (id >= 0 && !known.contains(id)) {
        return MakeError(
            ErrorKind::kRetry,
            fmt::format("field {} of {} is not in the table any more: its values would be nowhere", id, file.path()));
      }
      fields.insert(static_cast<uint32_t>(id));
    }
    TakeFields(file, fragment);
    *fragment->add_files() = file;
    *changed.Add() = *fragment;
  }
  CutCoverage(changed, fields, &next->indices);
  DropEmptyFiles(FieldIdsOf(next->manifest.fields()), next->manifest.mutable_fragments());
  return Status::OK();
}

}  // namespace pilum
