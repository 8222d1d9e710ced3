// The bytes of a manifest file: indices, transaction, manifest, footer. Called by commit.cc. Pure.
#pragma once

#include <string>

#include "pilum/table/commit/wire.h"

namespace pilum {

// Sets the manifest's places of the two sections. kUnsupported past 2 GiB a message.
Result<std::string> SerializeManifestFile(const wire::IndexSection& indices, const std::string& transaction,
                                          wire::Manifest* manifest);

}  // namespace pilum
