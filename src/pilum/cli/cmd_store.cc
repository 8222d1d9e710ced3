// pilum store …: a dataset of immutable parts with sidecars.
#include <sys/stat.h>

#include <filesystem>

#include <CLI/CLI.hpp>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "pilum/cli/common.h"
#include "pilum/cli/store_stats.h"
#include "pilum/cli/output.h"
#include "pilum/cli/params.h"
#include "pilum/cli/progress.h"
#include "pilum/cli/render.h"
#include "pilum/ingest/ingest.h"
#include "pilum/part/part_store.h"
#include "pilum/query/match.h"

namespace pilum::cli {
namespace {

struct StoreArgs {
  std::string dataset;
  std::vector<std::string> inputs;
  std::vector<std::string> sort;
  std::string batch_id, target = "1GiB", version = "2.2", grace = "24h";
  std::string where, before, column, to, by = "object,column,family";
  std::vector<std::string> params;
  std::optional<uint64_t> target_rows;
  bool new_schema = false, full_names = false, json = false, all = false, dry_run = false;
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

Result<int> PrintLine(const StoreArgs& args, const std::string& text) {
  PILUM_RETURN_NOT_OK(Print(fmt::format("{}: {}\n", args.dataset, text)));
  return kExitOk;
}

Result<int> Put(const StoreArgs& args) {
  if (!args.batch_id.empty() && args.inputs.size() > 1) {
    return UsageError("--batch-id names one input; put the {} inputs one by one, each with its own id",
                      args.inputs.size());
  }
  PutOptions options;
  options.batch_id = args.batch_id;
  options.new_schema = args.new_schema;
  options.sort = args.sort;
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
             {"words", "", true},
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
                                  {Thousands(p.terms_bytes)},
                                  {p.sidecar_state}}));
    rows += p.rows;
    bytes += p.bytes;
    sidecars += p.sidecar_bytes();
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

Result<int> Compact(const StoreArgs& args) {
  CompactOptions options;
  options.target_rows = args.target_rows.value_or(0);
  options.all = args.all;
  PILUM_ASSIGN_OR_RETURN(options.target_bytes, ParseBytes(args.target));
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(args.dataset));
  PILUM_ASSIGN_OR_RETURN(const CompactResult r, store->Compact(options, session->ctx()));
  for (const std::string& note : r.notes) PILUM_RETURN_NOT_OK(Print(fmt::format("note: {}\n", note)));
  if (r.plans == 0) return PrintLine(args, "nothing to merge");
  return PrintLine(args, fmt::format("{} became {} ({}, {})", Plural(r.parts, "part"), Thousands(r.plans),
                                     Plural(r.rows, "row"), HumanBytes(r.bytes)));
}

Result<int> Sweep(const StoreArgs& args) {
  SweepOptions options;
  options.dry_run = args.dry_run;
  PILUM_ASSIGN_OR_RETURN(options.grace, ParseDuration(args.grace));
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(args.dataset));
  PILUM_ASSIGN_OR_RETURN(const SweepResult r, store->Sweep(options, session->ctx()));
  std::string text =
      fmt::format("{} {} ({}), {} ({}), {}", args.dry_run ? "would remove" : "removed",
                  Plural(r.parts, "merged-away part"), HumanBytes(r.part_bytes), Plural(r.sidecars, "sidecar"),
                  HumanBytes(r.sidecar_bytes), Plural(r.unfinished, "unfinished write"));
  if (r.caches > 0) text += fmt::format(", {} ({})", Plural(r.caches, "superseded bundle"), HumanBytes(r.cache_bytes));
  if (r.waiting > 0) text += fmt::format("; {} more once the grace of {} has passed", Thousands(r.waiting), args.grace);
  return PrintLine(args, text);
}

Result<EraseResult> EraseWhere(const StoreArgs& args, const std::string& sql, const Params& params,
                               const EraseOptions& options) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(args.dataset));
  const auto bind = [&](const Snapshot& snapshot) -> Result<RowMatcher> {
    PILUM_ASSIGN_OR_RETURN(auto where, BindWhere(sql, snapshot, params));
    return [where](const Unit& unit, ReadContext& ctx) { return MatchingRows(*where, unit, true, ctx); };
  };
  PILUM_ASSIGN_OR_RETURN(EraseResult r, store->Erase(bind, options, session->ctx()));
  for (const std::string& note : r.notes) PILUM_RETURN_NOT_OK(Print(fmt::format("note: {}\n", note)));
  return r;
}

