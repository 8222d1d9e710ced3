// pilum store …: a dataset of immutable parts with sidecars.
#include <sys/stat.h>

#include <filesystem>

#include <CLI/CLI.hpp>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/cli/common.h"
#include "pilum/cli/store_stats.h"
#include "pilum/cli/output.h"
#include "pilum/cli/progress.h"
#include "pilum/cli/render.h"
#include "pilum/ingest/ingest.h"
#include "pilum/part/part_store.h"

namespace pilum::cli {
namespace {

struct StoreArgs {
  std::string dataset;
  std::vector<std::string> inputs;
  std::string batch_id, target = "1GiB", version = "2.2";
  bool new_schema = false, full_names = false, json = false;
  InputOptions input;
  RunOptions run;
};
using Args = std::shared_ptr<StoreArgs>;

// "flights.csv: 336,776 rows in 4 new parts (12.3 MB, 0.4 MB of sidecars)", or what was there before.
std::string PutMessage(const std::string& input, const PutResult& r) {
  std::string name = input == "-" ? "standard input" : input;
  if (r.new_parts == 0 && r.rows_already_there > 0)
    return fmt::format("{}: already there: {}\n", name, Plural(r.rows_already_there, "row"));
  std::string text =
      fmt::format("{}: {} in {} ({}, {} of sidecars)", name, Plural(r.rows - r.rows_already_there, "row"),
                  Plural(r.new_parts, "new part"), HumanBytes(r.part_bytes), HumanBytes(r.sidecar_bytes));
  if (r.rows_already_there > 0) text += fmt::format("; already there: {}", Plural(r.rows_already_there, "row"));
  return text + "\n";
}

Result<int> Put(const StoreArgs& args) {
  if (!args.batch_id.empty() && args.inputs.size() > 1) {
    return UsageError("--batch-id names one input; put the {} inputs one by one, each with its own id",
                      args.inputs.size());
  }
  PutOptions options;
  options.batch_id = args.batch_id;
  options.new_schema = args.new_schema;
  PILUM_ASSIGN_OR_RETURN(options.target_part_bytes, ParseBytes(args.target));
  if (args.version == "2.1")
    options.version = FileVersion::kV2_1;
  else if (args.version != "2.2")
    return UsageError("--version {}: parts are written in 2.1 and 2.2", args.version);
  PILUM_ASSIGN_OR_RETURN(auto reading, ToIngestOptions(args.input));
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(args.dataset));
  for (const std::string& path : args.inputs) {
    PILUM_ASSIGN_OR_RETURN(reading.known_schema, store->Schema(session->ctx()));
    if (args.new_schema) reading.known_schema = nullptr;
    PutResult result;
    {
      PILUM_ASSIGN_OR_RETURN(auto input, OpenInput(path, reading, session->ctx()));
      Progress progress("putting " + path);
      input = WithProgress(std::move(input), &progress);
      PILUM_ASSIGN_OR_RETURN(result, store->Put(*input, options, session->ctx()));
    }
    PILUM_RETURN_NOT_OK(Print(PutMessage(path, result)));
  }
  return kExitOk;
}

// A folder of datasets rather than a dataset: their names.
std::vector<std::string> DatasetsIn(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ec;
  std::vector<std::string> names;
  if (fs::is_directory(folder + "/parts", ec) || fs::is_directory(folder + "/merged", ec)) return names;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
    if (fs::is_directory(it->path() / "parts", ec)) names.push_back(it->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<int> Ls(const StoreArgs& args) {
  auto datasets = DatasetsIn(args.dataset);
  if (!datasets.empty()) {
    PILUM_RETURN_NOT_OK(Print(fmt::format("{}\n", fmt::join(datasets, "\n"))));
    return kExitOk;
  }
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(args.dataset));
  PILUM_ASSIGN_OR_RETURN(auto parts, store->List(session->ctx()));
  if (parts.empty()) return NotFoundError("{}: no parts here; put some rows with `pilum store put`", args.dataset);
  Grid grid({{"part", ""},
             {"rows", "", true},
             {"bytes", "", true},
             {"index", "", true},
             {"prune header", "", true},
             {"statistics", "", true},
             {"sidecars", ""}},
            GridStyle::ForStdout());
  uint64_t rows = 0, bytes = 0, sidecars = 0;
  for (const PartSummary& p : parts) {
    std::string name = args.full_names ? p.name : p.name.substr(0, 12);
    PILUM_RETURN_NOT_OK(grid.Add({{name + (p.merged ? " (merged)" : "")},
                                  {Thousands(p.rows)},
                                  {Thousands(p.bytes)},
                                  {Thousands(p.idx_bytes)},
                                  {Thousands(p.idxh_bytes)},
                                  {Thousands(p.stats_bytes)},
                                  {p.sidecar_state}}));
    rows += p.rows;
    bytes += p.bytes;
    sidecars += p.idx_bytes + p.idxh_bytes + p.stats_bytes;
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  PILUM_RETURN_NOT_OK(Print(fmt::format("{}, {}, {} and {} of sidecars\n", Plural(parts.size(), "part"),
                                        Plural(rows, "row"), HumanBytes(bytes), HumanBytes(sidecars))));
  return kExitOk;
}

Result<int> Check(const StoreArgs& args) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(args.dataset));
  PILUM_ASSIGN_OR_RETURN(StoreFaults found, store->Check(session->ctx()));
  for (const Status& fault : found.faults) PILUM_RETURN_NOT_OK(Print(fmt::format("fault: {}\n", fault.message())));
  const std::string what = found.faults.empty() ? "sound," : Plural(found.faults.size(), "fault") + " in";
  PILUM_RETURN_NOT_OK(Print(fmt::format("{}: {} {}\n", args.dataset, what, Plural(found.parts, "part"))));
  return found.faults.empty() ? kExitOk : kExitError;
}

CLI::App* Add(CLI::App* group, const std::string& name, const std::string& what, const std::string& example, Args args,
              Action* action, Result<int> (*run)(const StoreArgs&)) {
  CLI::App* command = group->add_subcommand(name, what);
  command->footer("Example:\n  " + example);
  command->callback([=] { *action = [=] { return run(*args); }; });
  command->add_option("dataset", args->dataset, "A folder STORE/DATASET")->required()->type_name("STORE/DATASET");
  AddRunOptions(*command, &args->run);
  return command;
}

}  // namespace

