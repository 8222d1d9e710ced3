// A version of a table as the first one of another table: its files shared, or copied. Called by python.
// Format: docs/formats/table.md, "Base paths".
#pragma once

#include <string>

#include "pilum/change/change.h"

namespace pilum {

// `source`: the version, open. `target`: where there is no table yet (kUsage). The new one has that version's number, schema,
// config and indices, and no history. It reads `source`'s files where they are: cleaning up or moving `source` breaks it.
Result<Committed> ShallowClone(const WritableTable& source, const std::string& target, const StoreOptions& storage,
                               bool sync, ReadContext& ctx);
// The same with its own copies of data, blobs, deletions and indices, streamed one by one. Where it fails they go again.
Result<Committed> DeepClone(const WritableTable& source, const std::string& target, const StoreOptions& storage,
                            bool sync, ReadContext& ctx);

// Both in a store that is open.
Result<Committed> ShallowClone(const WritableTable& source, const std::shared_ptr<ObjectStore>& target, bool sync,
                               ReadContext& ctx);
Result<Committed> DeepClone(const WritableTable& source, const std::shared_ptr<ObjectStore>& target, bool sync,
                            ReadContext& ctx);

// Where a clone comes from: the path is absolute.
void DescribeSource(const Table& source, bool shallow, wire::Transaction::Clone* out);

}  // namespace pilum