std::string BytesLeft(const EraseResult& r) {
  if (r.hidden_left > 0)
    return fmt::format("; {} of before still hold their bytes until they are swept", Plural(r.hidden_left, "part"));
  return r.notes.empty() ? "; no byte of them is left" : "";
}

Result<int> Erase(const StoreArgs& args) {
  PILUM_ASSIGN_OR_RETURN(Params params, ParseParams(args.params));
  PILUM_ASSIGN_OR_RETURN(const EraseResult r, EraseWhere(args, args.where, params, {}));
  PILUM_RETURN_NOT_OK(
      PrintLine(args, fmt::format("erased {} of {}{}", Plural(r.rows, "row"), Plural(r.parts, "part"), BytesLeft(r))));
  return r.notes.empty() ? kExitOk : kExitError;
}

// The one column of dates or timestamps.
Result<std::string> TimeColumn(const StoreArgs& args) {
  if (!args.column.empty()) return args.column;
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(args.dataset));
  PILUM_ASSIGN_OR_RETURN(auto schema, store->Schema(session->ctx()));
  std::vector<std::string> found;
  for (const auto& field : schema ? schema->fields() : arrow::FieldVector()) {
    const auto id = field->type()->id();
    if (id == arrow::Type::TIMESTAMP || arrow::is_date(id)) found.push_back(field->name());
  }
  if (found.size() == 1) return found[0];
  return UsageError("{}: {} columns of dates or times; name one with --column", args.dataset, found.size());
}

Result<int> Drop(const StoreArgs& args) {
  PILUM_ASSIGN_OR_RETURN(const std::string column, TimeColumn(args));
  std::string quoted = "\"";
  for (char c : column) quoted += c == '"' ? "\"\"" : std::string(1, c);
  Params params;
  params.positional.push_back(arrow::MakeScalar(args.before));
  EraseOptions options;
  options.whole_parts_only = true;
  PILUM_ASSIGN_OR_RETURN(const EraseResult r, EraseWhere(args, quoted + "\" < ?", params, options));
  std::string text = fmt::format("dropped {} ({})", Plural(r.parts, "part"), Plural(r.rows, "row"));
  if (r.straddling > 0) text += fmt::format("; {} with later rows too stay", Plural(r.straddling, "part"));
  return PrintLine(args, text);
}

Result<int> Backfill(const StoreArgs& args) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(args.dataset));
  PILUM_ASSIGN_OR_RETURN(const BackfillResult r, store->Backfill({args.all}, session->ctx()));
  return PrintLine(args, fmt::format("rebuilt sidecars of {} of {} ({})", Thousands(r.rebuilt), Plural(r.parts, "part"),
                                     HumanBytes(r.bytes)));
}

Result<int> Maintain(const StoreArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(args.dataset));
  PILUM_ASSIGN_OR_RETURN(const MaintainResult r, store->Maintain({args.all}, session->ctx()));
  for (const CacheRefresh& cache : r.caches) {
    for (const std::string& note : cache.notes) PILUM_RETURN_NOT_OK(Print(fmt::format("note: {}\n", note)));
    const std::string made = cache.written == 0 ? "nothing to do"
                                                : fmt::format("{} in {} ({})", Plural(cache.fresh, "part"),
                                                              Plural(cache.written, "object"), HumanBytes(cache.bytes));
    PILUM_RETURN_NOT_OK(PrintLine(args, fmt::format("{}: {}", cache.name, made)).status());
  }
  return kExitOk;
}

