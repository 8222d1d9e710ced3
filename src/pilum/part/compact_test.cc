// Plans, merged parts, what a listing shows, and sweep.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "pilum/base/hash.h"
#include "pilum/part/batch_rows.h"
#include "pilum/part/merge_plan.h"
#include "pilum/part/part_spool.h"
#include "pilum/part/part_store.h"
#include "pilum/part/stands_for.h"
#include "pilum/part/store_view.h"

namespace pilum {
namespace {

using arrow::field;
using arrow::schema;
using std::chrono::hours;
using std::chrono::seconds;

std::string Name(char c) { return std::string(64, c); }

TEST(StandsFor, TextAndBack) {
  StandsFor s;
  s.AddPlan(7);
  s.AddPlan(3);
  s.AddPart(PartKey(Name('b')));
  s.AddPart(PartKey(Name('a')));
  s.AddPart(PartKey(Name('a')));
  s.batches["b 1\n"] = RowSet::FromRanges({{0, 10}, {20, 30}});
  const std::string text = s.ToText();
  EXPECT_EQ(text, "plan 3\nplan 7\npart " + std::string(32, 'a') + "\npart " + std::string(32, 'b') +
                      "\nbatch 6220310a 0-10 20-30\n");
  const StandsFor back = StandsFor::Parse(text, "f").ValueOrDie();
  EXPECT_EQ(back.ToText(), text);
  EXPECT_TRUE(back.HasPlan(3) && back.HasPart(PartKey(Name('a'))));
  EXPECT_FALSE(back.HasPlan(4) || back.HasPart(PartKey(Name('c'))));
  for (const char* bad : {"plan", "plan x\n", "plan 1", "part abc\n", "batch 6 0-1\n", "batch 61 1-0\n", "batch  0-1\n",
                          "drop 1\n", "\n", "plan -1\n", "batch 61 0\n"}) {
    auto st = StandsFor::Parse(bad, "the file").status();
    EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt) << bad;
    EXPECT_NE(st.message().find("the file"), std::string::npos);
  }
}

TEST(MergePlan, TextAndBack) {
  MergePlan plan;
  plan.number = 5;
  plan.inputs = {{Name('c'), std::nullopt, RowSet::FromRanges({{0, 2}, {5, 6}})}, {"", 3, {}}};
  plan.batches["x"] = RowSet::Range(0, 4);
  plan.batches["y"] = {};
  plan.rows = 9;
  plan.bytes = 1000;
  const std::string text = plan.ToText();
  const MergePlan back = MergePlan::Parse(text, 5, "p").ValueOrDie();
  EXPECT_EQ(back.ToText(), text);
  EXPECT_EQ(back.inputs, plan.inputs);
  EXPECT_EQ(KindOf(MergePlan::Parse(text, 3, "p").status()), ErrorKind::kUnsupported)
      << "it takes a plan of its own number";
  EXPECT_EQ(KindOf(MergePlan::Parse("pilum-plan 2\nend\n", 5, "p").status()), ErrorKind::kUnsupported);
  for (size_t cut = 0; cut < text.size(); ++cut)
    EXPECT_FALSE(MergePlan::Parse(text.substr(0, cut), 5, "p").ok()) << cut;
  EXPECT_FALSE(MergePlan::Parse(text + "x", 5, "p").ok());
}

PartFile File(std::string name, bool merged, int64_t at) {
  return {"", std::move(name), 1, StoreTime(seconds(at)), merged};
}
std::shared_ptr<const StandsFor> Says(std::vector<uint64_t> plans, std::string parts) {
  StandsFor s;
  for (uint64_t p : plans) s.AddPlan(p);
  for (char c : parts) s.AddPart(PartKey(Name(c)));
  return std::make_shared<const StandsFor>(s);
}

TEST(Visibility, WhatIsStoodForIsHidden) {
  const std::string m0 = "00000000-" + Name('1'), m0b = "00000000-" + Name('2'), m2 = "00000002-" + Name('0');
  const std::vector<PartFile> files = {File(m0, true, 10),        File(m0b, true, 5),        File(m2, true, 20),
                                       File(Name('a'), false, 1), File(Name('b'), false, 1), File(Name('c'), false, 1),
                                       File(Name('d'), false, 1), File("foreign", false, 1)};
  std::map<std::string, std::shared_ptr<const StandsFor>> said = {
      {m0, Says({0}, "ab")}, {m0b, Says({0}, "ab")}, {m2, Says({0, 2}, "abc")}};
  auto names = [](const Visibility& v) {
    std::string out;
    for (const PartFile& f : v.visible) out += f.name.substr(0, 10) + " ";
    return out;
  };
  const Visibility all = Visibility::Of(files, said);
  EXPECT_EQ(names(all), "00000002-0 dddddddddd foreign ");
  ASSERT_EQ(all.hidden.size(), 5u);
  for (const HiddenPart& h : all.hidden) {
    // Twin m0 by m0b since 5, though by m2 too; a and b since the first of them; c and m0b by m2.
    const int64_t since = h.file.name == m0b || h.file.name == Name('c') ? 20 : 5;
    EXPECT_EQ(h.since, StoreTime(seconds(since))) << h.file.name;
  }
  const std::vector<PartFile> twins = {files[0], files[1], files[3], files[5]};
  EXPECT_EQ(names(Visibility::Of(twins, said)), "00000000-2 cccccccccc ");
}

TEST(BatchRows, EachRowOnce) {
  BatchRows held;
  EXPECT_EQ(TakeRows({"b", {10, 20}}, &held), RowSet::Range(0, 10));
  EXPECT_EQ(TakeRows({"b", {5, 25}}, &held), RowSet::FromRanges({{0, 5}, {15, 20}}));
  EXPECT_EQ(TakeRows({"c", {5, 6}}, &held), RowSet::Range(0, 1));
  EXPECT_TRUE(TakeRows({"b", {6, 24}}, &held).empty());
}

class CompactTest : public ::testing::Test {
 protected:
  std::shared_ptr<arrow::RecordBatch> FromJson(const std::shared_ptr<arrow::Schema>& s, const std::string& rows) {
    auto st = arrow::json::ArrayFromJSONString(arrow::struct_(s->fields()), rows).ValueOrDie();
    return arrow::RecordBatch::FromStructArray(st).ValueOrDie();
  }
  PutResult Put(const std::shared_ptr<arrow::RecordBatch>& batch, PutOptions options = {}) {
    auto reader = arrow::RecordBatchReader::Make({batch}, batch->schema()).ValueOrDie();
    ReadContext ctx;
    return parts_->Put(*reader, options, ctx).ValueOrDie();
  }
  CompactResult Compact(CompactOptions options = {.all = true}) {
    ReadContext ctx;
    return parts_->Compact(options, ctx).ValueOrDie();
  }
  SweepResult Sweep(std::chrono::microseconds grace = hours(24), bool dry_run = false) {
    ReadContext ctx;
    return parts_->Sweep({grace, dry_run}, ctx).ValueOrDie();
  }
  // Every row of the dataset, as sorted texts.
  std::vector<std::string> All(bool use_index = true) {
    ReadContext ctx;
    auto snapshot = parts_->OpenSnapshot(use_index, ctx).ValueOrDie();
    std::vector<FieldPath> columns;
    for (const auto& f : snapshot->schema()->fields()) columns.push_back({{f->name()}});
    std::vector<std::string> out;
    for (const auto& unit : snapshot->units()) {
      auto stream = unit->Read(columns, RowSet::All(unit->num_rows()), {}, ctx).ValueOrDie();
      uint64_t rows = 0;
      while (auto batch = stream->Next().ValueOrDie()) {
        EXPECT_EQ(stream->rows(), RowSet::Range(rows, rows + static_cast<uint64_t>(batch->num_rows())));
        rows += static_cast<uint64_t>(batch->num_rows());
        for (int64_t i = 0; i < batch->num_rows(); ++i) {
          std::string row;
          for (const auto& column : batch->columns()) row += column->GetScalar(i).ValueOrDie()->ToString() + "|";
          out.push_back(row);
        }
      }
      EXPECT_EQ(rows, unit->num_rows());
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  std::vector<PartSummary> List() {
    ReadContext ctx;
    return parts_->List(ctx).ValueOrDie();
  }
  size_t Count(const std::string& prefix) { return store_->List("d/" + prefix).ValueOrDie().size(); }
  void ExpectSound() {
    ReadContext ctx;
    const auto found = parts_->Check(ctx).ValueOrDie();
    for (const Status& fault : found.faults) ADD_FAILURE() << fault.ToString();
  }

  StoreTime now_{hours(24 * 365 * 50)};
  std::shared_ptr<ObjectStore> store_ = ObjectStore::Memory("memory:", [this] { return now_; });
  std::shared_ptr<PartStore> parts_ = PartStore::OpenIn(store_, "d").ValueOrDie();
};

const auto kId = schema({field("id", arrow::int64())});

TEST_F(CompactTest, SmallPartsBecomeOneInTheUnionOfTheirTypes) {
  Put(FromJson(schema({field("id", arrow::int32()), field("a", arrow::utf8())}), R"([[1,"x"],[2,null]])"));
  Put(FromJson(schema({field("id", arrow::int64()), field("b", arrow::float64())}), R"([[5000000000,1.5]])"));
  Put(FromJson(schema({field("b", arrow::float64())}), "[[2.5]]"));
  const auto before = All();
  const CompactResult done = Compact();
  EXPECT_EQ(done.plans, 1u);
  EXPECT_EQ(done.parts, 3u);
  EXPECT_EQ(done.rows, 4u);
  EXPECT_TRUE(done.notes.empty());
  const auto listed = List();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_TRUE(listed[0].merged);
  EXPECT_EQ(listed[0].sidecar_state, "ok");
  EXPECT_EQ(listed[0].name, done.merged[0]);
  EXPECT_EQ(All(), before);
  EXPECT_EQ(All(false), before);
  ExpectSound();
  EXPECT_EQ(Compact().plans, 0u) << "nothing is left to merge";
  EXPECT_EQ(Count("plans/"), 1u);
}

TEST_F(CompactTest, SchemasThatClashStayApart) {
  Put(FromJson(kId, "[[1]]"));
  Put(FromJson(kId, "[[2]]"));
  Put(FromJson(schema({field("id", arrow::utf8())}), R"([["x"]])"), {.new_schema = true});
  EXPECT_EQ(Compact().parts, 2u);
  EXPECT_EQ(List().size(), 2u);
}

TEST_F(CompactTest, ARowIsRewrittenAFewTimesOnly) {
  uint64_t rewritten = 0;
  for (int i = 0; i < 128; ++i) {
    Put(FromJson(kId, fmt::format("[[{}]]", i)));
    rewritten += Compact({.target_rows = 1'000'000}).rows;
  }
  EXPECT_EQ(All().size(), 128u);
  EXPECT_LE(rewritten, 128u * 8);
  EXPECT_LE(List().size(), 8u);
  ExpectSound();
}

TEST_F(CompactTest, TargetsHold) {
  for (int i = 0; i < 20; ++i) Put(FromJson(kId, fmt::format("[[{}],[{}],[{}]]", i, i + 100, i + 200)));
  Compact({.target_rows = 12, .all = true});
  for (const PartSummary& part : List()) EXPECT_EQ(part.rows, 12u);
  EXPECT_EQ(List().size(), 5u);
  EXPECT_EQ(Compact({.target_rows = 12, .all = true}).plans, 0u);
}

TEST_F(CompactTest, RetriedPutsOfMergedRowsAddNothing) {
  std::string rows;
  for (int i = 0; i < 3000; ++i) rows += fmt::format("{}[{}]", i ? "," : "[", i);
  const auto big = FromJson(kId, rows + "]");
  const auto one = FromJson(kId, "[[-1],[-2]]");
  Put(big, {.batch_id = "b", .target_part_bytes = 4000});
  Put(one);
  const auto before = All();
  Compact();
  now_ += hours(25);
  EXPECT_GT(Sweep().parts, 2u);
  EXPECT_EQ(Count("parts/"), 0u);
  // The same, cut otherwise, and what has the same content.
  EXPECT_EQ(Put(big, {.batch_id = "b", .target_part_bytes = 9000}).rows_already_there, 3000u);
  const PutResult again = Put(one);
  EXPECT_EQ(again.rows_already_there, 2u);
  EXPECT_EQ(again.new_parts, 0u);
  EXPECT_EQ(Count("parts/"), 0u);
  EXPECT_EQ(All(), before);
  // Under another id they are other rows.
  EXPECT_EQ(Put(one, {.batch_id = "c"}).new_parts, 1u);
  EXPECT_EQ(All().size(), before.size() + 2);
  // A second plan over the merged part and the new one still knows both batches and all parts.
  Compact();
  EXPECT_EQ(List().size(), 1u);
  EXPECT_EQ(Put(big, {.batch_id = "b", .target_part_bytes = 4000}).rows_already_there, 3000u);
  EXPECT_EQ(Put(one, {.batch_id = "c"}).rows_already_there, 2u);
  EXPECT_EQ(Put(one).rows_already_there, 2u);
  EXPECT_EQ(All().size(), before.size() + 2);
  ExpectSound();
}

// Two puts of one batch that did not see each other, cut differently: as two versions of Pilum would.
TEST_F(CompactTest, OneBatchPutTwiceAtOnceCountsOnce) {
  auto other = ObjectStore::Memory();
  auto twin = PartStore::OpenIn(other, "d").ValueOrDie();
  std::string rows;
  for (int i = 0; i < 3000; ++i) rows += fmt::format("{}[{}]", i ? "," : "[", i);
  const auto big = FromJson(kId, rows + "]");
  Put(big, {.batch_id = "b", .target_part_bytes = 4000});
  const auto before = All();
  ASSERT_EQ(before.size(), 3000u);
  auto reader = arrow::RecordBatchReader::Make({big}).ValueOrDie();
  ReadContext ctx;
  ASSERT_TRUE(twin->Put(*reader, {.batch_id = "b", .target_part_bytes = 9000}, ctx).ok());
  const auto copy = [&](const std::string& path) {
    auto source = other->OpenSource(path, ctx).ValueOrDie();
    auto bytes = source->ReadRange({0, source->size()}, ctx).ValueOrDie();
    EXPECT_TRUE(store_->PutIfAbsent(path, bytes->ToString()).ok());
  };
  const auto twins = other->List("d/").ValueOrDie();
  for (const ObjectInfo& o : twins) copy(o.path);
  EXPECT_EQ(All(), before);
  EXPECT_EQ(All(false), before);
  // Narrowing keeps to what counts.
  auto snapshot = parts_->OpenSnapshot(true, ctx).ValueOrDie();
  uint64_t possible = 0, total = 0;
  Probe probe;
  probe.column = {{"id"}};
  probe.set = ValueSet::Point(Value::Int(1234));
  for (const auto& unit : snapshot->units()) {
    const auto found = unit->Narrow(probe, ctx).ValueOrDie();
    EXPECT_TRUE(found.possible.IsSubsetOf(RowSet::All(unit->num_rows())));
    possible += found.possible.size();
    total += unit->num_rows();
  }
  EXPECT_EQ(total, 3000u);
  EXPECT_GT(possible, 0u);
  EXPECT_EQ(Put(big, {.batch_id = "b", .target_part_bytes = 1000}).rows_already_there, 3000u);
  // Merged in two plans, between which the twins come again.
  Compact({.target_rows = 1500});
  EXPECT_EQ(All(), before);
  for (const ObjectInfo& o : twins) copy(o.path);
  Compact();
  EXPECT_EQ(All(), before);
  now_ += hours(25);
  Sweep();
  EXPECT_EQ(All(), before);
  EXPECT_EQ(List().size(), 1u);
  ExpectSound();
}

TEST_F(CompactTest, TwinOutputsOfOnePlanCountOnceAndAreTakenOnce) {
  Put(FromJson(kId, "[[1]]"));
  Put(FromJson(kId, "[[2]]"));
  Compact();
  // Another version's output of plan 0: the same rows, other bytes.
  const std::string mine = store_->List("d/merged/").ValueOrDie()[0].path;
  ReadContext ctx;
  auto reader = FileReader::Open(store_->OpenSource(mine, ctx).ValueOrDie(), ctx).ValueOrDie();
  auto folder = TempDir::Make().ValueOrDie();
  const auto options = PartWriteOptions::For(*reader->schema(), FileVersion::kV2_1, std::nullopt).file;
  auto spool = PartSpool::Make(folder->path() + "/twin", reader->schema(), *reader->schema(), options).ValueOrDie();
  auto rows = reader->Read(std::nullopt, RowSet::All(2), {}, ctx).ValueOrDie();
  while (auto batch = rows->Next().ValueOrDie()) ASSERT_TRUE(spool->Append(*batch).ok());
  const auto made = spool->Finish().ValueOrDie();
  const DatasetFiles files{store_, "d/", "d"};
  const std::string twin = "00000000-" + made.hash;
  ASSERT_TRUE(PublishPart(files, files.MergedPath(twin), twin, made, ctx).ValueOrDie());
  ASSERT_EQ(Count("merged/"), 2u);
  EXPECT_EQ(All().size(), 2u);
  EXPECT_EQ(List().size(), 1u);
  Put(FromJson(kId, "[[3],[4]]"));
  Compact();
  EXPECT_EQ(All().size(), 4u);
  EXPECT_EQ(Count("plans/"), 2u);
  now_ += hours(25);
  Sweep();
  EXPECT_EQ(Count("merged/"), 1u);
  EXPECT_EQ(All().size(), 4u);
}

TEST_F(CompactTest, ALeftPlanIsTakenOverOnceItsTimeHasPassed) {
  const std::string a = Put(FromJson(kId, "[[1]]")).parts[0], b = Put(FromJson(kId, "[[2]]")).parts[0];
  MergePlan plan;
  plan.inputs = {{a, std::nullopt, {}}, {b, std::nullopt, {}}};
  ASSERT_TRUE(store_->PutIfAbsent("d/plans/00000000", plan.ToText()).ValueOrDie());
  EXPECT_EQ(Compact().plans, 0u) << "its planner may be at work";
  EXPECT_EQ(List().size(), 2u);
  now_ += seconds(11);
  EXPECT_EQ(Compact().plans, 1u);
  EXPECT_EQ(List().size(), 1u);
  EXPECT_EQ(All().size(), 2u);
}

TEST_F(CompactTest, WhatCannotBePlannedSafelyIsRefused) {
  Put(FromJson(kId, "[[1]]"));
  Put(FromJson(kId, "[[2]]"));
  ReadContext ctx;
  ASSERT_TRUE(store_->PutIfAbsent("d/plans/00000001", "x").ValueOrDie());
  EXPECT_EQ(KindOf(parts_->Compact({}, ctx).status()), ErrorKind::kCorrupt) << "plan 0 is missing";
  ASSERT_TRUE(store_->PutIfAbsent("d/plans/00000000", "pilum-plan 9\n").ValueOrDie());
  EXPECT_EQ(KindOf(parts_->Compact({}, ctx).status()), ErrorKind::kUnsupported);
  ASSERT_TRUE(store_->Remove("d/plans/00000000").ok());
  ASSERT_TRUE(store_->Remove("d/plans/00000001").ok());
  Compact();
  ASSERT_TRUE(store_->Remove("d/plans/00000000").ok());
  Put(FromJson(kId, "[[3]]"));
  EXPECT_EQ(KindOf(parts_->Compact({}, ctx).status()), ErrorKind::kCorrupt) << "plan 0 made a merged part";
  EXPECT_EQ(All().size(), 3u) << "readers do not look at plans";
  EXPECT_EQ(KindOf(PartStore::OpenIn(store_, "none").ValueOrDie()->Compact({}, ctx).status()), ErrorKind::kNotFound);
}

TEST_F(CompactTest, SweepWaitsForItsGraceAndTakesOrphans) {
  Put(FromJson(kId, "[[1]]"));
  Put(FromJson(kId, "[[2]]"));
  now_ += hours(48);
  Compact();
  EXPECT_EQ(Sweep().waiting, 2u) << "the parts are old, but what hides them is not";
  ASSERT_TRUE(store_->PutIfAbsent("d/side/" + Name('e') + ".lance.idx", "x").ValueOrDie());
  ASSERT_TRUE(store_->PutIfAbsent("d/side/unknown.thing", "x").ValueOrDie());
  now_ += hours(23);
  EXPECT_EQ(Sweep().sidecars, 0u);
  now_ += hours(1);
  const SweepResult dry = Sweep(hours(24), true);
  EXPECT_EQ(dry.parts, 2u);
  EXPECT_EQ(Count("parts/"), 2u);
  const SweepResult done = Sweep();
  EXPECT_EQ(done.parts, 2u);
  EXPECT_EQ(done.sidecars, 7u);
  EXPECT_EQ(Count("parts/"), 0u);
  EXPECT_EQ(Count("side/"), 4u) << "three of the merged part, and what is no sidecar";
  EXPECT_EQ(All().size(), 2u);
}

TEST_F(CompactTest, SweepTakesSpoolsOfKilledProcessesAlone) {
  namespace fs = std::filesystem;
  auto base = TempDir::Make().ValueOrDie();
  const char* before = std::getenv("PILUM_TMPDIR");
  const std::string kept = before ? before : "";
  ::setenv("PILUM_TMPDIR", base->path().c_str(), 1);
  auto in_use = TempDir::Make().ValueOrDie();
  const fs::path left = base->path() + "/.pilum-spool-aaaaaa", other = base->path() + "/pilum-backup";
  for (const fs::path& folder : {left, other}) {
    fs::create_directory(folder);
    std::ofstream(folder / "part-0.lance") << "x";
  }
  Put(FromJson(kId, "[[1]]"));
  EXPECT_EQ(Sweep(hours(1)).unfinished, 0u) << "young";
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));
  EXPECT_EQ(Sweep(hours(0)).unfinished, 1u);
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(other / "part-0.lance"));
  EXPECT_TRUE(fs::exists(in_use->path()));
  kept.empty() ? ::unsetenv("PILUM_TMPDIR") : ::setenv("PILUM_TMPDIR", kept.c_str(), 1);
}

