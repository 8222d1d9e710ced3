#include "pilum/table/commit/put_deletions.h"

#include "pilum/table/commit/names.h"
#include "pilum/table/deletions.h"

namespace pilum {

Status PutDeletions(const RowSet& rows, uint64_t read_version, ObjectStore* table, wire::DataFragment* fragment,
                    std::vector<std::string>* written) {
  PILUM_ASSIGN_OR_RETURN(const DeletionBytes file, SerializeDeletions(rows));
  DeletionFile named;
  named.kind = file.kind;
  named.read_version = read_version;
  named.id = RandomNumber();
  const std::string path = named.Path(fragment->id());
  PILUM_ASSIGN_OR_RETURN(const bool put, table->PutIfAbsentUnsynced(path, file.bytes));
  if (!put) return Status::IOError(fmt::format("{}/{}: it is there already", table->uri(), path));
  written->push_back(path);
  auto* out = fragment->mutable_deletion_file();
  out->Clear();
  out->set_file_type(file.kind == DeletionFile::Kind::kBitmap ? wire::DeletionFile::BITMAP
                                                              : wire::DeletionFile::ARROW_ARRAY);
  out->set_read_version(named.read_version);
  out->set_id(named.id);
  out->set_num_deleted_rows(rows.size());
  return Status::OK();
}

}  // namespace pilum
