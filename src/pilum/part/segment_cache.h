// Word segments as one of the caches that `store maintain` keeps (maintain.h).
#pragma once

#include <memory>

#include "pilum/part/maintain.h"

namespace pilum {

std::unique_ptr<MaintainedCache> MakeSegmentCache();

}  // namespace pilum
