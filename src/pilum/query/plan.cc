#include "pilum/query/plan.h"

#include <algorithm>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/query/execute.h"
#include "pilum/query/narrow.h"
#include "pilum/query/open_ahead.h"
#include "pilum/query/project.h"
#include "pilum/query/prune.h"
#include "pilum/query/select/select.h"
#include "pilum/source/field_path.h"

namespace pilum {
namespace {

bool AllCovered(const std::vector<FieldPath>& paths, const std::vector<FieldPath>& by) {
  return std::all_of(paths.begin(), paths.end(), [&](const FieldPath& p) { return IsCovered(p, by); });
}

class RunningQuery final : public QueryResult {
 public:
  RunningQuery(Plan plan, const ReadContext& ctx) : plan_(std::move(plan)), ctx_(ctx) {
    progress_.to_skip = plan_.query.offset;
    progress_.to_give = plan_.query.limit;
    progress_.counts.units = plan_.snapshot->units().size();
    for (const auto& unit : plan_.snapshot->units()) progress_.counts.rows_total += unit->num_rows();
    if (!plan_.query.where) return;
    auto order = std::make_unique<EvalOrder>(plan_.query.where->root(), *plan_.snapshot->schema());
    if (order->has_choice()) progress_.order = std::move(order);
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return plan_.schema; }
  const QueryCounts& counts() const override { return progress_.counts; }
  std::string Explain() const override { return ExplainText(plan_, progress_, ctx_); }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    PILUM_RETURN_NOT_OK(failure_);
    auto batch = NextBatch();
    if (!batch.ok()) return failure_ = Failure(batch.status());
    progress_.counts.evaluations = progress_.order ? progress_.order->evaluations() : progress_.counts.rows_rechecked;
    if (*batch)
      progress_.counts.rows_returned += static_cast<uint64_t>((*batch)->num_rows());
    else
      progress_.ended = true;
    return batch;
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> NextBatch() {
    const auto& units = plan_.snapshot->units();
    if (next_unit_ == 0 && plan_.query.where && plan_.options.use_index)
      PILUM_RETURN_NOT_OK(plan_.snapshot->Prepare(ProbesOf(plan_.query.where->root()), ctx_));
    // Under LIMIT units may be opened in vain.
    if (next_unit_ == 0 && !plan_.query.limit)
      ahead_ = OpenAhead::Make(*plan_.snapshot, plan_.query.where ? plan_.filter_columns : plan_.output_columns, ctx_);
    while (true) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      if (reading_) {
        PILUM_ASSIGN_OR_RETURN(auto batch, reading_->Next());
        if (batch) return batch;
        reading_.reset();
      }
      if (next_unit_ == units.size() || progress_.finished()) return nullptr;
      if (ahead_) ahead_->Reached(next_unit_);
      PILUM_RETURN_NOT_OK(Start(*units[next_unit_++]));
    }
  }

  // One unit, stage by stage.
  Status Start(const Unit& unit) {
    const bool use_index = plan_.options.use_index;
    Candidates candidates{RowSet::All(unit.num_rows()), RowSet::All(unit.num_rows()), {}};
    if (const BoundPredicate* where = plan_.query.where.get()) {
      PILUM_ASSIGN_OR_RETURN(bool may_match, MayMatch(where->root(), unit, use_index, ctx_));
      if (!may_match) {
        Note(unit, UnitOutcome::Kind::kPruned);
        return Status::OK();
      }
      PILUM_ASSIGN_OR_RETURN(candidates, Narrow(where->root(), unit, use_index, ctx_));
    }
    if (candidates.possible.empty()) {
      Note(unit, UnitOutcome::Kind::kNarrowedAway);
      return Status::OK();
    }
    Note(unit, UnitOutcome::Kind::kRead, candidates.possible.size(), candidates.certain.size());
    reading_ = MakeUnitRead(plan_, unit, std::move(candidates), &progress_, ctx_);
    return Status::OK();
  }

  // What became of the unit, once its index was asked.
  void Note(const Unit& unit, UnitOutcome::Kind kind, uint64_t candidates = 0, uint64_t certain = 0) {
    QueryCounts& counts = progress_.counts;
    counts.units_pruned += kind == UnitOutcome::Kind::kPruned;
    counts.units_read += kind == UnitOutcome::Kind::kRead;
    counts.rows_candidate += candidates;
    counts.rows_certain += certain;
    progress_.units.push_back({&unit, kind, candidates, certain});
    if (!plan_.options.use_index || !plan_.query.where) return;
    if (std::string note = unit.index_note(); !note.empty())
      counts.notes.push_back(fmt::format("{}: {}", unit.name(), note));
  }

