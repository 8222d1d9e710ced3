#include "pilum/part/row_sorter.h"

#include <algorithm>
#include <numeric>

#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/builder.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/part/logical_size.h"

namespace pilum {
namespace {

constexpr int64_t kMostRows = 16 * 1024;  // of a batch that is given out
constexpr uint64_t kBatchBytes = 4 << 20;

// The same buffers as another type of the same layout: what extension types are stored as, and back.
std::shared_ptr<arrow::ArrayData> As(const std::shared_ptr<arrow::ArrayData>& data,
                                     const std::shared_ptr<arrow::DataType>& type) {
  auto out = data->Copy();
  out->type = type;
  const arrow::DataType* plain = type.get();
  while (plain->id() == arrow::Type::EXTENSION)
    plain = static_cast<const arrow::ExtensionType*>(plain)->storage_type().get();
  for (size_t i = 0; i < out->child_data.size(); ++i)
    out->child_data[i] = As(out->child_data[i], plain->field(static_cast<int>(i))->type());
  return out;
}

std::shared_ptr<arrow::RecordBatch> InTypesOf(const std::shared_ptr<arrow::RecordBatch>& rows,
                                              const std::shared_ptr<arrow::Schema>& schema) {
  arrow::ArrayVector columns;
  for (int i = 0; i < rows->num_columns(); ++i) {
    const auto& type = schema->field(i)->type();
    const bool same = rows->column(i)->type()->Equals(*type);
    columns.push_back(same ? rows->column(i) : arrow::MakeArray(As(rows->column(i)->data(), type)));
  }
  return arrow::RecordBatch::Make(schema, rows->num_rows(), std::move(columns));
}

Result<std::shared_ptr<arrow::RecordBatch>> Concatenated(const arrow::RecordBatchVector& batches,
                                                         arrow::MemoryPool* pool) {
  if (batches.size() == 1) return batches[0];
  return arrow::ConcatenateRecordBatches(batches, pool);
}

Result<std::shared_ptr<arrow::RecordBatch>> TakeRows(const arrow::RecordBatch& rows, std::span<const int64_t> which,
                                                     arrow::MemoryPool* pool) {
  arrow::Int64Builder builder(pool);
  PILUM_RETURN_NOT_OK(builder.AppendValues(which.data(), static_cast<int64_t>(which.size())));
  PILUM_ASSIGN_OR_RETURN(const auto indices, builder.Finish());
  arrow::compute::ExecContext exec(pool);
  arrow::ArrayVector columns;
  for (const auto& column : rows.columns()) {
    PILUM_ASSIGN_OR_RETURN(
        auto taken, arrow::compute::Take(*column, *indices, arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
    columns.push_back(std::move(taken));
  }
  return arrow::RecordBatch::Make(rows.schema(), static_cast<int64_t>(which.size()), std::move(columns));
}

// As many rows as make about `bytes`.
int64_t RowsFor(uint64_t bytes, const arrow::RecordBatch& rows, uint64_t all_bytes) {
  const auto n = static_cast<uint64_t>(rows.num_rows());
  return static_cast<int64_t>(
      std::clamp<uint64_t>(bytes / std::max<uint64_t>(1, all_bytes / std::max<uint64_t>(1, n)), 1, kMostRows));
}

}  // namespace

// A spooled run while it is merged: its batch at hand, and where in it the merge stands.
class RowSorter::Run {
 public:
  static Result<std::unique_ptr<Run>> Open(const std::string& path, std::shared_ptr<arrow::Schema> schema,
                                           const std::vector<FieldPath>& columns, ReadContext& ctx) {
    auto run = std::make_unique<Run>();
    run->schema_ = std::move(schema);
    run->columns_ = &columns;
    PILUM_ASSIGN_OR_RETURN(run->file_, arrow::io::ReadableFile::Open(path, ctx.memory_pool()));
    auto options = arrow::ipc::IpcReadOptions::Defaults();
    options.memory_pool = ctx.memory_pool();
    options.use_threads = false;
    PILUM_ASSIGN_OR_RETURN(run->reader_, arrow::ipc::RecordBatchStreamReader::Open(run->file_, options));
    PILUM_RETURN_NOT_OK(run->Load(ctx));
    return run;
  }

  // The next batch; none: `rows` is null.
  Status Load(ReadContext& ctx) {
    at = 0;
    keys_.Clear();
    PILUM_RETURN_NOT_OK(reader_->ReadNext(&rows));
    if (!rows) return Status::OK();
    rows = InTypesOf(rows, schema_);
    return keys_.Append(*rows, *columns_, ctx.memory_pool());
  }
  std::string_view key() const { return keys_[static_cast<uint64_t>(at)]; }

  std::shared_ptr<arrow::RecordBatch> rows;
  int64_t at = 0;

 private:
  std::shared_ptr<arrow::Schema> schema_;
  const std::vector<FieldPath>* columns_ = nullptr;
  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::shared_ptr<arrow::RecordBatchReader> reader_;
  SortKeys keys_;
};

RowSorter::RowSorter(std::shared_ptr<arrow::Schema> schema, std::vector<FieldPath> columns, uint64_t run_bytes)
    : schema_(std::move(schema)), columns_(std::move(columns)), run_bytes_(std::max<uint64_t>(1, run_bytes)) {}
RowSorter::~RowSorter() = default;

Status RowSorter::Append(const std::shared_ptr<arrow::RecordBatch>& rows, ReadContext& ctx) {
  // A batch larger than a run is taken piece by piece.
  const uint64_t bytes = LogicalSize(*rows, 0, rows->num_rows());
  const int64_t step =
      bytes > run_bytes_ ? RowsFor(run_bytes_ / 4, *rows, bytes) : std::max<int64_t>(1, rows->num_rows());
  for (int64_t at = 0; at < rows->num_rows(); at += step) PILUM_RETURN_NOT_OK(AppendSome(rows->Slice(at, step), ctx));
  return Status::OK();
}

Status RowSorter::AppendSome(const std::shared_ptr<arrow::RecordBatch>& rows, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(ctx.Check());
  const uint64_t bytes = LogicalSize(*rows, 0, rows->num_rows());
  if (gathered_bytes_ > 0 && gathered_bytes_ + bytes > run_bytes_) PILUM_RETURN_NOT_OK(Spool(ctx));
  PILUM_RETURN_NOT_OK(keys_.Append(*rows, columns_, ctx.memory_pool()));
  gathered_.push_back(InTypesOf(rows, schema_));
  gathered_bytes_ += bytes;
  return Status::OK();
}

Result<arrow::RecordBatchVector> RowSorter::SortGathered(ReadContext& ctx) {
  arrow::RecordBatchVector out;
  if (gathered_.empty()) return out;
  PILUM_ASSIGN_OR_RETURN(const auto all, Concatenated(gathered_, ctx.memory_pool()));
  gathered_.clear();
  std::vector<int64_t> order(static_cast<size_t>(all->num_rows()));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return keys_[static_cast<uint64_t>(a)] < keys_[static_cast<uint64_t>(b)];
  });
  keys_ = {};
  const auto step = static_cast<size_t>(RowsFor(kBatchBytes, *all, gathered_bytes_));
  gathered_bytes_ = 0;
  for (size_t at = 0; at < order.size(); at += step) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    const std::span<const int64_t> some(order.data() + at, std::min(step, order.size() - at));
    PILUM_ASSIGN_OR_RETURN(auto rows, TakeRows(*all, some, ctx.memory_pool()));
    out.push_back(std::move(rows));
  }
  return out;
}

