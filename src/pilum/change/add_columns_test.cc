// Columns with values, on real files in memory; what pylance says of them is tests/interop/test_table_columns.py.
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "pilum/change/add_columns.h"
#include "pilum/change/column_file.h"
#include "pilum/change/columns.h"
#include "pilum/change/delete_rows.h"
#include "pilum/change/write_table.h"

namespace pilum {
namespace {

std::shared_ptr<arrow::RecordBatchReader> Json(const std::shared_ptr<arrow::Schema>& schema, const std::string& text,
                                               int64_t batch = 1 << 20) {
  const auto rows = std::static_pointer_cast<arrow::StructArray>(
      arrow::json::ArrayFromJSONString(arrow::struct_(schema->fields()), text).ValueOrDie());
  const auto all = arrow::RecordBatch::Make(schema, rows->length(), rows->fields());
  arrow::RecordBatchVector batches;
  for (int64_t at = 0; at < all->num_rows(); at += batch) batches.push_back(all->Slice(at, batch));
  return arrow::RecordBatchReader::Make(batches, schema).ValueOrDie();
}

std::string NumbersText(int64_t begin, int64_t end) {
  std::string out;
  for (int64_t i = begin; i < end; ++i)
    out += fmt::format("{}{{\"a\": {}, \"b\": {}}}", i > begin ? "," : "", i, 10 * i);
  return "[" + out + "]";
}

const auto kNumbers = arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", arrow::int32())});

struct World {
  std::shared_ptr<ObjectStore> store = ObjectStore::Memory();
  ReadContext ctx;
  explicit World(WriteTableOptions options = {}) {
    options.max_rows_per_file = 20;
    EXPECT_TRUE(WriteTable(store, *Json(kNumbers, NumbersText(0, 50)), options, ctx).ok());
  }
  std::shared_ptr<const Table> Open() { return Table::Open(store, {}, ctx).ValueOrDie(); }
  WritableTable ToWrite() { return OpenToWrite(store, ctx).ValueOrDie(); }
  void Append(int64_t begin, int64_t end) {
    WriteTableOptions append;
    append.mode = WriteMode::kAppend;
    ASSERT_TRUE(WriteTable(ToWrite(), *Json(kNumbers, NumbersText(begin, end)), append, ctx).ok());
  }
  // Rows of `sql`, a line each.
  std::string Ask(const std::string& sql) {
    auto snapshot = Open()->OpenSnapshot({}, ctx).ValueOrDie();
    auto query = BindQuery(sql, *snapshot, {});
    if (!query.ok()) return query.status().ToString();
    auto result = RunQuery(snapshot, std::move(*query), {}, ctx).ValueOrDie();
    std::string out;
    while (auto batch = result->Next().ValueOrDie()) {
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        for (const auto& column : batch->columns()) out += column->GetScalar(i).ValueOrDie()->ToString() + " ";
        out.back() = '\n';
      }
    }
    return out;
  }
  size_t DataFiles() {
    size_t n = 0;
    for (const auto& f : store->List("data/").ValueOrDie()) n += f.path.ends_with(".lance") ? 1 : 0;
    return n;
  }
};

TEST(AddColumns, Expressions) {
  World world;
  ASSERT_TRUE(DeleteRows(world.ToWrite(), "a in (0, 1, 19, 21)", {}, world.ctx).ok());
  auto done = AddColumns(world.ToWrite(), {{"c", "b * 2"}, {"d", "a is null"}, {"e", "b + a"}}, {}, {}, world.ctx);
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  const auto schema = world.Open()->schema();
  EXPECT_EQ(schema->GetFieldByName("c")->type()->id(), arrow::Type::INT32);  // a number takes its column's type
  EXPECT_EQ(schema->GetFieldByName("e")->type()->id(), arrow::Type::INT64);
  EXPECT_TRUE(schema->GetFieldByName("c")->nullable());
  EXPECT_FALSE(schema->GetFieldByName("d")->nullable());
  EXPECT_EQ(world.Ask("SELECT count(*), sum(c), sum(e) FROM t WHERE NOT d"),
            world.Ask("SELECT count(*), sum(b * 2), sum(a + b) FROM t"));
  EXPECT_EQ(world.Ask("SELECT a, c FROM t WHERE a in (2, 20, 22)"), "2 40\n20 400\n22 440\n");
  const auto table = world.Open();
  for (const Fragment& f : table->manifest().fragments) EXPECT_EQ(f.files.size(), 2u);
  EXPECT_EQ(table->manifest().schema.fields.back().id, 4);
}

TEST(AddColumns, WrongOnesLeaveNothing) {
  World world;
  const auto before = world.store->List("").ValueOrDie().size();
  const auto fails = [&](const std::string& name, const std::string& sql, const std::string& says) {
    auto done = AddColumns(world.ToWrite(), {{name, sql}}, {}, {}, world.ctx);
    ASSERT_FALSE(done.ok());
    EXPECT_NE(done.status().message().find(says), std::string::npos) << done.status().message();
  };
  fails("a", "1", "Column a already exists");
  fails("x.y", "1", "cannot contain `.`");
  fails("c", "nope + 1", "c: at 1:");
  fails("c", "a +", "c: at");
  fails("c", "1) AS d, (2", "c: at");
  fails("c", "count(*)", "aggregate");
  fails("c", "b * 100000000", "does not fit int32");
  fails("c", "CASE WHEN a < 45 THEN 1 ELSE a / 0 END", "division by zero");
  EXPECT_EQ(world.store->List("").ValueOrDie().size(), before);
}

TEST(AddColumns, ReadersMustHaveAsManyRows) {
  World world;
  ASSERT_TRUE(DeleteRows(world.ToWrite(), "a >= 3 AND a < 48", {}, world.ctx).ok());
  const auto before = world.DataFiles();
  const auto schema = arrow::schema({arrow::field("c", arrow::utf8(), false)});
  const auto add = [&](const std::string& text, int64_t batch) {
    return AddColumns(world.ToWrite(), *Json(schema, text, batch), {}, world.ctx);
  };
  EXPECT_EQ(KindOf(add(R"([{"c": "x"}])", 1).status()), ErrorKind::kUsage);
  EXPECT_EQ(KindOf(add(R"([{"c":"1"},{"c":"2"},{"c":"3"},{"c":"4"},{"c":"5"},{"c":"6"}])", 4).status()),
            ErrorKind::kUsage);
  EXPECT_EQ(world.DataFiles(), before);
  ASSERT_TRUE(add(R"([{"c":"1"},{"c":"2"},{"c":"3"},{"c":"4"},{"c":"5"}])", 4).ok());
  EXPECT_EQ(world.Ask("SELECT a, c FROM t"), "0 1\n1 2\n2 3\n48 4\n49 5\n");
}

TEST(AddColumns, AfterOthersOnlyWhatIsNewIsComputed) {
  World world;
  auto stale = world.ToWrite();
  world.Append(50, 60);
  ASSERT_TRUE(DeleteRows(world.ToWrite(), "a = 5", {}, world.ctx).ok());
  const auto before = world.DataFiles();
  auto done = AddColumns(stale, {{"c", "a + 1"}}, {}, {}, world.ctx);
  ASSERT_TRUE(done.ok()) << done.status().ToString();
  EXPECT_EQ(done->version, 4u);
  EXPECT_EQ(world.DataFiles(), before + 4);  // none was written twice
  EXPECT_EQ(world.Ask("SELECT count(*), sum(c - a) FROM t"), "59 59\n");
  EXPECT_EQ(world.Ask("SELECT c FROM t WHERE a in (4, 6, 59)"), "5\n7\n60\n");
}

TEST(AddColumns, ReadersOutliveDeletesButNotAppends) {
  World world;
  const auto schema = arrow::schema({arrow::field("c", arrow::int64())});
  std::string text;
  for (int i = 0; i < 50; ++i) text += fmt::format("{}{{\"c\": {}}}", i ? "," : "", i);
  auto stale = world.ToWrite();
  ASSERT_TRUE(DeleteRows(world.ToWrite(), "a = 5", {}, world.ctx).ok());
  ASSERT_TRUE(AddColumns(stale, *Json(schema, "[" + text + "]", 7), {}, world.ctx).ok());
  EXPECT_EQ(world.Ask("SELECT count(*), sum(c - a) FROM t"), "49 0\n");
  ASSERT_TRUE(DropColumns(world.ToWrite(), {"c"}, {}, world.ctx).ok());
  stale = world.ToWrite();
  world.Append(50, 60);
  const auto before = world.DataFiles();
  auto done = AddColumns(stale, *Json(schema, "[" + text.substr(text.find(',') + 1) + "]", 7), {}, world.ctx);
  EXPECT_EQ(KindOf(done.status()), ErrorKind::kRetry);
  EXPECT_EQ(world.DataFiles(), before);
}

TEST(AddColumns, FieldsOfStructs) {
  const auto of = [](const std::shared_ptr<arrow::Field>& f) {
    return arrow::schema({arrow::field("s", arrow::struct_({f}))});
  };
  for (const std::string version : {"2.1", "2.2"}) {
    auto store = ObjectStore::Memory();
    ReadContext ctx;
    WriteTableOptions options;
    options.data_version = version;
    const auto x = of(arrow::field("x", arrow::int32()));
    ASSERT_TRUE(WriteTable(store, *Json(x, R"([{"s": {"x": 1}}, {"s": null}])"), options, ctx).ok());
    const auto open = [&] { return OpenToWrite(store, ctx).ValueOrDie(); };
    const auto y = of(arrow::field("y", arrow::utf8()));
    auto done = AddColumns(open(), *Json(y, R"([{"s": {"y": "p"}}, {"s": {"y": "q"}}])"), {}, ctx);
    if (version == "2.1") {
      EXPECT_EQ(KindOf(done.status()), ErrorKind::kUnsupported);
      continue;
    }
    ASSERT_TRUE(done.ok()) << done.status().ToString();
    const auto again = AddColumns(open(), *Json(x, R"([{"s": {"x": 1}}, {"s": null}])"), {}, ctx);
    EXPECT_NE(again.status().message().find("Column s.x already exists"), std::string::npos);
    auto table = open().table;
    ASSERT_EQ(table->schema()->field(0)->type()->num_fields(), 2);
    auto snapshot = table->OpenSnapshot({}, ctx).ValueOrDie();
    auto result = RunQuery(snapshot, BindQuery("SELECT s FROM t", *snapshot, {}).ValueOrDie(), {}, ctx).ValueOrDie();
    const auto rows = result->Next().ValueOrDie()->column(0);
    EXPECT_TRUE(rows->Equals(arrow::json::ArrayFromJSONString(table->schema()->field(0)->type(),
                                                              R"([{"x": 1, "y": "p"}, {"x": null, "y": "q"}])")
                                 .ValueOrDie()));
  }
}

// A value where there is a live row, whatever lies between them, whatever the batches.
TEST(ColumnFile, PutsBlanksWhereRowsAreDeleted) {
  struct Case {
    uint64_t rows;
    RowSet deleted;
  };
  const std::vector<Case> cases = {
      {5, RowSet()},
      {5, RowSet::All(5)},
      {100000, RowSet::Range(0, 99999)},
      {100000, RowSet::FromRanges({{1, 2}, {40000, 90000}, {99990, 100000}})},
      {40000, RowSet::FromRanges({{0, 1}, {16383, 16385}, {39999, 40000}})},
  };
  const auto schema = arrow::schema({arrow::field("n", arrow::int64(), false), arrow::field("t", arrow::utf8())});
  for (const Case& c : cases) {
    for (const int64_t batch : {int64_t{1}, int64_t{999}, int64_t{1} << 20}) {
      const auto live = c.deleted.Complement(c.rows).ToVector();
      if (batch == 1 && live.size() > 20) continue;
      auto store = ObjectStore::Memory();
      ReadContext ctx;
      FileSchema columns;
      columns.schema = schema;
      columns.ids.children = {{0, {}}, {1, {}}};
      ColumnFile file(store, FitRows::MakeForNew(columns).ValueOrDie(), FileVersion::kV2_1, c.rows, c.deleted);
      for (size_t at = 0; at < live.size(); at += static_cast<size_t>(batch)) {
        arrow::Int64Builder n;
        arrow::StringBuilder t;
        const size_t end = std::min(live.size(), at + static_cast<size_t>(batch));
        for (size_t i = at; i < end; ++i) {
          ASSERT_TRUE(n.Append(static_cast<int64_t>(live[i])).ok() && t.Append(std::to_string(live[i])).ok());
        }
        ASSERT_TRUE(file.Write(*arrow::RecordBatch::Make(schema, static_cast<int64_t>(end - at),
                                                         {n.Finish().ValueOrDie(), t.Finish().ValueOrDie()}))
                        .ok());
      }
      std::string path;
      ASSERT_TRUE(file.Finish(&path).ok());
      auto reader = FileReader::Open(store->OpenSource(path, ctx).ValueOrDie(), ctx).ValueOrDie();
      ASSERT_EQ(reader->num_rows(), c.rows);
      auto stream =
          reader->Read(std::vector<FieldPath>{{{"n"}}, {{"t"}}}, RowSet::FromSorted(live), {}, ctx).ValueOrDie();
      size_t seen = 0;
      while (auto got = stream->Next().ValueOrDie()) {
        const auto& n = static_cast<const arrow::Int64Array&>(*got->column(0));
        const auto& t = static_cast<const arrow::StringArray&>(*got->column(1));
        for (int64_t i = 0; i < got->num_rows(); ++i, ++seen) {
          ASSERT_EQ(n.Value(i), static_cast<int64_t>(live[seen]));
          ASSERT_EQ(t.GetString(i), std::to_string(live[seen]));
        }
      }
      EXPECT_EQ(seen, live.size());
    }
  }
}

}  // namespace
}  // namespace pilum
