// Rows of one fragment deleted without a commit: a deletion file, and the fragment with it, for a Delete operation that somebody
// commits (raw_commit.h). Called by python.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pilum/change/change.h"
#include "pilum/query/query.h"

namespace pilum {

// The fragment as it would be; nullopt: no row of it is left. Where nothing is deleted it is given as it is. The deletion file
// is durable where `sync`. kNotFound: the version has no such fragment; kQuery where the text is wrong.
Result<std::optional<wire::DataFragment>> StageDelete(const WritableTable& table, uint64_t fragment,
                                                      const std::string& predicate, const Params& params, bool sync,
                                                      ReadContext& ctx);
// `rows`: places in the fragment, deleted ones counted; any order, repeats and deleted ones allowed. kUsage past its end.
Result<std::optional<wire::DataFragment>> StageDelete(const WritableTable& table, uint64_t fragment,
                                                      std::vector<uint64_t> rows, bool sync, ReadContext& ctx);

}  // namespace pilum
