#include "pilum/query/execute.h"

#include <algorithm>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/query/project.h"
#include "pilum/query/recheck.h"
#include "pilum/source/field_path.h"

namespace pilum {
namespace {

// Rows are taken in rounds: a round's first read is done before its second begins, so a round bounds the memory for
// matching row numbers and, under LIMIT, the rows decoded in vain. Rounds grow, so that many rows take few requests.
constexpr uint64_t kFirstRound = 16 * 1024;   // with LIMIT
constexpr uint64_t kLastRound = 1024 * 1024;  // without, from the start
constexpr uint64_t kRoundGrowth = 4;

// Where the first parts of an AND keep at most this share of the rows, the others' columns are read of those rows alone.
constexpr double kFew = 1.0 / 16;

// Batches of the wanted rows; when no column is wanted, batches that have only a length.
class RowReader {
 public:
  static Result<RowReader> Make(const Unit& unit, const std::vector<FieldPath>& columns, RowSet rows,
                                const BatchLimits& limits, const ReadContext& ctx) {
    RowReader r;
    r.rows_ = std::move(rows);
    r.limit_ = limits.rows;
    r.size_ = r.rows_.size();
    if (!columns.empty() && r.size_ > 0) {
      PILUM_ASSIGN_OR_RETURN(r.stream_, unit.Read(columns, r.rows_, limits, ctx));
    }
    return r;
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() {
    std::shared_ptr<arrow::RecordBatch> batch;
    if (stream_) {
      PILUM_ASSIGN_OR_RETURN(batch, stream_->Next());
    } else if (given_ < size_) {
      batch = arrow::RecordBatch::Make(arrow::schema({}), static_cast<int64_t>(std::min(limit_, size_ - given_)),
                                       arrow::ArrayVector{});
    }
    const uint64_t n = batch ? static_cast<uint64_t>(batch->num_rows()) : 0;
    if (n > size_ - given_ || (!batch && given_ < size_)) {
      return Status::Invalid("a unit gave ", given_ + n, " rows where ", size_, " were asked for");
    }
    batch_rows_ = rows_.SliceByRank(given_, n);
    given_ += n;
    return batch;
  }
  const RowSet& batch_rows() const { return batch_rows_; }  // of the batch that Next gave last

 private:
  RowSet rows_, batch_rows_;
  uint64_t limit_ = 0, size_ = 0, given_ = 0;
  std::unique_ptr<BatchStream> stream_;
};

class UnitReadImpl final : public UnitRead {
 public:
  UnitReadImpl(const Plan& plan, const Unit& unit, Candidates candidates, QueryProgress* progress,
               const ReadContext& ctx)
      : plan_(plan),
        unit_(unit),
        certain_(std::move(candidates.certain)),
        possible_(std::move(candidates.possible)),
        progress_(*progress),
        ctx_(ctx),
        num_possible_(possible_.size()) {
    // Certain rows need no predicate column, so one read for both must not decode more than two would.
    const bool any_certain = !certain_.empty();
    one_read_ =
        plan.filter_covers_output && num_possible_ > certain_.size() && (!any_certain || plan.output_covers_filter);
    if (certain_.size() == num_possible_)
      round_ = num_possible_;
    else
      round_ = progress_.to_give ? kFirstRound : kLastRound;
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      if (own_ && progress_.finished()) return nullptr;
      if (reader_) {
        PILUM_ASSIGN_OR_RETURN(auto batch, reader_->Next());
        if (batch && own_) {
          PILUM_ASSIGN_OR_RETURN(batch, FilterOwn(std::move(batch)));
          if (batch->num_rows() == 0) continue;
        }
        if (batch) return Project(*batch, plan_.query.columns, plan_.schema, ctx_.memory_pool());
        reader_.reset();
      }
      if (done_ == num_possible_ || progress_.finished()) return nullptr;
      PILUM_RETURN_NOT_OK(StartRound());
    }
  }

 private:
  Status StartRound() {
    const RowSet rows = done_ == 0 && round_ >= num_possible_ ? possible_ : possible_.SliceByRank(done_, round_);
    done_ = std::min(num_possible_, done_ + round_);
    round_ = std::min(std::max(round_, kLastRound), round_ * kRoundGrowth);
    const RowSet unsure = rows.Minus(certain_);
    PILUM_RETURN_NOT_OK(SetOrder(unsure.size()));
    own_ = one_read_ && first_parts_ == 0;
    if (own_) return Open(plan_.filter_columns, rows);
    PILUM_ASSIGN_OR_RETURN(RowSet matching, Match(unsure));
    return Open(plan_.output_columns, TakeShare(rows.Intersect(certain_).Union(matching)));
  }