TEST_F(CompactTest, MergedPartsThatDoNotSayWhatTheyStandForStopReads) {
  Put(FromJson(kId, "[[1]]"));
  const std::string part = store_->List("d/parts/").ValueOrDie()[0].path;
  ReadContext ctx;
  auto source = store_->OpenSource(part, ctx).ValueOrDie();
  const std::string bytes = source->ReadRange({0, source->size()}, ctx).ValueOrDie()->ToString();
  const std::string hash = part.substr(part.size() - 70, 64);
  ASSERT_TRUE(store_->PutIfAbsent("d/merged/00000000-" + hash + ".lance", bytes).ValueOrDie());
  const Status st = parts_->OpenSnapshot(true, ctx).status();
  EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt) << st.ToString();
  EXPECT_NE(st.message().find("pilum:stands_for"), std::string::npos) << st.ToString();
  EXPECT_FALSE(parts_->Check(ctx).ValueOrDie().faults.empty());
}

TEST_F(CompactTest, ForeignPartsAreLeftAlone) {
  Put(FromJson(kId, "[[1]]"));
  const std::string part = store_->List("d/parts/").ValueOrDie()[0].path;
  ReadContext ctx;
  auto source = store_->OpenSource(part, ctx).ValueOrDie();
  const std::string bytes = source->ReadRange({0, source->size()}, ctx).ValueOrDie()->ToString();
  ASSERT_TRUE(store_->PutIfAbsent("d/parts/by-hand.lance", bytes).ValueOrDie());
  ASSERT_TRUE(store_->PutIfAbsent("d/merged/by-hand-too.lance", bytes).ValueOrDie());
  EXPECT_EQ(All().size(), 3u);
  EXPECT_EQ(Compact().plans, 0u);
  EXPECT_EQ(All().size(), 3u);
}

