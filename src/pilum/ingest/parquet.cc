// Parquet by the library pilum_parquet, loaded when the first Parquet file is met.
#include <dlfcn.h>

#include "pilum/ingest/parquet_plugin.h"

namespace pilum::ingest {
namespace {

Result<const ParquetPlugin*> Load() {
  // By name alone: the loader looks where the calling binary's run path says (beside it, or in the build tree).
  void* library = ::dlopen(kParquetPluginFile, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* why = ::dlerror();
    return Unsupported("Parquet needs {}, which did not load ({}); install Pilum whole", kParquetPluginFile,
                       why ? why : "no reason given");
  }
  const auto* plugin = static_cast<const ParquetPlugin*>(::dlsym(library, kParquetPluginSymbol));
  if (!plugin || std::string_view(plugin->version) != kParquetPluginVersion) {
    return Unsupported("{} is not of Pilum {}; install Pilum whole", kParquetPluginFile, kParquetPluginVersion);
  }
  return plugin;  // never unloaded: its readers and their threads may live until the process ends
}

Result<const ParquetPlugin*> Plugin() {
  static const Result<const ParquetPlugin*> loaded = Load();
  return loaded;
}

}  // namespace

Result<ReaderPtr> OpenParquet(const LocalInput& input, const IngestOptions& options, const ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const ParquetPlugin* plugin, Plugin());
  return plugin->open(input, options, ctx);
}

Result<std::unique_ptr<TableSink>> MakeParquetSink(OutputPtr out, std::shared_ptr<arrow::Schema> schema) {
  PILUM_ASSIGN_OR_RETURN(const ParquetPlugin* plugin, Plugin());
  return plugin->make_sink(std::move(out), std::move(schema));
}

}  // namespace pilum::ingest