  // A read that was stopped says how far it had come.
  Status Failure(const Status& status) {
    reading_.reset();
    ahead_.reset();
    const ErrorKind kind = KindOf(status);
    if (kind != ErrorKind::kDeadline && kind != ErrorKind::kCancelled) return status;
    return MakeError(kind, fmt::format("{} (by then: {})", status.message(), ProgressText(progress_, ctx_)));
  }

  Plan plan_;
  ReadContext ctx_;
  QueryProgress progress_;
  std::unique_ptr<OpenAhead> ahead_;
  std::unique_ptr<UnitRead> reading_;
  size_t next_unit_ = 0;
  Status failure_;
};

bool Among(const std::vector<FieldPath>& paths, const FieldPath& path) {
  return std::find(paths.begin(), paths.end(), path) != paths.end();
}

// JSON that only json_* functions look at is read as it is stored: no text is made of it. Where one read may serve the filter
// and the answer, both must look at nothing else.
void ReadJsonAsStored(Plan* plan) {
  const BoundQuery& query = plan->query;
  const bool shared = plan->filter_covers_output;
  const auto stored = [&](const FieldPath& path) { return plan->snapshot->has_stored_json(path); };
  const auto answer_looks = [&](const FieldPath& path) { return query.tail && Among(query.tail->json_only, path); };
  const auto in_filter = [&](FieldPath& path) {
    if (!Among(query.where->json_only(), path) || !stored(path)) return;
    if (!shared || answer_looks(path) || !IsCovered(path, plan->output_columns)) path = StoredJson(std::move(path));
  };
  for (FieldPath& path : plan->filter_columns) in_filter(path);
  for (auto& part : plan->part_columns) {
    for (FieldPath& path : part) in_filter(path);
  }
  arrow::FieldVector fields = plan->schema->fields();
  for (FieldPath& path : plan->output_columns) {
    if (!answer_looks(path) || !stored(path)) continue;
    if (shared && !Among(plan->filter_columns, StoredJson(path))) continue;
    for (size_t i = 0; i < query.columns.size(); ++i) {
      if (query.columns[i] == path) fields[i] = fields[i]->WithType(arrow::large_binary());
    }
    path = StoredJson(std::move(path));
  }
  plan->schema = arrow::schema(std::move(fields), plan->schema->metadata());
}

}  // namespace

Result<Plan> MakePlan(std::shared_ptr<const Snapshot> snapshot, BoundQuery query, const QueryOptions& options) {
  Plan plan;
  plan.snapshot = std::move(snapshot);
  plan.options = options;
  plan.options.limits.rows = std::max<uint64_t>(1, options.limits.rows);
  PILUM_ASSIGN_OR_RETURN(plan.schema, OutputSchema(*plan.snapshot->schema(), query));
  if (query.where) plan.filter_columns = MinimalPaths(query.where->columns());
  if (query.where) plan.part_columns = query.where->conjunct_columns();
  plan.output_columns = MinimalPaths(query.columns);
  plan.filter_covers_output = query.where && AllCovered(plan.output_columns, plan.filter_columns);
  plan.output_covers_filter = AllCovered(plan.filter_columns, plan.output_columns);
  plan.query = std::move(query);
  ReadJsonAsStored(&plan);
  return plan;
}

Result<std::unique_ptr<QueryResult>> RunOnce(std::shared_ptr<const Snapshot> snapshot, BoundQuery query,
                                             const QueryOptions& options, const ReadContext& ctx) {
  auto tail = query.tail;
  Share share;
  if (tail && TakesAllRows(*tail)) {
    share = {std::exchange(query.limit, std::nullopt), std::exchange(query.offset, 0)};
  }
  const auto all_rows = query.where || !options.use_index || query.limit || query.offset > 0 ? nullptr : snapshot;
  std::string source = snapshot->name();
  PILUM_ASSIGN_OR_RETURN(Plan plan, MakePlan(std::move(snapshot), std::move(query), options));
  std::unique_ptr<QueryResult> rows = std::make_unique<RunningQuery>(std::move(plan), ctx);
  if (!tail) return rows;
  return RunSelect(std::move(rows), std::move(tail), std::move(source), share, all_rows, options, ctx);
}

}  // namespace pilum
