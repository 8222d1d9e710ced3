#include "pilum/part/plan_book.h"

namespace pilum {
namespace {

// A plan that is not done long after this was left by whoever made it. Too short a time only costs work done twice.
StoreTime::duration TimeToDo(const MergePlan& plan) {
  constexpr uint64_t kBytesASecond = 4 << 20;
  return std::chrono::seconds(10 + plan.bytes / kBytesASecond);
}

// The plan cannot be done as things are, by anybody; others can.
bool Unable(const Status& st) { return !StopsARead(st) && !st.IsIOError() && KindOf(st) != ErrorKind::kNotFound; }

}  // namespace

Status PlanBook::Look() {
  PILUM_ASSIGN_OR_RETURN(view_, LoadView(files_, true, ctx_));
  if (view_.parts.empty()) return files_.NoDataset();
  PILUM_ASSIGN_OR_RETURN(now_, files_.store->Now());
  PILUM_ASSIGN_OR_RETURN(auto plans, ListPlans(files_));
  next_ = plans.size();
  open_.clear();
  taken_parts_.clear();
  taken_plans_.clear();
  batches_.clear();
  for (const auto& [name, said] : view_.said) {
    if (!said) continue;
    AddBatches(said->batches, &batches_);
    if (said->plans.back() < next_) continue;
    return Corrupt(files_.PlanPath(said->plans.back()), "",
                   fmt::format("this plan is missing, but merged/{} is its output; restore plans/ from a backup before "
                               "compacting",
                               name));
  }
  for (const ListedPlan& listed : plans) {
    if (view_.IsDone(listed.number)) continue;
    PILUM_ASSIGN_OR_RETURN(MergePlan plan, ReadPlan(files_, listed.number, ctx_));
    Take(plan);
    open_.push_back({std::move(plan), listed.modified});
  }
  return Status::OK();
}

void PlanBook::Take(const MergePlan& plan) {
  for (const PlanInput& input : plan.inputs) {
    if (input.plan) taken_plans_.insert(*input.plan);
    if (!input.plan) taken_parts_.insert(input.part);
  }
  AddBatches(plan.batches, &batches_);
}

bool PlanBook::IsFree(const LoadedPart& part) const {
  if (const auto plan = part.file.plan()) return !taken_plans_.contains(*plan);
  return IsContentName(part.file.name) && !taken_parts_.contains(part.file.name);
}

Result<bool> PlanBook::DoOpen(Which which, std::vector<std::string>* notes, const Did& did) {
  bool any = false;
  for (const OpenPlan& open : open_) {
    if (which == Which::kLeft && now_ - open.made < TimeToDo(open.plan)) continue;
    const auto inputs = InputsNow(open.plan);
    Status st = inputs.status();
    if (inputs.ok() && *inputs) {
      const auto done = DoWith(open.plan, **inputs);
      st = done.status();
      if (done.ok() && did) did(open.plan, *done);
    }
    if (st.ok()) {
      any = true;
    } else if (Unable(st)) {
      notes->push_back(
          fmt::format("plan {} cannot be done, its parts stay as they are: {}", open.plan.number, st.message()));
    } else {
      return st;
    }
  }
  return any;
}

Result<std::optional<MergePlan>> PlanBook::Plan(const std::vector<const LoadedPart*>& parts,
                                                std::vector<RowSet> erased) {
  MergePlan plan;
  plan.number = next_;
  if (plan.number > MergePlan::kMaxNumber) return Unsupported("{}: out of plan numbers", files_.uri);
  BatchRows held = batches_;
  for (size_t i = 0; i < parts.size(); ++i) {
    const LoadedPart& part = *parts[i];
    plan.rows += part.num_rows;
    plan.bytes += part.file.size;
    const auto number = part.file.plan();
    plan.inputs.push_back({number ? "" : part.file.name, number, erased.empty() ? RowSet() : std::move(erased[i])});
    if (number) continue;
    if (const auto batch = BatchOf(*part.schema, part.num_rows)) {
      const RowSet fresh = TakeRows(*batch, &held).Shift(batch->rows.begin);
      plan.batches[batch->id] = plan.batches[batch->id].Union(fresh);
    }
  }
  PILUM_ASSIGN_OR_RETURN(const bool won, files_.store->PutIfAbsent(files_.PlanPath(plan.number), plan.ToText()));
  if (!won) return std::optional<MergePlan>();
  ++next_;
  Take(plan);
  return std::optional(std::move(plan));
}

Result<PlanDone> PlanBook::Do(const MergePlan& plan) {
  auto inputs = InputsOf(plan, view_);
  if (!inputs) return Status::Invalid("plan ", plan.number, " is not of this view");
  return DoWith(plan, std::move(*inputs));
}

// nullopt: it is done. Its inputs are there as long as it is not.
Result<std::optional<std::vector<LoadedPart>>> PlanBook::InputsNow(const MergePlan& plan) {
  PILUM_ASSIGN_OR_RETURN(const StoreView view, LoadView(files_, true, ctx_));
  if (view.IsDone(plan.number)) return std::optional<std::vector<LoadedPart>>();
  auto inputs = InputsOf(plan, view);
  if (!inputs) return Corrupt(files_.PlanPath(plan.number), "", "a part that it takes is gone, and it is not done");
  return inputs;
}

Result<PlanDone> PlanBook::DoWith(const MergePlan& plan, std::vector<LoadedPart> inputs) {
  auto done = DoPlan(files_, plan, inputs, ctx_);
  // Gone while they were read: others did it and swept, or another output of an earlier plan took its twin's place.
  for (int left = 5; left > 0 && !done.ok() && KindOf(done.status()) == ErrorKind::kNotFound; --left) {
    PILUM_ASSIGN_OR_RETURN(auto now, InputsNow(plan));
    if (!now) return PlanDone{};
    done = DoPlan(files_, plan, *now, ctx_);
  }
  if (!done.ok()) return WithContext(fmt::format("plan {}", plan.number), done.status());
  return done;
}

}  // namespace pilum
