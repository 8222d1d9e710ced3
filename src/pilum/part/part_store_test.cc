// put, snapshots over differing schemas, damaged sidecars, retries.
#include "pilum/part/part_store.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/extension/uuid.h>
#include <arrow/json/from_string.h>

#include <filesystem>
#include <fstream>

#include "pilum/base/hash.h"
#include "pilum/file/file_writer.h"
#include "pilum/index/index_test_data.h"
#include "pilum/index/part_index.h"

namespace pilum {
namespace {

using arrow::field;
using arrow::schema;
namespace fs = std::filesystem;

std::shared_ptr<arrow::RecordBatch> FromJson(const std::shared_ptr<arrow::Schema>& s, const std::string& rows) {
  auto st = arrow::json::ArrayFromJSONString(arrow::struct_(s->fields()), rows).ValueOrDie();
  return arrow::RecordBatch::FromStructArray(st).ValueOrDie()->ReplaceSchemaMetadata(s->metadata());
}

class PartStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = TempDir::Make().ValueOrDie();
    store_ = PartStore::Open(dir_->path() + "/data set").ValueOrDie();
  }
  std::string Root() const { return dir_->path() + "/data set"; }

  Result<PutResult> TryPut(const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches, PutOptions options = {}) {
    auto reader = arrow::RecordBatchReader::Make(batches, batches[0]->schema()).ValueOrDie();
    ReadContext ctx;
    return store_->Put(*reader, options, ctx);
  }
  PutResult Put(const std::shared_ptr<arrow::RecordBatch>& batch, PutOptions options = {}) {
    auto result = TryPut({batch}, options);
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    return result.ValueOr(PutResult{});
  }
  // By a handle that knows nothing of before.
  std::shared_ptr<const Snapshot> Open(bool use_index = true) {
    ReadContext ctx;
    return PartStore::Open(Root()).ValueOrDie()->OpenSnapshot(use_index, ctx).ValueOrDie();
  }
  // Every row of the dataset as one table, in the dataset's types.
  Result<std::shared_ptr<arrow::Table>> ReadAll(const std::shared_ptr<const Snapshot>& snapshot,
                                                const std::vector<FieldPath>& columns) {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    for (const auto& unit : snapshot->units()) {
      ReadContext ctx;
      BatchLimits limits;
      limits.rows = 1000;
      PILUM_ASSIGN_OR_RETURN(auto stream, unit->Read(columns, RowSet::All(unit->num_rows()), limits, ctx));
      while (true) {
        PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
        if (!batch) break;
        EXPECT_EQ(stream->rows().size(), static_cast<uint64_t>(batch->num_rows()));
        PILUM_RETURN_NOT_OK(batch->ValidateFull());
        batches.push_back(batch->ReplaceSchemaMetadata(nullptr));
      }
    }
    if (batches.empty()) return Status::Invalid("no rows");
    return arrow::Table::FromRecordBatches(batches);
  }
  std::vector<std::string> Cells(const std::shared_ptr<const Snapshot>& snapshot, const std::string& column) {
    auto table = ReadAll(snapshot, {FieldPath{{column}}}).ValueOrDie();
    std::vector<std::string> out;
    for (const auto& chunk : table->column(0)->chunks()) {
      for (int64_t i = 0; i < chunk->length(); ++i) out.push_back(chunk->GetScalar(i).ValueOrDie()->ToString());
    }
    std::sort(out.begin(), out.end());
    return out;
  }
  std::vector<Status> Check() {
    ReadContext ctx;
    return store_->Check(ctx).ValueOrDie().faults;
  }

  std::unique_ptr<TempDir> dir_;
  std::shared_ptr<PartStore> store_;
};

Probe InSet(const std::string& column, ValueSet set) {
  Probe p;
  p.column = {{column}};
  p.set = std::move(set);
  return p;
}
Probe IsNull(const std::string& column) {
  Probe p;
  p.kind = Probe::Kind::kIsNull;
  p.column = {{column}};
  return p;
}

const auto kIdName = schema({field("id", arrow::int64()), field("name", arrow::utf8())});

