// What the verbs over the whole of a table share: collecting who needs what, advice and findings as text and JSON.
#pragma once

#include <vector>

#include "pilum/cli/table/verb.h"
#include "pilum/inspect/advice.h"
#include "pilum/inspect/check.h"

namespace pilum::cli {

// The clock that other programs judge the age of files by.
StoreTime WallClock();

// The version that was asked for, and all the table's references.
struct Surveyed {
  OpenedTable opened;
  References refs;
  std::vector<TableIndex> indices;  // of that version
};
Result<Surveyed> Survey(const TableArgs& args);

// "pilum table cleanup flights.lance --older-than 7d", to be pasted; of Advice::verb.
std::string CommandText(const std::string& table, const std::string& verb);
// A heading, and each with its command; nothing for none.
Status PrintAdvice(const std::string& table, const std::vector<Advice>& advice);
Json JsonOf(const std::vector<Advice>& advice);
Json JsonOf(const std::vector<Finding>& findings);
Json JsonOf(const FileSum& sum);                                    // {"files", "bytes"}
Json VersionsJson(const References& refs, const HolderRuns& runs);  // [[1, 7]]: first and last of each run
std::string JsonTime(StoreTime at);

}  // namespace pilum::cli
