// Runs a SelectTail: batch by batch where rows come out as they come in (expressions, DISTINCT), else all at once at the
// first Next (GROUP BY, ORDER BY).
#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/query/project.h"
#include "pilum/query/select/grouping.h"
#include "pilum/query/select/select.h"
#include "pilum/query/select/sorter.h"

namespace pilum {
namespace {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;

class SelectRun final : public QueryResult {
 public:
  SelectRun(std::unique_ptr<QueryResult> rows, std::shared_ptr<const SelectTail> tail, std::string source,
            const Share& share, std::shared_ptr<const Snapshot> all_rows, const QueryOptions& options,
            const ReadContext& ctx)
      : rows_(std::move(rows)),
        tail_(std::move(tail)),
        source_(std::move(source)),
        share_(share),
        all_rows_(std::move(all_rows)),
        options_(options),
        ctx_(ctx),
        to_skip_(share.offset),
        to_give_(share.limit) {
    for (const auto& k : tail_->order) orders_.push_back({k.descending, k.nulls_first});
  }

  const std::shared_ptr<arrow::Schema>& schema() const override { return tail_->schema; }
  const QueryCounts& counts() const override {
    counts_ = rows_->counts();
    counts_.rows_returned = returned_;
    return counts_;
  }
  std::string Explain() const override {
    return fmt::format("answer   {} rows\n", returned_) + SelectText(*tail_, share_) +
           (from_stats_ ? "from     statistics alone: no rows were read\n" : "") + rows_->Explain();
  }

  Result<BatchPtr> Next() override {
    PILUM_RETURN_NOT_OK(failure_);
    auto batch = NextBatch();
    if (!batch.ok()) {
      failure_ = batch.status();
      ready_.reset();
    } else if (*batch) {
      returned_ += static_cast<uint64_t>((*batch)->num_rows());
    }
    return batch;
  }

 private:
  bool Blocks() const { return tail_->grouped || !tail_->order.empty(); }

  Result<BatchPtr> NextBatch() {
    while (true) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      if (to_give_ && *to_give_ == 0) return nullptr;
      if (!ready_) {
        if (Blocks() && done_) return nullptr;
        PILUM_ASSIGN_OR_RETURN(ready_, Blocks() ? All() : Streamed());
        done_ = true;
        at_ = 0;
        if (!ready_) return nullptr;
      }
      const auto left = static_cast<uint64_t>(ready_->num_rows()) - at_;
      const uint64_t skip = std::min(to_skip_, left);
      to_skip_ -= skip;
      at_ += skip;
      const uint64_t n = std::min({left - skip, to_give_.value_or(UINT64_MAX), options_.limits.rows});
      if (n == 0) {
        ready_.reset();
        continue;
      }
      auto out = ready_->Slice(static_cast<int64_t>(at_), static_cast<int64_t>(n));
      at_ += n;
      if (to_give_) *to_give_ -= n;
      if (at_ == static_cast<uint64_t>(ready_->num_rows())) ready_.reset();
      return out;
    }
  }

  // A context over a batch of the plain query: its columns by path.
  EvalContext OverRows(const arrow::RecordBatch& batch) {
    EvalContext in{batch, ctx_, batch.num_rows(), {}, true};
    for (size_t i = 0; i < tail_->inputs.size(); ++i) in.columns[tail_->inputs[i]] = batch.column(static_cast<int>(i));
    return in;
  }

  Status Named(const Status& status) const {
    return KindOf(status) == ErrorKind::kCorrupt ? WithContext(source_, status) : status;
  }

  Result<BatchPtr> Outputs(EvalContext& in) {
    arrow::ArrayVector columns;
    for (size_t i = 0; i < tail_->outputs.size(); ++i) {
      PILUM_ASSIGN_OR_RETURN(auto column, tail_->outputs[i]->Eval(in));
      columns.push_back(std::move(column));
    }
    BatchPtr batch = arrow::RecordBatch::Make(tail_->schema, in.rows, std::move(columns));
    return batch;
  }

