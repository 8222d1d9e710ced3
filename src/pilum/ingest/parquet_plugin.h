// Inside ingest: what the shared library pilum_parquet gives. libparquet costs a few milliseconds to load, and most commands
// never meet a Parquet file, so only that library links it (tests/packaging holds the list of what a take loads).
#pragma once

#include "pilum/ingest/inputs.h"
#include "pilum/ingest/sinks.h"

namespace pilum::ingest {

inline constexpr char kParquetPluginFile[] = "libpilum_parquet.so";
inline constexpr char kParquetPluginSymbol[] = "pilum_parquet_plugin";
inline constexpr char kParquetPluginVersion[] = PILUM_VERSION;

struct ParquetPlugin {
  const char* version;  // PILUM_VERSION: a library of another build is refused
  Result<ReaderPtr> (*open)(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx);
  Result<std::unique_ptr<TableSink>> (*make_sink)(OutputPtr out, std::shared_ptr<arrow::Schema> schema);
};

}  // namespace pilum::ingest
