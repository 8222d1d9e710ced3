#include "pilum/change/clone.h"

#include <filesystem>

#include "pilum/change/copy_files.h"
#include "pilum/change/fragment_writer.h"
#include "pilum/io/memory_names.h"
#include "pilum/table/commit/commit_clone.h"

namespace pilum {
namespace {

std::string AbsoluteUri(std::string uri) {
  while (uri.size() > 1 && uri.ends_with('/')) uri.pop_back();
  return uri.find("://") != uri.npos ? uri : std::filesystem::absolute(uri).lexically_normal().string();
}

Status CheckEmpty(const ObjectStore& target, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const ListedVersions listed, ListVersions(target, ctx));
  return listed.attached.empty() ? Status::OK() : UsageError("Dataset already exists: {}", target.uri());
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
  PILUM_ASSIGN_OR_RETURN(const auto store, ObjectStore::Open(target, storage));
  return ShallowClone(source, store, sync, ctx);
}

Result<Committed> DeepClone(const WritableTable& source, const std::string& target, const StoreOptions& storage,
                            bool sync, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto store, ObjectStore::Open(target, storage));
  return DeepClone(source, store, sync, ctx);
}

Result<Committed> ShallowClone(const WritableTable& source, const std::shared_ptr<ObjectStore>& target, bool sync,
                               ReadContext& ctx) {
  if (IsMemoryUri(source.store->uri()) && !IsMemoryUri(target->uri())) {
    return UsageError("{}: a shallow clone of a table in memory would end with this process; make a deep one",
                      target->uri());
  }
  PILUM_RETURN_NOT_OK(CheckEmpty(*target, ctx));
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(source, ctx));
  wire::Transaction t;
  DescribeSource(*source.table, /*shallow=*/true, t.mutable_clone());
  return CommitClone(target, *base.store, *base.stored, std::move(t), {}, sync, ctx);
}

Result<Committed> DeepClone(const WritableTable& source, const std::shared_ptr<ObjectStore>& target, bool sync,
                            ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(CheckEmpty(*target, ctx));
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(source, ctx));
  wire::Transaction t;
  DescribeSource(*source.table, /*shallow=*/false, t.mutable_clone());
  std::vector<std::string> written;
  const Status copied = CopyFiles(*base.table, *base.stored, target, &written, ctx);
  if (!copied.ok()) {
    RemoveWritten(target.get(), written);
    return WithContext(target->uri(), copied);
  }
  // Where the store failed the manifest may be there: the files stay, and clean-up tells.
  return CommitClone(target, *base.store, *base.stored, std::move(t), std::move(written), sync, ctx);
}

}  // namespace pilum
