// pilum table take: rows of a table by number.
#include <CLI/CLI.hpp>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include "pilum/cli/common.h"
#include "pilum/cli/open_table.h"
#include "pilum/cli/output.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/query/take_rows.h"
#include "pilum/source/field_path.h"
#include "pilum/source/snapshot.h"

namespace pilum::cli {
namespace {

struct TakeArgs {
  std::string table, columns;
  VersionOptions version;
  std::vector<std::string> rows;
  OutputOptions output;
  RunOptions run;
};

Result<std::vector<FieldPath>> ChosenColumns(const TakeArgs& args, const Snapshot& snapshot) {
  if (!args.columns.empty()) return ParseColumns(args.columns, *snapshot.schema());
  std::vector<FieldPath> out;
  for (int i = 0; i < snapshot.schema()->num_fields() - snapshot.num_hidden(); ++i) {
    out.push_back({{snapshot.schema()->field(i)->name()}});
  }
  return out;
}

Result<int> Take(const TakeArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  ReadContext& ctx = session->ctx();
  PILUM_ASSIGN_OR_RETURN(auto table, OpenTable(args.table, args.version, ctx));
  PILUM_ASSIGN_OR_RETURN(auto snapshot, table->OpenSnapshot({}, ctx));
  uint64_t num_rows = 0;
  for (const auto& unit : snapshot->units()) num_rows += unit->num_rows();
  PILUM_ASSIGN_OR_RETURN(auto ranges, ParseRowRanges(args.rows, num_rows));
  PILUM_ASSIGN_OR_RETURN(const auto columns, ChosenColumns(args, *snapshot));
  std::vector<std::string> names;
  for (const FieldPath& path : columns) names.push_back(path.steps.size() == 1 ? path.steps[0] : path.ToString());
  std::unique_ptr<RowWriter> writer;
  const auto write = [&](const std::vector<uint64_t>& rows) -> Status {
    PILUM_ASSIGN_OR_RETURN(auto taken, TakeRows(*snapshot, columns, names, rows, ctx));
    if (!writer) {
      PILUM_ASSIGN_OR_RETURN(writer, RowWriter::Make(args.output, taken->schema()));
    }
    arrow::TableBatchReader batches(*taken);
    std::shared_ptr<arrow::RecordBatch> batch;
    while (true) {
      PILUM_RETURN_NOT_OK(batches.ReadNext(&batch));
      if (!batch) return Status::OK();
      PILUM_RETURN_NOT_OK(writer->Write(*batch));
    }
  };
  std::vector<uint64_t> rows;  // at most so many are in memory
  for (const RowRange& r : ranges) {
    for (uint64_t row = r.begin; row < r.end; ++row) {
      rows.push_back(row);
      if (rows.size() == FileReader::kTakeRows) PILUM_RETURN_NOT_OK(write(std::exchange(rows, {})));
    }
  }
  if (!rows.empty() || !writer) PILUM_RETURN_NOT_OK(write(rows));
  PILUM_RETURN_NOT_OK(writer->Close());
  return kExitOk;
}

}  // namespace

void AddTakeVerb(CLI::App* group, Action* action) {
  auto args = std::make_shared<TakeArgs>();
  CLI::App* take = group->add_subcommand("take", "Rows by number over all fragments, in the order given");
  take->footer("Example:\n  pilum table take flights.lance 7 3 100:105 -c carrier,_rowid");
  take->add_option("table", args->table, "The table's folder or URI")->required()->type_name("TABLE");
  take->add_option("rows", args->rows, "Row numbers from 0, or ranges 10:20 (half open)")->required()->type_name("ROW");
  take->add_option("--columns,-c", args->columns, "Only these, in this order: a,st.x,\"odd.name\"")->type_name("NAMES");
  AddVersionOptions(*take, &args->version);
  AddOutputOptions(*take, &args->output);
  AddRunOptions(*take, &args->run);
  take->callback([=] { *action = [=] { return Take(*args); }; });
}

}  // namespace pilum::cli
