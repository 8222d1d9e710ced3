// Inside ingest: the sinks of sink.cc, one a format, over one kind of byte stream.
#pragma once

#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/ingest/ingest.h"

namespace pilum::ingest {

// "-": standard output (a closed pipe gives kCancelled); else a file that appears under its name at Close.
Result<std::shared_ptr<arrow::io::OutputStream>> OpenOutput(const std::string& path);

using OutputPtr = std::shared_ptr<arrow::io::OutputStream>;
Result<std::unique_ptr<TableSink>> MakeCsvSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema);
Result<std::unique_ptr<TableSink>> MakeJsonLinesSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema);
Result<std::unique_ptr<TableSink>> MakeArrowSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema);
Result<std::unique_ptr<TableSink>> MakeParquetSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema);

}  // namespace pilum::ingest
