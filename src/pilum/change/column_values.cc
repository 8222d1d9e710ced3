#include "pilum/change/column_values.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/query/select/select.h"
#include "pilum/table/column_forms.h"

namespace pilum {
namespace {

// Where a blob lies says nothing in another column.
Status NoDescriptions(const arrow::Schema& table, const arrow::Schema& made) {
  for (const auto& blob : table.fields()) {
    if (!IsBlobColumn(*blob)) continue;
    const auto description = FormsOf(blob, BlobHandling::kDescriptions).given->type();
    for (const auto& field : made.fields()) {
      if (!field->type()->Equals(*description)) continue;
      return Unsupported(
          "column '{}' would say where the bytes of blob '{}' lie, not what they are; read them "
          "(blob_handling='all_binary') and add the column from a reader",
          field->name(), blob->name());
    }
  }
  return Status::OK();
}

class SqlValues final : public ColumnValues {
 public:
  SqlValues(std::vector<StoredExpression> expressions, const BatchLimits& limits)
      : expressions_(std::move(expressions)) {
    options_.limits = limits;
  }

  Result<std::shared_ptr<arrow::Schema>> Schema(const Table& table, ReadContext& ctx) override {
    PILUM_ASSIGN_OR_RETURN(auto snapshot, table.OpenSnapshot({std::vector<uint64_t>()}, ctx));
    PILUM_ASSIGN_OR_RETURN(const BoundQuery query, BindStoredColumns(expressions_, *snapshot, {}));
    PILUM_RETURN_NOT_OK(NoDescriptions(*table.manifest().schema.schema, *query.tail->schema));
    return query.tail->schema;
  }

  Status Begin(const Table& table, const std::vector<uint64_t>& fragments, ReadContext& ctx) override {
    PILUM_ASSIGN_OR_RETURN(snapshot_, table.OpenSnapshot({fragments}, ctx));
    PILUM_ASSIGN_OR_RETURN(BoundQuery query, BindStoredColumns(expressions_, *snapshot_, {}));
    PILUM_ASSIGN_OR_RETURN(result_, RunQuery(snapshot_, std::move(query), options_, ctx));
    return Status::OK();
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override { return result_->Next(); }

 private:
  const std::vector<StoredExpression> expressions_;
  QueryOptions options_;
  std::shared_ptr<const Snapshot> snapshot_;
  std::unique_ptr<QueryResult> result_;
};

class ReaderValues final : public ColumnValues {
 public:
  explicit ReaderValues(arrow::RecordBatchReader* reader) : reader_(reader) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(const Table&, ReadContext&) override { return reader_->schema(); }

  Status Begin(const Table& table, const std::vector<uint64_t>&, ReadContext&) override {
    if (begun_) return MakeError(ErrorKind::kRetry, "the rows changed while the new values were read, which come once");
    begun_ = true;
    return Status::OK();
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override { return reader_->Next(); }

 private:
  arrow::RecordBatchReader* const reader_;
  bool begun_ = false;
};

}  // namespace

std::unique_ptr<ColumnValues> ValuesOfSql(std::vector<StoredExpression> expressions, const BatchLimits& limits) {
  return std::make_unique<SqlValues>(std::move(expressions), limits);
}

std::unique_ptr<ColumnValues> ValuesOfReader(arrow::RecordBatchReader* reader) {
  return std::make_unique<ReaderValues>(reader);
}

}  // namespace pilum
