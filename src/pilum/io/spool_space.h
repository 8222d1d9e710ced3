// Is there room for what is about to be spooled?
#pragma once

#include <cstdint>
#include <string>

#include "pilum/base/status.h"

namespace pilum {

// An I/O error that says how much is needed, how much is free and where, and what to do; OK where that cannot be told.
Status CheckSpoolSpace(const std::string& folder, uint64_t bytes);

}  // namespace pilum
