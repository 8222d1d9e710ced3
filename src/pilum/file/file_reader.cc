#include "pilum/file/file_reader.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/array/concatenate.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "pilum/encoding/v2_0/descriptor.h"
#include "pilum/file/check.h"
#include "pilum/file/footer.h"
#include "pilum/file/known_shapes.h"
#include "pilum/file/projection.h"
#include "pilum/file/scan.h"
#include "pilum/file/take.h"
#include "pilum/file/take_stream.h"
#include "pilum/file/unit.h"

namespace pilum {
namespace {

constexpr uint64_t kTableBatchRows = 64 * 1024;
constexpr uint64_t kFreeConstantRows = uint64_t{1} << 24;  // rows that a page without bytes may claim on its own word

// A column of a 2.0 file: its pages count entries of its own.
ColumnInfo Describe(const v2_0::StoredColumn& column) {
  ColumnInfo c{column.name, column.type->ToString(), {}, 0};
  uint64_t first = 0;
  for (const PageInfo& page : column.pages) {
    uint64_t bytes = 0;
    for (const ByteRange& b : page.buffers) bytes += b.size;
    c.pages.push_back({first, page.length, bytes, page.array->ToString(), page.buffers});
    c.bytes += bytes;
    first += page.length;
  }
  return c;
}

class Reader : public FileReader {
 public:
  Reader(std::shared_ptr<const OpenFile> file, FileInfo info, std::vector<ByteRange> global_buffers)
      : file_(std::move(file)), info_(info), global_buffers_(std::move(global_buffers)), taker_(file_) {}

  const std::string& name() const override { return file_->source->name(); }
  const std::shared_ptr<arrow::Schema>& schema() const override { return file_->schema; }
  uint64_t num_rows() const override { return file_->num_rows; }
  const FileInfo& info() const override { return info_; }
  const std::vector<LeafColumn>& leaf_columns() const override { return file_->leaves; }

  std::vector<ColumnInfo> Columns() const override {
    std::vector<ColumnInfo> out;
    for (const auto& column : file_->stored) out.push_back(Describe(*column));
    if (!file_->stored.empty()) return out;
    for (size_t i = 0; i < file_->leaves.size(); ++i) {
      const LeafColumn& leaf = file_->leaves[i];
      ColumnInfo c{leaf.name, leaf.leaf->type()->ToString(), {}, 0};
      for (size_t p = 0; p < file_->columns[i].pages.size(); ++p) {
        const Page& page = *file_->columns[i].pages[p];
        uint64_t bytes = 0;
        for (const ByteRange& b : page.info().buffers) bytes += b.size;
        c.pages.push_back({file_->columns[i].first_row[p], page.num_rows(), bytes,
                           page.status().ok() ? page.info().layout.ToString() : "damaged", page.info().buffers});
        c.bytes += bytes;
      }
      out.push_back(std::move(c));
    }
    return out;
  }

  Result<std::unique_ptr<BatchStream>> Read(const std::optional<std::vector<FieldPath>>& columns, const RowSet& rows,
                                            const BatchLimits& limits, const ReadContext& ctx) const override {
    if (!rows.empty() && rows.ranges().back().end > num_rows()) {
      return UsageError("{}: row {} is out of range: the file has {} rows", name(),
                        std::max(rows.ranges().back().begin, num_rows()), num_rows());
    }
    PILUM_ASSIGN_OR_RETURN(auto projection, Project(columns));
    // The stream keeps the reader alive, and through it the file.
    std::shared_ptr<const OpenFile> file(shared_from_this(), file_.get());
    return MakeScan(std::move(file), std::move(projection), rows, limits, ctx);
  }

