// Helpers of the page writer tests: arrays from JSON, pages of a column, bytes as hex.
#pragma once

#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

#include "pilum/encoding/page_writer.h"
#include "pilum/encoding/shape.h"

namespace pilum::test {

inline std::shared_ptr<arrow::Array> Json(const std::shared_ptr<arrow::DataType>& type, const std::string& text) {
  return arrow::json::ArrayFromJSONString(type, text).ValueOrDie();
}

struct PagesOptions {
  FileVersion version = FileVersion::kV2_1;
  uint64_t page_bytes = 8 << 20;
  int column = 0;
  int64_t batch = 0;  // rows an Append; 0: all at once
};

inline Result<std::vector<EncodedPage>> Pages(const std::shared_ptr<arrow::Field>& field,
                                              const std::shared_ptr<arrow::Array>& array,
                                              const PagesOptions& options = {}) {
  PILUM_ASSIGN_OR_RETURN(auto columns, LeafColumnsOf(*arrow::schema({field})));
  const LeafColumn& column = columns.at(static_cast<size_t>(options.column));
  PILUM_ASSIGN_OR_RETURN(auto writer, ColumnWriter::Make(&column, *field, {options.version, options.page_bytes}));
  std::vector<EncodedPage> out;
  int64_t step = options.batch ? options.batch : std::max<int64_t>(1, array->length());
  for (int64_t at = 0; at < array->length(); at += step)
    PILUM_RETURN_NOT_OK(writer->Append(array->Slice(at, step), &out));
  PILUM_RETURN_NOT_OK(writer->Finish(&out));
  return out;
}

inline Result<std::vector<EncodedPage>> Pages(const std::shared_ptr<arrow::Array>& array,
                                              const PagesOptions& options = {}) {
  return Pages(arrow::field("c", array->type()), array, options);
}

// "01 ff"; runs of padding are kept.
inline std::string HexOf(const BufferPtr& b) {
  std::string s;
  for (int64_t i = 0; i < b->size(); ++i) s += fmt::format("{}{:02x}", i ? " " : "", b->data()[i]);
  return s;
}

// Buffers and layouts of all pages as one string, for comparisons.
inline std::string Fingerprint(const std::vector<EncodedPage>& pages) {
  std::string s;
  for (const EncodedPage& p : pages) {
    s += fmt::format("[{} +{} ready {}]", p.first_row, p.length, p.ready_row) + SerializePageLayout(p.layout);
    for (const BufferPtr& b : p.buffers) s += fmt::format("|{}:", b->size()) + b->ToString();
  }
  return s;
}

}  // namespace pilum::test
