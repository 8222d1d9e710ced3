// What an index found, as it is told: unchanged. A build with -DPILUM_LYING_INDEX=FAMILY (`inverted`, `nulls`, `members`, `key`,
// `trigrams`, `words`, `pairs`, `ranges`, `segments`) makes that one forget its last row, to see that the property test notices: it must fail then.
#pragma once

#include <string_view>

#include "pilum/base/row_set.h"

namespace pilum {

RowSet Told(std::string_view family, RowSet rows);
bool Told(std::string_view family, bool may_match);  // of an index that answers for the whole part

}  // namespace pilum
