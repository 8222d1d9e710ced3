#include "pilum/table/deletions.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/compression.h>

#include "pilum/base/budget_pool.h"
#include "pilum/table/roaring.h"

namespace pilum {
namespace {

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

// What Arrow says of bytes from outside is what is wrong with them.
Status AsCorrupt(const Status& st) {
  return KindOf(st) == ErrorKind::kOther ? Bad("not an Arrow file of deleted rows: " + st.message()) : st;
}

Status AddValues(const arrow::RecordBatch& batch, std::vector<uint64_t>* out) {
  PILUM_RETURN_NOT_OK(batch.ValidateFull());
  if (batch.num_columns() != 1 || batch.column(0)->type_id() != arrow::Type::UINT32) {
    return Bad("deleted rows are one column of uint32, it has " + batch.schema()->ToString());
  }
  if (batch.column(0)->null_count() > 0) return Bad("a deleted row is NULL");
  const auto& values = static_cast<const arrow::UInt32Array&>(*batch.column(0));
  for (int64_t i = 0; i < values.length(); ++i) out->push_back(values.Value(i));
  return Status::OK();
}

Result<RowSet> ParseArrow(const BufferPtr& bytes, uint64_t physical_rows, ReadContext& ctx) {
  // A few bytes may claim to be as many as they like when decompressed; rows bound what they can be.
  auto pool = BudgetPool::Make(ctx.memory_pool(), static_cast<int64_t>(16 * physical_rows + (4 << 20)));
  arrow::ipc::IpcReadOptions options = arrow::ipc::IpcReadOptions::Defaults();
  options.memory_pool = pool.get();
  options.use_threads = false;
  PILUM_ASSIGN_OR_RETURN(
      auto reader, arrow::ipc::RecordBatchFileReader::Open(std::make_shared<arrow::io::BufferReader>(bytes), options));
  std::vector<uint64_t> rows;
  for (int i = 0; i < reader->num_record_batches(); ++i) {
    PILUM_ASSIGN_OR_RETURN(auto batch, reader->ReadRecordBatch(i));
    PILUM_RETURN_NOT_OK(AddValues(*batch, &rows));
  }
  std::sort(rows.begin(), rows.end());
  if (std::adjacent_find(rows.begin(), rows.end()) != rows.end()) return Bad("a row is deleted twice");
  return RowSet::FromSorted(rows);
}

}  // namespace

Result<RowSet> ParseDeletions(const DeletionFile& file, const BufferPtr& bytes, uint64_t physical_rows,
                              ReadContext& ctx) {
  RowSet rows;
  if (file.kind == DeletionFile::Kind::kBitmap) {
    PILUM_ASSIGN_OR_RETURN(
        rows, ParseRoaring32({reinterpret_cast<const char*>(bytes->data()), static_cast<size_t>(bytes->size())}));
  } else {
    auto parsed = ParseArrow(bytes, physical_rows, ctx);
    if (!parsed.ok()) return AsCorrupt(parsed.status());
    rows = std::move(*parsed);
  }
  const uint64_t n = rows.size();
  if (!rows.empty() && rows.ranges().back().end > physical_rows) {
    return Bad(
        fmt::format("row {} is deleted, but the fragment has only {}", rows.ranges().back().end - 1, physical_rows));
  }
  if (file.num_deleted > 0 && n != file.num_deleted) {
    return Bad(fmt::format("it deletes {} rows, the manifest says {}", n, file.num_deleted));
  }
  return rows;
}

Result<DeletionBytes> SerializeDeletions(const RowSet& rows) {
  constexpr uint64_t kMostInArray = 4999;
  if (rows.size() > kMostInArray) return DeletionBytes{DeletionFile::Kind::kBitmap, SerializeRoaring32(rows)};
  arrow::UInt32Builder builder;
  for (const RowRange& r : rows.ranges()) {
    for (uint64_t row = r.begin; row < r.end; ++row) PILUM_RETURN_NOT_OK(builder.Append(static_cast<uint32_t>(row)));
  }
  PILUM_ASSIGN_OR_RETURN(auto values, builder.Finish());
  const auto schema = arrow::schema({arrow::field("row_id", arrow::uint32(), /*nullable=*/false)});
  auto options = arrow::ipc::IpcWriteOptions::Defaults();
  PILUM_ASSIGN_OR_RETURN(options.codec, arrow::util::Codec::Create(arrow::Compression::ZSTD));
  options.use_threads = false;
  PILUM_ASSIGN_OR_RETURN(auto sink, arrow::io::BufferOutputStream::Create());
  PILUM_ASSIGN_OR_RETURN(auto writer, arrow::ipc::MakeFileWriter(sink, schema, options));
  PILUM_RETURN_NOT_OK(writer->WriteRecordBatch(*arrow::RecordBatch::Make(schema, values->length(), {values})));
  PILUM_RETURN_NOT_OK(writer->Close());
  PILUM_ASSIGN_OR_RETURN(auto bytes, sink->Finish());
  return DeletionBytes{DeletionFile::Kind::kArrowArray, bytes->ToString()};
}

}  // namespace pilum
