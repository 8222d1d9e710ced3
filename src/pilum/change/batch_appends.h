// Many small appends as few versions: rows are put aside, and committed together. Called by python.
//
// The contract. A row that was put aside is in no version until a commit of its group came back; then it is durable, as with
// any other change. Rows that were put aside and are not committed are lost with the process, and nothing names their
// files. An append that does not fit the table is refused alone, at once. A commit that fails leaves nothing of its group, and
// every caller that waited for it is told (but for what commit.h says of a store that failed while the manifest was put). Where rows were
// lost for which nobody waits, every further call fails with that error until Abandon.
//
// Thread-safe. While one group is committed the rows that come meanwhile gather in the next: of threads that append and wait,
// all those that wait at once are one version.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/change/fit_rows.h"
#include "pilum/change/write_table.h"

namespace pilum {

class BatchAppends {
 public:
  // `options`: of an append. Rows beyond `most_bytes` are written to files before they are committed.
  BatchAppends(WritableTable table, WriteTableOptions options, uint64_t most_bytes = 64 << 20);
  ~BatchAppends();  // without a commit: as Abandon

  // Puts rows aside. kUsage where they do not fit; the others stay.
  Status Put(const std::vector<std::shared_ptr<arrow::RecordBatch>>& rows, ReadContext& ctx);
  // Puts rows aside and comes back once they are committed, with others' or alone.
  Result<WrittenTable> Append(const std::vector<std::shared_ptr<arrow::RecordBatch>>& rows, ReadContext& ctx);
  // All that is put aside. Without any: the version that was made or opened last, and no other.
  Result<WrittenTable> Commit(ReadContext& ctx);
  // Forgets what is put aside.
  void Abandon();

 private:
  struct Part;   // rows of the same columns
  struct Group;  // what becomes one version

  using Rows = std::vector<std::shared_ptr<arrow::RecordBatch>>;

  Status Begin(Group* group, ReadContext& ctx);
  Result<std::shared_ptr<Group>> Add(const Rows& rows, bool waits, ReadContext& ctx);
  Status Stage(Group* group) const;
  Result<WrittenTable> CommitGroup(const std::shared_ptr<Group>& group, ReadContext& ctx);
  Result<WrittenTable> Write(Group* group, ReadContext& ctx);

  const WriteTableOptions options_;
  const uint64_t most_bytes_;
  std::mutex turn_;   // held by who commits; taken before mutex_
  std::mutex mutex_;  // of what follows
  WritableTable table_;
  std::shared_ptr<Group> open_;
  Status broken_;  // rows were put aside that are lost: until Abandon
};

}  // namespace pilum
