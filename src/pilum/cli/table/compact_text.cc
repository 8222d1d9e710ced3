#include "pilum/cli/table/compact_text.h"

namespace pilum::cli {
namespace {

RowSet SetOf(const std::vector<uint64_t>& ids) {
  std::vector<RowRange> ranges;
  for (const uint64_t id : ids) ranges.push_back({id, id + 1});
  return RowSet::FromRanges(ranges);
}

}  // namespace

Status PrintTasks(const CompactionPlan& plan) {
  if (plan.tasks.empty()) return Status::OK();
  Grid grid({{"fragments", ""}, {"rows", "", true}, {"deleted", "", true}, {"bytes", "", true}, {"why", ""}},
            GridStyle::ForStdout());
  for (const CompactionTask& task : plan.tasks) {
    std::string why = task.reason;
    if (!task.uncovered.empty()) {
      why += fmt::format("; no longer covered by {}", fmt::join(task.uncovered, ", "));
    }
    PILUM_RETURN_NOT_OK(grid.Add({{RangesText(SetOf(task.fragments))},
                                  {Thousands(task.rows)},
                                  {Thousands(task.deleted)},
                                  {Thousands(task.bytes)},
                                  {why}}));
  }
  return grid.Finish();
}

Json TasksJson(const CompactionPlan& plan) {
  Json out = Json::array();
  for (const CompactionTask& task : plan.tasks) {
    out.push_back({{"fragments", JsonOf(SetOf(task.fragments))},
                   {"rows", task.rows},
                   {"deleted_rows", task.deleted},
                   {"bytes", task.bytes},
                   {"reason", task.reason},
                   {"uncovered", task.uncovered}});
  }
  return out;
}

Json MetricsJson(const CompactionMetrics& m) {
  return {{"fragments_removed", m.fragments_removed},
          {"fragments_added", m.fragments_added},
          {"files_removed", m.files_removed},
          {"files_added", m.files_added}};
}

std::string MetricsText(const CompactionMetrics& m) {
  if (m.fragments_removed == 0) return "nothing to compact";
  return fmt::format("{} compacted into {}", Plural(m.fragments_removed, "fragment"), Thousands(m.fragments_added));
}

}  // namespace pilum::cli