// Rows that repeat until two parts of one input would be equal byte for byte: all of them count.
TEST_F(PartStoreTest, EqualPartsOfOneInputBothCount) {
  const int64_t n = 40'000;
  auto one = FromJson(kIdName, R"([[7,"same"]])");
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches(4);
  for (auto& batch : batches) {
    arrow::ArrayVector columns;
    for (const auto& column : one->columns()) {
      columns.push_back(arrow::MakeArrayFromScalar(*column->GetScalar(0).ValueOrDie(), n).ValueOrDie());
    }
    batch = arrow::RecordBatch::Make(kIdName, n, columns);
  }
  PutOptions options;
  options.target_part_bytes = 400'000;
  auto first = TryPut(batches, options).ValueOrDie();
  EXPECT_GE(first.new_parts, 2u);
  EXPECT_EQ(first.rows_already_there, 0u);
  EXPECT_EQ(Cells(Open(), "id").size(), 4u * n);
  auto again = TryPut(batches, options).ValueOrDie();
  EXPECT_EQ(again.rows_already_there, 4u * n);
  EXPECT_EQ(Cells(Open(), "id").size(), 4u * n);
}

TEST_F(PartStoreTest, PutTwiceLeavesOnePart) {
  auto batch = FromJson(kIdName, R"([[1,"a"],[2,null],[3,"c"]])");
  auto first = Put(batch);
  EXPECT_EQ(first.new_parts, 1u);
  EXPECT_EQ(first.rows, 3u);
  EXPECT_EQ(first.rows_already_there, 0u);
  auto second = Put(batch);
  EXPECT_EQ(second.new_parts, 0u);
  EXPECT_EQ(second.rows_already_there, 3u);
  EXPECT_EQ(second.parts, first.parts);
  EXPECT_EQ(Open()->units().size(), 1u);
  for (const Status& fault : Check()) ADD_FAILURE() << fault.ToString();
  ReadContext ctx;
  auto listed = store_->List(ctx).ValueOrDie();
  ASSERT_EQ(listed.size(), 1u);
  EXPECT_EQ(listed[0].name, first.parts[0]);
  EXPECT_EQ(listed[0].sidecar_state, "ok");
  EXPECT_EQ(listed[0].rows, 3u);
  EXPECT_GT(listed[0].idx_bytes, 0u);
}

TEST_F(PartStoreTest, NothingThere) {
  ReadContext ctx;
  EXPECT_EQ(KindOf(store_->OpenSnapshot(true, ctx).status()), ErrorKind::kNotFound);
  EXPECT_EQ(store_->Schema(ctx).ValueOrDie(), nullptr);
  auto none = FromJson(kIdName, "[]");
  EXPECT_EQ(Put(none).new_parts, 1u) << "an empty part fixes the schema";
  EXPECT_EQ(Put(none).new_parts, 0u);
  EXPECT_TRUE(store_->Schema(ctx).ValueOrDie()->Equals(*kIdName, false));
  EXPECT_EQ(KindOf(TryPut({FromJson(schema({}), "[]")}).status()), ErrorKind::kUsage);
}

TEST_F(PartStoreTest, BatchIdMakesRetriesHarmless) {
  auto batch = FromJson(kIdName, R"([[1,"a"],[2,"b"]])");
  PutOptions a{.batch_id = "a"}, b{.batch_id = "b"};
  EXPECT_EQ(Put(batch, a).new_parts, 1u);
  EXPECT_EQ(Put(batch, b).new_parts, 1u) << "rows meant to be there twice";
  auto retry = Put(batch, a);
  EXPECT_EQ(retry.new_parts, 0u);
  EXPECT_EQ(retry.rows_already_there, 2u);
  // Another version would write other bytes; here another file version does.
  PutOptions other = a;
  other.version = FileVersion::kV2_1;
  EXPECT_EQ(Put(batch, other).new_parts, 0u);
  // The header may be gone: the part's own bytes say it too.
  fs::remove_all(Root() + "/side");
  EXPECT_EQ(Put(batch, other).rows_already_there, 2u);
  EXPECT_EQ(Cells(Open(), "id").size(), 4u);
  EXPECT_EQ(Open()->schema()->metadata(), nullptr);
}

