// Objects under one root: a folder of a local file system, or memory. Paths are relative, '/'-separated, never "..".
// All calls are thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/io/byte_source.h"

namespace pilum {

// A moment on a store's own clock. Ages are differences of two of them; no other clock ever takes part.
using StoreTime = std::chrono::sys_time<std::chrono::microseconds>;
using StoreClock = std::function<StoreTime()>;

struct ObjectInfo {
  std::string path;  // relative to the store's root
  uint64_t size = 0;
  // When it appeared, or later (S3: Last-Modified; local: when the file's name or content last changed).
  StoreTime modified{};
};

// How to reach a remote store, where the environment does not say it: name -> value (docs/guides/s3.md).
using StoreOptions = std::map<std::string, std::string>;

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // A plain path, file:///abs (percent-decoded), or s3://bucket/prefix (taken as it is). Any other scheme is refused by
  // name. Touches neither disk nor network; kUsage where options or environment lack what s3:// needs.
  static Result<std::shared_ptr<ObjectStore>> Open(std::string_view uri, const StoreOptions& options = {});
  // `clock`: what Now and modified are told by; empty: the system's.
  static std::shared_ptr<ObjectStore> Memory(std::string name = "memory:", StoreClock clock = {});
  // The same for tests whose reads cost and count as those of a distant store.
  static std::shared_ptr<ObjectStore> SlowMemory(std::string name, std::shared_ptr<SlowReads> slow);

  virtual const std::string& uri() const = 0;
  // kNotFound. Where asking for the size is a request, the end of the object comes with it (as much as the source's
  // cost().tail; it then answers reads of it from memory) and ctx.stats counts that: it is the first thing that readers
  // want.
  virtual Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path, ReadContext& ctx) const = 0;
  // Appears at `path` at Close, replacing what was there; durable (fsync of file and folder) once Close returned.
  virtual Result<std::unique_ptr<ByteSink>> Create(const std::string& path) = 0;
  // false: something is already there, and it is untouched. A true answer is durable.
  virtual Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) = 0;
  // The same from a finished local file, which may be moved (it is gone afterwards on true).
  virtual Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) = 0;
  // All objects whose path starts with `prefix`, sorted by path. A missing folder lists nothing. Where that takes several
  // requests they are made in the order of the paths, so that what appears meanwhile past the end of one is in a later one.
  Result<std::vector<ObjectInfo>> List(const std::string& prefix, ReadContext& ctx) const {
    return ListBetween(prefix, "", "", ctx);
  }
  Result<std::vector<ObjectInfo>> List(const std::string& prefix) const;  // without a deadline
  // Those of them with after < path <= up_to (an empty `up_to`: to the end).
  virtual Result<std::vector<ObjectInfo>> ListBetween(const std::string& prefix, const std::string& after,
                                                      const std::string& up_to, ReadContext& ctx) const = 0;
  // What one request lists: the first of those after `after`. `more`: there may be further ones.
  struct Page {
    std::vector<ObjectInfo> objects;
    bool more = false;
  };
  virtual Result<Page> ListPage(const std::string& prefix, const std::string& after, ReadContext& ctx) const;
  // What a request costs here, and how many may be in flight. Constant.
  virtual const ReadCost& cost() const { return ByteSource::kLocalCost; }
  // The store's clock (S3: the Date of an answer; local: the time of a file just made there). kNotFound: no such store.
  virtual Result<StoreTime> Now() const = 0;
  // What writes that never ended left behind: hidden temporary files that no process holds, incomplete uploads. Their
  // `path` is only for messages and RemoveUnfinished.
  virtual Result<std::vector<ObjectInfo>> ListUnfinished(const std::string& prefix) const = 0;
  virtual Status RemoveUnfinished(const ObjectInfo& unfinished) = 0;  // OK if it was not there
  virtual Result<bool> Exists(const std::string& path) const = 0;
  virtual Status Remove(const std::string& path) = 0;  // OK if it was not there
};

// One file or object by its path or URI, as in ObjectStore::Open.
Result<std::shared_ptr<const ByteSource>> OpenFileOrObject(const std::string& uri, ReadContext& ctx,
                                                           const StoreOptions& options = {});
Result<std::unique_ptr<ByteSink>> CreateFileOrObject(const std::string& uri, const StoreOptions& options = {});
bool IsRemoteUri(std::string_view uri);  // a scheme, and not file://

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
