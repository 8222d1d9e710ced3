// Caches over many parts, in objects of their own: made, refreshed and found to be of no use any more by one walk over a list of
// them. A new kind of cache is one class and one line in MaintainedCaches. Used by part_store and sweep.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "pilum/part/part_store.h"
#include "pilum/part/store_view.h"

namespace pilum {

// An object that no reader of a listing from `since` on looks at.
struct ObsoleteObject {
  ObjectInfo info;
  StoreTime since{};
};

class MaintainedCache {
 public:
  virtual ~MaintainedCache() = default;
  virtual std::string_view name() const = 0;
  // Makes what is missing or out of date. `view`: parts that count, and hidden ones that readers still open. Whatever it puts
  // is whole at once and true whenever it is read; it removes nothing.
  virtual Result<CacheRefresh> Refresh(const DatasetFiles& files, const ListedView& view,
                                       const MaintainOptions& options, ReadContext& ctx) const = 0;
  virtual Result<std::vector<ObsoleteObject>> Obsolete(const DatasetFiles& files, const ListedView& view,
                                                       ReadContext& ctx) const = 0;
  // For `store check`: what it says that the parts do not.
  virtual Status Check(const DatasetFiles& files, const ListedView& view, ReadContext& ctx,
                       std::vector<Status>* faults) const = 0;
};

// In the order in which they are refreshed.
std::vector<std::unique_ptr<MaintainedCache>> MaintainedCaches();

Result<MaintainResult> Maintain(const DatasetFiles& files, const MaintainOptions& options, ReadContext& ctx);

}  // namespace pilum
