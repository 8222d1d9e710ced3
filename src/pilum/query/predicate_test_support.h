// For the predicate tests: a batch from JSON, and the rows a predicate keeps.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "pilum/query/query.h"

namespace pilum {

using RowList = std::vector<int64_t>;

inline std::shared_ptr<arrow::Array> Json(const std::shared_ptr<arrow::DataType>& type, const std::string& json) {
  return arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
}

inline std::shared_ptr<arrow::RecordBatch> BatchOf(
    const std::vector<std::pair<std::string, std::shared_ptr<arrow::Array>>>& columns) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), arrays[0]->length(), arrays);
}

inline std::shared_ptr<arrow::RecordBatch> One(const std::string& name, const std::shared_ptr<arrow::DataType>& type,
                                               const std::string& json) {
  return BatchOf({{name, Json(type, json)}});
}

inline Params Positional(std::vector<std::shared_ptr<arrow::Scalar>> values) {
  Params p;
  p.positional = std::move(values);
  return p;
}

// Rows where the predicate is TRUE; the error's message as a failure otherwise.
inline RowList Rows(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& sql,
                    const Params& params = {}) {
  auto bound = BindPredicate(sql, *batch->schema(), params);
  if (!bound.ok()) {
    ADD_FAILURE() << sql << ": " << bound.status().ToString();
    return {-1};
  }
  ReadContext ctx;
  auto result = (*bound)->Evaluate(*batch, ctx);
  if (!result.ok()) {
    ADD_FAILURE() << sql << ": " << result.status().ToString();
    return {-1};
  }
  EXPECT_TRUE((*result)->ValidateFull().ok());
  EXPECT_EQ((*result)->length(), batch->num_rows());
  RowList rows;
  for (int64_t i = 0; i < (*result)->length(); ++i) {
    if ((*result)->IsValid(i) && (*result)->Value(i)) rows.push_back(i);
  }
  return rows;
}

// T, F or - (NULL) a row.
inline std::string Truth(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& sql,
                         const Params& params = {}) {
  auto bound = BindPredicate(sql, *batch->schema(), params);
  if (!bound.ok()) return bound.status().message();
  ReadContext ctx;
  auto result = (*bound)->Evaluate(*batch, ctx);
  if (!result.ok()) return result.status().message();
  std::string out;
  for (int64_t i = 0; i < (*result)->length(); ++i) out += (*result)->IsNull(i) ? '-' : (*result)->Value(i) ? 'T' : 'F';
  return out;
}

// The message of the error that binding gives; "" if it gives none.
inline std::string BindError(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& sql,
                             const Params& params = {}) {
  return BindPredicate(sql, *batch->schema(), params).status().message();
}

}  // namespace pilum
