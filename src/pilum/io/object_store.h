// Objects under one root: a folder of a local file system, or memory. Paths are relative, '/'-separated, never "..".
// All calls are thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/io/byte_source.h"

namespace pilum {

struct ObjectInfo {
  std::string path;  // relative to the store's root
  uint64_t size = 0;
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;

  // A plain path, or file:///abs (percent-decoded). Any other scheme is refused by name. Does not touch the disk.
  static Result<std::shared_ptr<ObjectStore>> Open(std::string_view uri);
  static std::shared_ptr<ObjectStore> Memory(std::string name = "memory:");

  virtual const std::string& uri() const = 0;
  virtual Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path,
                                                               ReadContext& ctx) const = 0;  // kNotFound
  // Appears at `path` at Close, replacing what was there; durable (fsync of file and folder) once Close returned.
  virtual Result<std::unique_ptr<ByteSink>> Create(const std::string& path) = 0;
  // false: something is already there, and it is untouched. A true answer is durable.
  virtual Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) = 0;
  // The same from a finished local file, which may be moved (it is gone afterwards on true).
  virtual Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) = 0;
  // All objects whose path starts with `prefix`, sorted by path. A missing folder lists nothing.
  virtual Result<std::vector<ObjectInfo>> List(const std::string& prefix) const = 0;
  virtual Result<bool> Exists(const std::string& path) const = 0;
  virtual Status Remove(const std::string& path) = 0;  // OK if it was not there
};

// A single local file as a source ("-" is not special). kNotFound names the path; a folder is refused.
Result<std::shared_ptr<const ByteSource>> OpenLocalFile(const std::string& path, ReadContext& ctx);
// A single local file as a sink: temporary name beside it, renamed at Close.
Result<std::unique_ptr<ByteSink>> CreateLocalFile(const std::string& path, bool sync = false);

// A fresh empty folder for spool files under $PILUM_TMPDIR, else $TMPDIR, else /tmp; removed with the object.
class TempDir {
 public:
  static Result<std::unique_ptr<TempDir>> Make();
  ~TempDir();
  const std::string& path() const { return path_; }

 private:
  explicit TempDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace pilum
