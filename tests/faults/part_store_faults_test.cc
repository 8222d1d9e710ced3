// put and reads over a store that fails at the n-th call, for every n: nothing half visible, nothing acknowledged lost,
// a retry completes, and a failing sidecar changes no answer.
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "pilum/index/index_test_data.h"
#include "pilum/part/part_store.h"
#include "tests/faults/fault_store.h"

namespace pilum::testing {
namespace {

std::shared_ptr<arrow::RecordBatch> Rows(int64_t first, int64_t n) {
  arrow::Int64Builder ids;
  arrow::StringBuilder texts;
  for (int64_t i = first; i < first + n; ++i) {
    EXPECT_TRUE(ids.Append(i).ok());
    EXPECT_TRUE((i % 7 == 0 ? texts.AppendNull() : texts.Append("t" + std::to_string(i % 50))).ok());
  }
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int64()), arrow::field("t", arrow::utf8())}),
                                  n, {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
}

Result<PutResult> Put(const std::shared_ptr<ObjectStore>& store, const std::shared_ptr<arrow::RecordBatch>& rows,
                      const PutOptions& options) {
  PILUM_ASSIGN_OR_RETURN(auto parts, PartStore::OpenIn(store, "d"));
  PILUM_ASSIGN_OR_RETURN(auto reader, arrow::RecordBatchReader::Make({rows}));
  ReadContext ctx;
  return parts->Put(*reader, options, ctx);
}

// All ids, ascending; checks that every part is whole.
std::vector<int64_t> Ids(const std::shared_ptr<ObjectStore>& store) {
  std::vector<int64_t> out;
  auto parts = PartStore::OpenIn(store, "d").ValueOrDie();
  ReadContext ctx;
  auto snapshot = parts->OpenSnapshot(true, ctx);
  if (!snapshot.ok()) {
    EXPECT_EQ(KindOf(snapshot.status()), ErrorKind::kNotFound);
    return out;
  }
  for (const auto& unit : (*snapshot)->units()) {
    auto stream = unit->Read({FieldPath{{"id"}}}, RowSet::All(unit->num_rows()), {}, ctx).ValueOrDie();
    while (auto batch = stream->Next().ValueOrDie()) {
      const auto& ids = static_cast<const arrow::Int64Array&>(*batch->column(0));
      for (int64_t i = 0; i < ids.length(); ++i) out.push_back(ids.Value(i));
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

// Parts that the store shows must be sound, and must have their sidecars.
void ExpectSound(const std::shared_ptr<ObjectStore>& store, const std::string& what) {
  auto parts = PartStore::OpenIn(store, "d").ValueOrDie();
  ReadContext ctx;
  auto found = parts->Check(ctx);
  if (!found.ok()) return;  // no part at all
  for (const Status& fault : found->faults) ADD_FAILURE() << what << ": " << fault.ToString();
}

TEST(PartStoreFaults, PutAtEveryCall) {
  constexpr int64_t kRows = 2000;
  const auto rows = Rows(1000, kRows);
  for (const std::string batch : {"", "b1"}) {
    const PutOptions options{.batch_id = batch, .target_part_bytes = 10000};
    for (FaultKind kind : {FaultKind::kBefore, FaultKind::kAfter}) {
      for (bool dies : {false, true}) {
        uint64_t n = 0, failed = 0;
        for (;; ++n) {
          auto memory = ObjectStore::Memory();
          ASSERT_TRUE(Put(memory, Rows(0, 100), {}).ok());
          auto plan = std::make_shared<FaultPlan>();
          plan->fail_at = n;
          plan->kind = kind;
          plan->dies = dies;
          auto result = Put(std::make_shared<FaultStore>(memory, plan), rows, options);
          const std::string what = "batch '" + batch + "' call " + std::to_string(n) + " " + plan->log.back();
          ExpectSound(memory, what);
          auto ids = Ids(memory);
          if (result.ok()) {
            EXPECT_EQ(ids.size(), 100u + kRows) << what;
          } else {
            ++failed;
          }
          EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << what << ": a row counts twice";
          auto retry = Put(memory, rows, options);
          ASSERT_TRUE(retry.ok()) << what << ": " << retry.status().ToString();
          EXPECT_EQ(retry->rows, uint64_t{kRows});
          ids = Ids(memory);
          EXPECT_EQ(ids.size(), 100u + kRows) << what;
          EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end()) << what;
          ExpectSound(memory, what + ", after the retry");
          if (::testing::Test::HasFailure()) return;
          if (plan->calls <= n) break;  // the whole put took fewer calls
        }
        EXPECT_GT(failed, 20u);
        RecordProperty("calls", static_cast<int>(n));
      }
    }
  }
}

TEST(PartStoreFaults, ReadsAtEveryCall) {
  auto memory = ObjectStore::Memory();
  ASSERT_TRUE(Put(memory, Rows(0, 3000), {.target_part_bytes = 20000}).ok());
  Probe probe;
  probe.column = {{"id"}};
  probe.set = ValueSet::Point(Value::Int(1234));
  for (uint64_t n = 0;; ++n) {
    auto plan = std::make_shared<FaultPlan>();
    plan->fail_at = n;
    auto parts = PartStore::OpenIn(std::make_shared<FaultStore>(memory, plan), "d").ValueOrDie();
    ReadContext ctx;
    auto snapshot = parts->OpenSnapshot(true, ctx);
    uint64_t found = 0;
    bool failed = !snapshot.ok();
    for (size_t i = 0; !failed && i < (*snapshot)->units().size(); ++i) {
      const auto& unit = (*snapshot)->units()[i];
      if (!unit->MayMatch(probe, ctx).ValueOrDie()) continue;
      const RowSet rows = unit->Narrow(probe, ctx).ValueOrDie().possible;
      auto stream = unit->Read({FieldPath{{"id"}}}, rows, {}, ctx);
      if (!stream.ok()) {
        failed = true;
        break;
      }
      while (auto batch = (*stream)->Next().ValueOrDie()) {
        const auto& ids = static_cast<const arrow::Int64Array&>(*batch->column(0));
        for (int64_t k = 0; k < ids.length(); ++k) found += ids.Value(k) == 1234;
      }
    }
    // Either an error, or the whole answer: a sidecar that cannot be read costs a scan.
    if (!failed) {
      EXPECT_EQ(found, 1u) << plan->log.back();
    }
    if (n < plan->calls && plan->log[n].find("/side/") != std::string::npos) {
      EXPECT_FALSE(failed) << plan->log[n];
    }
    if (plan->calls <= n) break;
  }
}

}  // namespace
}  // namespace pilum::testing