Result<int> Copy(const StoreArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto from, PartStore::Open(args.dataset));
  PILUM_ASSIGN_OR_RETURN(auto to, PartStore::Open(args.to));
  PILUM_ASSIGN_OR_RETURN(const CopyResult r, from->CopyTo(*to, session->ctx()));
  return PrintLine(args, fmt::format("copied {} ({}) and {} ({}) to {}; already there: {}", Plural(r.parts, "part"),
                                     HumanBytes(r.part_bytes), Plural(r.sidecars, "sidecar"),
                                     HumanBytes(r.sidecar_bytes), args.to, Plural(r.already_there, "part")));
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
  CLI::App* group = app.add_subcommand("store", "Part stores: put rows, list, merge, sweep and check parts");
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
  put->add_option(
         "--sort", args->sort,
         "Order the rows by these columns first (time, owner: those of dataset.toml); by a time, parts end with a day")
      ->type_name("COLUMNS")
      ->delimiter(',');
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

  CLI::App* attribute = Add(group, "attribute", "Whose the bytes are: by part, object, column and family of index",
                            "pilum store attribute lake/flights --by object,family", args, action,
                            [](const StoreArgs& a) { return Attribute(a.dataset, a.by, a.json, a.run); });
  attribute
      ->add_option(
          "--by", args->by,
          "Some of part, object, column, family; bytes are summed over the others (default: object,column,family)")
      ->type_name("KEYS");
  attribute->add_flag("--json", args->json, "A JSON object a line");

  CLI::App* compact =
      Add(group, "compact", "Make one part of several small ones; others may put, read and compact meanwhile",
          "pilum store compact lake/flights --target-rows 1000000", args, action, Compact);
  compact
      ->add_option("--target-rows", args->target_rows,
                   "Merge parts of fewer rows, up to this many (default: bytes alone count)")
      ->type_name("N")
      ->check(WholeNumber());
  compact->add_option("--target-bytes", args->target, "Merge parts of fewer bytes, up to this many (default: 1GiB)")
      ->type_name("SIZE");
  compact->add_flag(
      "--all", args->all,
      "Merge all small parts, however unequal (without it, a row is rewritten only a few times over all runs)");

  CLI::App* sweep = Add(group, "sweep", "Remove parts that merged ones stand for, and what killed writes left",
                        "pilum store sweep lake/flights --grace 24h", args, action, Sweep);
  sweep
      ->add_option(
          "--grace", args->grace,
          "Only what has been of no use for this long, by the store's clock; longer than any read (default: 24h)")
      ->type_name("TIME");
  sweep->add_flag("--dry-run", args->dry_run, "Say what would be removed, remove nothing");

  CLI::App* drop = Add(group, "drop", "Drop the parts all of whose rows are before a time",
                       "pilum store drop lake/flights --before 2013-02-01", args, action, Drop);
  drop->add_option("--before", args->before, "A date or timestamp; parts that hold later rows too, or NULL, stay")
      ->required()
      ->type_name("TIME");
  drop->add_option("--column", args->column, "The column (default: the only one of dates or timestamps)")
      ->type_name("COLUMN");

  CLI::App* erase = Add(group, "erase", "Rewrite the parts that hold matching rows without them",
                        "pilum store erase lake/flights \"tailnum = 'N505MQ'\"", args, action, Erase);
  erase->add_option("where", args->where, "Which rows, as after WHERE")->required()->type_name("PREDICATE");
  erase->add_option("--param,-p", args->params, "A value for ?, or name=value for :name, as for pilum query")
      ->type_name("VALUE")
      ->take_all()
      ->allow_extra_args(false);

  CLI::App* backfill = Add(group, "backfill", "Rebuild sidecars that are missing or damaged; parts stay as they are",
                           "pilum store backfill lake/flights", args, action, Backfill);
  backfill->add_flag("--all", args->all, "Of every part: after an upgrade, or to index anew");

  CLI::App* maintain =
      Add(group, "maintain", "Make and refresh caches over many parts: bundles of prune headers, segments of words",
          "pilum store maintain lake/flights", args, action, Maintain);
  maintain->add_flag("--all", args->all, "Make them anew, not only what is missing or out of date");

  CLI::App* copy = Add(group, "copy", "Copy a dataset by name; one that was broken off goes on",
                       "pilum store copy lake/flights backup/flights", args, action, Copy);
  copy->add_option("to", args->to, "A folder STORE/DATASET")->required()->type_name("STORE/DATASET");

  Add(group, "check", "Verify every part and sidecar; print every fault (exit code 1 if there is one)",
      "pilum store check lake/flights", args, action, Check);
}

}  // namespace pilum::cli
