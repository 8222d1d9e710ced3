// Names and places of a dataset's objects, and what identifies a part (docs/formats/part_store.md). Used inside part/
// only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pilum/index/sidecar.h"
#include "pilum/io/object_store.h"

namespace pilum {

// One listed part.
struct PartFile {
  std::string path;  // in the store
  std::string name;  // without folder and ".lance"
  uint64_t size = 0;
  bool merged = false;
};

// A dataset's place in a store: all paths start with `prefix` (empty, or ending in '/').
struct DatasetFiles {
  std::shared_ptr<ObjectStore> store;
  std::string prefix;
  std::string uri;  // for messages

  std::string PartPath(const std::string& name) const { return prefix + "parts/" + name + ".lance"; }
  std::string IndexPath(const std::string& name) const { return prefix + "side/" + name + ".lance.idx"; }
  std::string StatsPath(const std::string& name) const { return prefix + "side/" + name + ".lance.stats"; }
  std::string HeaderPath(const std::string& name) const { return prefix + "side/" + name + ".lance.idxh"; }
  // Every part of parts/ and merged/, ordered by name: the order of rows. A name that is in both is listed once.
  Result<std::vector<PartFile>> ListParts() const;
};

// Is this a name that put gives, 64 lower-case hex digits? Then it says what its bytes hash to.
bool IsContentName(const std::string& name);
// The source_part_hash of a sidecar of this part. Reads the tail of a part with a foreign name.
Result<Hash128> PartIdentity(const DatasetFiles& files, const PartFile& part, ReadContext& ctx);

}  // namespace pilum
