// Which version of a table is the newest by its name. A table that is opened again and again is listed again only once
// its _versions/ changed, where that can be told for certain. Called by find_version.cc and table.cc. Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "pilum/base/few_kept.h"
#include "pilum/io/folder_stamp.h"
#include "pilum/table/manifest_names.h"

namespace pilum {

struct NewestListed {
  std::optional<ListedVersion> version;  // nullopt: there is none
  bool mixed = false;                    // as ListedVersions
};

Result<NewestListed> FindNewestListed(const ReadOnlyStore& table, ReadContext& ctx);

// What was found of the tables asked for last, by their folder's stamp.
class NewestKept {
 public:
  static constexpr size_t kMostTables = 64;

  std::optional<ListedVersion> Find(const std::string& uri, const FolderStamp& stamp) const;
  void Keep(const std::string& uri, const FolderStamp& stamp, const ListedVersion& version);

 private:
  struct Stamped {
    FolderStamp stamp;
    ListedVersion version;
  };
  FewKept<std::string, Stamped, kMostTables> kept_;  // by URI
};

}  // namespace pilum
