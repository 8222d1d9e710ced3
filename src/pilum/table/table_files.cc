#include "pilum/table/table_files.h"

#include "pilum/io/object_store.h"
#include "pilum/table/blobs.h"
#include "pilum/table/missing_file.h"

namespace pilum {

Result<std::shared_ptr<const ReadOnlyStore>> TableFiles::BaseStore(const BasePath& base) const {
  std::lock_guard lock(mutex_);
  auto& store = opened_[base.id];
  if (store) return store;
  PILUM_ASSIGN_OR_RETURN(store, ReadOnlyStore::Open(base.path, IsRemoteUri(base.path) ? options_ : StoreOptions()));
  return store;
}

Result<std::shared_ptr<const ByteSource>> TableFiles::Open(std::optional<uint32_t> base_id, const std::string& folder,
                                                           const std::string& name, ReadContext& ctx) const {
  if (!base_id) {
    const std::string path = folder + "/" + name;
    auto source = OpenOwn(path, ctx);
    if (source.ok() || KindOf(source.status()) != ErrorKind::kNotFound) return source;
    return WithVersionWithout(path, *root_, version_, source.status(), ctx);
  }
  for (const BasePath& base : bases_) {
    if (base.id != *base_id) continue;
    PILUM_ASSIGN_OR_RETURN(auto store, BaseStore(base));
    auto source = store->OpenSource(base.is_dataset_root ? folder + "/" + name : name, ctx);
    if (source.ok() || KindOf(source.status()) != ErrorKind::kNotFound) return source;
    return NotFoundError(
        "{}; the table keeps it below its base path {} ({}): was that moved or removed since? A table that others are "
        "branches or shallow clones of cannot be moved",
        source.status().message(), base.id, base.path);
  }
  return Corrupt(uri(), "manifest",
                 fmt::format("{}/{} lies below base path {}, and there is none", folder, name, *base_id));
}

Result<std::shared_ptr<const ByteSource>> TableFiles::OpenData(const DataFile& file, ReadContext& ctx) const {
  return Open(file.base_id, "data", file.path, ctx);
}

Result<std::shared_ptr<const ByteSource>> TableFiles::OpenDeletions(const DeletionFile& file, uint64_t fragment,
                                                                    ReadContext& ctx) const {
  const std::string path = file.Path(fragment);
  return Open(file.base_id, "_deletions", path.substr(path.find('/') + 1), ctx);
}

Result<std::shared_ptr<const ByteSource>> TableFiles::OpenIndexFile(const TableIndex& index, const std::string& name,
                                                                    ReadContext& ctx) const {
  return Open(index.base_id, "_indices/" + index.uuid, name, ctx);
}

Result<std::shared_ptr<const ByteSource>> TableFiles::OpenBeside(const DataFile& file, const std::string& name,
                                                                 ReadContext& ctx) const {
  return Open(file.base_id, "data", BlobFolder(file.path) + name, ctx);
}

Result<std::shared_ptr<const ByteSource>> TableFiles::OpenExternal(const std::string& uri, uint32_t base_id,
                                                                   ReadContext& ctx) const {
  if (base_id == 0) return OpenFileOrObject(uri, ctx, IsRemoteUri(uri) ? options_ : StoreOptions());
  for (const BasePath& base : bases_) {
    if (base.id != base_id) continue;
    PILUM_ASSIGN_OR_RETURN(auto store, BaseStore(base));
    return store->OpenSource(uri, ctx);
  }
  return Corrupt(this->uri(), "manifest",
                 fmt::format("a blob {} lies below base path {}, and there is none", uri, base_id));
}

Result<std::shared_ptr<const ByteSource>> TableFiles::OpenOwn(const std::string& path, ReadContext& ctx) const {
  return root_->OpenSource(path, ctx);
}

}  // namespace pilum
