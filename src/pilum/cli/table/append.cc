// pilum table append: rows of files into a table, as one version.
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/write_table.h"
#include "pilum/cli/progress.h"
#include "pilum/cli/table/inputs.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/cli/table/write_verb.h"

namespace pilum::cli {
namespace {

struct AppendArgs : WriteArgs {
  std::vector<std::string> inputs;
  bool create = false, stable_row_ids = false;
  std::optional<uint64_t> rows_per_file;
  std::string data_version;
  InputOptions input;
};

Result<WriteTableOptions> WriteOptionsOf(const AppendArgs& args) {
  WriteTableOptions out;
  SetMessage(args, &out);
  out.mode = WriteMode::kAppend;
  out.data_version = args.data_version;
  out.stable_row_ids = args.stable_row_ids;
  if (args.rows_per_file) {
    if (*args.rows_per_file == 0) return UsageError("--rows-per-file: a file has at least one row");
    out.max_rows_per_file = *args.rows_per_file;
  }
  return out;
}

Result<WrittenTable> WriteAll(const AppendArgs& args, const OpenedToWrite* opened, const std::shared_ptr<DryLog>& dry,
                              ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const auto how, WriteOptionsOf(args));
  PILUM_ASSIGN_OR_RETURN(auto reading, ToIngestOptions(args.input));
  if (opened != nullptr) reading.known_schema = opened->table.table->schema();
  PILUM_ASSIGN_OR_RETURN(auto rows, OpenInputs(args.inputs, reading, ctx));
  Progress progress("appending");
  rows = WithProgress(std::move(rows), &progress);
  if (opened != nullptr) return WriteTable(opened->table, *rows, how, ctx);
  PILUM_ASSIGN_OR_RETURN(auto store, OpenStoreToWrite(args.table, dry));
  return WriteTable(std::move(store), *rows, how, ctx);
}

Result<int> Append(const AppendArgs& args) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  auto opened = OpenToChange(args);
  const bool is_new = !opened.ok() && KindOf(opened.status()) == ErrorKind::kNotFound && args.version.branch.empty();
  if (!opened.ok() && !(is_new && args.create)) {
    if (!is_new) return opened.status();
    return NotFoundError("{}; --create makes a new table", opened.status().message());
  }
  std::unique_ptr<Session> session;
  if (!opened.ok()) {
    PILUM_ASSIGN_OR_RETURN(session, Session::Make(args.run));
  }
  std::shared_ptr<DryLog> dry = opened.ok() ? opened->dry : args.dry_run ? std::make_shared<DryLog>() : nullptr;
  ReadContext& ctx = opened.ok() ? opened->ctx() : session->ctx();
  PILUM_ASSIGN_OR_RETURN(const WrittenTable written, WriteAll(args, opened.ok() ? &*opened : nullptr, dry, ctx));
  Done done;
  done.words = fmt::format("{} appended{}", Plural(written.rows, "row"), opened.ok() ? "" : " to a new table");
  done.version = written.version;
  done.facts = {{"rows", written.rows}, {"created", !opened.ok()}};
  return Tell(args, dry.get(), done);
}

}  // namespace

void AddAppendVerb(CLI::App* group, Action* action) {
  auto verb = AddWriteVerb<AppendArgs>(group, "append", "Adds the rows of files, all of them as one version",
                                       "pilum table append flights.lance january.parquet february.csv", action, Append);
  AppendArgs& args = *verb.args;
  verb.command
      ->add_option("file", args.inputs, "Parquet, CSV, JSON lines, Arrow IPC or Lance files; - is standard input")
      ->required()
      ->type_name("FILE");
  verb.command->add_flag("--create", args.create, "Make the table if it is not there");
  verb.command->add_flag("--stable-row-ids", args.stable_row_ids, "Of a new table: ids that stay when rows move");
  verb.command->add_option("--data-version", args.data_version, "Of data files: 2.0, 2.1 or 2.2 (default: the table's)")
      ->type_name("VERSION");
  verb.command->add_option("--rows-per-file", args.rows_per_file, "Most rows of a data file (default: 1,048,576)")
      ->type_name("N")
      ->check(WholeNumber());
  AddInputOptions(*verb.command, &args.input);
}

}  // namespace pilum::cli
