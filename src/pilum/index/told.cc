#include "pilum/index/told.h"

#ifndef PILUM_LYING_INDEX
#define PILUM_LYING_INDEX ""
#endif

namespace pilum {
namespace {

constexpr std::string_view kLiar = PILUM_LYING_INDEX;

}  // namespace

RowSet Told(std::string_view family, RowSet rows) {
  if (kLiar != family || rows.empty()) return rows;
  const uint64_t last = rows.ranges().back().end - 1;
  return rows.Minus(RowSet::Range(last, last + 1));
}

bool Told(std::string_view family, bool may_match) { return may_match && kLiar != family; }

}  // namespace pilum
