#include "pilum/query/open_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>

#include <arrow/api.h>

#include "pilum/query/query.h"
#include "tests/support/memory_snapshot.h"

namespace pilum {
namespace {

using testing::MemoryStream;

std::shared_ptr<arrow::RecordBatch> OneRow() {
  arrow::Int64Builder b;
  EXPECT_TRUE(b.Append(7).ok());
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("a", arrow::int64())}), 1, {b.Finish().ValueOrDie()});
}

// A unit that a distant store takes its time to open, or never answers for.
class SlowUnit final : public Unit {
 public:
  explicit SlowUnit(bool hangs) : hangs_(hangs) {}
  const std::string& name() const override { return name_; }
  uint64_t num_rows() const override { return 1; }
  Result<bool> MayMatch(const Probe&, ReadContext&) const override { return true; }
  Result<Candidates> Narrow(const Probe&, ReadContext&) const override { return Candidates::Unknown(1); }
  std::string index_note() const override { return {}; }
  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>&, const RowSet& rows,
                                            const BatchLimits& limits, const ReadContext& ctx) const override {
    ReadContext own = ctx;
    OpenAhead({}, own);
    return std::make_unique<MemoryStream>(OneRow(), rows, limits);
  }
  void OpenAhead(const std::vector<FieldPath>&, ReadContext& ctx) const override {
    std::lock_guard lock(mutex_);
    if (opens > 0) return;
    if (hangs_) {
      while (ctx.Check().ok()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return;
    }
    const int now = ++at_once;
    for (int most = most_at_once; now > most && !most_at_once.compare_exchange_weak(most, now);) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    --at_once;
    ++opens;
  }
  mutable std::atomic<int> opens{0};
  static inline std::atomic<int> at_once{0}, most_at_once{0};

 private:
  const bool hangs_;
  const std::string name_ = "unit";
  mutable std::mutex mutex_;
};

class Distant final : public Snapshot {
 public:
  Distant(size_t n, size_t hangs_from) : schema_(OneRow()->schema()) {
    cost_.parallel = 8;
    for (size_t i = 0; i < n; ++i) units_.push_back(std::make_shared<SlowUnit>(i >= hangs_from));
  }
  const std::string& name() const override { return name_; }
  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  const std::vector<std::shared_ptr<const Unit>>& units() const override { return units_; }
  Status CheckColumn(const std::string&) const override { return Status::OK(); }
  const ReadCost* ahead() const override { return &cost_; }
  int opens() const {
    int n = 0;
    for (const auto& unit : units_) n += static_cast<const SlowUnit&>(*unit).opens;
    return n;
  }

 private:
  const std::string name_ = "distant";
  std::shared_ptr<arrow::Schema> schema_;
  ReadCost cost_ = ReadCost::Remote();
  std::vector<std::shared_ptr<const Unit>> units_;
};

Result<uint64_t> Drain(QueryResult& result) {
  uint64_t rows = 0;
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto batch, result.Next());
    if (!batch) return rows;
    rows += static_cast<uint64_t>(batch->num_rows());
  }
}

std::unique_ptr<QueryResult> Ask(const std::shared_ptr<Distant>& snapshot, const std::string& sql,
                                 const ReadContext& ctx) {
  return RunQuery(snapshot, BindQuery(sql, *snapshot, {}).ValueOrDie(), {}, ctx).ValueOrDie();
}

TEST(OpenAhead, ManyUnitsAreOpenedAtOnceAndEachOnce) {
  auto snapshot = std::make_shared<Distant>(80, 80);
  auto result = Ask(snapshot, "SELECT a FROM t", {});
  EXPECT_EQ(Drain(*result).ValueOrDie(), 80u);
  EXPECT_EQ(snapshot->opens(), 80);
  EXPECT_GT(SlowUnit::most_at_once, 1) << "one after another";
  EXPECT_LE(SlowUnit::most_at_once, 8 + 1) << "beside the one that is read";
}

TEST(OpenAhead, NotUnderLimit) {
  auto snapshot = std::make_shared<Distant>(80, 80);
  auto result = Ask(snapshot, "SELECT a FROM t LIMIT 2", {});
  EXPECT_EQ(Drain(*result).ValueOrDie(), 2u);
  EXPECT_EQ(snapshot->opens(), 2);
}

TEST(OpenAhead, AReadThatEndsOrIsStoppedWaitsForNobody) {
  auto snapshot = std::make_shared<Distant>(20, 2);
  {
    auto result = Ask(snapshot, "SELECT a FROM t", {});
    EXPECT_TRUE(result->Next().ok());
  }  // let go of, with eight units that never open
  std::stop_source stop;
  ReadContext ctx;
  ctx.stop = stop.get_token();
  auto result = Ask(snapshot, "SELECT a FROM t", ctx);
  std::jthread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    stop.request_stop();
  });
  EXPECT_EQ(KindOf(Drain(*result).status()), ErrorKind::kCancelled);
  ctx = {};
  ctx.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  result = Ask(snapshot, "SELECT a FROM t", ctx);
  EXPECT_EQ(KindOf(Drain(*result).status()), ErrorKind::kDeadline);
}

}  // namespace
}  // namespace pilum
