// Operations on columns.
#include <algorithm>

#include "pilum/table/commit/applying.h"
#include "pilum/table/commit/row_id_bytes.h"

namespace pilum {

std::set<int32_t> FieldIdsOf(const WireFields& fields) {
  std::set<int32_t> out;
  for (const auto& f : fields) {
    if (f.id() >= 0) out.insert(f.id());
  }
  return out;
}

void DropEmptyFiles(const std::set<int32_t>& live, WireFragments* fragments) {
  for (auto& fragment : *fragments) {
    if (fragment.physical_rows() == 0) continue;  // of a very old table: only its files know how many rows there are
    auto* files = fragment.mutable_files();
    const auto is_empty = [&](const wire::DataFile& file) {
      return std::none_of(file.fields().begin(), file.fields().end(), [&](int32_t id) { return live.contains(id); });
    };
    files->erase(std::remove_if(files->begin(), files->end(), is_empty), files->end());
  }
}

namespace {

bool SharesFile(const wire::DataFragment& a, const wire::DataFragment& b) {
  return std::any_of(a.files().begin(), a.files().end(), [&](const wire::DataFile& file) {
    return std::any_of(b.files().begin(), b.files().end(),
                       [&](const auto& other) { return other.path() == file.path(); });
  });
}

// Fragments without an id yet are new rows. Fragment 0 is that which has a file of it.
void SplitMerged(const WireFragments& fragments, const wire::Manifest& m, WireFragments* kept, WireFragments* added) {
  const auto zero = std::find_if(m.fragments().begin(), m.fragments().end(), [](const auto& f) { return f.id() == 0; });
  bool zero_found = zero == m.fragments().end();
  for (const auto& f : fragments) {
    const bool is_zero = f.id() == 0 && !zero_found && (SharesFile(f, *zero) || zero->files().empty());
    zero_found = zero_found || is_zero;
    *(f.id() != 0 || is_zero ? kept : added)->Add() = f;
  }
}

// With stable row ids: rows of a fragment that has a data file it did not have were last changed now.
void StampChanged(const Applying& next, const std::map<uint64_t, const wire::DataFragment*>& before,
                  WireFragments* fragments) {
  if (!next.stable_row_ids) return;
  for (auto& f : *fragments) {
    const auto at = before.find(f.id());
    std::set<std::string> known;
    if (at != before.end()) {
      for (const auto& file : at->second->files()) known.insert(file.path());
    }
    const bool changed = std::any_of(f.files().begin(), f.files().end(),
                                     [&](const wire::DataFile& file) { return !known.contains(file.path()); });
    if (changed) f.set_inline_last_updated_at(SerializeRowVersion(f.physical_rows(), next.options->version));
  }
}

}  // namespace

Status ApplyMerge(const wire::Transaction::Merge& op, Applying* next) {
  auto& m = next->manifest;
  std::map<uint64_t, const wire::DataFragment*> before;
  WireFragments fragments, added;
  SplitMerged(op.fragments(), m, &fragments, &added);
  std::map<uint64_t, const wire::DataFragment*> given;
  for (const auto& f : fragments) given[f.id()] = &f;
  for (const auto& f : m.fragments()) {
    before[f.id()] = &f;
    const auto at = given.find(f.id());
    if (at == given.end()) return UsageError("the merge leaves out fragment {}; it must name every one", f.id());
    if (at->second->physical_rows() != f.physical_rows()) {
      return UsageError("the merge has {} rows in fragment {}, which holds {}", at->second->physical_rows(), f.id(),
                        f.physical_rows());
    }
  }
  PILUM_RETURN_NOT_OK(next->AssignRowIds(&fragments));
  StampChanged(*next, before, &fragments);
  next->AssignIds(&added);
  PILUM_RETURN_NOT_OK(next->AssignRowIds(&added));
  next->StampVersions(&added);
  *m.mutable_fragments() = fragments;
  next->AddFragments(added);
  *m.mutable_fields() = op.schema();
  if (!op.schema_metadata().empty()) *m.mutable_schema_metadata() = op.schema_metadata();
  DropEmptyFiles(FieldIdsOf(m.fields()), m.mutable_fragments());
  return Status::OK();
}

Status ApplyProject(const wire::Transaction::Project& op, Applying* next) {
  auto& m = next->manifest;
  *m.mutable_fields() = op.schema();
  DropEmptyFiles(FieldIdsOf(m.fields()), m.mutable_fragments());
  return Status::OK();
}

}  // namespace pilum
