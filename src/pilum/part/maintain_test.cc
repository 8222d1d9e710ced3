// Bundles of prune headers: what they save, that they change no answer however wrong, and how maintain and sweep keep them.
#include "pilum/part/maintain.h"

#include <gtest/gtest.h>

#include <arrow/api.h>

#include <thread>

#include "pilum/base/hash.h"
#include "pilum/part/bundle_book.h"
#include "pilum/part/part_cache.h"
#include "pilum/part/part_spool.h"

namespace pilum {
namespace {

using arrow::field;
using std::chrono::hours;

class MaintainTest : public ::testing::Test {
 protected:
  // Part p of `count` rows: ids from 1000 p on in steps of 2, texts "t<id>".
  std::shared_ptr<arrow::RecordBatch> Rows(int64_t p, int64_t count = 10) {
    arrow::Int64Builder ids;
    arrow::StringBuilder texts;
    for (int64_t i = 0; i < count; ++i) {
      EXPECT_TRUE(ids.Append(p * 1000 + i * 2).ok());
      EXPECT_TRUE(texts.Append("t" + std::to_string(p * 1000 + i * 2)).ok());
    }
    return arrow::RecordBatch::Make(arrow::schema({field("id", arrow::int64()), field("t", arrow::utf8())}), count,
                                    {ids.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
  }
  void Put(int64_t first, int64_t end, const std::string& batch = "") {
    for (int64_t p = first; p < end; ++p) {
      auto reader = arrow::RecordBatchReader::Make({Rows(p)}).ValueOrDie();
      ReadContext ctx;
      PutOptions options;
      if (!batch.empty()) options.batch_id = batch + std::to_string(p);
      ASSERT_TRUE(Handle()->Put(*reader, options, ctx).ok());
    }
  }
  std::shared_ptr<PartStore> Handle() { return PartStore::OpenIn(store_, "d").ValueOrDie(); }
  CacheRefresh Maintain(bool all = false) {
    ReadContext ctx;
    return Handle()->Maintain({all}, ctx).ValueOrDie().caches.at(0);
  }
  SweepResult Sweep(std::chrono::microseconds grace = hours(24)) {
    ReadContext ctx;
    return Handle()->Sweep({grace, false}, ctx).ValueOrDie();
  }
  std::vector<ObjectInfo> Bundles() { return store_->List("d/bundles/").ValueOrDie(); }

  struct Opened {
    std::shared_ptr<const Snapshot> snapshot;
    uint64_t opens = 0;
  };
  Opened Open(const std::shared_ptr<PartStore>& handle, bool use_index = true) {
    ReadStats stats;
    ReadContext ctx;
    ctx.stats = &stats;
    auto snapshot = handle->OpenSnapshot(use_index, ctx).ValueOrDie();
    return {snapshot, stats.opens};
  }
  static Probe Id(int64_t id) {
    Probe p;
    p.column = {{"id"}};
    p.set = ValueSet::Point(Value::Int(id));
    return p;
  }
  static Probe Text(int64_t id) {
    Probe p;
    p.column = {{"t"}};
    p.set = ValueSet::Point(Value::Text("t" + std::to_string(id)));
    return p;
  }
  // Of each probe, the units that may match, as a listing without bundles would say and as this one does: the same.
  static std::vector<std::string> Kept(const Snapshot& snapshot, const std::vector<Probe>& probes) {
    ReadContext ctx;
    EXPECT_TRUE(snapshot.Prepare(probes, ctx).ok());
    std::vector<std::string> out;
    for (const auto& unit : snapshot.units()) {
      std::string kept = unit->name() + ":";
      for (const Probe& probe : probes) kept += unit->MayMatch(probe, ctx).ValueOrDie() ? "1" : "0";
      out.push_back(kept);
    }
    return out;
  }
  std::vector<Probe> Probes(int64_t parts) {
    std::vector<Probe> out;
    for (int64_t p = 0; p < parts; p += 3) {
      for (int64_t id : {p * 1000, p * 1000 + 18, p * 1000 + 7, p * 1000 + 500}) {
        out.push_back(Id(id));
        out.push_back(Text(id));
      }
    }
    Probe null = Id(0);
    null.kind = Probe::Kind::kIsNull;
    out.push_back(null);
    return out;
  }
  void ExpectSound() {
    ReadContext ctx;
    for (const Status& fault : Handle()->Check(ctx).ValueOrDie().faults) ADD_FAILURE() << fault.ToString();
  }
  // No row that a probe means is in a unit that it drops.
  void ExpectNothingLost(int64_t parts, const std::vector<int64_t>& others = {}) {
    ReadContext ctx;
    const auto snapshot = Open(Handle()).snapshot;
    ASSERT_EQ(snapshot->units().size(), static_cast<size_t>(parts) + others.size());
    std::vector<Probe> probes;
    for (int64_t p = 0; p < parts; ++p) probes.push_back(p % 2 ? Id(p * 1000 + 4) : Text(p * 1000 + 4));
    for (int64_t p : others) probes.push_back(p % 2 ? Id(p * 1000 + 4) : Text(p * 1000 + 4));
    const auto kept = Kept(*snapshot, probes);
    for (size_t p = 0; p < probes.size(); ++p) {
      int any = 0;
      for (const std::string& k : kept) any += k[k.find(':') + 1 + p] == '1';
      EXPECT_GE(any, 1) << "probe " << p;
    }
  }

  StoreTime now_{hours(24 * 365 * 50)};
  std::shared_ptr<ObjectStore> store_ = ObjectStore::Memory("memory:", [this] { return now_; });
};

TEST_F(MaintainTest, OneObjectInsteadOfOneAPart) {
  Put(0, 30);
  Put(30, 40, "batch ");
  const auto before = Open(Handle());
  EXPECT_EQ(before.opens, 40u);
  const auto done = Maintain();
  EXPECT_EQ(done.name, "bundles");
  EXPECT_EQ(done.parts, 40u);
  EXPECT_EQ(done.fresh, 40u);
  EXPECT_EQ(done.written, 1u);
  EXPECT_TRUE(done.notes.empty());
  ASSERT_EQ(Bundles().size(), 1u);
  EXPECT_EQ(Bundles()[0].size, done.bytes);
  const auto after = Open(Handle());
  EXPECT_EQ(after.opens, 1u);
  EXPECT_TRUE(after.snapshot->schema()->Equals(*before.snapshot->schema(), true));
  EXPECT_EQ(Kept(*after.snapshot, Probes(40)), Kept(*before.snapshot, Probes(40)));
  for (const auto& unit : after.snapshot->units()) EXPECT_EQ(unit->index_note(), "");
  EXPECT_EQ(Open(Handle(), false).opens, 40u) << "without indexes bundles are not looked at";
  EXPECT_EQ(Maintain().written, 0u) << "nothing is out of date";
  EXPECT_EQ(Maintain(true).fresh, 40u);
  EXPECT_EQ(Bundles().size(), 1u) << "the same parts give the same bytes, and so the same name";
  ExpectSound();
}

TEST_F(MaintainTest, FewPartsAndPartsOutsideOfThem) {
  Put(0, 15);
  EXPECT_EQ(Maintain().written, 0u) << "too few for readers to look";
  Put(15, 20);
  Maintain();
  const std::string part = store_->List("d/parts/").ValueOrDie()[3].path;
  {  // a foreign name, and one whose header is damaged
    ReadContext ctx;
    auto source = store_->OpenSource(part, ctx).ValueOrDie();
    const std::string bytes = source->ReadRange({0, source->size()}, ctx).ValueOrDie()->ToString();
    ASSERT_TRUE(WriteObject(*store_, "d/parts/by hand.lance", bytes).ok());
  }
  Put(20, 22);
  auto opened = Open(Handle());
  EXPECT_EQ(opened.snapshot->units().size(), 23u);
  EXPECT_EQ(opened.opens, 1u + 2 + 1) << "the bundle, two headers, the foreign part's tail";
  const auto done = Maintain();
  EXPECT_EQ(done.parts, 22u);
  EXPECT_EQ(done.fresh, 2u);
  opened = Open(Handle());
  EXPECT_EQ(opened.opens, 2u + 1);
  EXPECT_EQ(opened.snapshot->units().size(), 23u);
}

TEST_F(MaintainTest, AHandleKeepsWhatItKnows) {
  Put(0, 5);
  const auto handle = Handle();
  EXPECT_EQ(Open(handle).opens, 5u);
  EXPECT_EQ(Open(handle).opens, 0u);
  Put(5, 6);
  const auto again = Open(handle);
  EXPECT_EQ(again.opens, 1u);
  EXPECT_EQ(again.snapshot->units().size(), 6u);
  EXPECT_EQ(Kept(*again.snapshot, Probes(6)), Kept(*Open(Handle()).snapshot, Probes(6)));
  ReadContext ctx;
  ASSERT_TRUE(handle->Backfill({true}, ctx).ok());
  EXPECT_EQ(Open(handle).opens, 6u) << "headers that this handle rebuilt are read anew";
  Put(6, 40);
  Maintain();
  EXPECT_EQ(Open(handle).opens, 1u);
  EXPECT_EQ(Open(handle).opens, 0u);
}

// However many parts come one by one: few bundles, and each header written a few times.
TEST_F(MaintainTest, BundlesGrowByDoubling) {
  uint64_t fresh = 0;
  Put(0, 15);
  for (int64_t p = 15; p < 120; ++p) {
    Put(p, p + 1);
    fresh += Maintain().fresh;
    now_ += std::chrono::seconds(10);
    Sweep(std::chrono::seconds(5));
    ASSERT_LE(Bundles().size(), 8u);
  }
  EXPECT_LE(fresh, 120u * 9);
  EXPECT_LE(Open(Handle()).opens, 8u);
  ExpectNothingLost(120);
  ExpectSound();
}

TEST_F(MaintainTest, SweepTakesWhatNewerOnesStandFor) {
  Put(0, 20);
  Maintain();
  const std::string first = Bundles().at(0).path;
  now_ += hours(1);
  EXPECT_EQ(Sweep(hours(0)).caches, 0u) << "it is of use";
  Put(20, 45);
  Maintain();
  ASSERT_EQ(Bundles().size(), 2u);
  now_ += hours(2);
  EXPECT_EQ(Sweep(hours(3)).caches, 0u);
  ReadContext ctx;
  const auto dry = Handle()->Sweep({hours(2), true}, ctx).ValueOrDie();
  EXPECT_EQ(dry.caches, 1u);
  EXPECT_GT(dry.cache_bytes, 0u);
  EXPECT_EQ(Sweep(hours(2)).caches, 1u);
  ASSERT_EQ(Bundles().size(), 1u);
  EXPECT_NE(Bundles()[0].path, first);
  EXPECT_EQ(Open(Handle()).opens, 1u);
}

// Compaction takes the parts away: the bundle is of no use, and the merged part's header is in the next one.
TEST_F(MaintainTest, BesideCompaction) {
  Put(0, 40);
  Maintain();
  const auto before = Open(Handle()).snapshot;
  ReadContext ctx;
  ASSERT_EQ(Handle()->Compact({.target_rows = 100, .all = true}, ctx).ValueOrDie().plans, 4u);
  const auto during = Open(Handle());
  EXPECT_EQ(during.snapshot->units().size(), 4u);
  EXPECT_EQ(during.opens, 1u + 4);
  Put(100, 120);
  const auto done = Maintain();
  EXPECT_EQ(done.parts, 24u) << "hidden parts have no place";
  now_ += hours(25);
  const auto swept = Sweep();
  EXPECT_EQ(swept.parts, 40u);
  EXPECT_EQ(swept.caches, 1u);
  const auto after = Open(Handle());
  EXPECT_EQ(after.snapshot->units().size(), 24u);
  EXPECT_EQ(after.opens, 1u);
  for (const Probe& probe : before->units().size() == 40 ? Probes(40) : std::vector<Probe>{}) {
    bool was = false, is = false;
    for (const auto& unit : before->units()) was |= unit->MayMatch(probe, ctx).ValueOrDie();
    for (const auto& unit : after.snapshot->units()) is |= unit->MayMatch(probe, ctx).ValueOrDie();
    EXPECT_TRUE(is || !was);
  }
  ExpectSound();
}

// A header that was rebuilt since is another one: the bundle is not wrong, only older.
TEST_F(MaintainTest, RebuiltHeadersAreTakenAnew) {
  Put(0, 20);
  Maintain();
  now_ += hours(1);
  ReadContext ctx;
  ASSERT_TRUE(Handle()->Backfill({true}, ctx).ok());
  EXPECT_EQ(Maintain().fresh, 0u) << "they are the same bytes";
  ASSERT_TRUE(WriteObject(*store_, "d/dataset.toml", "[index]\nid = [\"cuckoo\"]\n").ok());
  now_ += hours(1);
  const auto rebuilt = Handle()->Backfill({true}, ctx);
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.status().ToString();
  ASSERT_EQ(rebuilt->rebuilt, 20u);
  ExpectSound();
  ExpectNothingLost(20);
  const auto done = Maintain();
  EXPECT_EQ(done.fresh, 20u);
  EXPECT_EQ(Maintain().fresh, 0u);
  now_ += hours(25);
  EXPECT_EQ(Sweep().caches, 1u);
  ExpectSound();
  const auto opened = Open(Handle()).snapshot;
  EXPECT_EQ(Kept(*opened, Probes(20)), Kept(*Open(Handle(), true).snapshot, Probes(20)));
}

// Damage anywhere, and bundles that are nothing of the kind: requests, never a row; check and maintain name them.
TEST_F(MaintainTest, DamagedAndForeignBundles) {
  Put(0, 20);
  Maintain();
  const std::string path = Bundles().at(0).path;
  ReadContext ctx;
  auto source = store_->OpenSource(path, ctx).ValueOrDie();
  const std::string good = source->ReadRange({0, source->size()}, ctx).ValueOrDie()->ToString();
  uint64_t unusable = 0, said = 0;
  for (size_t at = 0; at < good.size(); at += 1 + good.size() / 40) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x40);
    ASSERT_TRUE(WriteObject(*store_, path, bad).ok());
    ExpectNothingLost(20);
    unusable += Open(Handle()).opens == 21;
    const auto faults = Handle()->Check(ctx).ValueOrDie().faults;
    said += !faults.empty();
    EXPECT_FALSE(faults.empty()) << "offset " << at;
  }
  EXPECT_GT(unusable, 2u);
  EXPECT_GT(said, 35u);
  for (const std::string& bad : {std::string(), std::string("PILUMBND"), good.substr(0, good.size() / 2)}) {
    ASSERT_TRUE(WriteObject(*store_, path, bad).ok());
    ExpectNothingLost(20);
  }
  EXPECT_FALSE(Maintain().notes.empty());
  ExpectNothingLost(20);
  EXPECT_EQ(Bundles().size(), 1u) << "made anew in its place";
  EXPECT_EQ(Open(Handle()).opens, 1u);
  // Of another dataset: no part of it is here.
  auto other = ObjectStore::Memory();
  std::swap(store_, other);
  Put(50, 70);
  Maintain();
  const std::string foreign = Bundles().at(0).path;
  auto there = store_->OpenSource(foreign, ctx).ValueOrDie();
  const std::string bytes = there->ReadRange({0, there->size()}, ctx).ValueOrDie()->ToString();
  std::swap(store_, other);
  ASSERT_TRUE(WriteObject(*store_, foreign, bytes).ok());
  ASSERT_TRUE(WriteObject(*store_, "d/bundles/readme.txt", "not one").ok());
  ExpectNothingLost(20);
  now_ += hours(25);
  EXPECT_EQ(Sweep().caches, 1u);
  EXPECT_EQ(Bundles().size(), 2u) << "unknown objects stay";
  ExpectSound();
}

TEST_F(MaintainTest, ManyAtOnce) {
  Put(0, 60);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&, i] {
        for (int k = 0; k < 5; ++k) {
          if (i % 2)
            Maintain(k % 2);
          else
            Put(100 + i * 10 + k, 101 + i * 10 + k);
        }
      });
    }
  }
  Maintain();
  std::vector<int64_t> others;
  for (int64_t i : {0, 2, 4}) {
    for (int64_t k = 0; k < 5; ++k) others.push_back(100 + i * 10 + k);
  }
  ExpectNothingLost(60, others);
  ExpectSound();
  now_ += hours(25);
  Sweep();
  EXPECT_LE(Open(Handle()).opens, 6u);
  ExpectNothingLost(60, others);
}

TEST_F(MaintainTest, DeadlinesSayHowFar) {
  Put(0, 20);
  ReadContext late;
  late.deadline = std::chrono::steady_clock::now();
  const auto st = Handle()->OpenSnapshot(true, late).status();
  EXPECT_EQ(KindOf(st), ErrorKind::kDeadline);
  EXPECT_NE(st.message().find("parts listed"), std::string::npos) << st.ToString();
  EXPECT_EQ(KindOf(Handle()->Maintain({}, late).status()), ErrorKind::kDeadline);
}

}  // namespace
}  // namespace pilum
