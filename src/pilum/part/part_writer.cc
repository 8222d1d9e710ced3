#include "pilum/part/part_writer.h"

#include <algorithm>
#include <filesystem>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/file/schema_wire.h"
#include "pilum/part/logical_size.h"
#include "pilum/part/union_schema.h"

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

Status WriteWhole(ObjectStore& store, const std::string& path, const std::string& bytes) {
  PILUM_ASSIGN_OR_RETURN(auto sink, store.Create(path));
  PILUM_RETURN_NOT_OK(sink->Write(bytes.data(), bytes.size()));
  return sink->Close();
}

uint64_t CountLeaves(const arrow::DataType& type) {
  uint64_t n = 0;
  for (const auto& child : type.fields()) n += CountLeaves(*child->type());
  return std::max<uint64_t>(1, n);
}

}  // namespace

struct PartWriter::Open {
  std::string path;
  std::shared_ptr<Blake3> hash = std::make_shared<Blake3>();
  std::unique_ptr<FileWriter> writer;
  std::unique_ptr<SidecarBuilder> sidecars;
  std::shared_ptr<arrow::Schema> schema;  // with the batch's metadata
  uint64_t first_row = 0, rows = 0;
  uint64_t bytes = 0;      // logical, of all rows
  uint64_t undecided = 0;  // logical, since rolling was last considered
};

PartWriter::PartWriter(DatasetFiles files, std::shared_ptr<arrow::Schema> schema, const PutOptions& options)
    : files_(std::move(files)), schema_(std::move(schema)), options_(options) {
  uint64_t leaves = 0;
  for (const auto& field : schema_->fields()) leaves += CountLeaves(*field->type());
  leaves = std::max<uint64_t>(1, leaves);
  write_options_.version = options.version;
  // Memory is page bytes times columns: many columns get smaller pages.
  write_options_.page_bytes = std::clamp<uint64_t>((512ull << 20) / leaves, 256 << 10, 8 << 20);
  buffered_limit_ = leaves * write_options_.page_bytes;
  decision_bytes_ = std::clamp<uint64_t>(options.target_part_bytes / 16, 1, 16 << 20);
}

PartWriter::~PartWriter() = default;

Status PartWriter::OpenPart(uint64_t first_row) {
  if (!spool_) {
    PILUM_ASSIGN_OR_RETURN(spool_, TempDir::Make());
  }
  auto open = std::make_unique<Open>();
  open->path = fmt::format("{}/part-{}.lance", spool_->path(), parts_opened_++);
  open->first_row = first_row;
  open->schema = schema_;
  // Two parts of one input may hold equal rows; where they begin keeps their bytes, and so their names, apart.
  if (!options_.batch_id.empty() || first_row > 0) {
    auto metadata = schema_->metadata() ? schema_->metadata()->Copy() : std::make_shared<arrow::KeyValueMetadata>();
    if (!options_.batch_id.empty()) PILUM_RETURN_NOT_OK(metadata->Set(kBatchIdKey, options_.batch_id));
    PILUM_RETURN_NOT_OK(metadata->Set(kBatchRowKey, std::to_string(first_row)));
    open->schema = schema_->WithMetadata(metadata);
  }
  PILUM_ASSIGN_OR_RETURN(auto file, CreateLocalFile(open->path));
  PILUM_ASSIGN_OR_RETURN(open->writer, FileWriter::Make(std::make_unique<HashingSink>(std::move(file), open->hash),
                                                        open->schema, write_options_));
  open->sidecars = std::make_unique<SidecarBuilder>(*schema_);
  open_ = std::move(open);
  return Status::OK();
}

// How many rows from `begin` on bring the open part to its next decision (all that are left if fewer).
int64_t PartWriter::RowsToDecision(const arrow::RecordBatch& batch, int64_t begin) const {
  const int64_t left = batch.num_rows() - begin;
  const uint64_t need = decision_bytes_ - std::min(decision_bytes_ - 1, open_->undecided);
  if (LogicalSize(batch, begin, left) < need) return left;
  int64_t low = 0, high = left;  // low rows do not reach it, high rows do
  while (high - low > 1) {
    const int64_t mid = low + (high - low) / 2;
    (LogicalSize(batch, begin, mid) < need ? low : high) = mid;
  }
  return high;
}