TEST_F(PartStoreTest, HalfABatchIsCompleted) {
  testdata::Rng rng(1);
  auto s = schema({field("v", arrow::int64())});
  auto batch =
      arrow::RecordBatch::Make(s, 5000, {testdata::RandomArray(rng, arrow::int64(), 5000, testdata::Spread::kMany, 0)});
  PutOptions options{.batch_id = "x", .target_part_bytes = 9000};
  auto whole = Put(batch, options);
  ASSERT_GT(whole.parts.size(), 3u);
  fs::remove(Root() + "/parts/" + whole.parts[1] + ".lance");
  PutOptions other = options;
  other.target_part_bytes = 4000;  // another cut: only what is missing comes back
  auto again = Put(batch, other);
  EXPECT_EQ(again.rows, 5000u);
  EXPECT_GT(again.new_parts, 1u);
  EXPECT_LT(again.new_parts, whole.parts.size());
  EXPECT_EQ(Cells(Open(), "v").size(), 5000u);
}

TEST_F(PartStoreTest, RollsAtTheSameRowsHoweverBatched) {
  testdata::Rng rng(2);
  auto s = schema({field("v", arrow::int64()), field("t", arrow::utf8()), field("l", arrow::list(arrow::int32()))});
  auto list = arrow::json::ArrayFromJSONString(arrow::list(arrow::int32()), "[[1,2],null,[],[3]]").ValueOrDie();
  std::vector<std::shared_ptr<arrow::Array>> lists(2000, list);
  auto batch = arrow::RecordBatch::Make(s, 8000,
                                        {testdata::RandomArray(rng, arrow::int64(), 8000, testdata::Spread::kMany, 5),
                                         testdata::RandomArray(rng, arrow::utf8(), 8000, testdata::Spread::kMany, 5),
                                         arrow::Concatenate(lists).ValueOrDie()});
  PutOptions options{.target_part_bytes = 60000};
  auto whole = Put(batch, options);
  EXPECT_GT(whole.parts.size(), 5u);
  for (int64_t step : {1, 333, 4096}) {
    if (step == 1) continue;
    std::vector<std::shared_ptr<arrow::RecordBatch>> pieces;
    for (int64_t at = 0; at < 8000; at += step) pieces.push_back(batch->Slice(at, std::min(step, 8000 - at)));
    auto again = TryPut(pieces, options).ValueOrDie();
    EXPECT_EQ(again.parts, whole.parts) << step;
    EXPECT_EQ(again.rows_already_there, 8000u);
  }
  EXPECT_EQ(Cells(Open(), "v").size(), 8000u);
  for (const Status& fault : Check()) ADD_FAILURE() << fault.ToString();
}

