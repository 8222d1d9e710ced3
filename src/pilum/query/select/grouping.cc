#include "pilum/query/select/grouping.h"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/byte_size.h>

#include "pilum/query/select/row_key.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

// The one NaN, and 0.0 for -0.0.
Result<std::shared_ptr<arrow::Array>> NormalFloats(const std::shared_ptr<arrow::Array>& array) {
  if (!arrow::is_floating(array->type_id())) return array;
  std::vector<std::optional<Value>> values;
  for (int64_t i = 0; i < array->length(); ++i) {
    PILUM_ASSIGN_OR_RETURN(auto v, ValueAt(*array, i));
    values.push_back(std::move(v));
  }
  return MakeArrayOf(array->type(), values);
}

}  // namespace

Grouping::Grouping(const SelectTail& tail, arrow::MemoryPool* pool)
    : tail_(tail), pool_(pool), key_chunks_(tail.keys.size()) {
  for (const Aggregate& a : tail.aggregates) accumulators_.push_back(MakeAccumulator(a, pool));
}

Status Grouping::Add(EvalContext& in) {
  arrow::ArrayVector keys;
  for (const auto& key : tail_.keys) {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*key, in));
    keys.push_back(std::move(array));
  }
  PILUM_RETURN_NOT_OK(FindGroups(keys, in.rows));
  const size_t num_groups = tail_.keys.empty() ? 1 : table_.size();
  for (size_t i = 0; i < accumulators_.size(); ++i) {
    PILUM_RETURN_NOT_OK(in.ctx.Check());
    std::shared_ptr<arrow::Array> values;
    if (tail_.aggregates[i].argument) {
      const bool strict = std::exchange(in.strict, in.strict && tail_.aggregates[i].strict);
      PILUM_ASSIGN_OR_RETURN(values, EvalPlain(*tail_.aggregates[i].argument, in));
      in.strict = strict;
    }
    PILUM_RETURN_NOT_OK(accumulators_[i]->Update(values.get(), groups_, num_groups));
  }
  return Status::OK();
}

Status Grouping::FindGroups(const arrow::ArrayVector& keys, int64_t rows) {
  groups_.assign(static_cast<size_t>(rows), 0);
  if (keys.empty()) return Status::OK();
  PILUM_ASSIGN_OR_RETURN(auto row_keys, RowKeys::Encode(keys, {}, rows));
  std::vector<int64_t> fresh_rows;
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (table_.size() >= GroupTable::kMost) return MakeError(ErrorKind::kMemory, "GROUP BY: over 2^32 groups");
    bool fresh = false;
    groups_[i] = table_.Find(row_keys[i], &fresh);
    if (fresh) fresh_rows.push_back(static_cast<int64_t>(i));
  }
  return fresh_rows.empty() ? Status::OK() : KeepKeys(keys, fresh_rows);
}

Status Grouping::KeepKeys(const arrow::ArrayVector& keys, const std::vector<int64_t>& fresh) {
  arrow::Int64Builder builder(pool_);
  PILUM_RETURN_NOT_OK(builder.AppendValues(fresh));
  PILUM_ASSIGN_OR_RETURN(auto rows, builder.Finish());
  arrow::compute::ExecContext exec(pool_);
  for (size_t k = 0; k < keys.size(); ++k) {
    PILUM_ASSIGN_OR_RETURN(auto taken,
                           arrow::compute::Take(*keys[k], *rows, arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
    PILUM_ASSIGN_OR_RETURN(taken, NormalFloats(taken));
    key_bytes_ += static_cast<uint64_t>(arrow::util::TotalBufferSize(*taken));
    key_chunks_[k].push_back(std::move(taken));
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> Grouping::Finish() {
  const size_t num_groups = tail_.keys.empty() ? 1 : table_.size();
  table_ = GroupTable();  // what is done with goes before more is made
  arrow::ArrayVector columns;
  for (size_t k = 0; k < tail_.keys.size(); ++k) {
    const auto& type = tail_.group_schema->field(static_cast<int>(k))->type();
    std::shared_ptr<arrow::Array> column;
    if (key_chunks_[k].empty()) {
      PILUM_ASSIGN_OR_RETURN(column, arrow::MakeArrayOfNull(type, 0, pool_));
    } else {
      PILUM_ASSIGN_OR_RETURN(column, arrow::Concatenate(key_chunks_[k], pool_));
      key_chunks_[k].clear();
    }
    columns.push_back(std::move(column));
  }
  for (auto& a : accumulators_) {
    PILUM_ASSIGN_OR_RETURN(auto column, a->Finish(num_groups));
    a.reset();
    columns.push_back(std::move(column));
  }
  return arrow::RecordBatch::Make(tail_.group_schema, static_cast<int64_t>(num_groups), std::move(columns));
}

uint64_t Grouping::bytes() const {
  constexpr uint64_t kResult = 16;  // of one aggregate of one group
  // The table has gone by the time the columns are made.
  const uint64_t columns = key_bytes_ + table_.size() * accumulators_.size() * kResult;
  uint64_t n = std::max(table_.bytes(), columns) + key_bytes_;
  for (const auto& a : accumulators_) n += a->bytes();
  return n;
}

}  // namespace pilum