// What is written, and at most what can still be held back. Both depend on the rows alone.
bool PartWriter::ShouldRoll() const {
  return open_->writer->bytes_written() + std::min(open_->bytes, buffered_limit_) >= options_.target_part_bytes;
}

Status PartWriter::Append(const std::shared_ptr<arrow::RecordBatch>& batch, uint64_t first_row, ReadContext& ctx) {
  if (open_ && open_->first_row + open_->rows != first_row) PILUM_RETURN_NOT_OK(ClosePart(ctx));
  for (int64_t at = 0; at < batch->num_rows();) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    if (!open_) PILUM_RETURN_NOT_OK(OpenPart(first_row + static_cast<uint64_t>(at)));
    const int64_t n = RowsToDecision(*batch, at);
    const uint64_t bytes = LogicalSize(*batch, at, n);
    const auto rows = batch->Slice(at, n);
    PILUM_RETURN_NOT_OK(open_->writer->Write(*rows));
    PILUM_RETURN_NOT_OK(open_->sidecars->Append(*rows));
    at += n;
    open_->rows += static_cast<uint64_t>(n);
    open_->bytes += bytes;
    open_->undecided += bytes;
    if (open_->undecided < decision_bytes_) continue;
    open_->undecided = 0;
    if (ShouldRoll()) PILUM_RETURN_NOT_OK(ClosePart(ctx));
  }
  return Status::OK();
}

Status PartWriter::Finish(bool or_empty, ReadContext& ctx) {
  if (!open_ && parts_opened_ == 0 && or_empty) PILUM_RETURN_NOT_OK(OpenPart(0));
  return open_ ? ClosePart(ctx) : Status::OK();
}

Status PartWriter::ClosePart(ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const uint64_t rows, open_->writer->Finish());
  const Hash256 hash = open_->hash->Finish();
  Hash128 identity;
  std::copy_n(hash.begin(), identity.size(), identity.begin());
  PILUM_ASSIGN_OR_RETURN(auto stored, StoredSchema(*open_->schema));
  PILUM_ASSIGN_OR_RETURN(auto sidecars, open_->sidecars->Finish(*stored, identity));
  PILUM_RETURN_NOT_OK(Publish(Hex(hash), rows, sidecars, ctx));
  open_.reset();
  return Status::OK();
}

Status PartWriter::Publish(const std::string& name, uint64_t rows, const SidecarBuilder::Files& sidecars,
                           ReadContext& ctx) {
  result_.parts.push_back(name);
  ObjectStore& store = *files_.store;
  const std::string path = files_.PartPath(name);
  PILUM_ASSIGN_OR_RETURN(bool there, store.Exists(path));
  // Sidecars first. Where the part is there already its sidecars are too, unless somebody removed them.
  for (const auto& [side, bytes] :
       {std::pair(files_.IndexPath(name), &sidecars.index), std::pair(files_.StatsPath(name), &sidecars.stats),
        std::pair(files_.HeaderPath(name), &sidecars.header)}) {
    bool write = !there;
    if (there) {
      PILUM_ASSIGN_OR_RETURN(bool exists, store.Exists(side));
      write = !exists;
    }
    if (write) PILUM_RETURN_NOT_OK(WriteWhole(store, side, *bytes));
  }
  bool added = false;
  const uint64_t size = open_->writer->bytes_written();
  if (!there) {
    PILUM_ASSIGN_OR_RETURN(added, store.PutFileIfAbsent(path, open_->path));
  }
  if (!added) {
    result_.rows_already_there += rows;
    std::error_code ignored;  // the spool folder goes with this writer anyway
    std::filesystem::remove(open_->path, ignored);
    return Status::OK();
  }
  ++result_.new_parts;
  result_.part_bytes += size;
  result_.sidecar_bytes += sidecars.index.size() + sidecars.header.size() + sidecars.stats.size();
  return Status::OK();
}

}  // namespace pilum
