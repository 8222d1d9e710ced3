// The blobs of one data file as they are written: small ones into it, others into files beside it, those elsewhere by
// name. Called by fragment_writer.cc. Not thread-safe. Memory: no copy of a value. Format: docs/formats/table.md, "Blobs".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/change/blob_columns.h"
#include "pilum/change/external_uris.h"
#include "pilum/file/file_writer.h"
#include "pilum/table/blobs.h"

namespace pilum {

struct BlobOptions {
  std::optional<uint64_t> most_together;  // of a file that several share, whatever the column says
  bool ingest = false;                    // what lies elsewhere is read and written as if it were given
  bool outside = false;                   // what lies elsewhere may lie below no base path
  std::vector<BasePath> bases = {};       // of the table
  StoreOptions storage = {};              // how what lies elsewhere is reached, where it is ingested
};

class BlobWriter {
 public:
  // Begins a file beside the data file; its name has no folder.
  using Beside = std::function<Result<std::unique_ptr<ByteSink>>(const std::string& name)>;
  // `schema`: of the table, with its blobs. `file` outlives this, and is of WithDescriptions(schema).
  BlobWriter(std::shared_ptr<arrow::Schema> schema, const BlobOptions& options, FileWriter* file, Beside beside);
  ~BlobWriter();

  // Writes the blobs of a batch that has the schema's columns; gives it with descriptions in their place. kUsage names
  // column and row of a value that is neither bytes nor a place.
  Result<std::shared_ptr<arrow::RecordBatch>> Describe(const arrow::RecordBatch& batch);
  // Before the data file is finished.
  Status Finish();

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace pilum
