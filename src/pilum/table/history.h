// The history of a table: what each version holds and what made it, newest first. Called by cli and python. A History
// belongs to one thread. Reads each manifest once, whole; where a request costs a round trip, several at once.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pilum/table/table.h"
#include "pilum/table/version_change.h"

namespace pilum {

// All that lies in one manifest file.
struct ManifestFile {
  ListedVersion listed;
  std::shared_ptr<const ByteSource> source;  // the whole file, in memory
  std::shared_ptr<const Manifest> manifest;
  std::vector<TableIndex> indices;
};
// Reads the file with one request. kCorrupt, kUnsupported and kNotFound name it.
Result<ManifestFile> ReadManifestFile(const ReadOnlyStore& store, const ListedVersion& listed, ReadContext& ctx);

// Bytes of files that a version refers to, or is made of, and the one before it does not.
struct BroughtBytes {
  uint64_t data = 0, deletions = 0, indices = 0, manifest = 0, transaction = 0;
  uint64_t unknown_files = 0;  // of these no size is known: they count as nothing
  uint64_t total() const { return data + deletions + indices + manifest + transaction; }
};

struct VersionRecord {
  ListedVersion listed;
  Status damage;  // not OK: why it cannot be read; then nothing else is known
  std::shared_ptr<const Manifest> manifest;
  std::vector<TableIndex> indices;
  TableTotals totals;
  std::optional<Transaction> transaction;
  Status transaction_damage;  // not OK: there is one, and it does not parse
  // Against the version before it, or nothing where it is the first that ever was. nullopt: that one is gone, or cannot
  // be read.
  std::optional<VersionChange> change;
  std::optional<BroughtBytes> brought;  // with `change`
  std::string words;                    // "compacted 226 fragments into 1"
};

class History {
 public:
  // Of the table's branch, from its opened version back. Lists what there is; the manifests are read by Next. `most`:
  // how often that will be called, 0 to the end; no more is read ahead.
  static Result<std::unique_ptr<History>> Open(const Table& table, uint64_t most, ReadContext& ctx);
  // nullptr after the oldest. A version that is damaged is a record that says so.
  Result<std::unique_ptr<VersionRecord>> Next(ReadContext& ctx);
  uint64_t left() const { return next_; }  // versions that Next has not given

 private:
  explicit History(const Table& table) : table_(table) {}
  Result<ManifestFile> Pull(ReadContext& ctx);
  void ReadAhead(ReadContext& ctx);
  Status Tell(const ManifestFile& file, VersionRecord* out, ReadContext& ctx);
  BroughtBytes Brought(const VersionRecord& record) const;

  const Table& table_;
  std::vector<ListedVersion> versions_;                                         // ascending
  std::map<std::string, uint64_t> deletions_, transactions_, indices_, blobs_;  // sizes of the files there, by path
  size_t next_ = 0;                                                             // versions_[next_ - 1] is the next
  std::optional<Result<ManifestFile>> held_;  // that one, where it was told of the one after it
  std::deque<Result<ManifestFile>> ahead_;    // those before it that are read, newest first
  size_t unread_ = 0;                         // versions_[unread_ - 1] is the next to be read
  uint64_t wanted_ = 0;                       // as many more may be read
};

}  // namespace pilum
