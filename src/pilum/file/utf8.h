// Are all strings of a decoded array UTF-8? Readers of Arrow rely on it, and the bytes come from outside. Called by
// unit.cc.
#pragma once

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

// kCorrupt naming the first bad value's position among the strings of its array. ASCII costs one pass at memory speed.
Status CheckUtf8(const arrow::ArrayData& data);

}  // namespace pilum
