// --param texts into bound values.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "pilum/base/status.h"
#include "pilum/query/query.h"

namespace pilum::cli {

// [NAME][:TYPE]=VALUE, or VALUE alone. Without a type the value is read as JSON would be: null, true, false, a number,
// "text"; anything else is text. A value alone that holds '=' after a name-like start needs a leading '='. kUsage
// otherwise.
Result<Params> ParseParams(const std::vector<std::string>& texts);
// --param of a command with a predicate.
void AddParamOption(CLI::App& command, std::vector<std::string>* texts);

}  // namespace pilum::cli
