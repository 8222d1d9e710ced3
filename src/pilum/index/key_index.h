// Asks the `key` section of a sidecar which rows hold a value, by range: its root, then the block that the value's hash
// falls in (docs/formats/sidecar.md). Immutable and thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "pilum/index/index.h"
#include "pilum/index/sidecar.h"

namespace pilum {

class KeyIndex {
 public:
  // Reads the root. kCorrupt names the sidecar.
  static Result<KeyIndex> Open(std::shared_ptr<const SidecarReader> reader, const SectionEntry& entry,
                               uint64_t num_rows, ReadContext& ctx);
  // All rows whose value has one of these hashes (any order; rows of other values too, where hashes collide). nullopt: not
  // for less than reading `possible` rows would cost.
  Result<std::optional<RowSet>> Rows(std::vector<uint64_t> hashes, uint64_t possible, ReadContext& ctx) const;

 private:
  std::shared_ptr<const SidecarReader> reader_;
  uint64_t num_rows_ = 0;
  std::vector<BlockRef> blocks_;
  std::vector<uint64_t> firsts_;  // first hash of each block
};

}  // namespace pilum