TEST_F(CompactTest, PutMakesDamagedSidecarsGood) {
  const auto rows = FromJson(kId, "[[1],[2],[3]]");
  Put(rows);
  for (const ObjectInfo& o : store_->List("d/side/").ValueOrDie()) {
    ReadContext ctx;
    auto source = store_->OpenSource(o.path, ctx).ValueOrDie();
    std::string bytes = source->ReadRange({0, source->size()}, ctx).ValueOrDie()->ToString();
    bytes.back() ^= 1;
    auto sink = store_->Create(o.path).ValueOrDie();
    ASSERT_TRUE(sink->Write(bytes.data(), bytes.size()).ok());
    ASSERT_TRUE(sink->Close().ok());
  }
  EXPECT_EQ(Put(rows).rows_already_there, 3u);
  ExpectSound();
}

TEST_F(CompactTest, BackfillRebuildsWhatIsMissingOrDamaged) {
  Put(FromJson(kId, "[[1],[2],[3]]"));
  Put(FromJson(kId, "[[4],[5]]"));
  Put(FromJson(kId, "[[6]]"));
  ReadContext ctx;
  EXPECT_EQ(parts_->Backfill({}, ctx).ValueOrDie().rebuilt, 0u);
  const auto side = store_->List("d/side/").ValueOrDie();
  ASSERT_EQ(side.size(), 9u);
  for (size_t i = 0; i < 3; ++i) ASSERT_TRUE(store_->Remove(side[i].path).ok());
  auto sink = store_->Create(side[4].path).ValueOrDie();
  ASSERT_TRUE(sink->Write("x", 1).ok());
  ASSERT_TRUE(sink->Close().ok());
  const BackfillResult done = parts_->Backfill({}, ctx).ValueOrDie();
  EXPECT_EQ(done.parts, 3u);
  EXPECT_EQ(done.rebuilt, 2u);
  ExpectSound();
  EXPECT_EQ(parts_->Backfill({.all = true}, ctx).ValueOrDie().rebuilt, 0u) << "the same bytes are not written again";
  Compact();
  for (const ObjectInfo& o : store_->List("d/side/").ValueOrDie()) ASSERT_TRUE(store_->Remove(o.path).ok());
  EXPECT_EQ(parts_->Backfill({}, ctx).ValueOrDie().rebuilt, 1u) << "of the parts that count";
  EXPECT_EQ(All().size(), 6u);
}

