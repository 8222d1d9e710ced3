#include "pilum/change/join_columns.h"

#include <unordered_map>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "pilum/change/add_columns.h"
#include "pilum/change/fragment_scan.h"
#include "pilum/query/evaluate.h"
#include "pilum/query/select/row_key.h"
#include "pilum/source/field_path.h"

namespace pilum {

struct JoinedRows::Index {
  std::shared_ptr<arrow::RecordBatch> columns;
  std::shared_ptr<arrow::DataType> key_type;
  RowKeys keys;
  std::unordered_map<std::string_view, int64_t> row_of;  // views of `keys`
};

JoinedRows::JoinedRows(std::unique_ptr<const Index> index) : index_(std::move(index)) {}
JoinedRows::~JoinedRows() = default;
const arrow::RecordBatch& JoinedRows::columns() const { return *index_->columns; }

Result<std::shared_ptr<const JoinedRows>> JoinedRows::Read(arrow::RecordBatchReader& rows, const std::string& key,
                                                           ReadContext& ctx) {
  arrow::RecordBatchVector batches;
  for (;;) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(auto batch, rows.Next());
    if (!batch) break;
    if (batch->num_rows() > 0) batches.push_back(std::move(batch));
  }
  PILUM_ASSIGN_OR_RETURN(const auto table, arrow::Table::FromRecordBatches(rows.schema(), std::move(batches)));
  PILUM_ASSIGN_OR_RETURN(const auto whole, table->CombineChunksToBatch());
  const int at = whole->schema()->GetFieldIndex(key);
  if (at < 0) return UsageError("Column {} does not exist in the right side dataset", key);
  auto index = std::make_unique<Index>();
  PILUM_ASSIGN_OR_RETURN(const auto keys, Plain(whole->column(at)));
  index->key_type = keys->type();
  if (!RowKeys::CanEncode(*keys->type()))
    return UsageError("rows cannot be found by '{}', a {}", key, keys->type()->ToString());
  PILUM_ASSIGN_OR_RETURN(index->columns, whole->RemoveColumn(at));
  PILUM_ASSIGN_OR_RETURN(index->keys, RowKeys::Encode({keys}, {}, keys->length()));
  index->row_of.reserve(index->keys.size());
  for (size_t i = 0; i < index->keys.size(); ++i) index->row_of[index->keys[i]] = static_cast<int64_t>(i);
  return std::shared_ptr<const JoinedRows>(new JoinedRows(std::move(index)));
}

Result<std::shared_ptr<arrow::Array>> JoinedRows::Find(const std::shared_ptr<arrow::Array>& given) const {
  PILUM_ASSIGN_OR_RETURN(const auto keys, Plain(given));
  if (!keys->type()->Equals(*index_->key_type)) {
    return UsageError("Index column type mismatch: expected {}, got {}", index_->key_type->ToString(),
                      keys->type()->ToString());
  }
  PILUM_ASSIGN_OR_RETURN(const RowKeys encoded, RowKeys::Encode({keys}, {}, keys->length()));
  arrow::Int64Builder out;
  PILUM_RETURN_NOT_OK(out.Reserve(keys->length()));
  for (size_t i = 0; i < encoded.size(); ++i) {
    const auto at = index_->row_of.find(encoded[i]);
    at == index_->row_of.end() ? out.UnsafeAppendNull() : out.UnsafeAppend(at->second);
  }
  return out.Finish();
}

namespace {

Result<std::shared_ptr<arrow::Array>> TakeFrom(const std::shared_ptr<arrow::Array>& values,
                                               const std::shared_ptr<arrow::Array>& places) {
  PILUM_ASSIGN_OR_RETURN(const arrow::Datum taken,
                         arrow::compute::Take(Storage(values), places, arrow::compute::TakeOptions::NoBoundsCheck()));
  return taken.make_array();
}

// NULL places are `otherwise`, then one more each.
Result<std::shared_ptr<arrow::Array>> FillPlaces(const arrow::Int64Array& places, int64_t otherwise) {
  arrow::Int64Builder out;
  PILUM_RETURN_NOT_OK(out.Reserve(places.length()));
  for (int64_t i = 0; i < places.length(); ++i) out.UnsafeAppend(places.IsValid(i) ? places.Value(i) : otherwise + i);
  return out.Finish();
}

class JoinValues final : public ColumnValues {
 public:
  JoinValues(std::shared_ptr<const JoinedRows> rows, std::string left_on, bool or_own, std::vector<uint64_t>* found)
      : rows_(std::move(rows)), or_own_(or_own), found_(found) {
    read_.push_back({{std::move(left_on)}});
    if (or_own) {
      read_.push_back({{"_rowaddr"}});
      for (const auto& f : rows_->columns().schema()->fields()) read_.push_back({{f->name()}});
    }
  }

