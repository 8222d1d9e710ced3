// JSONB: JSON as Lance stores it in columns of type lance.json (docs/formats/jsonb.md). Called by table. Pure.
#pragma once

#include <string>
#include <string_view>

#include "pilum/base/status.h"

namespace pilum {

// Adds the JSON text, without spaces, that `bytes` stand for; as far as JSON's own text goes, what pylance gives. Bytes that
// are JSON text already are taken as they are, nothing as null, as pylance does both. kCorrupt: they are neither.
Status AppendJsonbText(std::string_view bytes, std::string* out);

// The JSONB of a JSON text, the same bytes as pylance's. kUsage: it is none, or a key comes twice in one object.
Result<std::string> JsonbOfText(std::string_view text);

}  // namespace pilum
