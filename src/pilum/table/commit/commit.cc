#include "pilum/table/commit/commit.h"

#include <algorithm>
#include <chrono>
#include <random>
#include <thread>

#include <arrow/buffer.h>

#include "pilum/base/for_each.h"
#include "pilum/table/commit/apply.h"
#include "pilum/table/commit/conflict.h"
#include "pilum/table/commit/manifest_file.h"
#include "pilum/table/commit/names.h"
#include "pilum/table/find_version.h"

namespace pilum {
namespace {

using Clock = std::chrono::steady_clock;

void Wait(Clock::duration time, const ReadContext& ctx) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end && ctx.Check().ok()) {
    std::this_thread::sleep_for(std::min<Clock::duration>(end - Clock::now(), std::chrono::milliseconds(20)));
  }
}

// Who commits to a table on a disk while others do rests before the next time, for so many attempts: theirs take longer
// than ours, and would find no gap. (Eight writers in loops, half of them pylance: those got 4 times as far, all
// together a tenth less.)
constexpr int kRest = 6;
constexpr auto kLongestRest = std::chrono::milliseconds(250);

// Was the version made just now?
bool IsFresh(const Manifest& m) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::nanoseconds(m.timestamp_ns) + std::chrono::seconds(1) > now;
}

// Those who were too late wait for one of so many slots, each as long as an attempt takes; as more are seen to compete there
// are more of them. Where a request costs a round trip all engines' attempts take as long as ours, and who waits long
// loses again; on a disk ours are much the shortest, and others need the gaps.
void BackOff(int attempt, Clock::duration one_attempt, bool remote, const ReadContext& ctx) {
  const uint64_t slots = remote ? uint64_t{2} << std::min(attempt / 4, 3) : uint64_t{4} << std::min(attempt, 4);
  const auto slot = std::clamp<Clock::duration>(one_attempt, std::chrono::milliseconds(1), std::chrono::seconds(1));
  Wait(slot * static_cast<int64_t>(RandomNumber() % slots), ctx);
}

// In the words that callers of pylance look for.
Status AsConflict(uint64_t version, const Status& st) {
  if (KindOf(st) != ErrorKind::kRetry || st.message().starts_with("Retryable")) return st;
  return MakeError(ErrorKind::kRetry,
                   fmt::format("Retryable commit conflict for version {}: {}. Please retry.", version, st.message()));
}

// Never of a kind that says that nothing was committed.
Status Unsure(const std::string& table, uint64_t version, const Status& st) {
  const Status out = WithContext(
      fmt::format("{}: version {} may or may not have been committed; look before trying again", table, version), st);
  return st.IsInvalid() ? Status::IOError(out.message()) : out;
}

bool NeedsRead(const wire::Transaction& t) { return !t.has_overwrite() && !t.has_restore(); }

}  // namespace

void Committer::AddWritten(std::vector<std::string> paths) {
  written_.insert(written_.end(), std::make_move_iterator(paths.begin()), std::make_move_iterator(paths.end()));
}

Result<std::shared_ptr<const StoredVersion>> Committer::FindNewest(ReadContext& ctx) {
  if (options_.detached) return read_;
  PILUM_ASSIGN_OR_RETURN(auto listed, ListVersions(*table_, ctx));
  if (listed.mixed) {
    return Corrupt(table_->uri(), "_versions/", "manifests are named in both ways: which is the newest cannot be said");
  }
  listed_ = std::move(listed.attached);
  if (listed_.empty()) {
    if (read_) return NotFoundError("{}: the table is gone", table_->uri());
    return std::shared_ptr<const StoredVersion>();
  }
  if (read_ && read_->listed.name == listed_.back().name) return read_;
  return LoadNew(ctx);
}

