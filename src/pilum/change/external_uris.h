// URIs of blobs that stay where they are: below which base path of the table they lie, and how they are written down.
// Called by blob_writer.cc and merge. Immutable, thread-safe. Format: docs/formats/table.md, "Blobs".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pilum/base/status.h"
#include "pilum/table/manifest.h"

namespace pilum {

class ExternalUris {
 public:
  // `outside`: also what lies below no base path.
  ExternalUris(const std::vector<BasePath>& bases, bool outside);

  struct Place {
    uint32_t base = 0;  // 0: none, and `path` is a whole URI
    std::string path;
  };
  // The innermost base path that is not the root of a table. kUsage: there is none, and no whole URI may stand for it.
  Result<Place> Resolve(const std::string& uri) const;

 private:
  std::vector<std::pair<uint32_t, std::string>> bases_;  // their numbers and plain names
  const bool outside_;
};

// One name for all ways to write a place: "/a/b" of a path or a file:// URI, "s3://bucket/a/b".
std::string PlainName(std::string_view uri);

}  // namespace pilum
