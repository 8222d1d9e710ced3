// Clean-ups that a table asks for by its config, after commits. Called by change.cc. Keys: docs/formats/table.md.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "pilum/change/cleanup.h"

namespace pilum {

// What "lance.auto_cleanup.*" of the config asks for after `version` was committed; nothing where it is not its turn.
// kUsage names a key whose value is not understood.
Result<std::optional<CleanupOptions>> AutoCleanupOf(const std::map<std::string, std::string>& config, uint64_t version);

// Does it, where it is asked for. `table`: as the change began; that version stays, as somebody holds it. Its failure is no
// failure of the commit, and says nothing: the next one tries again.
void CleanUpAfter(const WritableTable& table, const Committed& committed, ReadContext& ctx);

}  // namespace pilum
