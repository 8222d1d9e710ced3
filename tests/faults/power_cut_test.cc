// Changes of a table on a disk that forgets, when the power is cut, whatever was not synced: what was acknowledged is there,
// whole; a cut at any call leaves the state before or after.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "tests/faults/column_changes.h"
#include "tests/faults/fault_store.h"

namespace pilum::testing {
namespace {

class ForgetfulStore final : public ObjectStore {
 public:
  explicit ForgetfulStore(std::shared_ptr<ObjectStore> inner) : inner_(std::move(inner)) {}

  // The power is cut.
  void Forget() {
    for (const std::string& path : unsynced_) EXPECT_TRUE(inner_->Remove(path).ok());
    unsynced_.clear();
  }
  // Without data files: one that a version names and that is forgotten is missed soon enough, and one that was put aside
  // for a while stays where the power is cut before it is removed.
  size_t unsynced() const {
    return static_cast<size_t>(std::count_if(unsynced_.begin(), unsynced_.end(),
                                             [](const std::string& path) { return !path.starts_with("data/"); }));
  }

  const std::string& uri() const override { return inner_->uri(); }
  Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path, ReadContext& ctx) const override {
    return inner_->OpenSource(path, ctx);
  }
  Result<std::unique_ptr<ByteSink>> Create(const std::string& path) override { return inner_->Create(path); }
  Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) override {
    return inner_->PutIfAbsent(path, bytes);
  }
  Result<std::unique_ptr<ByteSink>> CreateUnsynced(const std::string& path) override {
    unsynced_.insert(path);
    return inner_->Create(path);
  }
  Result<bool> PutIfAbsentUnsynced(const std::string& path, std::string_view bytes) override {
    PILUM_ASSIGN_OR_RETURN(const bool put, inner_->PutIfAbsent(path, bytes));
    if (put) unsynced_.insert(path);
    return put;
  }
  Status Sync(const std::vector<std::string>& paths) override {
    for (const std::string& path : paths) unsynced_.erase(path);
    return Status::OK();
  }
  Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) override {
    return inner_->PutFileIfAbsent(path, local_file);
  }
  Result<std::vector<ObjectInfo>> ListBetween(const std::string& prefix, const std::string& after,
                                              const std::string& up_to, ReadContext& ctx) const override {
    return inner_->ListBetween(prefix, after, up_to, ctx);
  }
  Result<StoreTime> Now() const override { return inner_->Now(); }
  Result<std::vector<ObjectInfo>> ListUnfinished(const std::string& prefix) const override {
    return inner_->ListUnfinished(prefix);
  }
  Status RemoveUnfinished(const ObjectInfo& unfinished) override { return inner_->RemoveUnfinished(unfinished); }
  Result<bool> Exists(const std::string& path) const override { return inner_->Exists(path); }
  Status Remove(const std::string& path) override {
    unsynced_.erase(path);
    return inner_->Remove(path);
  }

 private:
  const std::shared_ptr<ObjectStore> inner_;
  std::set<std::string> unsynced_;
};

void CutAtEveryCall(const TableChange& change, bool with_table) {
  auto reference = NumbersTable(with_table);
  const TableState before = Look(reference).ValueOrDie();
  ASSERT_TRUE(change(reference).ok());
  const TableState after = Look(reference).ValueOrDie();
  for (uint64_t n = 0;; ++n) {
    auto store = NumbersTable(with_table);
    auto disk = std::make_shared<ForgetfulStore>(store);
    auto plan = std::make_shared<FaultPlan>();
    plan->fail_at = n;
    plan->dies = true;
    const Status done = change(std::make_shared<FaultStore>(disk, plan));
    if (done.ok()) {
      EXPECT_LE(disk->unsynced(), 1u) << "more than the hint was not synced";
    }
    disk->Forget();
    const std::string what = "call " + std::to_string(n) + ": " + done.ToString();
    auto left = Look(store);
    ASSERT_TRUE(left.ok()) << what << ": " << left.status().ToString();
    if (done.ok()) {
      ASSERT_TRUE(*left == after) << what;
    } else {
      ASSERT_TRUE(*left == before || *left == after) << what;
    }
    const Status next = AppendOne(store);
    ASSERT_TRUE(next.ok()) << what << ": " << next.ToString();
    if (plan->calls <= n) break;
  }
}

TEST(PowerCut, Create) { CutAtEveryCall(Write(WriteMode::kCreate, 0, 50), /*with_table=*/false); }

TEST(PowerCut, EveryChange) {
  for (const auto& [name, change] : TableChanges()) {
    SCOPED_TRACE(name);
    CutAtEveryCall(change, /*with_table=*/true);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(PowerCut, EveryChangeOfColumns) {
  for (const auto& [name, change] : ColumnChanges()) {
    SCOPED_TRACE(name);
    CutAtEveryCall(change, /*with_table=*/true);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace pilum::testing
