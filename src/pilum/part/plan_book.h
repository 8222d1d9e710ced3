// What there is to plan with: one look at a dataset, its plans, and what they take; making the next plan, doing it, and
// doing those that others left (docs/adr/0015-plans.md). Used by compaction and erasure. Not thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pilum/part/batch_rows.h"
#include "pilum/part/do_plan.h"
#include "pilum/part/merge_plan.h"
#include "pilum/part/store_view.h"

namespace pilum {

class PlanBook {
 public:
  PlanBook(const DatasetFiles& files, ReadContext& ctx) : files_(files), ctx_(ctx) {}

  // A new look. kNotFound: no dataset; kCorrupt or kUnsupported: what some plan takes cannot be known.
  Status Look();
  const StoreView& view() const { return view_; }
  // May a plan take this part? Not one that an open plan takes, nor one with a foreign name.
  bool IsFree(const LoadedPart& part) const;

  // Does the plans that others left, or all open ones, and tells of each; those that cannot be done go to `notes`. True: look
  // again.
  enum class Which { kLeft, kAll };
  using Did = std::function<void(const MergePlan&, const PlanDone&)>;
  Result<bool> DoOpen(Which which, std::vector<std::string>* notes, const Did& did = {});

  // A plan that takes these parts of the view, in this order, and puts it under the next number; nullopt: that number is
  // somebody else's, look again. `erased`: rows of each that its output is not to have (empty: of none).
  Result<std::optional<MergePlan>> Plan(const std::vector<const LoadedPart*>& parts, std::vector<RowSet> erased);
  // Does a plan of this view. An empty name: others did.
  Result<PlanDone> Do(const MergePlan& plan);

 private:
  struct OpenPlan {  // its output is not in the view
    MergePlan plan;
    StoreTime made{};
  };
  void Take(const MergePlan& plan);
  Result<PlanDone> DoWith(const MergePlan& plan, std::vector<LoadedPart> inputs);
  Result<std::optional<std::vector<LoadedPart>>> InputsNow(const MergePlan& plan);

  const DatasetFiles& files_;
  ReadContext& ctx_;
  StoreTime now_{};
  StoreView view_;
  uint64_t next_ = 0;
  std::vector<OpenPlan> open_;
  std::set<std::string> taken_parts_;  // by plans that are not done
  std::set<uint64_t> taken_plans_;
  BatchRows batches_;  // taken by any plan
};

}  // namespace pilum
