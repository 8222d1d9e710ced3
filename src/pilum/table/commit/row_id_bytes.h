// Sequences of row ids and of row versions as bytes: the other direction of row_ids.h. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/base/status.h"

namespace pilum {

// In the smallest of the forms that pylance chooses among.
std::string SerializeRowIds(const std::vector<uint64_t>& ids);
std::string SerializeRowIdRange(uint64_t begin, uint64_t end);
// All ids of a sequence whose number nobody knows yet; kCorrupt for more than `most`.
Result<std::vector<uint64_t>> ParseRowIds(std::string_view bytes, uint64_t most);

std::string SerializeRowVersion(uint64_t rows, uint64_t version);  // the same for all of them
std::string SerializeRowVersions(const std::vector<uint64_t>& versions);

}  // namespace pilum