// Rows whose id is among these.
BindRowMatcher Ids(std::set<int64_t> ids) {
  return [ids](const Snapshot&) -> Result<RowMatcher> {
    return [ids](const Unit& unit, ReadContext& ctx) -> Result<RowSet> {
      RowSet out;
      PILUM_ASSIGN_OR_RETURN(auto stream, unit.Read({FieldPath{{"id"}}}, RowSet::All(unit.num_rows()), {}, ctx));
      uint64_t row = 0;
      while (true) {
        PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
        if (!batch) return out;
        const auto& column = static_cast<const arrow::Int64Array&>(*batch->column(0));
        for (int64_t i = 0; i < column.length(); ++i, ++row) {
          if (ids.contains(column.Value(i))) out.Append(row, row + 1);
        }
      }
    };
  };
}

TEST_F(CompactTest, ErasedRowsAreGoneAndStayGone) {
  ReadContext ctx;
  const auto first = FromJson(kId, "[[1],[2],[3]]"), second = FromJson(kId, "[[4],[5]]"),
             third = FromJson(kId, "[[6]]");
  Put(first, {.batch_id = "b"});
  Put(second);
  Put(third);
  const EraseResult done = parts_->Erase(Ids({2, 4, 5}), {}, ctx).ValueOrDie();
  EXPECT_EQ(done.rows, 3u);
  EXPECT_EQ(done.parts, 2u);
  EXPECT_EQ(done.hidden_left, 2u);
  EXPECT_TRUE(done.notes.empty());
  EXPECT_EQ(All(), (std::vector<std::string>{"1|", "3|", "6|"}));
  EXPECT_EQ(Put(first, {.batch_id = "b"}).rows_already_there, 3u);
  EXPECT_EQ(Put(second).rows_already_there, 2u);
  EXPECT_EQ(Compact().parts, 3u);
  now_ += hours(25);
  Sweep();
  EXPECT_EQ(All(), (std::vector<std::string>{"1|", "3|", "6|"}));
  EXPECT_EQ(Put(first, {.batch_id = "b"}).rows_already_there, 3u);
  const EraseResult again = parts_->Erase(Ids({2, 4, 5}), {}, ctx).ValueOrDie();
  EXPECT_EQ(again.rows + again.hidden_left, 0u);
  for (const ObjectInfo& o : store_->List("d/").ValueOrDie()) {
    EXPECT_TRUE(o.path.starts_with("d/plans/") || o.path.find("00000002-") != std::string::npos ||
                o.path.find("00000003-") != std::string::npos)
        << o.path;
  }
  ExpectSound();
}

