#include "pilum/change/fragment_writer.h"

#include <algorithm>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/table/commit/names.h"
#include "pilum/table/commit/schema_fields.h"

namespace pilum {

void RemoveWritten(ObjectStore* table, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) (void)table->Remove(path);
}

void RemoveWritten(const std::vector<FileElsewhere>& files) {
  for (const FileElsewhere& file : files) (void)file.store->Remove(file.path);
}

Result<FileVersion> DataVersionOf(const std::string& name) {
  for (const FileVersion v : {FileVersion::kV2_0, FileVersion::kV2_1, FileVersion::kV2_2}) {
    if (VersionName(v) == name) return v;
  }
  if (name == "legacy" || name == "0.1") {
    return Unsupported("data files of version 0.1 are read but not written; overwrite the table with 2.0 or newer");
  }
  return Unsupported("data files of version {} are not written by this Pilum; it writes 2.0, 2.1 and 2.2", name);
}

Result<FileVersion> DataVersionOf(const StoredVersion& table, const std::string& asked) {
  return DataVersionOf(asked.empty() ? table.manifest.data_format().version() : asked);
}

FragmentWriter::FragmentWriter(std::shared_ptr<ObjectStore> table, std::shared_ptr<arrow::Schema> schema,
                               std::shared_ptr<const FieldIds> ids, const FragmentWriterOptions& options)
    : table_(std::move(table)),
      schema_(std::move(schema)),
      ids_(std::move(ids)),
      options_(options),
      stored_(WithDescriptions(*schema_)),
      stored_ids_(std::make_shared<const FieldIds>(IdsWithDescriptions(*schema_, *ids_))),
      page_bytes_(options.page_bytes) {}

FragmentWriter::~FragmentWriter() {
  if (!finished_) Abandon();
}

void FragmentWriter::Abandon() {
  blobs_.reset();
  file_.reset();
  RemoveWritten(table_.get(), out_.written);
  RemoveWritten(out_.elsewhere);
  out_ = {};
}

Status FragmentWriter::Begin() {
  name_ = NewDataFileName();
  target_ = options_.targets.empty() ? FileTarget() : options_.targets[begun_ % options_.targets.size()];
  PILUM_ASSIGN_OR_RETURN(auto sink, target_.base ? target_.store->Create(target_.folder + name_)
                                                 : table_->CreateUnsynced("data/" + name_));
  ++begun_;
  WriteOptions options;
  options.version = options_.version;
  options.page_bytes = page_bytes_;
  options.page_rows = page_rows_;
  options.checksums = options_.checksums;
  options.ids = stored_ids_;
  PILUM_RETURN_NOT_OK(CheckBlobColumns(*schema_, options_.version));
  PILUM_ASSIGN_OR_RETURN(file_, FileWriter::Make(std::move(sink), stored_, options));
  if (HasBlobV2(*schema_)) {
    blobs_ = std::make_unique<BlobWriter>(schema_, options_.blobs, file_.get(),
                                          [this](const std::string& name) { return BeginBlob(name); });
  }
  return options_.watch ? options_.watch(nullptr) : Status::OK();
}

Result<std::unique_ptr<ByteSink>> FragmentWriter::BeginBlob(const std::string& name) {
  const std::string path = BlobFolder(name_) + name;
  if (target_.base) {
    PILUM_ASSIGN_OR_RETURN(auto sink, target_.store->Create(target_.folder + path));
    out_.elsewhere.push_back({target_.store, target_.folder + path});
    return sink;
  }
  PILUM_ASSIGN_OR_RETURN(auto sink, table_->CreateUnsynced("data/" + path));
  out_.written.push_back("data/" + path);
  return sink;
}

Status FragmentWriter::EndFragment() {
  if (!file_) return Status::OK();
  if (blobs_) PILUM_RETURN_NOT_OK(blobs_->Finish());
  blobs_.reset();
  PILUM_ASSIGN_OR_RETURN(const uint64_t rows, file_->Finish());
  if (target_.base) {
    out_.elsewhere.push_back({target_.store, target_.folder + name_});
  } else {
    out_.written.push_back("data/" + name_);
  }
  auto* fragment = out_.fragments.Add();
  fragment->set_physical_rows(rows);
  auto* file = fragment->add_files();
  file->set_path(name_);
  file->set_file_size_bytes(file_->bytes_written());
  if (target_.base) file->set_base_id(*target_.base);
  file_.reset();
  PILUM_RETURN_NOT_OK(SetColumns(*stored_, *stored_ids_, options_.version, file));
  return options_.watch ? options_.watch(fragment) : Status::OK();
}

Status FragmentWriter::WriteRows(const arrow::RecordBatch& batch) {
  if (!blobs_) return file_->Write(batch);
  PILUM_ASSIGN_OR_RETURN(const auto described, blobs_->Describe(batch));
  return file_->Write(*described);
}

Status FragmentWriter::Write(const arrow::RecordBatch& batch) {
  for (int64_t at = 0; at < batch.num_rows();) {
    if (!file_) PILUM_RETURN_NOT_OK(Begin());
    const uint64_t room = std::max<uint64_t>(options_.max_rows_per_file, 1) - file_->rows_written();
    const int64_t n = static_cast<int64_t>(std::min<uint64_t>(room, static_cast<uint64_t>(batch.num_rows() - at)));
    const bool whole = at == 0 && n == batch.num_rows();
    PILUM_RETURN_NOT_OK(WriteRows(whole ? batch : *batch.Slice(at, n)));
    at += n;
    out_.rows += static_cast<uint64_t>(n);
    if (static_cast<uint64_t>(n) == room || file_->bytes_written() >= options_.max_bytes_per_file) {
      PILUM_RETURN_NOT_OK(EndFragment());
    }
  }
  return Status::OK();
}

Result<NewFragments> FragmentWriter::Finish() {
  PILUM_RETURN_NOT_OK(EndFragment());
  finished_ = true;
  return std::move(out_);
}

}  // namespace pilum
