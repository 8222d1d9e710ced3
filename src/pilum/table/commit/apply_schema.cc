// Operations on columns.
#include <algorithm>

#include "pilum/table/commit/applying.h"
#include "pilum/table/commit/index_coverage.h"

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

Status ApplyMerge(const wire::Transaction::Merge& op, Applying* next) {
  auto& m = next->manifest;
  std::map<uint64_t, const wire::DataFragment*> given;
  for (const auto& f : op.fragments()) given[f.id()] = &f;
  for (const auto& f : m.fragments()) {
    const auto at = given.find(f.id());
    if (at == given.end()) return UsageError("the merge leaves out fragment {}; it must name every one", f.id());
    if (at->second->physical_rows() != f.physical_rows()) {
      return UsageError("the merge has {} rows in fragment {}, which holds {}", at->second->physical_rows(), f.id(),
                        f.physical_rows());
    }
  }
  WireFragments fragments = op.fragments();
  PILUM_RETURN_NOT_OK(next->AssignRowIds(&fragments));
  *m.mutable_fragments() = fragments;
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
