// Helpers of the page writer tests: arrays from JSON, pages of a column, bytes as hex.
#pragma once

#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

#include "pilum/base/context.h"
#include "pilum/encoding/page.h"
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
  WriteProfile profile = WriteProfile::kBalanced;
};

inline Result<std::vector<EncodedPage>> Pages(const std::shared_ptr<arrow::Field>& field,
                                              const std::shared_ptr<arrow::Array>& array,
                                              const PagesOptions& options = {}) {
  PILUM_ASSIGN_OR_RETURN(auto columns, LeafColumnsOf(*arrow::schema({field})));
  const LeafColumn& column = columns.at(static_cast<size_t>(options.column));
  PILUM_ASSIGN_OR_RETURN(auto writer,
                         ColumnWriter::Make(&column, *field, {options.version, options.page_bytes, options.profile}));
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

// The rows of the pages of a single column, decoded.
inline Result<std::shared_ptr<arrow::Array>> ReadBack(const std::shared_ptr<arrow::Field>& field,
                                                      const std::vector<EncodedPage>& pages, FileVersion version) {
  PILUM_ASSIGN_OR_RETURN(auto columns, LeafColumnsOf(*arrow::schema({field})));
  arrow::ArrayVector parts;
  for (const EncodedPage& p : pages) {
    std::string file;
    PageInfo info;
    for (const BufferPtr& b : p.buffers) {
      file.resize((file.size() + 63) / 64 * 64, 'H');
      info.buffers.push_back({file.size(), static_cast<uint64_t>(b->size())});
      file += b->ToString();
    }
    info.length = p.length;
    PILUM_ASSIGN_OR_RETURN(info.layout, ParsePageLayout(SerializePageLayout(p.layout), version));
    PILUM_ASSIGN_OR_RETURN(auto page, Page::Make(info, &columns[0], 0, version, file.size()));
    auto read = page->StartRead(RowSet::All(p.length));
    std::vector<BufferPtr> have;
    while (true) {
      PILUM_ASSIGN_OR_RETURN(auto ranges, read->Next(std::move(have)));
      if (ranges.empty()) break;
      have.clear();
      for (const ByteRange& r : ranges) {  // fetched bytes have slack behind them
        auto bytes = arrow::Buffer::FromString(file.substr(r.offset, r.size) + std::string(64, 'S'));
        have.push_back(arrow::SliceBuffer(bytes, 0, static_cast<int64_t>(r.size)));
      }
    }
    auto stats = std::make_shared<ReadStats>();
    ReadContext ctx;
    ctx.stats = stats.get();
    PILUM_ASSIGN_OR_RETURN(auto part, read->Decode(ctx));
    parts.push_back(std::move(part));
  }
  return arrow::Concatenate(parts);
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