  // Before a round that rechecks so many rows: the order of the predicate's parts, and which of them go first alone.
  Status SetOrder(uint64_t rows) {
    first_parts_ = 0;
    EvalOrder* order = progress_.order.get();
    if (!order || rows == 0) return Status::OK();
    if (plan_.options.use_index && !learned_ &&
        progress_.counts.rows_rechecked + rows >= plan_.options.statistics_after) {
      learned_ = true;
      PILUM_RETURN_NOT_OK(order->Learn(unit_, ctx_));
    }
    order->Rank();
    if (plan_.part_columns.empty()) return Status::OK();
    const size_t first = order->FewAfter(kFew);
    if (first == 0) return Status::OK();
    std::vector<FieldPath> columns[2];
    const auto parts = order->PartsOf(plan_.query.where->root());
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto& own = plan_.part_columns[parts[i]];
      columns[i >= first].insert(columns[i >= first].end(), own.begin(), own.end());
    }
    first_columns_ = MinimalPaths(columns[0]);
    last_columns_ = MinimalPaths(columns[1]);
    const bool more = !std::all_of(last_columns_.begin(), last_columns_.end(),
                                   [&](const FieldPath& p) { return IsCovered(p, first_columns_); });
    if (more) first_parts_ = first;
    return Status::OK();
  }

  // First read and recheck: the rows of `unsure` that match.
  Result<RowSet> Match(const RowSet& unsure) {
    progress_.counts.rows_rechecked += unsure.size();
    if (first_parts_ == 0) return Filter(unsure, plan_.filter_columns);
    std::optional<EvalOrder::OnlyPart> part(std::in_place, progress_.order.get(), 0, first_parts_);
    PILUM_ASSIGN_OR_RETURN(RowSet left, Filter(unsure, first_columns_));
    part.reset();
    part.emplace(progress_.order.get(), first_parts_, SIZE_MAX);
    return Filter(left, last_columns_);
  }

  Result<RowSet> Filter(const RowSet& rows, const std::vector<FieldPath>& columns) {
    RowSet found;
    if (rows.empty()) return found;
    PILUM_ASSIGN_OR_RETURN(auto reader, RowReader::Make(unit_, columns, rows, plan_.options.limits, ctx_));
    while (true) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      PILUM_ASSIGN_OR_RETURN(auto batch, reader.Next());
      if (!batch) return found;
      PILUM_ASSIGN_OR_RETURN(RowSet positions, RecheckHere(*batch));
      const RowSet rows_here = PositionsToRows(positions, reader.batch_rows());
      for (const RowRange& r : rows_here.ranges()) found.Append(r.begin, r.end);
    }
  }

  // Damage that only the predicate meets (of JSONB) has no name of a file yet.
  Result<RowSet> RecheckHere(const arrow::RecordBatch& batch) {
    auto positions = Recheck(*plan_.query.where, batch, progress_.order.get(), ctx_);
    if (!positions.ok() && KindOf(positions.status()) == ErrorKind::kCorrupt) {
      return WithContext(unit_.name(), positions.status());
    }
    return positions;
  }

  // One read for both: the matching rows of a batch of the first read.
  Result<std::shared_ptr<arrow::RecordBatch>> FilterOwn(std::shared_ptr<arrow::RecordBatch> batch) {
    const uint64_t n = static_cast<uint64_t>(batch->num_rows());
    RowSet positions = RowSet::All(n);
    if (!reader_->batch_rows().IsSubsetOf(certain_)) {
      progress_.counts.rows_rechecked += n;
      PILUM_ASSIGN_OR_RETURN(positions, RecheckHere(*batch));
    }
    return Select(batch, TakeShare(positions), ctx_.memory_pool());
  }

  // Of matching rows, in order, those that OFFSET and LIMIT leave.
  RowSet TakeShare(const RowSet& matching) {
    const uint64_t n = matching.size();
    progress_.counts.rows_matched += n;
    const uint64_t skip = std::min(progress_.to_skip, n);
    const uint64_t take = std::min(n - skip, progress_.to_give.value_or(n));
    progress_.to_skip -= skip;
    if (progress_.to_give) *progress_.to_give -= take;
    return take == n ? matching : matching.SliceByRank(skip, take);
  }

  Status Open(const std::vector<FieldPath>& columns, RowSet rows) {
    if (rows.empty()) return Status::OK();
    ReadContext ctx = ctx_;
    if (own_ && progress_.to_give)
      ctx.threads = 1;  // may stop inside the round: nothing decoded ahead, the same counts always
    PILUM_ASSIGN_OR_RETURN(reader_, RowReader::Make(unit_, columns, std::move(rows), plan_.options.limits, ctx));
    return Status::OK();
  }

  const Plan& plan_;
  const Unit& unit_;
  const RowSet certain_, possible_;
  QueryProgress& progress_;
  ReadContext ctx_;
  const uint64_t num_possible_;
  bool one_read_ = false, own_ = false;  // may one read serve both; does it in this round
  bool learned_ = false;
  size_t first_parts_ = 0;  // of the predicate, which are asked before the others' columns are read; 0: all at once
  std::vector<FieldPath> first_columns_, last_columns_;
  uint64_t round_ = 0, done_ = 0;  // rows of possible_, by rank
  std::optional<RowReader> reader_;
};

}  // namespace

std::unique_ptr<UnitRead> MakeUnitRead(const Plan& plan, const Unit& unit, Candidates candidates,
                                       QueryProgress* progress, const ReadContext& ctx) {
  return std::make_unique<UnitReadImpl>(plan, unit, std::move(candidates), progress, ctx);
}

}  // namespace pilum
