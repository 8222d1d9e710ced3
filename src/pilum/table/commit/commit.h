// Making the next version of a table. Called by the operations in change. Thread-safe: any number of threads, processes
// and engines commit to one table at once; each version is made by one of them and none is lost.
// Format: docs/formats/table.md, "Writing"; the steps: docs/walks/table_commit.md.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pilum/io/object_store.h"
#include "pilum/table/commit/rebase.h"
#include "pilum/table/commit/stored_version.h"

namespace pilum {

struct CommitOptions {
  int max_retries = 20;         // attempts after the first, each on a newer version
  bool v1_names = false;        // new tables
  bool stable_row_ids = false;  // new tables
  std::string data_version;     // new and overwritten tables: of new data files, "2.1"
  bool detached = false;        // a version beside the history, found by its number alone
  bool sync = true;             // durable before it is acknowledged
};

struct Committed {
  uint64_t version = 0;
  ListedVersion listed;
  std::map<std::string, std::string> config;  // of that version
};

// Asked before each attempt on a newer version than was read: may it still be committed? Its errors are the commit's.
using CommitCheck = std::function<Status(const StoredVersion& newest)>;

class Committer {
 public:
  // `table`: the branch's own store. `read`: the version that the transaction was made for; null: there is no table.
  Committer(std::shared_ptr<ObjectStore> table, std::shared_ptr<const StoredVersion> read, CommitOptions options)
      : table_(std::move(table)), read_(std::move(read)), options_(std::move(options)) {}

  // Files that `transaction` names and that are not durable yet (paths in the table).
  void AddWritten(std::vector<std::string> paths);
  // Which rows a delete or update takes (rebase.h).
  void SetTaken(TakenRows taken) { taken_ = std::move(taken); }
  void SetCheck(CommitCheck check) { check_ = std::move(check); }

  // Its read_version is set here, and its uuid where it has none. kRetry: others were first, and what they did asks for the work to be done
  // again; kConflict: or leaves no sense in it. Then, and after any other error, nothing of it is in the table, except
  // where the store failed while the manifest was put in place: that error says so.
  Result<Committed> Commit(wire::Transaction transaction, ReadContext& ctx);

 private:
  Result<std::optional<Committed>> Attempt(const wire::Transaction& original, ReadContext& ctx);
  Result<std::shared_ptr<const StoredVersion>> FindNewest(ReadContext& ctx);
  Result<std::shared_ptr<const StoredVersion>> LoadNew(ReadContext& ctx);
  Status JudgeSince(const wire::Transaction& ours, const StoredVersion& newest) const;
  Status PutTransaction(const std::string& bytes, const std::string& path);
  void ForgetTransaction(const wire::Transaction& t);
  Result<std::optional<Committed>> PutManifest(const std::string& file, const wire::Manifest& manifest,
                                               ManifestScheme scheme);
  bool IsThere(const std::string& path, const std::string& bytes);

  const std::shared_ptr<ObjectStore> table_;
  const std::shared_ptr<const StoredVersion> read_;
  const CommitOptions options_;
  std::optional<TakenRows> taken_;
  CommitCheck check_;
  std::vector<std::string> written_;              // not durable yet
  std::vector<ListedVersion> listed_;             // as of the last look
  std::map<uint64_t, wire::Transaction> theirs_;  // of the versions since the one that was read
  std::string put_transaction_;                   // bytes that lie in its file
  bool own_uuid_ = true;
  bool crowded_ = false;  // others commit at this moment
};

}  // namespace pilum