  Result<std::shared_ptr<arrow::RecordBatch>> TakeBatch(const std::optional<std::vector<FieldPath>>& columns,
                                                        std::span<const uint64_t> rows, const ReadContext& given,
                                                        uint64_t most_bytes) const override {
    for (uint64_t row : rows) {
      if (row >= num_rows())
        return UsageError("{}: row {} is out of range: the file has {} rows", name(), row, num_rows());
    }
    PILUM_ASSIGN_OR_RETURN(auto projection, Project(columns));
    std::vector<std::shared_ptr<arrow::Array>> out;
    if (rows.empty()) {
      for (const auto& field : projection->schema->fields()) {
        PILUM_ASSIGN_OR_RETURN(auto none, arrow::MakeEmptyArray(field->type(), given.memory_pool()));
        out.push_back(std::move(none));
      }
      return arrow::RecordBatch::Make(projection->schema, 0, std::move(out));
    }
    ReadContext ctx = given;
    PILUM_RETURN_NOT_OK(ctx.Check());
    auto arrays = taker_.Take(*projection, rows, ctx, most_bytes);
    if (!arrays.ok()) return Named(arrays.status());
    for (int i : projection->outputs) out.push_back((*arrays)[static_cast<size_t>(i)]);
    return arrow::RecordBatch::Make(projection->schema, static_cast<int64_t>(rows.size()), std::move(out));
  }

  Result<std::shared_ptr<arrow::Schema>> ProjectedSchema(
      const std::optional<std::vector<FieldPath>>& columns) const override {
    PILUM_ASSIGN_OR_RETURN(auto projection, Project(columns));
    return projection->schema;
  }

  Result<BufferPtr> ReadGlobalBuffer(uint32_t i, ReadContext& ctx) const override {
    if (i >= global_buffers_.size()) {
      return UsageError("{}: there is no global buffer {}: the file has {}", name(), i, global_buffers_.size());
    }
    PILUM_RETURN_NOT_OK(ctx.Check());
    auto place = [&](size_t) { return fmt::format("global buffer {}", i); };
    auto read = file_->ReadRanges(std::span(&global_buffers_[i], 1), place, ctx);
    if (!read.ok()) return WithFile(read.status());
    return (*read)[0];
  }

  Result<std::vector<Status>> Check(ReadContext& ctx) const override { return CheckFile(*file_, ctx); }

 private:
  Status WithFile(const Status& st) const { return st.message().starts_with(name()) ? st : WithContext(name(), st); }

  Result<std::shared_ptr<const Projection>> Project(const std::optional<std::vector<FieldPath>>& columns) const {
    return file_->shape->Project(name(), columns);
  }

  // What goes wrong in a file says in which.
  Status Named(const Status& status) const {
    const ErrorKind kind = KindOf(status);
    if (kind == ErrorKind::kCancelled || kind == ErrorKind::kDeadline || status.message().starts_with(name())) {
      return status;
    }
    return WithContext(name(), status);
  }

