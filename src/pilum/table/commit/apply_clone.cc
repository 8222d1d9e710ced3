// A version of one table made the first one of another. Format: docs/formats/table.md, "Base paths".
#include <algorithm>

#include "pilum/table/commit/applying.h"

namespace pilum {
namespace {

// Sequences in files of their own lie below the root that they were written to: they are taken into the manifest.
Status TakeSequencesIn(const Applying& next, wire::DataFragment* f) {
  if (f->has_spilled_row_ids() || f->has_spilled_created_at() || f->has_spilled_last_updated_at()) {
    return Unsupported("fragment {}: its row ids or versions lie where this Pilum does not read them", f->id());
  }
  if (f->has_external_row_ids()) {
    PILUM_ASSIGN_OR_RETURN(*f->mutable_inline_row_ids(), BytesAt(wire::ExternalFile(f->external_row_ids()), next));
  }
  if (f->has_external_created_at()) {
    PILUM_ASSIGN_OR_RETURN(*f->mutable_inline_created_at(),
                           BytesAt(wire::ExternalFile(f->external_created_at()), next));
  }
  if (f->has_external_last_updated_at()) {
    PILUM_ASSIGN_OR_RETURN(*f->mutable_inline_last_updated_at(),
                           BytesAt(wire::ExternalFile(f->external_last_updated_at()), next));
  }
  return Status::OK();
}

uint32_t NextBaseId(const wire::Manifest& m) {
  uint32_t next = 0;
  for (const auto& base : m.base_paths()) next = std::max(next, base.id() + 1);
  return next;
}

template <typename File>
void Rebase(bool shallow, uint32_t own, File* file) {
  if (!shallow) file->clear_base_id();
  if (shallow && !file->has_base_id()) file->set_base_id(own);
}

}  // namespace

Status ApplyClone(const wire::Transaction::Clone& op, Applying* next) {
  auto& m = next->manifest;
  const uint32_t own = NextBaseId(m);
  for (auto& f : *m.mutable_fragments()) {
    PILUM_RETURN_NOT_OK(TakeSequencesIn(*next, &f));
    for (auto& file : *f.mutable_files()) Rebase(op.is_shallow(), own, &file);
    if (f.has_deletion_file()) Rebase(op.is_shallow(), own, f.mutable_deletion_file());
  }
  for (auto& index : *next->indices.mutable_indices()) Rebase(op.is_shallow(), own, &index);
  if (op.is_shallow()) {
    auto* base = m.add_base_paths();
    base->set_id(own);
    base->set_path(op.ref_path());
    base->set_is_dataset_root(true);
    if (op.has_ref_name()) base->set_name(op.ref_name());
  } else {  // what is no table's root may hold blobs that values name by its number
    auto* bases = m.mutable_base_paths();
    bases->erase(std::remove_if(bases->begin(), bases->end(), [](const auto& b) { return b.is_dataset_root(); }),
                 bases->end());
  }
  m.clear_branch();
  if (op.has_branch_name()) m.set_branch(op.branch_name());
  return Status::OK();
}

}  // namespace pilum