// What others committed and was not looked at yet, of the newest all: each file once, several at a time where a request
// costs a round trip. The sooner, the less likely that somebody is first again.
Result<std::shared_ptr<const StoredVersion>> Committer::LoadNew(ReadContext& ctx) {
  const uint64_t read = read_ ? read_->version() : 0;
  std::vector<const ListedVersion*> fresh;
  for (const ListedVersion& one : listed_) {
    const uint64_t version = one.name.version;
    if (version > read && (!theirs_.contains(version) || &one == &listed_.back())) fresh.push_back(&one);
  }
  if (fresh.empty()) return LoadStored(*table_, listed_.back(), ctx);  // as of a table whose newest versions are gone
  std::vector<wire::Transaction> made(fresh.size());
  std::shared_ptr<const StoredVersion> newest;
  const auto load = [&](size_t i) -> Status {
    Result<std::optional<wire::Transaction>> made_by = std::optional<wire::Transaction>();
    if (i + 1 < fresh.size()) {
      made_by = LoadTransaction(*table_, *fresh[i], ctx);
    } else {
      PILUM_ASSIGN_OR_RETURN(newest, LoadStored(*table_, *fresh[i], &made_by, ctx));
    }
    if (made_by.ok()) {
      if (*made_by) made[i] = std::move(**made_by);
      return Status::OK();
    }
    const ErrorKind kind = KindOf(made_by.status());
    return kind == ErrorKind::kCorrupt || kind == ErrorKind::kNotFound ? Status::OK() : made_by.status();
  };
  PILUM_RETURN_NOT_OK(ForEach(fresh.size(), table_->cost().parallel, load, 1));
  for (size_t i = 0; i < fresh.size(); ++i) theirs_[fresh[i]->name.version] = std::move(made[i]);
  return newest;
}

Status Committer::JudgeSince(const wire::Transaction& ours, const StoredVersion& newest) const {
  uint64_t expected = ours.read_version() + 1;
  for (const ListedVersion& one : listed_) {
    const uint64_t version = one.name.version;
    if (version <= ours.read_version()) continue;
    PILUM_RETURN_NOT_OK(JudgeConflict(ours, taken_.has_value(), theirs_.at(version), version));
    if (version != expected && NeedsRead(ours)) break;
    ++expected;
  }
  if (expected == newest.version() + 1 || !NeedsRead(ours)) return Status::OK();
  return MakeError(ErrorKind::kRetry,
                   fmt::format("version {} is gone, so what was done since version {} cannot be judged; open the "
                               "newest version and do it again",
                               expected, ours.read_version()));
}

Status Committer::PutTransaction(const std::string& bytes, const std::string& path) {
  if (bytes == put_transaction_) return Status::OK();
  PILUM_RETURN_NOT_OK(PutUnsynced(table_.get(), path, bytes));
  put_transaction_ = bytes;
  written_.push_back(path);
  return Status::OK();
}

// It made no version: best effort. (A UUID that came from outside may have made another version before.)
void Committer::ForgetTransaction(const wire::Transaction& t) {
  if (!put_transaction_.empty() && own_uuid_) (void)table_->Remove("_transactions/" + TransactionName(t));
}

// A put whose answer was lost: the object is ours, and durable.
bool Committer::IsThere(const std::string& path, const std::string& bytes) {
  ReadContext ctx;
  auto source = table_->OpenSource(path, ctx);
  if (!source.ok() || (*source)->size() != bytes.size()) return false;
  auto held = (*source)->ReadRange({0, bytes.size()}, ctx);
  return held.ok() && (*held)->ToString() == bytes && (!options_.sync || table_->Sync({path}).ok());
}

Result<std::optional<Committed>> Committer::PutManifest(const std::string& file, const wire::Manifest& manifest,
                                                        ManifestScheme scheme) {
  const ListedVersion listed{{manifest.version(), scheme}, file.size()};
  auto put = options_.sync ? table_->PutIfAbsentAfter(listed.path(), file, written_)
                           : table_->PutIfAbsentUnsynced(listed.path(), file);
  if (!put.ok() && !IsThere(listed.path(), file)) return Unsure(table_->uri(), manifest.version(), put.status());
  if (options_.sync) written_.clear();
  if (put.ok() && !*put) return std::optional<Committed>();
  return std::optional(Committed{manifest.version(), listed, {manifest.config().begin(), manifest.config().end()}});
}