  std::shared_ptr<const OpenFile> file_;
  FileInfo info_;
  std::vector<ByteRange> global_buffers_;
  const FileTaker taker_;
};

// Pages of one leaf column. Errors name column and page, not the file.
Status OpenPages(std::vector<StoredPage> pages, const LeafColumn& leaf, const FileMetadata& meta, uint64_t file_size,
                 OpenColumn* out) {
  uint64_t rows = 0;
  const auto per_row = static_cast<uint64_t>(std::max<int64_t>(1, leaf.items_per_row()));
  auto bad = [&](size_t page, const std::string& what) {
    return MakeError(ErrorKind::kCorrupt, fmt::format("column '{}' page {}: {}", leaf.name, page, what));
  };
  out->pages.reserve(pages.size());
  out->first_row.reserve(pages.size() + 1);
  for (size_t i = 0; i < pages.size(); ++i) {
    const uint64_t length = pages[i].head.length;
    if (length % per_row != 0) {
      return bad(i, fmt::format("its length {} is no multiple of {} items a row", length, per_row));
    }
    PILUM_ASSIGN_OR_RETURN(auto page, Page::MakeLazily(std::move(pages[i].head), std::move(pages[i].layout), &leaf,
                                                       static_cast<int>(i), meta.version, file_size));
    // A constant page holds no bytes for its rows, so only the descriptor can say that so many are meant.
    const uint64_t most = std::max(kFreeConstantRows, meta.schema.num_rows);
    if (const LayoutKind kind = page->num_rows() > most ? page->info().layout.kind : LayoutKind::kMiniBlock;
        kind == LayoutKind::kConstant || kind == LayoutKind::kSparse) {
      return bad(i, fmt::format("a {} page of {} rows, but the file is said to hold {}", LayoutName(kind),
                                page->num_rows(), meta.schema.num_rows));
    }
    out->first_row.push_back(rows);
    rows += page->num_rows();
    out->pages.push_back(std::move(page));
  }
  out->first_row.push_back(rows);
  return Status::OK();
}

Status OpenColumns20(FileMetadata* meta, OpenFile* file) {
  std::vector<std::vector<PageInfo>> pages(meta->columns.size());
  for (size_t i = 0; i < pages.size(); ++i) {
    for (StoredPage& page : meta->columns[i]) pages[i].push_back(std::move(page.head).ToInfo());
  }
  PILUM_ASSIGN_OR_RETURN(auto columns, v2_0::OpenColumns(*file->schema, file->leaves, std::move(pages),
                                                         meta->schema.num_rows, file->source->size()));
  file->stored = std::move(columns.stored);
  file->num_rows = columns.num_rows;
  for (auto& pages : columns.pages) {
    OpenColumn column;
    uint64_t rows = 0;
    for (auto& page : pages) {
      column.first_row.push_back(rows);
      rows += page->num_rows();
      column.pages.push_back(std::move(page));
    }
    column.first_row.push_back(rows);
    file->columns.push_back(std::move(column));
  }
  return Status::OK();
}

Status OpenColumns(FileMetadata* meta, OpenFile* file) {
  if (meta->version == FileVersion::kV2_0 && !file->leaves.empty()) return OpenColumns20(meta, file);
  if (file->leaves.size() != meta->columns.size()) {
    return MakeError(ErrorKind::kCorrupt, fmt::format("the schema has {} leaf columns, the file {}",
                                                      file->leaves.size(), meta->columns.size()));
  }
  file->columns.resize(file->leaves.size());
  for (size_t i = 0; i < file->leaves.size(); ++i) {
    OpenColumn& column = file->columns[i];
    PILUM_RETURN_NOT_OK(OpenPages(std::move(meta->columns[i]), file->leaves[i], *meta, file->source->size(), &column));
    if (column.first_row.back() != file->columns[0].first_row.back()) {
      return MakeError(ErrorKind::kCorrupt,
                       fmt::format("column '{}' has {} rows, column '{}' {}", file->leaves[i].name,
                                   column.first_row.back(), file->leaves[0].name, file->columns[0].first_row.back()));
    }
  }
  // Without columns only the descriptor knows; it is taken at its word where that cannot cost more than the file could.
  file->num_rows =
      file->columns.empty() ? std::min(meta->schema.num_rows, uint64_t{1} << 32) : file->columns[0].first_row.back();
  return Status::OK();
}

Result<std::shared_ptr<arrow::Array>> OneChunk(const arrow::ArrayVector& chunks,
                                               const std::shared_ptr<arrow::DataType>& type, arrow::MemoryPool* pool) {
  if (chunks.size() == 1) return chunks[0];
  if (chunks.empty()) return arrow::MakeEmptyArray(type, pool);
  return arrow::Concatenate(chunks, pool);
}

template <typename Stream>
Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Drain(Stream* stream) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
    if (!batch) return batches;
    batches.push_back(std::move(batch));
  }
}

Result<std::shared_ptr<const FileReader>> OpenReader(std::shared_ptr<const ByteSource> source,
                                                     std::shared_ptr<const FileShape> shape, FileMetadata meta) {
  FileInfo info;
  info.version = meta.version;
  info.file_size = source->size();
  info.num_columns = meta.columns.size();
  info.num_global_buffers = meta.global_buffers.size();
  info.global_buffers = meta.global_buffers;
  info.schema_bytes = meta.global_buffers[0].size;
  info.column_metadata_bytes = meta.column_metadata_bytes;
  auto file = std::make_shared<OpenFile>(std::move(shape));
  file->source = std::move(source);
  info.checksums = meta.checksums != nullptr;
  file->checksums = std::move(meta.checksums);
  Status st = OpenColumns(&meta, file.get());
  if (!st.ok()) return WithContext(file->source->name(), st);
  info.num_rows = file->num_rows;
  return std::make_shared<Reader>(std::move(file), info, std::move(meta.global_buffers));
}