  Result<BatchPtr> Streamed() {
    while (true) {
      PILUM_ASSIGN_OR_RETURN(auto batch, rows_->Next());
      if (!batch) return nullptr;
      EvalContext in = OverRows(*batch);
      auto made = Outputs(in);
      if (!made.ok()) return Named(made.status());
      BatchPtr out = std::move(*made);
      if (tail_->distinct) {
        PILUM_ASSIGN_OR_RETURN(out, Fresh(out, nullptr));
      }
      if (out->num_rows() > 0) return out;
    }
  }

  // The rows not met before. `positions`: which they are.
  Result<BatchPtr> Fresh(const BatchPtr& batch, RowSet* positions) {
    arrow::ArrayVector plain;
    for (const auto& column : batch->columns()) {
      PILUM_ASSIGN_OR_RETURN(auto array, Plain(column));
      plain.push_back(std::move(array));
    }
    PILUM_ASSIGN_OR_RETURN(auto keys, RowKeys::Encode(plain, {}, batch->num_rows()));
    RowSet fresh_rows;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (seen_.size() >= GroupTable::kMost) return MakeError(ErrorKind::kMemory, "DISTINCT: over 2^32 rows");
      bool fresh = false;
      seen_.Find(keys[i], &fresh);
      if (fresh) fresh_rows.Append(i, i + 1);
    }
    PILUM_RETURN_NOT_OK(CheckMemory(seen_.bytes()));
    PILUM_ASSIGN_OR_RETURN(auto out, Select(batch, fresh_rows, ctx_.memory_pool()));
    if (positions) *positions = std::move(fresh_rows);
    return out;
  }

  Result<BatchPtr> All() {
    if (!tail_->grouped) return SortRows();
    PILUM_ASSIGN_OR_RETURN(auto groups, Groups());
    EvalContext over{*groups, ctx_, groups->num_rows(), {}, false};
    if (tail_->having) {
      PILUM_ASSIGN_OR_RETURN(Tri t, tail_->having->Eval(over));
      RowSet kept;
      for (int64_t i = 0; i < over.rows; ++i) {
        if (t.is_true[static_cast<size_t>(i / 64)] >> (i % 64) & 1)
          kept.Append(static_cast<uint64_t>(i), static_cast<uint64_t>(i) + 1);
      }
      PILUM_ASSIGN_OR_RETURN(groups, Select(groups, kept, ctx_.memory_pool()));
    }
    if (groups->num_rows() == 0) return nullptr;
    std::optional<EvalContext> in(EvalContext{*groups, ctx_, groups->num_rows(), {}, true});
    if (tail_->order.empty()) {
      PILUM_ASSIGN_OR_RETURN(auto out, Outputs(*in));
      if (!tail_->distinct) return out;
      return Fresh(out, nullptr);
    }
    sorter_.emplace(Keep(), ctx_.memory_pool());
    PILUM_RETURN_NOT_OK(Emit(*in));
    in.reset();
    groups.reset();  // so that columns go as they are put in order
    PILUM_RETURN_NOT_OK(CheckMemory(sorter_->bytes() + seen_.bytes()));
    return sorter_->Finish();
  }

  Result<BatchPtr> Groups() {
    if (all_rows_ && tail_->keys.empty()) {
      PILUM_ASSIGN_OR_RETURN(auto known, GroupFromStats(*tail_, *all_rows_, ctx_));
      from_stats_ = known != nullptr;
      if (known) return known;
    }
    Grouping grouping(*tail_, ctx_.memory_pool());
    while (true) {
      PILUM_ASSIGN_OR_RETURN(auto batch, rows_->Next());
      if (!batch) return grouping.Finish();
      EvalContext in = OverRows(*batch);
      PILUM_RETURN_NOT_OK(Named(grouping.Add(in)));
      PILUM_RETURN_NOT_OK(CheckMemory(grouping.bytes()));
    }
  }

  Result<BatchPtr> SortRows() {
    sorter_.emplace(Keep(), ctx_.memory_pool());
    while (true) {
      PILUM_ASSIGN_OR_RETURN(auto batch, rows_->Next());
      if (!batch) return sorter_->Finish();
      EvalContext in = OverRows(*batch);
      PILUM_RETURN_NOT_OK(Named(Emit(in)));
      if (sorter_->bytes() + seen_.bytes() > options_.memory_limit) PILUM_RETURN_NOT_OK(sorter_->Trim());
      PILUM_RETURN_NOT_OK(CheckMemory(sorter_->bytes() + seen_.bytes()));
    }
  }