Result<std::optional<Committed>> Committer::Attempt(const wire::Transaction& original, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto newest, FindNewest(ctx));
  wire::Transaction t = original;
  if (newest) {
    PILUM_RETURN_NOT_OK(CheckWritable(*newest));
    if (newest->version() != t.read_version() && !options_.detached) {
      crowded_ = IsFresh(*newest->read);
      PILUM_RETURN_NOT_OK(AsConflict(newest->version(), JudgeSince(t, *newest)));
      if (check_) PILUM_RETURN_NOT_OK(AsConflict(newest->version(), check_(*newest)));
      RebaseInput input{read_.get(), newest.get(), {}, taken_ ? &*taken_ : nullptr};
      for (const auto& [version, theirs] : theirs_) input.theirs.push_back(&theirs);
      PILUM_RETURN_NOT_OK(AsConflict(newest->version(), Rebase(input, table_.get(), &t, &written_, ctx)));
    }
  }
  if (t.has_clone()) return UsageError("a clone is committed as the first version of another table");
  std::shared_ptr<const StoredVersion> restored;
  if (t.has_restore()) {
    PILUM_ASSIGN_OR_RETURN(auto found, FindVersion(*table_, t.restore().version(), ctx));
    PILUM_ASSIGN_OR_RETURN(restored, LoadStored(*table_, found.listed, found.manifest, ctx));
    PILUM_RETURN_NOT_OK(CheckWritable(*restored));
  }
  ApplyOptions how;
  how.version = options_.detached ? RandomNumber() | kDetachedBit : newest ? newest->listed.name.version + 1 : 1;
  how.stable_row_ids = options_.stable_row_ids;
  how.data_version = options_.data_version;
  auto applied = ApplyTransaction(newest.get(), restored.get(), t, how, *table_, ctx);
  if (!applied.ok()) return AsConflict(newest ? newest->version() : 0, applied.status());
  NextVersion next = std::move(*applied);
  SignManifest(&next.manifest);
  next.manifest.set_transaction_file(TransactionName(t));
  const std::string bytes = SerializeWire(t);
  PILUM_ASSIGN_OR_RETURN(const std::string file, SerializeManifestFile(next.indices, bytes, &next.manifest));
  PILUM_RETURN_NOT_OK(PutTransaction(bytes, "_transactions/" + TransactionName(t)));
  const ManifestScheme scheme = options_.detached   ? ManifestScheme::kDetached
                                : newest            ? newest->listed.name.scheme
                                : options_.v1_names ? ManifestScheme::kV1
                                                    : ManifestScheme::kV2;
  return PutManifest(file, next.manifest, scheme);
}

Result<Committed> Committer::Commit(wire::Transaction transaction, ReadContext& ctx) {
  if (options_.detached && !read_)
    return UsageError("{}: a detached version needs a version to begin at", table_->uri());
  transaction.set_read_version(read_ ? read_->version() : 0);
  own_uuid_ = transaction.uuid().empty();
  if (own_uuid_) transaction.set_uuid(RandomUuid());
  for (int attempt = 0; attempt <= options_.max_retries; ++attempt) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    const auto begin = Clock::now();
    auto committed = Attempt(transaction, ctx);
    if (!committed.ok()) {
      const Status& st = committed.status();
      const ErrorKind kind = KindOf(st);
      if (kind == ErrorKind::kRetry || kind == ErrorKind::kConflict || kind == ErrorKind::kUsage) {
        ForgetTransaction(transaction);
      }
      return st.message().starts_with(table_->uri()) ? st : WithContext(table_->uri(), st);
    }
    if (*committed) {
      if (!options_.detached) PutHint(table_.get(), (*committed)->version);
      if (crowded_ && !table_->cost().remote)
        Wait(std::min<Clock::duration>(kRest * (Clock::now() - begin), kLongestRest), ctx);
      return std::move(**committed);
    }
    BackOff(attempt, Clock::now() - begin, table_->cost().remote, ctx);
  }
  ForgetTransaction(transaction);
  return MakeError(ErrorKind::kRetry,
                   fmt::format("{}: others committed first {} times in a row; nothing was committed, try again later",
                               table_->uri(), options_.max_retries + 1));
}

}  // namespace pilum
