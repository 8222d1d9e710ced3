// From what was asked for to the manifest of one version. Called by table.cc.
#pragma once

#include <memory>
#include <optional>

#include "pilum/table/manifest.h"
#include "pilum/table/manifest_names.h"

namespace pilum {

struct FoundVersion {
  ListedVersion listed;
  std::shared_ptr<const Manifest> manifest;
};

// Is a version damaged, too new or gone, so that others may still be read? (Else the store failed, or the read was stopped.)
bool IsUnreadable(const Status& status);

// The manifest that `listed` names; kCorrupt too where it is of another version.
Result<std::shared_ptr<const Manifest>> ReadListed(const ReadOnlyStore& table, const ListedVersion& listed,
                                                   ReadContext& ctx);
// The same of its file, which is open.
Result<std::shared_ptr<const Manifest>> ReadListed(const ByteSource& source, const ListedVersion& listed,
                                                   ReadContext& ctx);

// The newest by its name; never what latest_version_hint.json says. One that cannot be read is an error that says which
// older one can.
Result<FoundVersion> FindLatest(const ReadOnlyStore& table, ReadContext& ctx);
// By its name, whichever of the schemes that follows.
Result<FoundVersion> FindVersion(const ReadOnlyStore& table, uint64_t version, ReadContext& ctx);
// The newest that is not younger than that.
Result<FoundVersion> FindAsOf(const ReadOnlyStore& table, int64_t as_of_ns, ReadContext& ctx);

}  // namespace pilum