  // The outputs of a batch, with the keys they are sorted by, to the sorter.
  Status Emit(EvalContext& in) {
    PILUM_ASSIGN_OR_RETURN(auto out, Outputs(in));
    arrow::ArrayVector order;
    for (const auto& key : tail_->order) {
      PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*key.value, in));
      order.push_back(std::move(array));
    }
    PILUM_ASSIGN_OR_RETURN(auto keys, RowKeys::Encode(order, orders_, in.rows));
    if (tail_->distinct) {
      RowSet fresh;
      PILUM_ASSIGN_OR_RETURN(out, Fresh(out, &fresh));
      std::vector<std::string_view> kept;
      for (const RowRange& run : fresh.ranges()) {
        for (uint64_t i = run.begin; i < run.end; ++i) kept.push_back(keys[i]);
      }
      keys = RowKeys::Of(kept);
    }
    return sorter_->Add(std::move(out), std::move(keys));
  }

  std::optional<uint64_t> Keep() const {
    if (!share_.limit || *share_.limit > UINT64_MAX - share_.offset) return std::nullopt;
    return *share_.limit + share_.offset;
  }

  Status CheckMemory(uint64_t bytes) const {
    if (bytes <= options_.memory_limit) return Status::OK();
    return MakeError(ErrorKind::kMemory,
                     fmt::format("groups, distinct values or rows to sort take {} bytes, over the memory limit of {}",
                                 bytes, options_.memory_limit));
  }

  std::unique_ptr<QueryResult> rows_;
  std::shared_ptr<const SelectTail> tail_;
  const std::string source_;
  const Share share_;
  std::shared_ptr<const Snapshot> all_rows_;
  const QueryOptions options_;
  ReadContext ctx_;
  std::vector<KeyOrder> orders_;
  GroupTable seen_;  // of DISTINCT
  std::optional<Sorter> sorter_;
  BatchPtr ready_;  // being given out
  uint64_t at_ = 0, to_skip_, returned_ = 0;
  std::optional<uint64_t> to_give_;
  bool done_ = false, from_stats_ = false;
  Status failure_;
  mutable QueryCounts counts_;
};

}  // namespace

std::unique_ptr<QueryResult> RunSelect(std::unique_ptr<QueryResult> rows, std::shared_ptr<const SelectTail> tail,
                                       std::string source, const Share& share, std::shared_ptr<const Snapshot> all_rows,
                                       const QueryOptions& options, const ReadContext& ctx) {
  return std::make_unique<SelectRun>(std::move(rows), std::move(tail), std::move(source), share, std::move(all_rows),
                                     options, ctx);
}

std::string SelectText(const SelectTail& tail, const Share& share) {
  std::string out;
  auto list = [](const auto& items, auto text) {
    std::string s;
    for (const auto& i : items) s += (s.empty() ? "" : ", ") + text(i);
    return s.empty() ? std::string("nothing") : s;
  };
  if (tail.grouped) {
    out += fmt::format("group    by {}; {}\n", list(tail.keys, [](const ValuePtr& k) { return k->ToString(); }),
                       list(tail.aggregates, [](const Aggregate& a) { return a.text; }));
    if (tail.having) out += fmt::format("having   {}\n", tail.having->node()->text);
  }
  out += fmt::format("select   {}{}\n", tail.distinct ? "distinct " : "",
                     list(tail.schema->fields(), [](const auto& f) { return f->name(); }));
  if (!tail.order.empty()) {
    out += fmt::format("order    by {}\n", list(tail.order, [](const OrderKey& k) {
                         return k.value->ToString() + (k.descending ? " desc" : "") +
                                (k.nulls_first ? " nulls first" : "");
                       }));
  }
  if (share.limit || share.offset > 0)
    out += fmt::format("limit    {}, offset {}\n", share.limit ? fmt::to_string(*share.limit) : "none", share.offset);
  return out;
}

}  // namespace pilum