// Leaves of the metadata just the columns of the view, in its order.
Status TakeView(const FileView& view, FileMetadata* meta) {
  const bool every_field = meta->version == FileVersion::kV2_0;
  if (every_field != view.every_field) {
    return MakeError(ErrorKind::kCorrupt,
                     fmt::format("it is a file of version {}, its table says {}", every_field ? "2.0" : "2.1 or later",
                                 view.every_field ? "2.0" : "2.1 or later"));
  }
  std::vector<std::vector<StoredPage>> columns;
  std::vector<bool> taken(meta->columns.size());
  for (const uint32_t i : view.columns) {
    if (i >= taken.size() || taken[i]) {
      return MakeError(ErrorKind::kCorrupt, fmt::format("its table names its column {}{}; it has {}", i,
                                                        i < taken.size() ? " for two fields" : "", taken.size()));
    }
    taken[i] = true;
    columns.push_back(std::move(meta->columns[i]));
  }
  meta->columns = std::move(columns);
  return Status::OK();
}

}  // namespace

Result<std::shared_ptr<const FileReader>> FileReader::Open(std::shared_ptr<const ByteSource> source, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(FileMetadata meta, ReadFileMetadata(*source, SchemaWanted::kYes, ctx));
  auto shape = meta.known_shape;
  if (!shape) {
    auto made = FileShape::Make(meta.schema.schema);
    if (!made.ok()) return WithContext(source->name(), made.status());
    shape = *std::move(made);
    if (!meta.schema_message.empty()) KnownShapes::OfProcess().Keep(meta.schema_message, shape);
  }
  return OpenReader(std::move(source), std::move(shape), std::move(meta));
}

Result<std::shared_ptr<const FileReader>> FileReader::OpenView(std::shared_ptr<const ByteSource> source,
                                                               const FileView& view, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(FileMetadata meta, ReadFileMetadata(*source, SchemaWanted::kNo, ctx));
  Status st = TakeView(view, &meta);
  if (!st.ok()) return WithContext(source->name(), st);
  auto shape = view.shape;
  if (!shape) {
    PILUM_ASSIGN_OR_RETURN(shape, FileShape::Make(view.schema));
  }
  return OpenReader(std::move(source), std::move(shape), std::move(meta));
}

Result<std::shared_ptr<arrow::Table>> FileReader::Take(const std::optional<std::vector<FieldPath>>& columns,
                                                       const std::vector<uint64_t>& rows,
                                                       const ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto schema, ProjectedSchema(columns));
  TakeStream stream(*this, columns, rows, kTakeBytes, ctx);
  PILUM_ASSIGN_OR_RETURN(auto batches, Drain(&stream));
  std::vector<std::shared_ptr<arrow::ChunkedArray>> out;
  for (int i = 0; i < schema->num_fields(); ++i) {
    arrow::ArrayVector chunks;
    for (const auto& b : batches) chunks.push_back(b->column(i));
    PILUM_ASSIGN_OR_RETURN(auto array, OneChunk(chunks, schema->field(i)->type(), ctx.memory_pool()));
    out.push_back(std::make_shared<arrow::ChunkedArray>(std::move(array)));
  }
  return arrow::Table::Make(schema, std::move(out), static_cast<int64_t>(rows.size()));
}

Result<std::shared_ptr<arrow::Table>> FileReader::ReadTable(const std::optional<std::vector<FieldPath>>& columns,
                                                            const RowSet& rows, const ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto stream, Read(columns, rows, BatchLimits{kTableBatchRows}, ctx));
  PILUM_ASSIGN_OR_RETURN(auto batches, Drain(stream.get()));
  std::vector<std::shared_ptr<arrow::ChunkedArray>> out;
  int64_t num_rows = 0;
  for (const auto& b : batches) num_rows += b->num_rows();
  for (int i = 0; i < stream->schema()->num_fields(); ++i) {
    arrow::ArrayVector chunks;
    for (const auto& b : batches) chunks.push_back(b->column(i));
    out.push_back(std::make_shared<arrow::ChunkedArray>(std::move(chunks), stream->schema()->field(i)->type()));
  }
  return arrow::Table::Make(stream->schema(), std::move(out), num_rows);
}

}  // namespace pilum
