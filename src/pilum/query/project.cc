#include "pilum/query/project.h"

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/source/field_path.h"

namespace pilum {

Result<std::shared_ptr<arrow::Schema>> OutputSchema(const arrow::Schema& snapshot, const BoundQuery& query) {
  arrow::FieldVector fields;
  for (size_t i = 0; i < query.columns.size(); ++i) {
    PILUM_ASSIGN_OR_RETURN(auto field, FieldAt(snapshot, query.columns[i]));
    const bool named = i < query.output_names.size();
    fields.push_back(field->WithName(named ? query.output_names[i] : query.columns[i].ToString()));
  }
  return arrow::schema(std::move(fields), snapshot.metadata());
}

Result<std::shared_ptr<arrow::RecordBatch>> Project(const arrow::RecordBatch& batch,
                                                    const std::vector<FieldPath>& columns,
                                                    const std::shared_ptr<arrow::Schema>& schema,
                                                    arrow::MemoryPool* pool) {
  arrow::ArrayVector arrays;
  for (size_t i = 0; i < columns.size(); ++i) {
    PILUM_ASSIGN_OR_RETURN(auto array, ArrayAt(batch, columns[i], pool));
    const auto& wanted = schema->field(static_cast<int>(i))->type();
    if (!array->type()->Equals(*wanted)) {
      return Status::TypeError("column '", columns[i].ToString(), "' was read as ", array->type()->ToString(),
                               ", not as ", wanted->ToString());
    }
    arrays.push_back(std::move(array));
  }
  return arrow::RecordBatch::Make(schema, batch.num_rows(), std::move(arrays));
}

Result<std::shared_ptr<arrow::RecordBatch>> Select(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                   const RowSet& positions, arrow::MemoryPool* pool) {
  if (positions.ranges().size() <= 1) {
    const RowRange run = positions.empty() ? RowRange{} : positions.ranges()[0];
    return batch->Slice(static_cast<int64_t>(run.begin), static_cast<int64_t>(run.size()));
  }
  const int64_t rows = static_cast<int64_t>(positions.size());
  arrow::Int64Builder indices(pool);
  PILUM_RETURN_NOT_OK(indices.Reserve(rows));
  for (const RowRange& run : positions.ranges()) {
    for (uint64_t i = run.begin; i < run.end; ++i) indices.UnsafeAppend(static_cast<int64_t>(i));
  }
  PILUM_ASSIGN_OR_RETURN(auto taken, indices.Finish());
  arrow::compute::ExecContext exec(pool);
  arrow::ArrayVector columns;
  for (const auto& column : batch->columns()) {
    PILUM_ASSIGN_OR_RETURN(auto out,
                           arrow::compute::Take(*column, *taken, arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
    columns.push_back(std::move(out));
  }
  return arrow::RecordBatch::Make(batch->schema(), rows, std::move(columns));
}

}  // namespace pilum
