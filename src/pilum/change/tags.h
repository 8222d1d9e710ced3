// Tags made, moved and taken away. They are files beside the history: no version is made. Called by cli and python.
// Format: docs/formats/table.md, "Tags and branches".
#pragma once

#include <map>
#include <string>

#include "pilum/change/change.h"

namespace pilum {

// `at`: the version that the tag is to name, open. kUsage where the name is no tag's, or taken.
Status CreateTag(const WritableTable& at, const std::string& name, ReadContext& ctx);
// kNotFound: there is no tag of that name.
Status MoveTag(const WritableTable& at, const std::string& name, ReadContext& ctx);
Status DeleteTag(const WritableTable& table, const std::string& name, ReadContext& ctx);
Status SetTagMetadata(const WritableTable& table, const std::string& name,
                      const std::map<std::string, std::string>& metadata, ReadContext& ctx);

}  // namespace pilum