TEST_F(PartStoreTest, AddDropReorder) {
  Put(FromJson(schema({field("a", arrow::int64()), field("b", arrow::utf8())}), R"([[1,"x"],[2,"y"]])"));
  Put(FromJson(schema({field("c", arrow::float64()), field("a", arrow::int64())}), "[[0.5,3]]"));
  auto snapshot = Open();
  EXPECT_EQ(snapshot->schema()->num_fields(), 3);
  EXPECT_EQ(Cells(snapshot, "a"), (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(Cells(snapshot, "b"), (std::vector<std::string>{"null", "x", "y"}));
  EXPECT_EQ(Cells(snapshot, "c"), (std::vector<std::string>{"0.5", "null", "null"}));
  for (const auto& unit : snapshot->units()) {
    ReadContext ctx;
    const bool has_b = unit->num_rows() == 2;
    EXPECT_EQ(unit->MayMatch(IsNull("b"), ctx).ValueOrDie(), !has_b);
    EXPECT_EQ(unit->MayMatch(InSet("b", ValueSet::Point(Value::Text("x"))), ctx).ValueOrDie(), has_b);
    EXPECT_FALSE(unit->MayMatch(InSet("b", ValueSet::Point(Value::Text("w"))), ctx).ValueOrDie());
    auto narrowed = unit->Narrow(IsNull("b"), ctx).ValueOrDie();
    EXPECT_EQ(narrowed.certain.size(), has_b ? 0u : 1u);
    EXPECT_EQ(unit->index_note(), "");
  }
}

TEST_F(PartStoreTest, WidensAndAsksInThePartsOwnType) {
  Put(FromJson(schema({field("n", arrow::int32()), field("f", arrow::int16()),
                       field("t", arrow::timestamp(arrow::TimeUnit::SECOND)), field("s", arrow::utf8()),
                       field("d", arrow::decimal128(5, 1))}),
               R"([[5,7,10,"a","1.5"],[null,null,null,null,null]])"));
  Put(FromJson(schema({field("n", arrow::int64()), field("f", arrow::float32()),
                       field("t", arrow::timestamp(arrow::TimeUnit::NANO)), field("s", arrow::large_utf8()),
                       field("d", arrow::decimal128(9, 3))}),
               R"([[5000000000,0.25,10000000001,"b","2.125"]])"));
  auto snapshot = Open();
  EXPECT_TRUE(snapshot->schema()->GetFieldByName("n")->type()->Equals(arrow::int64()));
  EXPECT_TRUE(snapshot->schema()->GetFieldByName("f")->type()->Equals(arrow::float32()));
  EXPECT_TRUE(snapshot->schema()->GetFieldByName("t")->type()->Equals(arrow::timestamp(arrow::TimeUnit::NANO)));
  EXPECT_TRUE(snapshot->schema()->GetFieldByName("s")->type()->Equals(arrow::large_utf8()));
  EXPECT_TRUE(snapshot->schema()->GetFieldByName("d")->type()->Equals(arrow::decimal128(9, 3)));
  EXPECT_EQ(Cells(snapshot, "n"), (std::vector<std::string>{"5", "5000000000", "null"}));
  EXPECT_EQ(Cells(snapshot, "f"), (std::vector<std::string>{"0.25", "7", "null"}));
  EXPECT_EQ(Cells(snapshot, "d"), (std::vector<std::string>{"1.500", "2.125", "null"}));
  auto kept = [&](const Probe& p) {
    uint64_t n = 0;
    for (const auto& unit : snapshot->units()) {
      ReadContext ctx;
      n += unit->MayMatch(p, ctx).ValueOrDie();
    }
    return n;
  };
  EXPECT_EQ(kept(InSet("n", ValueSet::Point(Value::Int(5)))), 1u);
  EXPECT_EQ(kept(InSet("n", ValueSet::Point(Value::Int(6)))), 0u);
  EXPECT_EQ(kept(InSet("f", ValueSet::Point(Value::Float(7)))), 1u);
  EXPECT_EQ(kept(InSet("f", ValueSet::Point(Value::Float(7.5)))), 0u);
  EXPECT_EQ(kept(InSet("t", ValueSet::Point(Value::Int(10000000000)))), 1u);
  EXPECT_EQ(kept(InSet("t", ValueSet::Point(Value::Int(10000000001)))), 1u) << "only where the finer unit is stored";
  EXPECT_EQ(kept(InSet("d", ValueSet::Point(Value::Decimal(arrow::Decimal256(1500))))), 1u);
  EXPECT_EQ(kept(InSet("d", ValueSet::Point(Value::Decimal(arrow::Decimal256(1501))))), 0u);
  EXPECT_EQ(kept(IsNull("n")), 1u);
}

TEST_F(PartStoreTest, NestUnions) {
  auto st = [](arrow::FieldVector fields) { return field("st", arrow::struct_(std::move(fields))); };
  auto items = [](arrow::FieldVector fields) { return field("l", arrow::list(arrow::struct_(std::move(fields)))); };
  Put(FromJson(schema({st({field("a", arrow::int32())}), items({field("x", arrow::int32())})}),
               R"([[[1],[[1],[2]]],[null,null]])"));
  Put(FromJson(
      schema({st({field("b", arrow::utf8()), field("a", arrow::int64())}), items({field("y", arrow::utf8())})}),
      R"([[["q",7000000000],[["z"]]],[[null,null],[]]])"));
  auto snapshot = Open();
  auto type = snapshot->schema()->GetFieldByName("st")->type();
  EXPECT_EQ(type->num_fields(), 2);
  auto table = ReadAll(snapshot, {{{"st"}}, {{"l"}}}).ValueOrDie();
  EXPECT_EQ(table->column(0)->null_count(), 1) << "a NULL struct stays one";
  // One leaf that a part lacks: its struct's NULLs still come from the part.
  auto b = ReadAll(snapshot, {{{"st", "b"}}}).ValueOrDie();
  ASSERT_EQ(b->column(0)->type()->num_fields(), 1);
  EXPECT_EQ(b->column(0)->null_count(), 1);
  auto y = ReadAll(snapshot, {{{"l", "y"}}}).ValueOrDie();
  EXPECT_EQ(y->column(0)->null_count(), 1);
  Probe leaf = InSet("st", ValueSet::Point(Value::Text("q")));
  leaf.column = {{"st", "b"}};
  uint64_t kept = 0;
  for (const auto& unit : snapshot->units()) {
    ReadContext ctx;
    kept += unit->MayMatch(leaf, ctx).ValueOrDie();
  }
  EXPECT_EQ(kept, 1u);
}

TEST_F(PartStoreTest, ClashIsRefusedOrAnErrorOfTheColumn) {
  auto first = Put(FromJson(schema({field("a", arrow::int64()), field("b", arrow::utf8())}), R"([[1,"x"]])"));
  auto clash = FromJson(schema({field("a", arrow::float64()), field("b", arrow::utf8())}), R"([[1.5,"y"]])");
  auto refused = TryPut({clash});
  EXPECT_EQ(KindOf(refused.status()), ErrorKind::kUsage);
  EXPECT_NE(refused.status().message().find("'a'"), std::string::npos) << refused.status().message();
  auto second = Put(clash, PutOptions{.new_schema = true});
  auto snapshot = Open();
  EXPECT_TRUE(snapshot->CheckColumn("b").ok());
  const std::string message = snapshot->CheckColumn("a").message();
  EXPECT_NE(message.find(first.parts[0]), std::string::npos) << message;
  EXPECT_NE(message.find(second.parts[0]), std::string::npos) << message;
  EXPECT_EQ(Cells(snapshot, "b"), (std::vector<std::string>{"x", "y"}));
}

TEST_F(PartStoreTest, AForeignPartIsScanned) {
  Put(FromJson(kIdName, R"([[1,"a"]])"));
  auto sink = CreateLocalFile(Root() + "/parts/by hand.lance").ValueOrDie();
  auto writer = FileWriter::Make(std::move(sink), kIdName, {}).ValueOrDie();
  ASSERT_TRUE(writer->Write(*FromJson(kIdName, R"([[9,"z"],[8,null]])")).ok());
  ASSERT_TRUE(writer->Finish().ok());
  for (const char* no_part : {".half.lance", "._by hand.lance", "readme.txt"}) {
    std::ofstream(Root() + "/parts/" + no_part) << "not Lance";
  }
  auto snapshot = Open();
  ASSERT_EQ(snapshot->units().size(), 2u);
  EXPECT_EQ(Cells(snapshot, "id"), (std::vector<std::string>{"1", "8", "9"}));
  for (const auto& unit : snapshot->units()) {
    ReadContext ctx;
    const bool foreign = unit->name() == "by hand";
    EXPECT_EQ(unit->MayMatch(InSet("id", ValueSet::Point(Value::Int(77))), ctx).ValueOrDie(), foreign);
    EXPECT_EQ(unit->index_note().empty(), !foreign);
  }
  for (const Status& fault : Check()) ADD_FAILURE() << fault.ToString();
}

// Everything that can be wrong with a sidecar: the answers stay those of a scan.
TEST_F(PartStoreTest, DamagedSidecarsCostAScanNeverAnAnswer) {
  testdata::Rng rng(4);
  auto s = schema({field("v", arrow::int64()), field("t", arrow::utf8())});
  auto make = [&](int64_t n) {
    return arrow::RecordBatch::Make(s, n,
                                    {testdata::RandomArray(rng, arrow::int64(), n, testdata::Spread::kAscending, 3),
                                     testdata::RandomArray(rng, arrow::utf8(), n, testdata::Spread::kMany, 3)});
  };
  const std::string name = Put(make(4000)).parts[0], other = Put(make(3000)).parts[0];
  auto slurp = [&](const std::string& path) {
    ReadContext ctx;
    auto source = OpenLocalFile(path, ctx).ValueOrDie();
    return source->ReadRange({0, source->size()}, ctx).ValueOrDie()->ToString();
  };
  auto write = [&](const std::string& path, const std::string& bytes) {
    auto sink = CreateLocalFile(path).ValueOrDie();
    ASSERT_TRUE(sink->Write(bytes.data(), bytes.size()).ok() && sink->Close().ok());
  };
  std::vector<Probe> probes = {InSet("v", ValueSet::Of({Bound{Value::Int(100), true}, Bound{Value::Int(900), true}})),
                               InSet("v", ValueSet::Point(Value::Int(1))), IsNull("t"),
                               InSet("t", ValueSet::Point(Value::Text("7")))};
  // The truth, from the rows.
  auto truth = [&](const Unit& unit, const Probe& p) {
    RowSet rows;
    ReadContext ctx;
    auto stream = unit.Read({p.column}, RowSet::All(unit.num_rows()), {}, ctx).ValueOrDie();
    while (auto batch = stream->Next().ValueOrDie()) {
      const auto numbers = stream->rows().ToVector();
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        auto v = ValueAt(*batch->column(0), i).ValueOrDie();
        const bool in = p.kind == Probe::Kind::kIsNull ? !v : v && p.set.Contains(*v);
        if (in) rows.Append(numbers[i], numbers[i] + 1);
      }
    }
    return rows;
  };
  std::map<std::pair<std::string, size_t>, RowSet> expected;
  const auto scanned = Open(false);
  for (const auto& unit : scanned->units()) {
    for (size_t i = 0; i < probes.size(); ++i) expected[{unit->name(), i}] = truth(*unit, probes[i]);
  }
  auto check = [&](const std::string& what) {
    auto snapshot = Open();
    ASSERT_EQ(snapshot->units().size(), 2u) << what;
    for (const auto& unit : snapshot->units()) {
      ASSERT_EQ(unit->num_rows(), unit->name() == name ? 4000u : 3000u) << what;
      for (size_t i = 0; i < probes.size(); ++i) {
        ReadContext ctx;
        const RowSet& exact = expected[{unit->name(), i}];
        EXPECT_TRUE(exact.empty() || unit->MayMatch(probes[i], ctx).ValueOrDie()) << what;
        const auto found = unit->Narrow(probes[i], ctx).ValueOrDie();
        EXPECT_TRUE(exact.IsSubsetOf(found.possible)) << what;
        EXPECT_TRUE(found.certain.IsSubsetOf(exact)) << what;
      }
    }
  };
  check("sound");
  for (const std::string suffix : {".idx", ".idxh"}) {
    const std::string path = Root() + "/side/" + name + ".lance" + suffix;
    const std::string good = slurp(path), foreign = slurp(Root() + "/side/" + other + ".lance" + suffix);
    auto noted = [&] {
      const auto now = Open();
      for (const auto& unit : now->units()) {
        ReadContext ctx;
        (void)unit->Narrow(probes[0], ctx).ValueOrDie();
        if (unit->name() == name) return !unit->index_note().empty();
      }
      return false;
    };
    for (size_t n : {size_t{0}, size_t{10}, size_t{63}, size_t{87}, good.size() / 2, good.size() - 1}) {
      write(path, good.substr(0, n));
      check(suffix + " cut at " + std::to_string(n));
      EXPECT_TRUE(noted()) << suffix << " cut at " << n;
      EXPECT_FALSE(Check().empty());
    }
    for (size_t i = 0; i < good.size(); i += i < 300 ? 3 : good.size() / 40) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 0x10);
      write(path, bad);
      check(suffix + " flip at " + std::to_string(i));
      if (i < 88) {
        EXPECT_TRUE(noted()) << suffix << " flip at " << i;
      }
    }
    write(path, foreign);
    check(suffix + " of another part");
    EXPECT_TRUE(noted());
    write(path, good + "x");
    check(suffix + " with more behind it");
    fs::remove(path);
    check(suffix + " gone");
    EXPECT_TRUE(noted());
    write(path, good);
    EXPECT_FALSE(noted());
  }
  for (const Status& fault : Check()) ADD_FAILURE() << fault.ToString();
}