  Result<std::shared_ptr<arrow::Schema>> Schema(const Table&, ReadContext&) override {
    return rows_->columns().schema();
  }

  Status Begin(const Table& table, const std::vector<uint64_t>& fragments, ReadContext& ctx) override {
    return scan_.Begin(table, fragments, ctx);
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    PILUM_ASSIGN_OR_RETURN(const auto batch, scan_.Next(MinimalPaths(read_)));
    if (!batch) return nullptr;
    return Join(*batch);
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> Join(const arrow::RecordBatch& left) {
    const arrow::RecordBatch& right = rows_->columns();
    PILUM_ASSIGN_OR_RETURN(auto places, rows_->Find(left.GetColumnByName(read_[0].steps[0])));
    if (found_) AddFound(*places, static_cast<const arrow::UInt64Array&>(*left.GetColumnByName("_rowaddr")));
    if (or_own_) {
      PILUM_ASSIGN_OR_RETURN(places, FillPlaces(static_cast<const arrow::Int64Array&>(*places), right.num_rows()));
    }
    arrow::ArrayVector columns;
    for (int i = 0; i < right.num_columns(); ++i) {
      std::shared_ptr<arrow::Array> values = Storage(right.column(i));
      if (or_own_) {
        const auto own = Storage(left.GetColumnByName(right.column_name(i)));
        PILUM_ASSIGN_OR_RETURN(values, arrow::Concatenate({values, own}));
      }
      PILUM_ASSIGN_OR_RETURN(columns.emplace_back(), TakeFrom(values, places));
    }
    return arrow::RecordBatch::Make(right.schema(), left.num_rows(), std::move(columns));
  }

  void AddFound(const arrow::Array& places, const arrow::UInt64Array& addresses) {
    for (int64_t i = 0; i < places.length(); ++i) {
      if (places.IsValid(i)) found_->push_back(addresses.Value(i) & UINT32_MAX);
    }
  }

  const std::shared_ptr<const JoinedRows> rows_;
  const bool or_own_;
  std::vector<uint64_t>* const found_;
  std::vector<FieldPath> read_;  // the key first
  FragmentScan scan_;
};

bool IsSystem(const std::string& name) { return name == "_rowid" || name == "_rowaddr"; }

}  // namespace

std::unique_ptr<ColumnValues> ValuesByKey(std::shared_ptr<const JoinedRows> rows, std::string left_on) {
  return std::make_unique<JoinValues>(std::move(rows), std::move(left_on), false, nullptr);
}

std::unique_ptr<ColumnValues> ValuesByKeyOrOwn(std::shared_ptr<const JoinedRows> rows, std::string left_on,
                                               std::vector<uint64_t>* found) {
  return std::make_unique<JoinValues>(std::move(rows), std::move(left_on), true, found);
}

Status CheckJoin(const Table& table, const arrow::Schema& rows, const std::string& left_on,
                 const std::string& right_on) {
  const arrow::Schema& left = *table.schema();
  if (left.GetFieldIndex(left_on) < 0 && !IsSystem(left_on)) {
    return UsageError("Column {} does not exist in the left side dataset", left_on);
  }
  if (rows.GetFieldIndex(right_on) < 0) {
    return UsageError("Column {} does not exist in the right side dataset", right_on);
  }
  for (const auto& f : rows.fields()) {
    if (f->name() != right_on && left.GetFieldIndex(f->name()) >= 0) {
      return UsageError("Column {} exists in both sides of the dataset", f->name());
    }
  }
  return Status::OK();
}

Result<Committed> JoinColumns(WritableTable table, arrow::RecordBatchReader& rows, const std::string& left_on,
                              const std::string& right_on, const ChangeOptions& options, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(CheckJoin(*table.table, *rows.schema(), left_on, right_on));
  PILUM_ASSIGN_OR_RETURN(const auto joined, JoinedRows::Read(rows, right_on, ctx));
  return AddColumns(std::move(table), *ValuesByKey(joined, left_on), options, ctx);
}

}  // namespace pilum
