#include "pilum/part/dataset_file.h"

#include <arrow/buffer.h>
#include <arrow/type.h>

namespace pilum {
namespace {

constexpr uint64_t kMostBytes = 1 << 20;

}  // namespace

Result<std::optional<DatasetSpec>> ReadDatasetSpec(const DatasetFiles& files, ReadContext& ctx) {
  const std::string path = files.prefix + "dataset.toml";
  PILUM_ASSIGN_OR_RETURN(const bool there, files.store->Exists(path));
  if (!there) return std::optional<DatasetSpec>();
  PILUM_ASSIGN_OR_RETURN(const auto source, files.store->OpenSource(path, ctx));
  if (source->size() > kMostBytes) return UsageError("{}: over 1 MiB is no description of a dataset", source->name());
  PILUM_ASSIGN_OR_RETURN(const auto bytes, source->ReadRange({0, source->size()}, ctx));
  PILUM_ASSIGN_OR_RETURN(DatasetSpec spec, DatasetSpec::Parse(std::string_view(*bytes), source->name()));
  return std::optional(std::move(spec));
}

Result<std::shared_ptr<arrow::Schema>> SidecarSchema(const std::optional<DatasetSpec>& spec,
                                                     const std::shared_ptr<arrow::Schema>& schema) {
  if (!spec) return schema;
  return spec->Annotate(*schema);
}

}  // namespace pilum
