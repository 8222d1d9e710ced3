#include "tests/support/paths/source_dir.h"

namespace pilum::testing {

std::string SourceDir() { return PILUM_SOURCE_DIR; }

}  // namespace pilum::testing
