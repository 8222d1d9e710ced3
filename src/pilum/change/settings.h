// What stands beside the rows: config, metadata of the table, of its schema, of its columns. Called by cli and python.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "pilum/change/change.h"

namespace pilum {

// Key -> value; none: the key goes. `replace`: all others go too.
struct MapChange {
  std::map<std::string, std::optional<std::string>> entries;
  bool replace = false;
};

struct SettingsChange {
  std::optional<MapChange> config, table_metadata, schema_metadata;
  std::map<std::string, MapChange> field_metadata;  // by column, dotted for one inside a struct
};

// kNotFound names a column that is not there.
Result<Committed> ChangeSettings(WritableTable table, const SettingsChange& change, const ChangeOptions& options,
                                 ReadContext& ctx);

}  // namespace pilum
