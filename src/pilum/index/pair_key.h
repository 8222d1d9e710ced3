// Two values as one: what indexes over pairs of columns hold (docs/formats/sidecar.md, "pairs").
#pragma once

#include <string>

#include "pilum/base/bytes.h"
#include "pilum/values/value.h"

namespace pilum {

// Equal exactly where both values are. `scale`: of the decimal's column.
inline std::string PairKey(const Value& a, int32_t scale_a, const Value& b, int32_t scale_b) {
  std::string first, out;
  AppendHashBytes(a, scale_a, &first);
  AppendLE<uint32_t>(&out, static_cast<uint32_t>(first.size()));
  out += first;
  AppendHashBytes(b, scale_b, &out);
  return out;
}

}  // namespace pilum
