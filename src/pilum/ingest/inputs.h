// Inside ingest: what open_input.cc dispatches to, one opener a format. Each opener takes a local file (standard input
// and compressed input were spooled) and gives a stream of batches; open_input.cc wraps that stream for all of them.
#pragma once

#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/ingest/ingest.h"
#include "pilum/io/object_store.h"

namespace pilum::ingest {

// A local file to read, under the name that messages show. `spool` keeps a spooled copy alive.
struct LocalInput {
  std::string path;
  std::string name;
  std::shared_ptr<TempDir> spool;
};

// "-" and compressed files (.zip with one member, .gz, .zst; told by their first bytes) become a plain file in a spool
// folder; anything else stays where it is. kNotFound, kUsage (a folder, a zip of several files), kCorrupt.
Result<LocalInput> Materialize(const std::string& path, const ReadContext& ctx);

using ReaderPtr = std::shared_ptr<arrow::RecordBatchReader>;
Result<ReaderPtr> OpenParquet(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx);
Result<ReaderPtr> OpenCsv(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx);
Result<ReaderPtr> OpenJsonLines(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx);
Result<ReaderPtr> OpenArrow(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx);
Result<ReaderPtr> OpenLance(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx);

// The type that a text reader builds for a column of type `wanted`; where they differ the batch is cast afterwards.
std::shared_ptr<arrow::DataType> ReadTypeFor(const std::shared_ptr<arrow::DataType>& wanted);
// The columns of `batch` as `schema` has them. `name` is in the errors.
Result<std::shared_ptr<arrow::RecordBatch>> CastBatch(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                      const std::shared_ptr<arrow::Schema>& schema,
                                                      const std::string& name, arrow::MemoryPool* pool);

// The type that `known` fixes for a top-level column, or null: not known, or known only as nothing but nulls.
std::shared_ptr<arrow::DataType> KnownType(const std::shared_ptr<arrow::Schema>& known, const std::string& column);

// Duplicate names are refused, naming the two places.
Status CheckColumnNames(const std::vector<std::string>& names, const std::string& input);

}  // namespace pilum::ingest
