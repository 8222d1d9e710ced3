// A version as it is stored, to be changed: its manifest as the message, its indices, and what made it. Called by
// commit.cc and by the operations in change.
#pragma once

#include <memory>
#include <optional>

#include "pilum/io/read_only_store.h"
#include "pilum/table/commit/wire.h"
#include "pilum/table/manifest.h"
#include "pilum/table/manifest_names.h"

namespace pilum {

struct StoredVersion {
  ListedVersion listed;
  std::shared_ptr<const Manifest> read;  // the same, as readers see it
  wire::Manifest manifest;
  wire::IndexSection indices;
  uint64_t version() const { return manifest.version(); }
};

Result<std::shared_ptr<const StoredVersion>> LoadStored(const ReadOnlyStore& table, const ListedVersion& listed,
                                                        ReadContext& ctx);
// The same of a manifest that was read already.
Result<std::shared_ptr<const StoredVersion>> LoadStored(const ReadOnlyStore& table, const ListedVersion& listed,
                                                        std::shared_ptr<const Manifest> manifest, ReadContext& ctx);

// Also what made it, out of the same file: as LoadTransaction.
Result<std::shared_ptr<const StoredVersion>> LoadStored(const ReadOnlyStore& table, const ListedVersion& listed,
                                                        Result<std::optional<wire::Transaction>>* made_by,
                                                        ReadContext& ctx);

// What made the version. nullopt: nothing on disk says so (any more). kCorrupt where what is there does not parse.
Result<std::optional<wire::Transaction>> LoadTransaction(const ReadOnlyStore& table, const ListedVersion& listed,
                                                         ReadContext& ctx);

// kUnsupported names what of this version this Pilum could not keep, and so must not write on.
Status CheckWritable(const StoredVersion& version);

}  // namespace pilum
