// Base paths of a table: folders elsewhere that its data files may lie in. Called by change, python.
// Format: docs/formats/table.md, "Base paths".
#pragma once

#include <string>
#include <vector>

#include "pilum/change/change.h"
#include "pilum/change/fragment_writer.h"
#include "pilum/table/manifest.h"

namespace pilum {

// Those without an id get the least that is free, from 1. kUsage: a path or a name comes twice.
Result<std::vector<BasePath>> NumberedBases(std::vector<BasePath> bases);
wire::BasePath ToWire(const BasePath& base);

// Where new data files go.
struct BaseChoice {
  std::vector<std::string> names;  // names or paths of base paths; none: the table's own folder
  bool all = false, own = false;   // or all of them, by id; with `own` the table's own folder first
  bool chosen() const { return all || !names.empty(); }
};
// kUsage names what is not among `bases`. `options`: how those that are not local are reached.
Result<std::vector<FileTarget>> TargetsOf(const BaseChoice& choice, const std::vector<BasePath>& bases,
                                          const StoreOptions& options);

// More base paths for a table. kUsage, kConflict: a path or a name is one already.
Result<Committed> AddBases(const WritableTable& table, const std::vector<BasePath>& bases, const ChangeOptions& options,
                           ReadContext& ctx);

}  // namespace pilum
