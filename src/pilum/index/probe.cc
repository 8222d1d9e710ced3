#include <fmt/format.h>

#include "pilum/index/index.h"

namespace pilum {

std::string Probe::ToString() const {
  if (kind == Kind::kIsNull) return fmt::format("{} is null", column.ToString());
  return fmt::format("{} in {}{}", column.ToString(), set.ToString(), exact ? "" : " (inexact)");
}

}  // namespace pilum
