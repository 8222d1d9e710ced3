// Global buffer 0 of a Lance file: the schema and the row count <-> Arrow. All logical types of
// docs/formats/lance_file.md, extension types, metadata, field ids. Protobuf stays inside schema_wire.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

struct WireField {  // one schema field as stored, depth first, parents before children
  std::string name, logical_type, extension_name;
  int32_t id = 0, parent_id = -1;
  bool nullable = true;
};

// Ids of fields in the shape of their types: children[i] is that of child field i. A fixed-size list of plain values and
// a blob v2 may have fewer than their types.
struct FieldIds {
  int32_t id = -1;
  std::vector<FieldIds> children;
};

struct FileSchema {
  std::shared_ptr<arrow::Schema> schema;  // with schema and field metadata
  uint64_t num_rows = 0;                  // as stored (advisory; pages decide)
  std::vector<WireField> fields;          // as stored
  FieldIds ids;                           // a root over the top-level fields
};

Result<FileSchema> ParseFileDescriptor(std::string_view bytes);
// The schema inside it alone, as tables keep it too: fields (1) and metadata (5). `num_rows` is 0.
Result<FileSchema> ParseSchemaMessage(std::string_view bytes);
// Refuses (kUnsupported, naming the field) what no Lance file holds; string_view / binary_view become string / binary,
// as pylance does. Field ids are `ids`, of the root, else depth first from 0. Deterministic bytes: metadata maps are
// written in key order.
Result<std::string> SerializeFileDescriptor(const arrow::Schema& schema, uint64_t num_rows,
                                            const FieldIds* ids = nullptr);
// The schema a reader of the written file will see (views replaced, FSL item fields renamed to nullable `item`, …).
Result<std::shared_ptr<arrow::Schema>> StoredSchema(const arrow::Schema& schema);

}  // namespace pilum
