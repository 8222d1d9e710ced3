#include "pilum/part/part_spool.h"

#include <algorithm>
#include <filesystem>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/file/schema_wire.h"
#include "pilum/part/part_unit.h"

namespace pilum {
namespace {

// Passes bytes on and hashes them. The hash outlives the sink, which belongs to the file writer.
class HashingSink final : public ByteSink {
 public:
  HashingSink(std::unique_ptr<ByteSink> inner, std::shared_ptr<Blake3> hash)
      : inner_(std::move(inner)), hash_(std::move(hash)) {}
  Status Write(const void* data, uint64_t size) override {
    hash_->Update(data, size);
    return inner_->Write(data, size);
  }
  uint64_t position() const override { return inner_->position(); }
  Status Close() override { return inner_->Close(); }
  const std::string& name() const override { return inner_->name(); }

 private:
  std::unique_ptr<ByteSink> inner_;
  std::shared_ptr<Blake3> hash_;
};

uint64_t CountLeaves(const arrow::DataType& type) {
  uint64_t n = 0;
  for (const auto& child : type.fields()) n += CountLeaves(*child->type());
  return std::max<uint64_t>(1, n);
}

}  // namespace

Status WriteObject(ObjectStore& store, const std::string& path, const std::string& bytes) {
  PILUM_ASSIGN_OR_RETURN(auto sink, store.Create(path));
  PILUM_RETURN_NOT_OK(sink->Write(bytes.data(), bytes.size()));
  return sink->Close();
}

Result<bool> WantsTerms(const DatasetFiles& files, const std::string& part, const Hash128& identity, ReadContext& ctx) {
  auto index = OpenPartIndex(files, files.IndexPath(part), SidecarKind::kIndex, identity, ctx);
  if (index.ok()) return (*index)->sidecar().SaysInTerms();
  return StopsARead(index.status()) ? Result<bool>(index.status()) : false;
}

Result<bool> IsWholeSidecar(const DatasetFiles& files, const std::string& part, const DatasetFiles::Sidecar& sidecar,
                            const Hash128& identity, ReadContext& ctx) {
  auto check = [&]() -> Status {
    PILUM_ASSIGN_OR_RETURN(auto index, OpenPartIndex(files, sidecar.path, sidecar.kind, identity, ctx));
    for (const SectionEntry& entry : index->sidecar().entries()) {
      if (entry.state == SectionState::kPresent) PILUM_RETURN_NOT_OK(index->sidecar().VerifySection(entry, ctx));
    }
    return Status::OK();
  };
  const Status found = check();
  if (found.ok() || KindOf(found) == ErrorKind::kUnsupported) return true;
  if (KindOf(found) == ErrorKind::kNotFound && sidecar.kind == SidecarKind::kTerms) {
    PILUM_ASSIGN_OR_RETURN(const bool wanted, WantsTerms(files, part, identity, ctx));
    return !wanted;
  }
  if (KindOf(found) == ErrorKind::kCorrupt || KindOf(found) == ErrorKind::kNotFound) return false;
  return found;
}

PartWriteOptions PartWriteOptions::For(const arrow::Schema& schema, FileVersion version,
                                       const std::optional<DatasetSpec>& spec) {
  uint64_t leaves = 0;
  for (const auto& field : schema.fields()) leaves += CountLeaves(*field->type());
  leaves = std::max<uint64_t>(1, leaves);
  PartWriteOptions out;
  out.file.version = version;
  // Memory is page bytes times columns: many columns get smaller pages.
  out.file.page_bytes = std::clamp<uint64_t>((512ull << 20) / leaves, 256 << 10, 8 << 20);
  if (spec) out.file.page_rows = spec->page_rows.value_or(0);
  out.buffered_limit = leaves * out.file.page_bytes;
  return out;
}

Result<std::unique_ptr<PartSpool>> PartSpool::Make(std::string path, std::shared_ptr<arrow::Schema> schema,
                                                   const arrow::Schema& sidecar_schema, const WriteOptions& options) {
  std::unique_ptr<PartSpool> spool(new PartSpool());
  spool->path_ = std::move(path);
  spool->schema_ = std::move(schema);
  PILUM_ASSIGN_OR_RETURN(auto file, CreateLocalFile(spool->path_));
  PILUM_ASSIGN_OR_RETURN(spool->writer_, FileWriter::Make(std::make_unique<HashingSink>(std::move(file), spool->hash_),
                                                          spool->schema_, options));
  spool->sidecars_ = std::make_unique<SidecarBuilder>(sidecar_schema);
  return spool;
}

Status PartSpool::Append(const arrow::RecordBatch& rows) {
  PILUM_RETURN_NOT_OK(writer_->Write(rows));
  return sidecars_->Append(rows);
}

Result<PartSpool::Made> PartSpool::Finish() {
  Made made;
  PILUM_ASSIGN_OR_RETURN(made.rows, writer_->Finish());
  made.spool = path_;
  made.bytes = writer_->bytes_written();
  made.hash = Hex(hash_->Finish());
  PILUM_ASSIGN_OR_RETURN(auto stored, StoredSchema(*schema_));
  PILUM_ASSIGN_OR_RETURN(made.sidecars, sidecars_->Finish(*stored, IdentityOf(made.hash)));
  return made;
}

Result<bool> PublishPart(const DatasetFiles& files, const std::string& path, const std::string& name,
                         const PartSpool::Made& made, ReadContext& ctx, std::chrono::steady_clock::duration soon) {
  ObjectStore& store = *files.store;
  const auto begun = std::chrono::steady_clock::now();
  PILUM_ASSIGN_OR_RETURN(const bool there, store.Exists(path));
  const Hash128 identity = IdentityOf(made.hash);
  bool whole = there;
  for (const auto& side : files.Sidecars(name)) {
    if (!whole) break;
    PILUM_ASSIGN_OR_RETURN(whole, IsWholeSidecar(files, name, side, identity, ctx));
  }
  for (const auto& [side, kind] : files.Sidecars(name)) {
    const std::string& bytes = made.sidecars.Of(kind);
    if (!whole && !bytes.empty()) PILUM_RETURN_NOT_OK(WriteObject(store, side, bytes));
  }
  bool added = false;
  if (!there) {
    PILUM_ASSIGN_OR_RETURN(added, store.PutFileIfAbsent(path, made.spool));
  }
  if (added && std::chrono::steady_clock::now() - begun > soon) {
    for (const auto& [side, kind] : files.Sidecars(name)) {
      const std::string& bytes = made.sidecars.Of(kind);
      if (bytes.empty()) continue;
      PILUM_ASSIGN_OR_RETURN(const bool still, store.Exists(side));
      if (!still) PILUM_RETURN_NOT_OK(WriteObject(store, side, bytes));
    }
  }
  std::error_code ignored;  // the spool's folder goes with its owner anyway
  std::filesystem::remove(made.spool, ignored);
  return added;
}

}  // namespace pilum