void AddStoreCommands(CLI::App& app, Action* action) {
  CLI::App* group = app.add_subcommand("store", "Part stores: put rows, list parts, check them");
  group->require_subcommand(1);
  group->footer("Example:\n  pilum store put lake/flights flights.csv");
  auto args = std::make_shared<StoreArgs>();

  CLI::App* put = Add(group, "put", "Rows into immutable parts with sidecars; the same input again adds nothing",
                      "pilum store put lake/flights flights.csv.gz --null NA --null ''", args, action, Put);
  put->add_option("inputs", args->inputs,
                  "Parquet, CSV, JSON lines, Arrow IPC or Lance files (also .zip or .gz); - is standard input")
      ->required()
      ->type_name("INPUT");
  put->add_option(
         "--batch-id", args->batch_id,
         "Names this batch: a retry with it adds nothing, and rows that are there already are added under a new one")
      ->type_name("ID");
  put->add_flag("--new-schema", args->new_schema,
                "Allow a column whose type queries could not unite with the dataset's");
  put->add_option("--target-part-bytes", args->target, "Start a new part at about this size (default: 1GiB)")
      ->type_name("SIZE");
  put->add_option("--version", args->version, "Of the Lance files: 2.1 or 2.2 (default: 2.2)")->type_name("VERSION");
  AddInputOptions(*put, &args->input);

  CLI::App* ls = Add(group, "ls", "Parts with their rows, bytes and sidecars; or the datasets of a store",
                     "pilum store ls lake/flights", args, action, Ls);
  ls->add_flag("--full-names", args->full_names, "Whole part names, not their first 12 digits");

  CLI::App* stats =
      Add(group, "stats", "What the statistics of all parts say of each column, without opening a Lance file",
          "pilum store stats lake/flights", args, action,
          [](const StoreArgs& a) { return StoreStats(a.dataset, a.json, a.run); });
  stats->add_flag("--json", args->json, "A JSON object a column, one a line");
  CLI::App* why = Add(group, "explain-build", "What was built for each part's columns, and why",
                      "pilum store explain-build lake/flights", args, action,
                      [](const StoreArgs& a) { return ExplainBuild(a.dataset, a.full_names, a.run); });
  why->add_flag("--full-names", args->full_names, "Whole part names, not their first 12 digits");

  Add(group, "check", "Verify every part and sidecar; print every fault (exit code 1 if there is one)",
      "pilum store check lake/flights", args, action, Check);
}

}  // namespace pilum::cli
