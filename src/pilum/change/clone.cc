#include "pilum/change/clone.h"

#include <filesystem>

#include "pilum/change/copy_files.h"
#include "pilum/change/fragment_writer.h"
#include "pilum/table/commit/commit_clone.h"

namespace pilum {
namespace {

std::string AbsoluteUri(std::string uri) {
  while (uri.size() > 1 && uri.ends_with('/')) uri.pop_back();
  return uri.find("://") != uri.npos ? uri : std::filesystem::absolute(uri).lexically_normal().string();
}

Result<std::shared_ptr<ObjectStore>> OpenTarget(const std::string& target, const StoreOptions& storage,
                                                ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto store, ObjectStore::Open(target, storage));
  PILUM_ASSIGN_OR_RETURN(const ListedVersions listed, ListVersions(*store, ctx));
  if (listed.attached.empty()) return store;
  return UsageError("Dataset already exists: {}", target);
}

}  // namespace

void DescribeSource(const Table& source, bool shallow, wire::Transaction::Clone* out) {
  out->set_is_shallow(shallow);
  if (!source.branch().empty()) out->set_ref_name(source.branch());
  out->set_ref_version(source.manifest().version);
  out->set_ref_path(AbsoluteUri(source.store().uri()));
}

Result<Committed> ShallowClone(const WritableTable& source, const std::string& target, const StoreOptions& storage,
                               bool sync, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto store, OpenTarget(target, storage, ctx));
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(source, ctx));
  wire::Transaction t;
  DescribeSource(*source.table, /*shallow=*/true, t.mutable_clone());
  return CommitClone(store, *base.store, *base.stored, std::move(t), {}, sync, ctx);
}

Result<Committed> DeepClone(const WritableTable& source, const std::string& target, const StoreOptions& storage,
                            bool sync, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto store, OpenTarget(target, storage, ctx));
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(source, ctx));
  wire::Transaction t;
  DescribeSource(*source.table, /*shallow=*/false, t.mutable_clone());
  std::vector<std::string> written;
  const Status copied = CopyFiles(*base.table, *base.stored, store, &written, ctx);
  if (!copied.ok()) {
    RemoveWritten(store.get(), written);
    return WithContext(target, copied);
  }
  auto made = CommitClone(store, *base.store, *base.stored, std::move(t), written, sync, ctx);
  if (!made.ok() && KindOf(made.status()) == ErrorKind::kUsage) RemoveWritten(store.get(), written);
  return made;
}

}  // namespace pilum
