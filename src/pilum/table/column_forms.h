// Columns that reads give in another form than files hold them: JSON as text, blobs as where they lie or as their bytes.
// Called by table_schema.cc and take_blobs.cc. Format: docs/formats/table.md, "Blobs", "JSON".
#pragma once

#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

namespace pilum {

enum class BlobHandling {
  kDescriptions,  // structs that say where the bytes lie, as pylance gives them
  kBytes,         // large_binary
};

// One field, and all below it, in each of its forms. They have the same names and places.
struct ColumnForms {
  std::shared_ptr<arrow::Field> declared;  // what the table's schema says to users
  std::shared_ptr<arrow::Field> stored;    // what data files are read as
  std::shared_ptr<arrow::Field> given;     // what reads give
};
ColumnForms FormsOf(const std::shared_ptr<arrow::Field>& field, BlobHandling blobs);

// `field`, a struct, a list of any kind or a map, with these children in place of its own.
std::shared_ptr<arrow::Field> WithChildren(const arrow::Field& field,
                                           std::vector<std::shared_ptr<arrow::Field>> children);

// A column of rows from outside as tables store it: JSON text (arrow.json) as JSONB (lance.json), all else as it is.
std::shared_ptr<arrow::Field> StoredFormOf(const std::shared_ptr<arrow::Field>& field);
// Is this what a table stores JSON as?
bool IsJsonField(const arrow::Field& stored);

// Is this field of the table's (declared) schema a blob of either kind?
bool IsBlobColumn(const arrow::Field& declared);

}  // namespace pilum
