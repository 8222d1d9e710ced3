// A query whose units may go while it runs: parts of a store that are merged and swept. As long as no row was given out it
// starts over on what is there now.
#include "pilum/query/plan.h"

namespace pilum {
namespace {

class RenewingQuery final : public QueryResult {
 public:
  RenewingQuery(std::unique_ptr<QueryResult> run, std::shared_ptr<const Snapshot> snapshot, BoundQuery query,
                const QueryOptions& options, const ReadContext& ctx)
      : run_(std::move(run)),
        schema_(run_->schema()),
        snapshot_(std::move(snapshot)),
        query_(std::move(query)),
        options_(options),
        ctx_(ctx) {}

  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  const QueryCounts& counts() const override { return run_->counts(); }
  std::string Explain() const override { return run_->Explain(); }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    while (true) {
      auto batch = run_->Next();
      if (batch.ok()) {
        given_ = given_ || *batch;
        return batch;
      }
      if (given_ || renewals_ == kMostRenewals || KindOf(batch.status()) != ErrorKind::kNotFound) return batch;
      ++renewals_;
      PILUM_ASSIGN_OR_RETURN(auto now, snapshot_->Renew(ctx_));
      if (!now) return batch;
      PILUM_ASSIGN_OR_RETURN(run_, RunOnce(now, query_, options_, ctx_));
      snapshot_ = std::move(now);
    }
  }

 private:
  static constexpr int kMostRenewals = 10;
  std::unique_ptr<QueryResult> run_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<const Snapshot> snapshot_;
  const BoundQuery query_;
  const QueryOptions options_;
  ReadContext ctx_;
  bool given_ = false;
  int renewals_ = 0;
};

}  // namespace

Result<std::unique_ptr<QueryResult>> RunQuery(std::shared_ptr<const Snapshot> snapshot, BoundQuery query,
                                              const QueryOptions& options, const ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto run, RunOnce(snapshot, query, options, ctx));
  return std::make_unique<RenewingQuery>(std::move(run), std::move(snapshot), std::move(query), options, ctx);
}

}  // namespace pilum
