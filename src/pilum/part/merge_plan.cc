#include "pilum/part/merge_plan.h"

#include <arrow/buffer.h>

#include "pilum/part/stands_for.h"

namespace pilum {
namespace {

constexpr std::string_view kFirstLine = "pilum-plan 1";
constexpr std::string_view kLastLine = "end";

// One line into the plan; false: not one that this Pilum knows.
bool ParseLine(std::string_view line, MergePlan* plan) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos) return false;
  const std::string_view kind = line.substr(0, space), value = line.substr(space + 1);
  const auto number = ParseNumber(value);
  if (kind == "part" && IsContentName(value)) {
    plan->inputs.push_back({std::string(value), std::nullopt, {}});
  } else if (kind == "plan" && number && *number < plan->number) {
    plan->inputs.push_back({"", *number, {}});
  } else if (kind == "rows" && number) {
    plan->rows = *number;
  } else if (kind == "bytes" && number) {
    plan->bytes = *number;
  } else if (auto rows = kind == "erase" && !plan->inputs.empty() ? ParseRanges(value) : std::nullopt) {
    plan->inputs.back().erased = std::move(*rows);
  } else if (auto batch = kind == "batch" ? ParseBatchLine(value) : std::nullopt) {
    plan->batches[batch->first] = std::move(batch->second);
  } else {
    return false;
  }
  return true;
}

}  // namespace

std::string MergePlan::ToText() const {
  std::string out = fmt::format("{}\n", kFirstLine);
  for (const PlanInput& input : inputs) {
    out += input.plan ? fmt::format("plan {}\n", *input.plan) : fmt::format("part {}\n", input.part);
    if (!input.erased.empty()) out += "erase" + RangesText(input.erased) + "\n";
  }
  for (const auto& [id, taken] : batches) out += "batch " + BatchLine(id, taken) + "\n";
  return out + fmt::format("rows {}\nbytes {}\n{}\n", rows, bytes, kLastLine);
}

Result<MergePlan> MergePlan::Parse(std::string_view text, uint64_t number, std::string_view file) {
  MergePlan plan;
  plan.number = number;
  for (uint64_t n = 1;; ++n) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return Corrupt(file, fmt::format("line {}", n), "the plan is cut short");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (n == 1) {
      if (line != kFirstLine) return Unsupported("{}: not a plan of this version; a newer Pilum compacts here", file);
    } else if (line == kLastLine) {
      if (!text.empty() || plan.inputs.empty())
        return Corrupt(file, fmt::format("line {}", n), "not the end of a plan");
      return plan;
    } else if (!ParseLine(line, &plan)) {
      return Unsupported("{}: line {}: '{}' is not known; a newer Pilum compacts here, or the plan is damaged", file, n,
                         line.substr(0, 80));
    }
  }
}

Result<std::vector<ListedPlan>> ListPlans(const DatasetFiles& files) {
  const std::string prefix = files.prefix + "plans/";
  PILUM_ASSIGN_OR_RETURN(auto listed, files.store->List(prefix));
  std::vector<ListedPlan> plans;
  for (const ObjectInfo& info : listed) {
    const std::string_view name = std::string_view(info.path).substr(prefix.size());
    const auto number = name.size() == 8 ? ParseNumber(name) : std::nullopt;
    if (!number) continue;
    if (*number != plans.size()) {
      return Corrupt(
          files.PlanPath(plans.size()), "",
          "this plan is missing, and with it which parts it takes; restore it from a backup before compacting");
    }
    plans.push_back({*number, info.modified});
  }
  return plans;
}

Result<MergePlan> ReadPlan(const DatasetFiles& files, uint64_t number, ReadContext& ctx) {
  const std::string path = files.PlanPath(number);
  PILUM_ASSIGN_OR_RETURN(auto source, files.store->OpenSource(path, ctx));
  constexpr uint64_t kMost = 64 << 20;
  if (source->size() > kMost) return Corrupt(path, "", fmt::format("{} bytes are no plan", source->size()));
  PILUM_ASSIGN_OR_RETURN(BufferPtr bytes, source->ReadRange({0, source->size()}, ctx));
  const auto* text = reinterpret_cast<const char*>(bytes->data());
  return MergePlan::Parse(std::string_view(text, static_cast<size_t>(bytes->size())), number, source->name());
}

}  // namespace pilum
