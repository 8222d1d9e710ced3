#include "pilum/part/maintain.h"

#include "pilum/part/bundle_cache.h"
#include "pilum/part/segment_cache.h"

namespace pilum {

std::vector<std::unique_ptr<MaintainedCache>> MaintainedCaches() {
  std::vector<std::unique_ptr<MaintainedCache>> out;
  out.push_back(MakeBundleCache());
  out.push_back(MakeSegmentCache());
  return out;
}

Result<MaintainResult> Maintain(const DatasetFiles& files, const MaintainOptions& options, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const ListedView view, ListView(files, true, ctx));
  if (view.parts.visible.empty()) return files.NoDataset();
  MaintainResult result;
  for (const auto& cache : MaintainedCaches()) {
    PILUM_ASSIGN_OR_RETURN(CacheRefresh one, cache->Refresh(files, view, options, ctx));
    one.name = cache->name();
    result.caches.push_back(std::move(one));
  }
  return result;
}

}  // namespace pilum