Status RowSorter::Spool(ReadContext& ctx) {
  if (!folder_) {
    PILUM_ASSIGN_OR_RETURN(folder_, TempDir::Make());
  }
  PILUM_ASSIGN_OR_RETURN(const auto sorted, SortGathered(ctx));
  const std::string path = fmt::format("{}/run-{}.arrows", folder_->path(), spooled_.size());
  PILUM_ASSIGN_OR_RETURN(auto file, arrow::io::FileOutputStream::Open(path));
  PILUM_ASSIGN_OR_RETURN(auto writer, arrow::ipc::MakeStreamWriter(file, schema_));
  for (const auto& rows : sorted) PILUM_RETURN_NOT_OK(writer->WriteRecordBatch(*rows));
  PILUM_RETURN_NOT_OK(writer->Close());
  PILUM_RETURN_NOT_OK(file->Close());
  spooled_.push_back(path);
  return Status::OK();
}

Status RowSorter::StartMerge(ReadContext& ctx) {
  ended_ = true;
  if (spooled_.empty()) {
    PILUM_ASSIGN_OR_RETURN(sorted_, SortGathered(ctx));
    return Status::OK();
  }
  if (!gathered_.empty()) PILUM_RETURN_NOT_OK(Spool(ctx));
  for (const std::string& path : spooled_) {
    PILUM_ASSIGN_OR_RETURN(auto run, Run::Open(path, schema_, columns_, ctx));
    if (run->rows) runs_.push_back(std::move(run));
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> RowSorter::Next(ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(ctx.Check());
  if (!ended_) PILUM_RETURN_NOT_OK(StartMerge(ctx));
  if (!spooled_.empty()) return Merge(ctx);
  if (next_sorted_ == sorted_.size()) return nullptr;
  return std::move(sorted_[next_sorted_++]);
}

// Rows up to the end of some run's batch: picks of the batches at hand, taken in one go.
Result<std::shared_ptr<arrow::RecordBatch>> RowSorter::Merge(ReadContext& ctx) {
  if (runs_.empty()) return nullptr;
  // Runs by their first key, then their age; the least is in front.
  const auto later = [this](size_t a, size_t b) {
    const int c = runs_[a]->key().compare(runs_[b]->key());
    return c != 0 ? c > 0 : a > b;
  };
  std::vector<size_t> heap(runs_.size());
  std::iota(heap.begin(), heap.end(), 0);
  std::make_heap(heap.begin(), heap.end(), later);
  std::vector<int64_t> first(runs_.size());
  for (size_t r = 0; r < runs_.size(); ++r) first[r] = runs_[r]->at;
  std::vector<size_t> picks;  // runs
  bool batch_ended = false;
  while (!batch_ended && picks.size() < static_cast<size_t>(kMostRows)) {
    std::pop_heap(heap.begin(), heap.end(), later);
    Run& run = *runs_[heap.back()];
    picks.push_back(heap.back());
    batch_ended = ++run.at == run.rows->num_rows();
    if (!batch_ended) std::push_heap(heap.begin(), heap.end(), later);
  }
  // What was picked of each run lies in one stretch of its batch.
  arrow::RecordBatchVector stretches;
  std::vector<int64_t> next(runs_.size());
  int64_t total = 0;
  for (size_t r = 0; r < runs_.size(); ++r) {
    const int64_t n = runs_[r]->at - first[r];
    next[r] = total;
    total += n;
    if (n > 0) stretches.push_back(runs_[r]->rows->Slice(first[r], n));
  }
  std::vector<int64_t> order;
  for (const size_t r : picks) order.push_back(next[r]++);
  PILUM_ASSIGN_OR_RETURN(auto out, Concatenated(stretches, ctx.memory_pool()));
  if (stretches.size() > 1) {
    PILUM_ASSIGN_OR_RETURN(out, TakeRows(*out, order, ctx.memory_pool()));
  }
  for (auto& run : runs_) {
    if (run->at == run->rows->num_rows()) PILUM_RETURN_NOT_OK(run->Load(ctx));
  }
  std::erase_if(runs_, [](const auto& run) { return !run->rows; });
  return out;
}

}  // namespace pilum
