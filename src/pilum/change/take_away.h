// Rows taken away from their fragments: new deletion files, or whole fragments gone. The part that delete, update and
// merge share. Nothing is committed here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pilum/change/change.h"

namespace pilum {

struct TakenAway {
  google::protobuf::RepeatedPtrField<wire::DataFragment> updated;  // with their new deletion files
  std::vector<uint64_t> gone;                                      // ids of fragments of which no row is left
  std::vector<std::string> written;  // paths of deletion files, which the commit makes durable
  uint64_t rows = 0;                 // that were taken
};

// `rows`: places in their fragments, none of them deleted yet.
Result<TakenAway> TakeAway(const ChangeBase& base, const TakenRows& rows, ReadContext& ctx);

}  // namespace pilum
