// Bundles of prune headers (docs/formats/bundle.md) as one of the caches that maintain keeps. Used by maintain.
#pragma once

#include <memory>

#include "pilum/part/maintain.h"

namespace pilum {

std::unique_ptr<MaintainedCache> MakeBundleCache();

}  // namespace pilum
