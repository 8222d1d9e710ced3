#include "pilum/change/json_columns.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/query/evaluate.h"
#include "pilum/table/column_forms.h"
#include "pilum/table/json_texts.h"
#include "pilum/values/jsonb.h"

namespace pilum {

Result<std::shared_ptr<arrow::Array>> JsonToStored(const std::shared_ptr<arrow::Array>& array,
                                                   const std::string& column) {
  PILUM_ASSIGN_OR_RETURN(const auto plain, Plain(array));
  if (plain->type_id() == arrow::Type::LARGE_BINARY) return plain;
  if (plain->type_id() == arrow::Type::NA) return arrow::MakeArrayOfNull(arrow::large_binary(), plain->length());
  if (!arrow::is_string(plain->type_id()) && plain->type_id() != arrow::Type::STRING_VIEW) {
    return UsageError("column '{}' holds JSON; {} is no text of it", column, plain->type()->ToString());
  }
  PILUM_ASSIGN_OR_RETURN(const auto texts, BytesOf(*plain));
  arrow::LargeBinaryBuilder out;
  PILUM_RETURN_NOT_OK(out.Reserve(plain->length()));
  for (int64_t i = 0; i < plain->length(); ++i) {
    if (plain->IsNull(i)) {
      out.UnsafeAppendNull();
      continue;
    }
    auto bytes = JsonbOfText(texts[static_cast<size_t>(i)]);
    if (!bytes.ok()) return WithContext(fmt::format("column '{}', row {} of the batch", column, i), bytes.status());
    PILUM_RETURN_NOT_OK(out.Append(*bytes));
  }
  return out.Finish();
}

Result<std::shared_ptr<arrow::RecordBatch>> WithJsonText(const arrow::RecordBatch& batch,
                                                         const std::function<bool(const std::string&)>& wanted,
                                                         ReadContext& ctx) {
  auto columns = batch.columns();
  auto fields = batch.schema()->fields();
  for (size_t i = 0; i < fields.size(); ++i) {
    if (!IsJsonField(*fields[i]) || !wanted(fields[i]->name())) continue;
    PILUM_ASSIGN_OR_RETURN(columns[i], JsonTexts(*columns[i], ctx));
    fields[i] = FormsOf(fields[i], BlobHandling::kDescriptions).given;
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(), std::move(columns));
}

arrow::FieldVector FieldsWithJsonText(const arrow::Schema& stored) {
  arrow::FieldVector out;
  for (const auto& f : stored.fields()) {
    out.push_back(IsJsonField(*f) ? FormsOf(f, BlobHandling::kDescriptions).given : f);
  }
  return out;
}

}  // namespace pilum
