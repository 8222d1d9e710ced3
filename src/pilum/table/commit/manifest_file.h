// The bytes of a manifest file: indices, transaction, manifest, footer. Called by commit.cc and commit_clone.cc. Pure but for
// the clock.
#pragma once

#include <string>

#include "pilum/table/commit/wire.h"

namespace pilum {

// Its time is now, its writer we.
void SignManifest(wire::Manifest* manifest);

// Sets the manifest's places of the two sections. kUnsupported past 2 GiB a message.
Result<std::string> SerializeManifestFile(const wire::IndexSection& indices, const std::string& transaction,
                                          wire::Manifest* manifest);

}  // namespace pilum