// Arrow makes extension types of what it knows when it reads a header's schema; a Lance file does not.
TEST_F(PartStoreTest, HeadersOfExtensionColumnsAreUsed) {
  auto storage = arrow::json::ArrayFromJSONString(arrow::fixed_size_binary(16), R"(["0123456789abcdef",null])");
  auto uuids = arrow::ExtensionType::WrapArray(arrow::extension::uuid(), storage.ValueOrDie());
  auto offsets = arrow::json::ArrayFromJSONString(arrow::int32(), "[0,1,2]").ValueOrDie();
  auto lists = arrow::ListArray::FromArrays(*offsets, *uuids).ValueOrDie();
  auto s = schema({field("u", arrow::extension::uuid()), field("l", lists->type())});
  Put(arrow::RecordBatch::Make(s, 2, {uuids, lists}));
  Put(FromJson(schema({field("id", arrow::int64())}), "[[1]]"));
  for (const Status& fault : Check()) ADD_FAILURE() << fault.ToString();
  auto snapshot = Open();
  EXPECT_TRUE(snapshot->schema()->Equals(*Open(false)->schema(), false));
  for (const auto& unit : snapshot->units()) {
    ReadContext ctx;
    EXPECT_FALSE(unit->MayMatch(InSet("u", ValueSet::Point(Value::Binary("other 16 bytes.."))), ctx).ValueOrDie());
    EXPECT_EQ(unit->index_note(), "");
  }
  EXPECT_EQ(ReadAll(snapshot, {{{"u"}}, {{"l"}}}).ValueOrDie()->num_rows(), 3);
}

