#include "pilum/table/table.h"

#include <arrow/buffer.h>

#include "pilum/table/find_version.h"
#include "pilum/table/index_kind.h"
#include "pilum/table/newest_listed.h"
#include "pilum/table/snapshot.h"

namespace pilum {
namespace {

// The tag's branch and version in place of the tag.
Status ResolveTag(const ReadOnlyStore& main, TableRef* ref, ReadContext& ctx) {
  if (ref->tag.empty()) return Status::OK();
  PILUM_ASSIGN_OR_RETURN(auto tag, FindTag(main, ref->tag, ctx));
  if (!tag) {
    PILUM_ASSIGN_OR_RETURN(auto all, ListTags(main, ctx));
    std::string names;
    for (const auto& [name, other] : all) names += (names.empty() ? "" : ", ") + name;
    return NotFoundError("{}: there is no tag '{}'; there are: {}", main.uri(), ref->tag,
                         names.empty() ? "none" : names);
  }
  ref->branch = tag->branch.value_or("");
  ref->version = tag->version;
  return Status::OK();
}

std::string StoreUri(const std::string& uri, const std::string& branch) {
  if (branch.empty()) return uri;
  return (uri.ends_with('/') ? uri : uri + "/") + BranchFolder(branch);
}

}  // namespace

Result<std::shared_ptr<const Table>> Table::Open(const std::string& uri, const TableRef& asked,
                                                 const StoreOptions& options, ReadContext& ctx) {
  if (asked.version.has_value() + !asked.tag.empty() + asked.as_of_ns.has_value() > 1) {
    return UsageError("{}: ask for a version, a tag or a time, not for several", uri);
  }
  TableRef ref = asked;
  auto out = std::make_shared<Table>();
  out->uri_ = uri;
  out->options_ = options;
  PILUM_ASSIGN_OR_RETURN(out->main_, ReadOnlyStore::Open(uri, options));
  PILUM_RETURN_NOT_OK(ResolveTag(*out->main_, &ref, ctx));
  if (ref.branch == "main") ref.branch.clear();
  if (!ref.branch.empty()) PILUM_RETURN_NOT_OK(CheckBranchName(ref.branch));
  out->branch_ = ref.branch;
  out->store_ = out->main_;
  if (!ref.branch.empty()) {
    PILUM_ASSIGN_OR_RETURN(out->store_, ReadOnlyStore::Open(StoreUri(uri, ref.branch), options));
  }
  PILUM_RETURN_NOT_OK(out->Find(ref, ctx));
  return out;
}

Result<std::shared_ptr<const Table>> Table::Open(std::shared_ptr<const ReadOnlyStore> store, const TableRef& ref,
                                                 ReadContext& ctx) {
  auto out = std::make_shared<Table>();
  out->uri_ = store->uri();
  out->main_ = out->store_ = std::move(store);
  PILUM_RETURN_NOT_OK(out->Find(ref, ctx));
  return out;
}

Result<std::shared_ptr<const Table>> Table::Reopen(std::optional<uint64_t> version, ReadContext& ctx) const {
  auto out = std::make_shared<Table>();
  out->uri_ = uri_;
  out->branch_ = branch_;
  out->options_ = options_;
  out->main_ = main_;
  out->store_ = store_;
  TableRef ref;
  ref.version = version;
  PILUM_RETURN_NOT_OK(out->Find(ref, ctx));
  return out;
}

Status Table::Find(const TableRef& ref, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto found, ref.version    ? FindVersion(*store_, *ref.version, ctx)
                                     : ref.as_of_ns ? FindAsOf(*store_, *ref.as_of_ns, ctx)
                                                    : FindLatest(*store_, ctx));
  listed_ = found.listed;
  manifest_ = std::move(found.manifest);
  auto schema = TableSchema::Make(manifest_->schema);
  if (!schema.ok()) return WithContext(store_->uri() + "/" + found.listed.path(), schema.status());
  schema_ = std::move(*schema);
  files_ = std::make_shared<const TableFiles>(store_, manifest_->version, manifest_->base_paths, options_);
  return Status::OK();
}

Result<std::shared_ptr<const Snapshot>> Table::OpenSnapshot(const SnapshotOptions& options, ReadContext& ctx) const {
  TableContext context{files_, schema_, manifest_, options.with_deleted};
  if (options.blobs != BlobHandling::kDescriptions) {
    PILUM_ASSIGN_OR_RETURN(context.schema, TableSchema::Make(manifest_->schema, options.blobs));
  }
  return MakeTableSnapshot(std::move(context), options.fragments, ctx);
}

bool Table::counts_known() const {
  if (!manifest_->tells_row_counts() && !manifest_->fragments.empty()) return false;
  return std::all_of(manifest_->fragments.begin(), manifest_->fragments.end(), [](const Fragment& f) {
    return (f.physical_rows > 0 || f.files.empty()) && (!f.deletions || f.deletions->num_deleted > 0);
  });
}

Result<uint64_t> Table::CountRows(ReadContext& ctx) const {
  if (counts_known()) return TotalsOf(*manifest_).rows;
  PILUM_ASSIGN_OR_RETURN(auto snapshot, OpenSnapshot({}, ctx));
  uint64_t rows = 0;
  for (const auto& unit : snapshot->units()) rows += unit->num_rows();
  return rows;
}

Result<std::vector<TableVersion>> Table::Versions(ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto listed, ListVersions(*store_, ctx));
  return ReadVersions(*store_, listed.attached, ctx);
}

Result<uint64_t> Table::LatestVersion(ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(const auto newest, FindNewestListed(*store_, ctx));
  if (!newest.version) return NotFoundError("{}: it has no versions any more", store_->uri());
  return newest.version->name.version;
}

Result<std::optional<Transaction>> Table::ReadTransaction(ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto source, files_->OpenOwn(listed_.path(), ctx));
  return pilum::ReadTransaction(*store_, *source, *manifest_, ctx);
}

Result<std::vector<TableIndex>> Table::Indices(ReadContext& ctx) const {
  if (!manifest_->indices) return std::vector<TableIndex>();
  PILUM_ASSIGN_OR_RETURN(auto source, files_->OpenOwn(listed_.path(), ctx));
  PILUM_ASSIGN_OR_RETURN(auto out, ReadIndexSection(*source, *manifest_, ctx));
  for (TableIndex& index : out) PILUM_RETURN_NOT_OK(LearnIndexKind(*files_, &index, ctx));
  return out;
}

}  // namespace pilum
