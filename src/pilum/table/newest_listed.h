// Which version of a table is the newest by its name. A table that is opened again and again is listed again only once
// its _versions/ changed, where that can be told for certain. Called by find_version.cc and table.cc. Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pilum/io/folder_stamp.h"
#include "pilum/table/manifest_names.h"

namespace pilum {

struct NewestListed {
  std::optional<ListedVersion> version;  // nullopt: there is none
  bool mixed = false;                    // as ListedVersions
};

Result<NewestListed> FindNewestListed(const ReadOnlyStore& table, ReadContext& ctx);

// What was found of the tables asked for last, by their folder's stamp. Waits for nobody (a process that was forked while
// another thread was in here has that lock for ever): who does not get in finds nothing.
class NewestKept {
 public:
  static constexpr size_t kMostTables = 64;

  std::optional<ListedVersion> Find(const std::string& uri, const FolderStamp& stamp) const;
  void Keep(const std::string& uri, const FolderStamp& stamp, const ListedVersion& version);

 private:
  struct Entry {
    std::string uri;
    FolderStamp stamp;
    ListedVersion version;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  size_t oldest_ = 0;  // of a full list
};

}  // namespace pilum