TEST_F(CompactTest, WholePartsAreDroppedTogether) {
  ReadContext ctx;
  for (int i = 0; i < 5; ++i) Put(FromJson(kId, fmt::format("[[{}],[{}]]", 2 * i, 2 * i + 1)));
  const EraseResult done = parts_->Erase(Ids({0, 1, 2, 3, 4}), {.whole_parts_only = true}, ctx).ValueOrDie();
  EXPECT_EQ(done.rows, 4u);
  EXPECT_EQ(done.parts, 2u);
  EXPECT_EQ(done.straddling, 1u);
  EXPECT_EQ(All().size(), 6u);
  EXPECT_EQ(Count("plans/"), 1u);
  // A plan that another left is done first, then erased from.
  MergePlan plan;
  plan.number = 1;
  for (const PartSummary& part : List()) {
    if (!part.merged) plan.inputs.push_back({part.name, std::nullopt, {}});
  }
  ASSERT_TRUE(store_->PutIfAbsent("d/plans/00000001", plan.ToText()).ValueOrDie());
  EXPECT_EQ(parts_->Erase(Ids({4}), {}, ctx).ValueOrDie().rows, 1u);
  EXPECT_EQ(All().size(), 5u);
  ExpectSound();
}

TEST_F(CompactTest, CopiesGoOnAndRefuseAPlaceOfItsOwn) {
  ReadContext ctx;
  for (int i = 0; i < 3; ++i) Put(FromJson(kId, fmt::format("[[{}]]", i)));
  auto place = ObjectStore::Memory();
  auto copy = PartStore::OpenIn(place, "e").ValueOrDie();
  ASSERT_TRUE(store_->PutIfAbsent("d/dataset.toml", "# nothing\n").ValueOrDie());
  EXPECT_EQ(parts_->CopyTo(*copy, ctx).ValueOrDie().parts, 3u);
  const auto rows = [&] {
    uint64_t n = 0;
    for (const PartSummary& part : copy->List(ctx).ValueOrDie()) n += part.rows;
    return n;
  };
  EXPECT_EQ(rows(), 3u);
  EXPECT_TRUE(place->Exists("e/dataset.toml").ValueOrDie());
  Compact();
  Put(FromJson(kId, "[[9]]"));
  const CopyResult more = parts_->CopyTo(*copy, ctx).ValueOrDie();
  EXPECT_EQ(more.parts, 2u);
  EXPECT_EQ(rows(), 4u);
  EXPECT_EQ(parts_->CopyTo(*copy, ctx).ValueOrDie().already_there, 2u);
  EXPECT_TRUE(copy->Check(ctx).ValueOrDie().faults.empty());
  ASSERT_TRUE(copy->Compact({.all = true}, ctx).ok());
  EXPECT_EQ(KindOf(parts_->CopyTo(*copy, ctx).status()), ErrorKind::kUsage);
  EXPECT_EQ(rows(), 4u);
}

}  // namespace
}  // namespace pilum
