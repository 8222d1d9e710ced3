// A plan of a compaction, as text and as JSON. Called by compact.cc and maintain.cc.
#pragma once

#include "pilum/change/compact_table.h"
#include "pilum/cli/table/write_verb.h"

namespace pilum::cli {

Status PrintTasks(const CompactionPlan& plan);
Json TasksJson(const CompactionPlan& plan);
Json MetricsJson(const CompactionMetrics& metrics);
// "12 fragments put together as 1"
std::string MetricsText(const CompactionMetrics& metrics);

}  // namespace pilum::cli
