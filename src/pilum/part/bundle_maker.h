// Makes bundles of the parts that have none, and of those whose bundles are small or mostly of no use. Used by bundle_cache.
#pragma once

#include "pilum/part/bundle_book.h"
#include "pilum/part/maintain.h"

namespace pilum {

// The parts whose headers readers open: those that count, and merged ones that are hidden.
std::vector<const PartFile*> BundledFiles(const ListedView& view);

Result<CacheRefresh> MakeBundles(const DatasetFiles& files, const ListedView& view, const MaintainOptions& options,
                                 ReadContext& ctx);

}  // namespace pilum
