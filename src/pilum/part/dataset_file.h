// The dataset.toml of a dataset, if it has one (docs/formats/dataset.md).
#pragma once

#include <memory>
#include <optional>

#include <arrow/type_fwd.h>

#include "pilum/index/dataset_spec.h"
#include "pilum/part/part_files.h"

namespace pilum {

// kUsage where the file is not what it should be.
Result<std::optional<DatasetSpec>> ReadDatasetSpec(const DatasetFiles& files, ReadContext& ctx);
// The schema that a SidecarBuilder takes: with the indexes that the dataset's file asks for; the same where there is none.
Result<std::shared_ptr<arrow::Schema>> SidecarSchema(const std::optional<DatasetSpec>& spec,
                                                     const std::shared_ptr<arrow::Schema>& schema);

}  // namespace pilum
