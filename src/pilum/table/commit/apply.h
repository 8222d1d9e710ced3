// From a version and a transaction to the next version. What an operation does to fragments, schema, row ids, indices and
// flags is here; what others did meanwhile is conflict.h's, files are commit.h's. Called by commit.cc.
// Format: docs/formats/table.md, "Writing".
#pragma once

#include <memory>
#include <string>

#include "pilum/io/read_only_store.h"
#include "pilum/table/commit/stored_version.h"

namespace pilum {

struct ApplyOptions {
  uint64_t version = 1;         // that it is to be
  bool stable_row_ids = false;  // new tables
  // Of new files, for a new or overwritten table: "2.1". Empty: as its files are, else as before, else "2.2".
  std::string data_version;
};

struct NextVersion {
  wire::Manifest manifest;  // without what commit.cc knows: the transaction's places, the timestamp
  wire::IndexSection indices;
};

// `current`: null for a new table, which only Overwrite makes. `restored`: of Restore, the version that it names.
// `table` is asked for sequences of row ids that lie outside of manifests. Errors: kUsage or kUnsupported, where the
// operation makes no sense on this version; kRetry, where it would on the one that it was made for.
Result<NextVersion> ApplyTransaction(const StoredVersion* current, const StoredVersion* restored,
                                     const wire::Transaction& transaction, const ApplyOptions& options,
                                     const ReadOnlyStore& table, ReadContext& ctx);

std::string OperationName(const wire::Transaction& transaction);  // "Append", as pylance names them

}  // namespace pilum
