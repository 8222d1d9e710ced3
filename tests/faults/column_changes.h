// Changes of a table's columns, as tests/faults/numbers_table.h has them of its rows.
#pragma once

#include <arrow/record_batch.h>

#include "pilum/change/add_columns.h"
#include "pilum/change/fragment_columns.h"
#include "pilum/change/join_columns.h"
#include "pilum/change/raw_commit.h"
#include "pilum/query/query.h"
#include "tests/faults/numbers_table.h"

namespace pilum::testing {

inline std::shared_ptr<arrow::RecordBatchReader> Renamed(const std::shared_ptr<arrow::RecordBatchReader>& rows,
                                                         const std::vector<std::string>& names) {
  auto table = rows->ToTable().ValueOrDie()->RenameColumns(names).ValueOrDie();
  auto batch = table->CombineChunksToBatch().ValueOrDie();
  return arrow::RecordBatchReader::Make({batch->Slice(0, 7), batch->Slice(7)}, batch->schema()).ValueOrDie();
}

// A function of the rows, as those of Python: it reads column a of the fragments that it is asked for, and gives f of it.
class FunctionOfA final : public ColumnValues {
 public:
  Result<std::shared_ptr<arrow::Schema>> Schema(const Table&, ReadContext&) override {
    return arrow::schema({arrow::field("f", arrow::int64())});
  }
  Status Begin(const Table& table, const std::vector<uint64_t>& fragments, ReadContext& ctx) override {
    ctx_ = &ctx;
    next_ = 0;
    PILUM_ASSIGN_OR_RETURN(snapshot_, table.OpenSnapshot({fragments}, ctx));
    return Status::OK();
  }
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (next_ == snapshot_->units().size()) return std::shared_ptr<arrow::RecordBatch>();
    const auto& unit = snapshot_->units()[next_++];
    const std::vector<FieldPath> a = {FieldPath{{std::string("a")}}};
    PILUM_ASSIGN_OR_RETURN(auto stream, unit->Read(a, RowSet::All(unit->num_rows()), {}, *ctx_));
    arrow::Int64Builder out;
    for (;;) {
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      const auto& values = static_cast<const arrow::Int64Array&>(*batch->column(0));
      for (int64_t i = 0; i < values.length(); ++i) PILUM_RETURN_NOT_OK(out.Append(3 * values.Value(i)));
    }
    PILUM_ASSIGN_OR_RETURN(auto array, out.Finish());
    return arrow::RecordBatch::Make(arrow::schema({arrow::field("f", arrow::int64())}), array->length(), {array});
  }

 private:
  ReadContext* ctx_ = nullptr;
  std::shared_ptr<const Snapshot> snapshot_;
  size_t next_ = 0;
};

// Columns added to each fragment by itself, then committed as one Merge.
inline Status MergeFragments(const WritableTable& table, ReadContext& ctx) {
  wire::Transaction t;
  t.set_read_version(table.table->manifest().version);
  for (const Fragment& f : table.table->manifest().fragments) {
    const auto values = ValuesOfSql({{"c", "b + 1"}}, {});
    PILUM_ASSIGN_OR_RETURN(AddedFragment added, AddFragmentColumns(table, f.id, *values, ctx));
    *t.mutable_merge()->add_fragments() = std::move(added.fragment);
    *t.mutable_merge()->mutable_schema() = std::move(added.schema);
  }
  return CommitTransaction(table, t, {}, ctx).status();
}

// Column b of one fragment anew, committed as an Update.
inline Status UpdateOneFragment(const WritableTable& table, ReadContext& ctx) {
  const auto ours = Renamed(Numbers(25, 200), {"key", "ten"});
  const auto key = ours->ToTable().ValueOrDie()->GetColumnByName("key");
  const auto both = arrow::schema({arrow::field("key", arrow::int64()), arrow::field("b", arrow::int64())});
  const auto rows =
      Renamed(std::make_shared<arrow::TableBatchReader>(arrow::Table::Make(both, {key, key})), {"key", "b"});
  PILUM_ASSIGN_OR_RETURN(UpdatedFragment done, UpdateFragmentColumns(table, 1, *rows, "a", "key", ctx));
  wire::Transaction t;
  t.set_read_version(table.table->manifest().version);
  auto* update = t.mutable_update();
  *update->add_updated_fragments() = std::move(done.fragment);
  for (const int32_t id : done.fields) update->add_fields_modified(static_cast<uint32_t>(id));
  update->set_update_mode(1);  // columns are rewritten
  return CommitTransaction(table, t, {}, ctx).status();
}

inline std::vector<std::pair<std::string, TableChange>> ColumnChanges() {
  const auto sql = [](auto table, ReadContext& ctx) {
    BatchLimits limits;
    limits.rows = 7;
    return AddColumns(table, {{"c", "a * 2"}, {"d", "b + 1"}}, limits, {}, ctx).status();
  };
  const auto function = [](auto table, ReadContext& ctx) {
    FunctionOfA values;
    return AddColumns(table, values, {}, ctx).status();
  };
  const auto reader = [](auto table, ReadContext& ctx) {
    const auto rows = Renamed(Numbers(500, 560), {"c", "d"});
    return AddColumns(table, *rows, {}, ctx).status();
  };
  const auto cast = [](auto table, ReadContext& ctx) {
    return AlterColumns(table, {{"b", "narrow", std::nullopt, arrow::int32()}}, {}, ctx).status();
  };
  const auto join = [](auto table, ReadContext& ctx) {
    const auto rows = Renamed(Numbers(30, 90), {"key", "c"});
    return JoinColumns(table, *rows, "a", "key", {}, ctx).status();
  };
  const auto update = [](auto table, ReadContext& ctx) { return UpdateOneFragment(table, ctx); };
  return {{"columns by SQL", OnTable(sql)},         {"a column by a function", OnTable(function)},
          {"columns by a reader", OnTable(reader)}, {"a cast", OnTable(cast)},
          {"columns by a key", OnTable(join)},      {"columns of fragments", OnTable(MergeFragments)},
          {"values of a fragment", OnTable(update)}};
}

}  // namespace pilum::testing
