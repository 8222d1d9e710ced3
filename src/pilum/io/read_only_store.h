// The reading half of an object store (object_store.h): objects under one root. The type has no call that writes, so
// whoever is given only this one cannot. All calls are thread-safe.
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
  // When its content was written, as other programs see it (S3: the same; local: the modification time, which copies and
  // links may keep). No age is told by it but that which others go by.
  StoreTime written{};
};

// How to reach a remote store, where the environment does not say it: name -> value (docs/guides/s3.md).
using StoreOptions = std::map<std::string, std::string>;

class ReadOnlyStore {
 public:
  virtual ~ReadOnlyStore() = default;
  // As ObjectStore::Open.
  static Result<std::shared_ptr<const ReadOnlyStore>> Open(std::string_view uri, const StoreOptions& options = {});

  virtual const std::string& uri() const = 0;
  // kNotFound. Where asking for the size is a request, the end of the object comes with it (as much as the source's
  // cost().tail; it then answers reads of it from memory) and ctx.stats counts that: it is the first thing that readers
  // want.
  virtual Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path, ReadContext& ctx) const = 0;
  // All objects whose path starts with `prefix`, sorted by path. A missing folder lists nothing. Where that takes several
  // requests they are made in the order of the paths, so that what appears meanwhile past the end of one is in a later one.
  Result<std::vector<ObjectInfo>> List(const std::string& prefix, ReadContext& ctx) const {
    return ListBetween(prefix, "", "", ctx);
  }
  Result<std::vector<ObjectInfo>> List(const std::string& prefix) const;  // without a deadline
  // Those of them with after < path <= up_to (an empty `up_to`: to the end).
  virtual Result<std::vector<ObjectInfo>> ListBetween(const std::string& prefix, const std::string& after,
                                                      const std::string& up_to, ReadContext& ctx) const = 0;
  // The paths that List gives, in any order: quicker where sizes and times are asked for one by one.
  virtual Result<std::vector<std::string>> ListPaths(const std::string& prefix, ReadContext& ctx) const;
  // What one request lists: the first of those after `after`. `more`: there may be further ones.
  struct Page {
    std::vector<ObjectInfo> objects;
    bool more = false;
  };
  virtual Result<Page> ListPage(const std::string& prefix, const std::string& after, ReadContext& ctx) const;
  // What writes that never ended left behind: hidden temporary files that no process holds, incomplete uploads. Their
  // `path` is only for messages and ObjectStore::RemoveUnfinished.
  virtual Result<std::vector<ObjectInfo>> ListUnfinished(const std::string& prefix) const = 0;
  virtual Result<bool> Exists(const std::string& path) const = 0;
  // What a request costs here, and how many may be in flight. Constant.
  virtual const ReadCost& cost() const { return ByteSource::kLocalCost; }
};

bool IsRemoteUri(std::string_view uri);  // a scheme, and not file://

}  // namespace pilum
