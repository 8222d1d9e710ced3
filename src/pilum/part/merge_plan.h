// Plans: the small objects that give each compaction its inputs for good, so that no two take the same ones
// (docs/formats/part_store.md, "Plans"). Readers of rows never look at them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/part/part_files.h"

namespace pilum {

struct PlanInput {
  std::string part;              // a content name; empty: the output of `plan`
  std::optional<uint64_t> plan;  // an earlier one
  RowSet erased{};               // rows of it that the output does not have
  bool operator==(const PlanInput&) const = default;
};

struct MergePlan {
  static constexpr uint64_t kMaxNumber = 99'999'999;  // eight digits: names order as numbers do

  uint64_t number = 0;
  std::vector<PlanInput> inputs;          // in the order of their rows in the output
  std::map<std::string, RowSet> batches;  // input rows of batches that this plan alone takes
  uint64_t rows = 0, bytes = 0;           // of the inputs, for estimates

  std::string ToText() const;
  // kCorrupt, or kUnsupported for one that a newer Pilum made; both name `file`.
  static Result<MergePlan> Parse(std::string_view text, uint64_t number, std::string_view file);
};

struct ListedPlan {
  uint64_t number = 0;
  StoreTime modified{};
};

// Ascending from 0; kCorrupt where a number is missing: what it takes is unknown then.
Result<std::vector<ListedPlan>> ListPlans(const DatasetFiles& files);
Result<MergePlan> ReadPlan(const DatasetFiles& files, uint64_t number, ReadContext& ctx);

}  // namespace pilum
