// Where the files of one version lie: the table's own root, and the base paths of branches and clones. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "pilum/io/read_only_store.h"
#include "pilum/table/indices.h"
#include "pilum/table/manifest.h"
#include "pilum/table/open_files.h"

namespace pilum {

class TableFiles {
 public:
  // `version`: whose files they are. `options`: how base paths on the same kind of store are reached.
  TableFiles(std::shared_ptr<const ReadOnlyStore> root, uint64_t version, std::vector<BasePath> bases,
             StoreOptions options)
      : root_(std::move(root)), version_(version), bases_(std::move(bases)), options_(std::move(options)) {}

  const std::string& uri() const { return root_->uri(); }
  const ReadOnlyStore& root() const { return *root_; }

  // kNotFound says in which place of the table the file is missing, and which other version does not need it.
  Result<std::shared_ptr<const ByteSource>> OpenData(const DataFile& file, ReadContext& ctx) const;
  Result<std::shared_ptr<const ByteSource>> OpenDeletions(const DeletionFile& file, uint64_t fragment,
                                                          ReadContext& ctx) const;
  // `name`: of a file of the index.
  Result<std::shared_ptr<const ByteSource>> OpenIndexFile(const TableIndex& index, const std::string& name,
                                                          ReadContext& ctx) const;
  // A file of the folder that belongs to a data file, beside it: its blobs.
  Result<std::shared_ptr<const ByteSource>> OpenBeside(const DataFile& file, const std::string& name,
                                                       ReadContext& ctx) const;
  // A path or URI, or what lies below a base path (0: none).
  Result<std::shared_ptr<const ByteSource>> OpenExternal(const std::string& uri, uint32_t base, ReadContext& ctx) const;
  // `path`: below the root.
  Result<std::shared_ptr<const ByteSource>> OpenOwn(const std::string& path, ReadContext& ctx) const;

  // Those of its data files that are open. (Const, as opening one changes nothing to be seen.)
  OpenFiles& open_files() const { return open_files_; }

 private:
  // Opens `folder`/`name` below the root or a base; a base that is no table's root has no folders.
  Result<std::shared_ptr<const ByteSource>> Open(std::optional<uint32_t> base, const std::string& folder,
                                                 const std::string& name, ReadContext& ctx) const;
  Result<std::shared_ptr<const ReadOnlyStore>> BaseStore(const BasePath& base) const;

  const std::shared_ptr<const ReadOnlyStore> root_;
  const uint64_t version_;
  const std::vector<BasePath> bases_;
  const StoreOptions options_;
  mutable std::mutex mutex_;
  mutable OpenFiles open_files_;
  mutable std::map<uint32_t, std::shared_ptr<const ReadOnlyStore>> opened_;  // base id -> its store
};

}  // namespace pilum
