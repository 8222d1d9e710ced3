// Objects under one root: a folder of a local file system, or memory. Paths are relative, '/'-separated, never "..".
// All calls are thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/io/read_only_store.h"

namespace pilum {

class ObjectStore : public ReadOnlyStore {
 public:
  // A plain path, file:///abs (percent-decoded), s3://bucket/prefix (taken as it is), or memory://name (memory_names.h).
  // Any other scheme is refused by name. Touches neither disk nor network; kUsage where options or environment lack what s3:// needs.
  static Result<std::shared_ptr<ObjectStore>> Open(std::string_view uri, const StoreOptions& options = {});
  // `clock`: what Now and modified are told by; empty: the system's.
  static std::shared_ptr<ObjectStore> Memory(std::string name = "memory:", StoreClock clock = {});
  // The same for tests whose reads cost and count as those of a distant store.
  static std::shared_ptr<ObjectStore> SlowMemory(std::string name, std::shared_ptr<SlowReads> slow);

  // Appears at `path` at Close, replacing what was there; durable (fsync of file and folder) once Close returned.
  virtual Result<std::unique_ptr<ByteSink>> Create(const std::string& path) = 0;
  // false: something is already there, and it is untouched. A true answer is durable.
  virtual Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) = 0;
  // The same from a finished local file, which may be moved (it is gone afterwards on true).
  virtual Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) = 0;
  // As Create and PutIfAbsent, but not durable before Sync: for several objects that become so together, and for what
  // nobody will miss. On stores whose puts are always durable these are the same as those.
  virtual Result<std::unique_ptr<ByteSink>> CreateUnsynced(const std::string& path) { return Create(path); }
  virtual Result<bool> PutIfAbsentUnsynced(const std::string& path, std::string_view bytes) {
    return PutIfAbsent(path, bytes);
  }
  // As PutIfAbsent, of what names `others`, which were put unsynced: they are durable before it is seen. On a disk this
  // waits less often than Sync and PutIfAbsent. After an error there may be something at `path` or not.
  virtual Result<bool> PutIfAbsentAfter(const std::string& path, std::string_view bytes,
                                        const std::vector<std::string>& others) {
    PILUM_RETURN_NOT_OK(Sync(others));
    return PutIfAbsent(path, bytes);
  }
  // Makes objects that were put unsynced durable, with each of their folders.
  virtual Status Sync(const std::vector<std::string>& paths) { return Status::OK(); }
  // The store's clock (S3: the Date of an answer; local: the time of a file just made there, so that reading it writes).
  // kNotFound: no such store.
  virtual Result<StoreTime> Now() const = 0;
  // What ListUnfinished gave. OK if it was not there.
  virtual Status RemoveUnfinished(const ObjectInfo& unfinished) = 0;
  virtual Status Remove(const std::string& path) = 0;  // OK if it was not there
};

// One file or object by its path or URI, as in ObjectStore::Open.
Result<std::shared_ptr<const ByteSource>> OpenFileOrObject(const std::string& uri, ReadContext& ctx,
                                                           const StoreOptions& options = {});
Result<std::unique_ptr<ByteSink>> CreateFileOrObject(const std::string& uri, const StoreOptions& options = {});

// A single local file as a source ("-" is not special). kNotFound names the path; a folder is refused.
Result<std::shared_ptr<const ByteSource>> OpenLocalFile(const std::string& path, ReadContext& ctx);
// A single local file as a sink: temporary name beside it, renamed at Close.
Result<std::unique_ptr<ByteSink>> CreateLocalFile(const std::string& path, bool sync = false);

// A fresh empty folder for spool files under $PILUM_TMPDIR, else $TMPDIR, else /tmp; removed with the object.
class TempDir {
 public:
  static Result<std::unique_ptr<TempDir>> Make();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  const std::string& path() const { return path_; }
  // Removes those that killed processes of this user left there at least `age` ago; how many. One whose process lives is
  // never touched.
  static Result<uint64_t> RemoveAbandoned(std::chrono::microseconds age);

 private:
  TempDir(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::string path_;
  int fd_;  // held as long as the folder is in use
};

}  // namespace pilum
