// The versions of a table, each with what its manifest sums up to. Called by table.cc. No state; thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pilum/table/manifest_names.h"
#include "pilum/table/totals.h"

namespace pilum {

struct TableVersion {
  uint64_t version = 0;
  int64_t timestamp_ns = 0;
  TableTotals totals;
};

// Of those `listed` whose manifests open, in their order. One request a manifest, several at once.
Result<std::vector<TableVersion>> ReadVersions(const ReadOnlyStore& table, const std::vector<ListedVersion>& listed,
                                               ReadContext& ctx);

}  // namespace pilum
