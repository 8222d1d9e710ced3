// JSON values into Arrow builders of a given type. Nothing is converted with loss: a value that the type cannot hold is
// an error that says which.
#pragma once

#include <arrow/type_fwd.h>

#include "pilum/ingest/json_value.h"

namespace pilum::ingest {

// `place`: the dotted column, for messages; the caller adds file and line.
Status AppendJson(const JsonValue& value, const std::string& place, arrow::ArrayBuilder* builder);

}  // namespace pilum::ingest
