// Bytes of immutable remote objects in a folder of this machine, bounded, for any number of processes at once. Whatever is in it
// is checked against its hash when it is read; what is damaged, or somebody else's, is not there. Thread-safe.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "pilum/io/byte_source.h"

namespace pilum {

class DiskCache {
 public:
  // The folder that PILUM_CACHE names, with at most about PILUM_CACHE_BYTES (1 GiB) in it; null where it is not set or empty.
  static std::shared_ptr<DiskCache> FromEnvironment();
  DiskCache(std::string folder, uint64_t most_bytes);

  // `key` names the bytes for ever: the same key never has other ones. nullopt: not there.
  std::optional<std::string> Get(std::string_view key) const;
  // At best: a full disk or a folder that cannot be written costs the next read its requests.
  void Put(std::string_view key, std::string_view bytes);
  void Remove(std::string_view key);
  // Removes what has not been used for the longest time until nine tenths of the bound are left, if it is over the bound. Put
  // calls it at the first bytes of a process and after each sixteenth of the bound.
  void Trim();

 private:
  std::string PathOf(std::string_view key) const;

  const std::string folder_;
  const uint64_t most_bytes_;
  std::atomic<uint64_t> until_trim_{0};
  std::mutex trimming_;
};

// `size` bytes named by `key`, whose ranges are taken from the cache where it has them, else asked for and kept. `open` opens the
// object itself, at the first range that the cache lacks. Ranges from the cache are no requests and count as none.
using OpenSourceFn = std::function<Result<std::shared_ptr<const ByteSource>>(ReadContext&)>;
std::shared_ptr<const ByteSource> MakeCachedSource(std::string name, uint64_t size, std::string key,
                                                   const ReadCost& cost, OpenSourceFn open,
                                                   std::shared_ptr<DiskCache> cache);

}  // namespace pilum
