#include "pilum/table/commit/commit_clone.h"

#include "pilum/table/commit/apply.h"
#include "pilum/table/commit/manifest_file.h"
#include "pilum/table/commit/names.h"

namespace pilum {
namespace {

Status Exists(const ObjectStore& target) { return UsageError("Dataset already exists: {}", target.uri()); }

}  // namespace

Result<Committed> CommitClone(const std::shared_ptr<ObjectStore>& target, const ReadOnlyStore& source_store,
                              const StoredVersion& source, wire::Transaction clone, std::vector<std::string> written,
                              bool sync, ReadContext& ctx, uint64_t also_flags) {
  PILUM_RETURN_NOT_OK(CheckWritable(source));
  PILUM_ASSIGN_OR_RETURN(const ListedVersions listed, ListVersions(*target, ctx));
  if (!listed.attached.empty()) return Exists(*target);
  clone.set_read_version(source.version());
  clone.set_uuid(RandomUuid());
  ApplyOptions how;
  how.version = source.version();
  PILUM_ASSIGN_OR_RETURN(NextVersion next, ApplyTransaction(&source, nullptr, clone, how, source_store, ctx));
  const std::string transaction = SerializeWire(clone);
  const std::string name = TransactionName(clone);
  SignManifest(&next.manifest);
  next.manifest.set_reader_feature_flags(next.manifest.reader_feature_flags() | also_flags);
  next.manifest.set_writer_feature_flags(next.manifest.writer_feature_flags() | also_flags);
  next.manifest.set_transaction_file(name);
  PILUM_ASSIGN_OR_RETURN(const std::string file, SerializeManifestFile(next.indices, transaction, &next.manifest));
  PILUM_RETURN_NOT_OK(PutUnsynced(target.get(), "_transactions/" + name, transaction));
  written.push_back("_transactions/" + name);
  const ListedVersion made{{next.manifest.version(), ManifestScheme::kV2}, file.size()};
  PILUM_ASSIGN_OR_RETURN(const bool put, sync ? target->PutIfAbsentAfter(made.path(), file, written)
                                              : target->PutIfAbsentUnsynced(made.path(), file));
  if (!put) {
    (void)target->Remove("_transactions/" + name);
    return Exists(*target);
  }
  PutHint(target.get(), made.name.version);
  return Committed{made.name.version, made};
}

}  // namespace pilum
