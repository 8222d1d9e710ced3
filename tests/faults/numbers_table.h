// A table of numbers in memory, changes of it, and what it holds: for tests in which stores fail.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <arrow/api.h>

#include "pilum/change/batch_appends.h"
#include "pilum/change/columns.h"
#include "pilum/change/compact_table.h"
#include "pilum/change/delete_rows.h"
#include "pilum/change/merge_rows.h"
#include "pilum/change/restore.h"
#include "pilum/change/update_rows.h"
#include "pilum/change/write_table.h"

namespace pilum::testing {

inline std::shared_ptr<arrow::RecordBatchReader> Numbers(int64_t begin, int64_t end) {
  arrow::Int64Builder a, b;
  for (int64_t i = begin; i < end; ++i) {
    EXPECT_TRUE(a.Append(i).ok() && b.Append(10 * i).ok());
  }
  auto schema = arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", arrow::int64())});
  auto batch = arrow::RecordBatch::Make(schema, end - begin, {a.Finish().ValueOrDie(), b.Finish().ValueOrDie()});
  return arrow::RecordBatchReader::Make({batch}, schema).ValueOrDie();
}

inline WriteTableOptions TwentyRowsAFile(WriteMode mode) {
  WriteTableOptions out;
  out.mode = mode;
  out.max_rows_per_file = 20;
  return out;
}

// What the newest version holds; -1 columns: there is no table.
struct TableState {
  std::vector<int64_t> rows;  // column a
  int columns = -1;
  size_t fragments = 0;
  std::string schema;
  std::vector<std::string> values;  // all columns of a row
  bool operator==(const TableState&) const = default;
};

inline Result<TableState> LookAt(const Table& table) {
  ReadContext ctx;
  TableState out;
  out.columns = table.schema()->num_fields();
  out.fragments = table.manifest().fragments.size();
  out.schema = table.schema()->ToString();
  PILUM_ASSIGN_OR_RETURN(auto snapshot, table.OpenSnapshot({}, ctx));
  std::vector<FieldPath> all;
  for (const std::string& name : table.schema()->field_names()) all.push_back(FieldPath{{name}});
  for (const auto& unit : snapshot->units()) {
    PILUM_ASSIGN_OR_RETURN(auto stream, unit->Read(all, RowSet::All(unit->num_rows()), {}, ctx));
    for (;;) {
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      const auto& a = static_cast<const arrow::Int64Array&>(*batch->GetColumnByName("a"));
      for (int64_t i = 0; i < a.length(); ++i) {
        out.rows.push_back(a.Value(i));
        std::string& row = out.values.emplace_back();
        for (const auto& column : batch->columns()) row += column->GetScalar(i).ValueOrDie()->ToString() + " ";
      }
    }
  }
  std::sort(out.rows.begin(), out.rows.end());
  std::sort(out.values.begin(), out.values.end());
  return out;
}

inline Result<TableState> Look(const std::shared_ptr<ObjectStore>& store) {
  ReadContext ctx;
  auto table = Table::Open(store, {}, ctx);
  if (!table.ok())
    return KindOf(table.status()) == ErrorKind::kNotFound ? Result<TableState>(TableState()) : table.status();
  return LookAt(**table);
}

using TableChange = std::function<Status(const std::shared_ptr<ObjectStore>&)>;

// `look` at each of these changes, by its name, until one fails for good.
template <typename Look>
void EachChange(const std::vector<std::pair<std::string, TableChange>>& changes, Look look) {
  for (const auto& [name, change] : changes) {
    SCOPED_TRACE(name);
    look(change);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

inline TableChange OnTable(std::function<Status(WritableTable, ReadContext&)> change) {
  return [change](const std::shared_ptr<ObjectStore>& store) {
    ReadContext ctx;
    PILUM_ASSIGN_OR_RETURN(auto table, OpenToWrite(store, ctx));
    return change(table, ctx);
  };
}

inline TableChange Write(WriteMode mode, int64_t begin, int64_t end) {
  return [=](const std::shared_ptr<ObjectStore>& store) {
    ReadContext ctx;
    return WriteTable(store, *Numbers(begin, end), TwentyRowsAFile(mode), ctx).status();
  };
}

// One more row, of column a alone, which every such table has; a new table where there is none.
inline Status AppendOne(const std::shared_ptr<ObjectStore>& store) {
  ReadContext ctx;
  auto batch = Numbers(1000, 1001)->Next().ValueOrDie()->SelectColumns({0}).ValueOrDie();
  auto rows = arrow::RecordBatchReader::Make({batch}, batch->schema()).ValueOrDie();
  return WriteTable(store, *rows, TwentyRowsAFile(WriteMode::kAppend), ctx).status();
}

// 60 rows in four fragments, or nothing.
inline std::shared_ptr<ObjectStore> NumbersTable(bool with_table) {
  auto store = ObjectStore::Memory();
  if (!with_table) return store;
  EXPECT_TRUE(Write(WriteMode::kCreate, 0, 50)(store).ok());
  EXPECT_TRUE(Write(WriteMode::kAppend, 50, 60)(store).ok());
  return store;
}

// Every kind of change, by name.
inline std::vector<std::pair<std::string, TableChange>> TableChanges() {
  const auto drop = [](auto table, ReadContext& ctx) { return DropColumns(table, {"b"}, {}, ctx).status(); };
  const auto add = [](auto table, ReadContext& ctx) {
    return AddNullColumns(table, *arrow::schema({arrow::field("c", arrow::utf8())}), {}, ctx).status();
  };
  const auto restore = [](WritableTable table, ReadContext& ctx) -> Status {
    PILUM_ASSIGN_OR_RETURN(table.table, table.table->Reopen(1, ctx));
    return RestoreTable(table, {}, ctx).status();
  };
  const auto del = [](const std::string& predicate) {
    return OnTable(
        [predicate](auto table, ReadContext& ctx) { return DeleteRows(table, predicate, {}, ctx).status(); });
  };
  // The second one is in a file before the commit.
  const auto batch = [](WritableTable table, ReadContext& ctx) -> Status {
    BatchAppends appends(std::move(table), TwentyRowsAFile(WriteMode::kAppend), /*most_bytes=*/600);
    for (const int64_t begin : {100, 110, 120}) {
      PILUM_ASSIGN_OR_RETURN(const auto rows, Numbers(begin, begin + 25)->ToRecordBatches());
      PILUM_RETURN_NOT_OK(appends.Put(rows, ctx));
    }
    return appends.Commit(ctx).status();
  };
  const auto compact = [](WritableTable table, ReadContext& ctx) {
    return CompactTable(table, {.target_rows_per_fragment = 30}, {}, ctx).status();
  };
  const auto update = [](auto table, ReadContext& ctx) {
    return UpdateRows(table, {{"a", "a + 1000"}}, "a % 3 = 1", {}, ctx).status();
  };
  // Rows 45 to 80 again, of which 60 and more are new; `held`: bytes that stay in memory.
  const auto merge = [](bool insert, uint64_t held) {
    return OnTable([=](auto table, ReadContext& ctx) {
      MergeOptions how;
      how.on = {"a"};
      how.matched = WhenMatched::kUpdate;
      how.insert = insert;
      how.delete_others = true;
      how.delete_if = "a < 10";
      how.held_bytes = held;
      return MergeRows(table, *Numbers(45, 80), how, ctx).status();
    });
  };
  return {{"append", Write(WriteMode::kAppend, 100, 150)},
          {"overwrite", Write(WriteMode::kOverwrite, 100, 150)},
          {"delete", del("a % 7 = 3")},
          {"delete whole fragments", del("a < 45")},
          {"update", OnTable(update)},
          {"upsert", merge(true, 1 << 20)},
          {"upsert of rows put aside", merge(true, 0)},
          {"update by rows put aside", merge(false, 0)},
          {"restore", OnTable(restore)},
          {"drop a column", OnTable(drop)},
          {"add a column", OnTable(add)},
          {"compact", OnTable(compact)},
          {"batch", OnTable(batch)}};
}

}  // namespace pilum::testing
