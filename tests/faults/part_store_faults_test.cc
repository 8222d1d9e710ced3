// put and reads over a store that fails at the n-th call, for every n: nothing half visible, nothing acknowledged lost,
// a retry completes, and a failing sidecar changes no answer.
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "pilum/index/index_test_data.h"
#include "pilum/part/part_spool.h"
#include "pilum/part/part_store.h"
#include "tests/faults/fault_store.h"
#include "tests/faults/store_rows.h"

namespace pilum::testing {
namespace {

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

// A put that outlasts a sweep's grace: its sidecars were taken for a dead writer's. They are there again once it is done.
TEST(PartStoreFaults, ASlowPutFindsItsSidecarsAgain) {
  for (const bool slow : {false, true}) {
    const auto memory = ObjectStore::Memory();
    const auto plan = std::make_shared<FaultPlan>();
    plan->before = [&](uint64_t) {
      if (!plan->log.back().starts_with("put d/parts/")) return;
      for (const ObjectInfo& side : memory->List("d/side/").ValueOrDie()) EXPECT_TRUE(memory->Remove(side.path).ok());
    };
    const DatasetFiles files{std::make_shared<FaultStore>(memory, plan), "d/", "d", nullptr, nullptr};
    const auto dir = TempDir::Make().ValueOrDie();
    const auto rows = Rows(0, 100);
    auto spool = PartSpool::Make(dir->path() + "/spool", rows->schema(), *rows->schema(),
                                 PartWriteOptions::For(*rows->schema(), FileVersion::kV2_2, std::nullopt).file)
                     .ValueOrDie();
    ASSERT_TRUE(spool->Append(*rows).ok());
    const auto made = spool->Finish().ValueOrDie();
    ReadContext ctx;
    const auto soon = slow ? std::chrono::seconds(0) : std::chrono::hours(1);
    ASSERT_TRUE(PublishPart(files, files.PartPath(made.hash), made.hash, made, ctx, soon).ValueOrDie());
    EXPECT_EQ(memory->List("d/side/").ValueOrDie().size(), slow ? 3u : 0u);
    EXPECT_EQ(Ids(memory).size(), 100u);
    if (slow) ExpectSound(memory, "put again");
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
