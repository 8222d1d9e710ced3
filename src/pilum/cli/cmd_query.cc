// pilum query: one SELECT or one predicate over a part store's dataset, a Lance table or a Lance file.
#include <sys/stat.h>

#include <cstdio>

#include <CLI/CLI.hpp>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <nlohmann/json.hpp>

#include "pilum/cli/common.h"
#include "pilum/cli/open_table.h"
#include "pilum/cli/output.h"
#include "pilum/cli/params.h"
#include "pilum/cli/progress.h"
#include "pilum/io/object_store.h"
#include "pilum/part/part_store.h"
#include "pilum/query/query.h"
#include "pilum/source/snapshot.h"

namespace pilum::cli {
namespace {

constexpr double kDefaultTimeout = 8;

struct QueryArgs {
  std::string source, sql, stats;
  std::vector<std::string> params;
  bool explain = false, no_index = false;
  std::optional<uint64_t> limit;
  double timeout = kDefaultTimeout;
  VersionOptions version;
  OutputOptions output;
  RunOptions run;
};

bool IsFile(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && !S_ISDIR(st.st_mode);
}

bool IsFolder(const std::string& path) {
  struct stat st;
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

Result<std::shared_ptr<const Snapshot>> OpenTableSource(const QueryArgs& args, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto table, OpenTable(args.source, args.version, ctx));
  return table->OpenSnapshot({}, ctx);
}

Result<std::shared_ptr<const Snapshot>> OpenQuerySource(const QueryArgs& args, ReadContext& ctx) {
  const bool wants_version = !args.version.version.empty() || !args.version.branch.empty();
  if (wants_version || IsTableFolder(args.source)) return OpenTableSource(args, ctx);
  // At the other end of a URI a name that ends in .lance is a file or, where there is none, a table.
  const bool remote = args.source.find("://") != std::string::npos;
  if (remote ? args.source.ends_with(".lance") : IsFile(args.source)) {
    auto source = OpenFileOrObject(args.source, ctx);
    if (!source.ok() && remote && KindOf(source.status()) == ErrorKind::kNotFound) return OpenTableSource(args, ctx);
    PILUM_RETURN_NOT_OK(source.status());
    return OpenFileSnapshot(std::move(*source), ctx);
  }
  if (args.source.find("://") == std::string::npos && !IsFolder(args.source)) {
    return NotFoundError("{}: no such file or dataset", args.source);
  }
  PILUM_ASSIGN_OR_RETURN(auto store, PartStore::Open(args.source));
  return store->OpenSnapshot(!args.no_index, ctx);
}

void PrintStats(const QueryCounts& c, const Session& session) {
  nlohmann::ordered_json j;
  uint64_t rows_decoded = 0;  // of the column that most was decoded of
  nlohmann::ordered_json decoded = nlohmann::ordered_json::object();
  for (const auto& [column, values] : session.stats().decoded()) {
    rows_decoded = std::max(rows_decoded, values);
    decoded[column] = values;
  }
  j["parts"] = c.units;
  j["parts_pruned"] = c.units_pruned;
  j["parts_read"] = c.units_read;
  j["rows_total"] = c.rows_total;
  j["rows_candidate"] = c.rows_candidate;
  j["rows_certain"] = c.rows_certain;
  j["rows_rechecked"] = c.rows_rechecked;
  j["evaluations"] = c.evaluations;
  j["rows_matched"] = c.rows_matched;
  j["rows_returned"] = c.rows_returned;
  j["rows_decoded"] = rows_decoded;
  j["values_decoded"] = session.stats().total_decoded();
  j["decoded"] = decoded;
  j["opens"] = session.stats().opens.load();
  j["requests"] = session.stats().requests.load();
  j["bytes"] = session.stats().bytes.load();
  j["seconds"] = session.seconds();
  j["notes"] = c.notes;
  std::string line = j.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

// What had been done when the deadline passed.
Status AtDeadline(const Status& s, const QueryArgs& args, const QueryCounts* c, const Session& session) {
  if (KindOf(s) != ErrorKind::kDeadline) return s;
  std::string parts =
      c ? fmt::format("{} of {} parts read, {} pruned, ", c->units_read, c->units, c->units_pruned) : "";
  return MakeError(ErrorKind::kDeadline,
                   fmt::format("no answer within {:g} s ({}{}, {} read); raise --timeout (0: none) or ask for less",
                               args.timeout, parts, Plural(session.stats().opens.load(), "object") + " opened",
                               HumanBytes(session.stats().bytes.load())));
}

Status Drain(QueryResult& result, const QueryArgs& args) {
  std::unique_ptr<RowWriter> writer;
  if (!args.explain) {
    PILUM_ASSIGN_OR_RETURN(writer, RowWriter::Make(args.output, result.schema()));
  }
  Progress progress("querying");
  for (;;) {
    PILUM_ASSIGN_OR_RETURN(auto batch, result.Next());
    if (!batch) break;
    if (writer) PILUM_RETURN_NOT_OK(writer->Write(*batch));
    if (!args.output.output.empty()) progress.Add(static_cast<uint64_t>(batch->num_rows()));
  }
  return writer ? writer->Close() : Status::OK();
}

Result<int> Query(const QueryArgs& args) {
  if (!args.stats.empty() && args.stats != "json") return UsageError("--stats {}: only json is known", args.stats);
  PILUM_ASSIGN_OR_RETURN(Params params, ParseParams(args.params));
  RunOptions run = args.run;
  run.timeout = args.timeout;
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(run));
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  auto snapshot = OpenQuerySource(args, session->ctx());
  if (!snapshot.ok()) return AtDeadline(snapshot.status(), args, nullptr, *session);
  PILUM_ASSIGN_OR_RETURN(BoundQuery query, BindQuery(args.sql, **snapshot, params));
  if (args.limit) query.CapLimit(*args.limit);
  QueryOptions options;
  options.use_index = !args.no_index;
  if (!run.memory_limit.empty()) {
    PILUM_ASSIGN_OR_RETURN(options.memory_limit, ParseBytes(run.memory_limit));
  }
  PILUM_ASSIGN_OR_RETURN(auto result, RunQuery(*snapshot, std::move(query), options, session->ctx()));
  Status drained = Drain(*result, args);
  if (!args.stats.empty()) PrintStats(result->counts(), *session);
  if (!drained.ok()) return AtDeadline(drained, args, &result->counts(), *session);
  if (args.explain) {
    std::string text = result->Explain();
    if (!text.empty() && text.back() != '\n') text += '\n';
    PILUM_RETURN_NOT_OK(Print(text));
  }
  return kExitOk;
}

}  // namespace

void AddQueryCommand(CLI::App& app, Action* action) {
  auto args = std::make_shared<QueryArgs>();
  CLI::App* query =
      app.add_subcommand("query", "A SELECT, or a predicate alone, over a dataset, a Lance table or a Lance file");
  query->footer(
      "Examples:\n"
      "  pilum query lake/flights \"SELECT carrier, dep_delay FROM t WHERE month = 2 AND dep_delay > 600 LIMIT 10\"\n"
      "  pilum query lake/flights \"SELECT carrier, COUNT(*) AS n, AVG(dep_delay) FROM t GROUP BY carrier ORDER BY n "
      "DESC\"\n"
      "  pilum query flights.lance 'tailnum = ?' --param N14228 --format jsonl\n"
      "  pilum query flights.lance \"SELECT _rowid, * FROM t WHERE month = 2\" --version 7\n"
      "  pilum query lake/flights \"origin = :o AND day = :d\" --param o=JFK --param d:int=7 --explain");
  query->add_option("source", args->source, "STORE/DATASET, a Lance table, or a Lance file")
      ->required()
      ->type_name("SOURCE");
  query
      ->add_option("sql", args->sql,
                   "SELECT … [FROM t] [WHERE …] [GROUP BY …] [HAVING …] [ORDER BY …] [LIMIT n], or a predicate")
      ->required()
      ->type_name("SQL");
  query
      ->add_option("--param,-p", args->params,
                   "A value for the next ? or $n: VALUE; for :name: NAME=VALUE; with a type: NAME:int=7 or :text=7. "
                   "Without one: "
                   "null, true, false, numbers, else text")
      ->type_name("[NAME[:TYPE]=]VALUE")
      ->take_all()
      ->allow_extra_args(false);
  query->add_flag("--explain", args->explain,
                  "Run it, and print the plan and the counts of every stage instead of rows");
  query->add_flag("--no-index", args->no_index, "Do not use sidecars: scan (the rows are the same)");
  query->add_option("--limit", args->limit, "At most this many rows, beside what the SQL says")
      ->type_name("N")
      ->check(WholeNumber());
  query->add_option("--timeout", args->timeout, "Give up after this many seconds; 0: never (default: 8)")
      ->type_name("SECONDS")
      ->check(Seconds());
  query->add_option("--stats", args->stats, "json: one line of counts on standard error at the end")->type_name("json");
  AddVersionOptions(*query, &args->version);
  AddOutputOptions(*query, &args->output);
  AddRunOptions(*query, &args->run);
  query->callback([=] { *action = [=] { return Query(*args); }; });
}

}  // namespace pilum::cli