// A part that lacks a column of vectors gives NULLs in its place, in batches of bounded size.
TEST_F(PartStoreTest, MissingVectorsAreBoundedInBytes) {
  const int32_t dimensions = 10'000;
  auto vector = arrow::fixed_size_list(arrow::float32(), dimensions);
  auto s = schema({field("id", arrow::int64()), field("st", arrow::struct_({field("a", arrow::int8())}))});
  auto wide = schema({field("v", vector), field("st", arrow::struct_({field("w", vector)}))});
  auto ids = arrow::MakeArrayFromScalar(arrow::Int64Scalar(7), 1000).ValueOrDie();
  auto structs = arrow::MakeArrayOfNull(s->field(1)->type(), 1000).ValueOrDie();
  const auto without = Put(arrow::RecordBatch::Make(s, 1000, {ids, structs})).parts[0];
  Put(FromJson(wide, "[[null,null]]"));
  auto snapshot = Open();
  for (const auto& unit : snapshot->units()) {
    if (unit->name() != without) continue;
    for (const std::vector<FieldPath>& columns :
         std::vector<std::vector<FieldPath>>{{{{"v"}}}, {{{"id"}}, {{"v"}}}, {{{"st", "w"}}}}) {
      ReadContext ctx;
      BatchLimits limits;
      limits.bytes = 1 << 20;
      auto stream = unit->Read(columns, RowSet::All(1000), limits, ctx).ValueOrDie();
      int64_t rows = 0;
      while (auto batch = stream->Next().ValueOrDie()) {
        EXPECT_LE(batch->num_rows(), (1 << 20) / (dimensions * 4));
        EXPECT_EQ(stream->rows().size(), static_cast<uint64_t>(batch->num_rows()));
        rows += batch->num_rows();
      }
      EXPECT_EQ(rows, 1000);
    }
  }
}

