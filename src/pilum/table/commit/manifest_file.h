// The bytes of a manifest file: indices, transaction, manifest, footer; and the files that are put beside it. Called by
// commit.cc and commit_clone.cc.
#pragma once

#include <string>

#include "pilum/io/object_store.h"
#include "pilum/table/commit/wire.h"

namespace pilum {

// Its time is now, its writer we.
void SignManifest(wire::Manifest* manifest);

// Sets the manifest's places of the two sections. kUnsupported past 2 GiB a message.
Result<std::string> SerializeManifestFile(const wire::IndexSection& indices, const std::string& transaction,
                                          wire::Manifest* manifest);

// Below _transactions/.
std::string TransactionName(const wire::Transaction& transaction);
// A whole file, not durable yet.
Status PutUnsynced(ObjectStore* table, const std::string& path, const std::string& bytes);
// The newest version, as advice: whoever believes it looks further, and nobody needs it. Best effort; as pylance does, not
// where a request costs a round trip.
void PutHint(ObjectStore* table, uint64_t version);

}  // namespace pilum
