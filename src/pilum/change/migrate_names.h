// Manifests of a table that pylance before 1 made, named as newer ones are. Called by python.
// Format: docs/formats/table.md, "Names".
#pragma once

#include <cstdint>

#include "pilum/io/object_store.h"

namespace pilum {

// Every 7.manifest below `branch` becomes 18446744073709551608.manifest, the newest last; detached ones keep their names. How
// many did. Interrupted at any point it is done again from where it stood; meanwhile, and until then, the newest version of a
// table with names of both kinds opens nowhere. A version that others commit meanwhile under an old name is renamed too.
// kCorrupt: one version is there under both names, and they differ; nothing was removed then.
Result<uint64_t> MigrateManifestNames(ObjectStore* branch, ReadContext& ctx);

}  // namespace pilum
