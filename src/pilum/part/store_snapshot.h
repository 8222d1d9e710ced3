// A listing of a dataset as the snapshot that queries read. Used inside part/ only.
#pragma once

#include <memory>
#include <vector>

#include "pilum/part/part_files.h"
#include "pilum/part/store_view.h"
#include "pilum/part/union_schema.h"
#include "pilum/source/snapshot.h"

namespace pilum {

// In the schema of the parts listed now, or in `schema`, that of an earlier listing. kNotFound: no dataset.
Result<std::shared_ptr<const Snapshot>> OpenStoreSnapshot(const DatasetFiles& files, bool use_index,
                                                          const UnionSchema* schema, ReadContext& ctx);
// Of a view that was loaded already.
std::shared_ptr<const Snapshot> MakeStoreSnapshot(const DatasetFiles& files, const StoreView& view, bool use_index);

std::vector<NamedSchema> NamedSchemas(const std::vector<LoadedPart>& parts);

}  // namespace pilum
