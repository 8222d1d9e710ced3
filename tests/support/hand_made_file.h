// For tests of the file layer: a Lance file put together message by message. All its pages are null pages
// without buffers, so that container and reader are tested without any encoding.
#pragma once

#include <string>
#include <vector>

#include <arrow/type.h>

#include "lance_file.pb.h"
#include "pilum/base/bytes.h"
#include "pilum/encoding/descriptor.h"
#include "pilum/file/schema_wire.h"

namespace pilum::testing {

class HandMadeFile {
 public:
  std::vector<wire::ColumnMetadata> columns;
  std::string schema;
  uint64_t filler = 0;        // bytes before everything
  uint64_t schema_shift = 0;  // added to the schema's position
  uint16_t minor_version = 2;

  // A null column for each name, with pages of these lengths.
  explicit HandMadeFile(const std::vector<std::string>& names, const std::vector<uint64_t>& pages,
                        uint64_t descriptor_rows = 0) {
    arrow::FieldVector fields;
    for (const auto& n : names) fields.push_back(arrow::field(n, arrow::null()));
    schema = *SerializeFileDescriptor(arrow::Schema(fields), descriptor_rows);
    for (size_t i = 0; i < names.size(); ++i) {
      columns.emplace_back();
      SetAny("/lance.encodings.ColumnEncoding", std::string("\x0a\x00", 2), columns.back().mutable_encoding());
      for (uint64_t length : pages) AddPage(static_cast<int>(i), length);
    }
  }

  void AddPage(int column, uint64_t length, const std::string& url = "/lance.encodings21.PageLayout") {
    PageLayout layout;
    layout.kind = LayoutKind::kConstant;
    layout.layers = {RepDefLayer::kNullableItem};
    auto* page = columns[static_cast<size_t>(column)].add_pages();
    page->set_length(length);
    SetAny(url, SerializePageLayout(layout), page->mutable_encoding());
  }

  static void SetAny(const std::string& url, const std::string& value, wire::Encoding* out) {
    wire::AnyBytes any;
    any.set_type_url(url);
    any.set_value(value);
    out->mutable_direct()->set_encoding(any.SerializeAsString());
  }

  std::string Build() const {
    std::string out(filler, 'H'), column_table;
    uint64_t schema_at = out.size() + schema_shift;
    out += schema;
    uint64_t a = out.size();
    for (const auto& c : columns) {
      std::string bytes = c.SerializeAsString();
      AppendLE<uint64_t>(&column_table, out.size()), AppendLE<uint64_t>(&column_table, bytes.size());
      out += bytes;
    }
    uint64_t b = out.size();
    out += column_table;
    uint64_t c = out.size();
    AppendLE<uint64_t>(&out, schema_at), AppendLE<uint64_t>(&out, schema.size());
    AppendLE<uint64_t>(&out, a), AppendLE<uint64_t>(&out, b), AppendLE<uint64_t>(&out, c);
    AppendLE<uint32_t>(&out, 1), AppendLE<uint32_t>(&out, static_cast<uint32_t>(columns.size()));
    AppendLE<uint16_t>(&out, 2), AppendLE<uint16_t>(&out, minor_version);
    return out + "LANC";
  }
};

}  // namespace pilum::testing
