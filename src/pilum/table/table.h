// A Lance table: finding and opening one version of it, and what there is beside it. Called by cli and python; the rows
// are read through the seam (source/snapshot.h). Immutable once open; thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pilum/io/read_only_store.h"
#include "pilum/source/snapshot.h"
#include "pilum/table/fragment.h"
#include "pilum/table/indices.h"
#include "pilum/table/manifest.h"
#include "pilum/table/manifest_names.h"
#include "pilum/table/refs.h"
#include "pilum/table/table_files.h"
#include "pilum/table/table_schema.h"
#include "pilum/table/take_blobs.h"
#include "pilum/table/totals.h"
#include "pilum/table/transaction.h"
#include "pilum/table/version_list.h"

namespace pilum {

// Which version; by default the newest of main. At most one of version, tag and as_of_ns.
struct TableRef {
  std::string branch;               // empty: main
  std::optional<uint64_t> version;  // a detached one too
  std::string tag;                  // which may be on a branch
  std::optional<int64_t> as_of_ns;  // since 1970, UTC: the newest that is not younger
};

// What of a version is read, and how.
struct SnapshotOptions {
  std::optional<std::vector<uint64_t>> fragments;  // only these, by id, in this order
  BlobHandling blobs = BlobHandling::kDescriptions;
  bool with_deleted = false;  // deleted rows that are still in the files too; their _rowid is NULL
};

class Table {
 public:
  // kNotFound: there is no table, no such version, tag or branch; says which there are. kCorrupt or kUnsupported: the
  // manifest of that version; where it is the newest, the message says which older one still opens.
  static Result<std::shared_ptr<const Table>> Open(const std::string& uri, const TableRef& ref,
                                                   const StoreOptions& options, ReadContext& ctx);

  // Of main, in a store that is open.
  static Result<std::shared_ptr<const Table>> Open(std::shared_ptr<const ReadOnlyStore> store, const TableRef& ref,
                                                   ReadContext& ctx);
  // The same branch, as it is now, or at another version.
  Result<std::shared_ptr<const Table>> Reopen(std::optional<uint64_t> version, ReadContext& ctx) const;

  const std::string& uri() const { return uri_; }  // as given
  const std::string& branch() const { return branch_; }
  const Manifest& manifest() const { return *manifest_; }
  const ListedVersion& listed() const { return listed_; }  // the manifest's name
  // The table's own columns, without the system's.
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_->declared(); }
  const TableSchema& columns() const { return *schema_; }

  // Where its files lie; the store of its branch, and that of main, where tags and branches are. None of them can write.
  const TableFiles& files() const { return *files_; }
  const ReadOnlyStore& store() const { return *store_; }
  const ReadOnlyStore& main_store() const { return *main_; }
  // What its fragments are read with, and how its stores are reached.
  TableContext context() const { return {files_, schema_, manifest_, false}; }
  const StoreOptions& options() const { return options_; }

  Result<uint64_t> CountRows(ReadContext& ctx) const;  // reads nothing where counts_known()
  // Does the manifest tell how many rows each fragment has? Very old ones do not.
  bool counts_known() const;
  Result<std::shared_ptr<const Snapshot>> OpenSnapshot(const SnapshotOptions& options, ReadContext& ctx) const;
  // Blobs of a column, lazily read (take_blobs.h).
  Result<std::vector<TakenBlob>> TakeBlobs(const FieldPath& column, RowSelector selector,
                                           const std::vector<uint64_t>& rows, ReadContext& ctx) const {
    return pilum::TakeBlobs({files_, schema_, manifest_}, column, selector, rows, ctx);
  }

  // Of its branch, ascending, without detached ones and those that cannot be opened (opening them says why).
  Result<std::vector<TableVersion>> Versions(ReadContext& ctx) const;
  Result<uint64_t> LatestVersion(ReadContext& ctx) const;
  // What made this version. nullopt: neither the manifest has it nor a file of its own.
  Result<std::optional<Transaction>> ReadTransaction(ReadContext& ctx) const;
  // Its indices, segment by segment. Where the manifest does not tell the kind of one, what its files tell.
  Result<std::vector<TableIndex>> Indices(ReadContext& ctx) const;
  Result<std::map<std::string, TableTag>> Tags(ReadContext& ctx) const { return ListTags(*main_, ctx); }
  Result<std::map<std::string, TableBranch>> Branches(ReadContext& ctx) const { return ListBranches(*main_, ctx); }

 private:
  Status Find(const TableRef& ref, ReadContext& ctx);  // where both stores are open

  std::string uri_, branch_;
  StoreOptions options_;
  std::shared_ptr<const ReadOnlyStore> main_;   // where tags and branches are kept
  std::shared_ptr<const ReadOnlyStore> store_;  // of the branch
  std::shared_ptr<const TableFiles> files_;
  std::shared_ptr<const TableSchema> schema_;
  std::shared_ptr<const Manifest> manifest_;
  ListedVersion listed_;
};

}  // namespace pilum
