// Changes of a table on a disk that forgets, when the power is cut, whatever was not synced: what was acknowledged is there,
// whole; a cut at any call leaves the state before or after.
#include <gtest/gtest.h>

#include "tests/faults/at_every_fault.h"
#include "tests/faults/column_changes.h"

namespace pilum::testing {
namespace {

void CutAtEveryCall(const TableChange& change, bool with_table) {
  auto reference = NumbersTable(with_table);
  const TableState before = Look(reference).ValueOrDie();
  ASSERT_TRUE(change(reference).ok());
  const TableState after = Look(reference).ValueOrDie();
  AtEveryCut(
      change, [&] { return NumbersTable(with_table); },
      [&](const auto& store, size_t unsynced, const Status& done, const std::string& what) {
        if (done.ok()) {
          EXPECT_LE(unsynced, 1u) << "more than the hint was not synced";
        }
        auto left = Look(store);
        ASSERT_TRUE(left.ok()) << what << ": " << left.status().ToString();
        if (done.ok()) {
          ASSERT_TRUE(*left == after) << what;
        } else {
          ASSERT_TRUE(*left == before || *left == after) << what;
        }
        const Status next = AppendOne(store);
        ASSERT_TRUE(next.ok()) << what << ": " << next.ToString();
      });
}

TEST(PowerCut, Create) { CutAtEveryCall(Write(WriteMode::kCreate, 0, 50), /*with_table=*/false); }

TEST(PowerCut, EveryChange) {
  EachChange(TableChanges(), [](const TableChange& change) { CutAtEveryCall(change, /*with_table=*/true); });
}

TEST(PowerCut, EveryChangeOfColumns) {
  EachChange(ColumnChanges(), [](const TableChange& change) { CutAtEveryCall(change, /*with_table=*/true); });
}

}  // namespace
}  // namespace pilum::testing
