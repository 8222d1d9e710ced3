// Loads the HTTP library at first use.
#pragma once

#include "pilum/base/status.h"
#include "pilum/io/http/http.h"

namespace pilum {

// kUnsupported where it, or the libcurl that it links, is not installed. Thread-safe; the same answer each time.
Result<const HttpPlugin*> LoadHttp();

}  // namespace pilum