TEST_F(PartStoreTest, CheckGoesOnPastAPartThatCannotBeOpened) {
  const std::string cut = Put(FromJson(kIdName, R"([[1,"a"]])")).parts[0];
  const std::string other = Put(FromJson(kIdName, R"([[2,"b"]])")).parts[0];
  fs::remove_all(Root() + "/side");
  fs::resize_file(Root() + "/parts/" + cut + ".lance", 100);
  ReadContext ctx;
  auto found = store_->Check(ctx).ValueOrDie();
  EXPECT_EQ(found.parts, 2u);
  uint64_t of_cut = 0, of_other = 0;
  for (const Status& fault : found.faults) {
    of_cut += fault.message().find(cut) != std::string::npos;
    of_other += fault.message().find(other) != std::string::npos;
  }
  EXPECT_EQ(of_cut, 2u);    // its name, and its tail
  EXPECT_EQ(of_other, 3u);  // no sidecars
}

TEST_F(PartStoreTest, TextThatIsNotUtf8IsRefused) {
  arrow::StringBuilder b;
  ASSERT_TRUE(b.Append("\xFF").ok());
  auto s = schema({field("t", arrow::utf8())});
  EXPECT_EQ(KindOf(TryPut({arrow::RecordBatch::Make(s, 1, {b.Finish().ValueOrDie()})}).status()), ErrorKind::kUsage);
  EXPECT_FALSE(fs::exists(Root() + "/parts"));
}

TEST_F(PartStoreTest, CheckFindsWhatIsWrong) {
  const std::string name = Put(FromJson(kIdName, R"([[1,"a"],[2,"b"]])")).parts[0];
  const std::string path = Root() + "/parts/" + name + ".lance";
  std::string flipped = std::string(64, '0');
  fs::copy_file(path, Root() + "/parts/" + flipped + ".lance");
  auto faults = Check();
  ASSERT_EQ(faults.size(), 4u);  // the name, and no sidecars
  EXPECT_NE(faults[0].message().find("hash"), std::string::npos);
}

}  // namespace
}  // namespace pilum
