// pilum file …: one Lance file, looked at, read, checked, converted.
#include <CLI/CLI.hpp>
#include <arrow/record_batch.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/cli/common.h"
#include "pilum/cli/layouts.h"
#include "pilum/cli/output.h"
#include "pilum/cli/progress.h"
#include "pilum/cli/render.h"
#include "pilum/file/explain.h"
#include "pilum/file/file_reader.h"
#include "pilum/file/take_stream.h"
#include "pilum/io/object_store.h"

namespace pilum::cli {
namespace {

using FilePtr = std::shared_ptr<const FileReader>;

struct FileArgs {
  std::string file;
  std::vector<std::string> files;
  std::string columns;
  std::vector<std::string> rows;
  uint64_t count = 10;
  bool pages = false, metadata = false, why = false;
  std::string out;
  InputOptions input;
  OutputOptions output;
  RunOptions run;
};
using Args = std::shared_ptr<FileArgs>;

Result<FilePtr> OpenFile(const std::string& path, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto source, OpenFileOrObject(path, ctx));
  return FileReader::Open(std::move(source), ctx);
}

Result<std::optional<std::vector<FieldPath>>> ChosenColumns(const FileArgs& args, const FileReader& file) {
  if (args.columns.empty()) return std::nullopt;
  PILUM_ASSIGN_OR_RETURN(auto columns, ParseColumns(args.columns, *file.schema()));
  return columns;
}

Result<int> Info(const FileArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto file, OpenFile(args.file, session->ctx()));
  const FileInfo& info = file->info();
  std::string out = fmt::format("file             {}\n", file->name());
  out += fmt::format("version          {}\n", VersionName(info.version));
  out += fmt::format("rows             {}\n", Thousands(info.num_rows));
  out += fmt::format("columns          {} top-level, {} stored\n", file->schema()->num_fields(), info.num_columns);
  out += fmt::format("size             {} ({} bytes)\n", HumanBytes(info.file_size), Thousands(info.file_size));
  if (info.num_rows > 0) {
    out += fmt::format("bytes per row    {:.2f}\n",
                       static_cast<double>(info.file_size) / static_cast<double>(info.num_rows));
  }
  out += fmt::format("schema           {} bytes\n", Thousands(info.schema_bytes));
  out += fmt::format("column metadata  {} bytes\n", Thousands(info.column_metadata_bytes));
  out += fmt::format("global buffers   {}\n", info.num_global_buffers);
  out += fmt::format("checksums        {}\n", info.checksums ? "yes" : "none, or not looked at");
  PILUM_RETURN_NOT_OK(Print(out));
  return kExitOk;
}

void AppendMetadata(const std::shared_ptr<const arrow::KeyValueMetadata>& metadata, std::string_view indent,
                    std::string* out) {
  if (!metadata) return;
  for (int64_t i = 0; i < metadata->size(); ++i)
    *out += fmt::format("{}@ {} = {}\n", indent, metadata->key(i), metadata->value(i));
}

Result<int> Schema(const FileArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto file, OpenFile(args.file, session->ctx()));
  std::string out;
  for (const auto& field : file->schema()->fields()) {
    out += fmt::format("{}: {}{}\n", field->name(), field->type()->ToString(), field->nullable() ? "" : " not null");
    if (args.metadata) AppendMetadata(field->metadata(), "  ", &out);
  }
  if (args.metadata) AppendMetadata(file->schema()->metadata(), "", &out);
  PILUM_RETURN_NOT_OK(Print(out));
  return kExitOk;
}

Status WriteRows(const FileArgs& args, const FileReader& file, const RowSet& rows, const ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto columns, ChosenColumns(args, file));
  PILUM_ASSIGN_OR_RETURN(auto stream, file.Read(columns, rows, BatchLimits(), ctx));
  PILUM_ASSIGN_OR_RETURN(auto writer, RowWriter::Make(args.output, stream->schema()));
  Progress progress("reading", args.output.output.empty() ? 0 : rows.size());
  for (;;) {
    PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
    if (!batch) return writer->Close();
    PILUM_RETURN_NOT_OK(writer->Write(*batch));
    progress.Add(static_cast<uint64_t>(batch->num_rows()));
  }
}

Result<int> Head(const FileArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto file, OpenFile(args.file, session->ctx()));
  PILUM_RETURN_NOT_OK(WriteRows(args, *file, RowSet::All(std::min(args.count, file->num_rows())), session->ctx()));
  return kExitOk;
}

Result<int> Cat(const FileArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto file, OpenFile(args.file, session->ctx()));
  RowSet rows = RowSet::All(file->num_rows());
  if (!args.rows.empty()) {
    PILUM_ASSIGN_OR_RETURN(auto ranges, ParseRowRanges(args.rows, file->num_rows()));
    rows = RowSet::FromRanges(ranges);
  }
  PILUM_RETURN_NOT_OK(WriteRows(args, *file, rows, session->ctx()));
  return kExitOk;
}

Result<int> Take(const FileArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto file, OpenFile(args.file, session->ctx()));
  PILUM_ASSIGN_OR_RETURN(auto ranges, ParseRowRanges(args.rows, file->num_rows()));
  PILUM_ASSIGN_OR_RETURN(auto columns, ChosenColumns(args, *file));
  std::vector<uint64_t> rows;
  for (const RowRange& r : ranges) {
    if (r.size() > (1u << 24) - rows.size()) {
      return UsageError("take holds its rows in memory and takes at most {}; use cat --rows for ranges",
                        Thousands(1u << 24));
    }
    for (uint64_t row = r.begin; row < r.end; ++row) rows.push_back(row);
  }
  PILUM_ASSIGN_OR_RETURN(auto schema, file->ProjectedSchema(columns));
  PILUM_ASSIGN_OR_RETURN(auto writer, RowWriter::Make(args.output, schema));
  TakeStream stream(*file, columns, rows, FileReader::kTakeBytes, session->ctx());
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto batch, stream.Next());
    if (!batch) break;
    PILUM_RETURN_NOT_OK(writer->Write(*batch));
  }
  PILUM_RETURN_NOT_OK(writer->Close());
  return kExitOk;
}

std::string Layouts(const ColumnInfo& column) {
  LayoutCounts counts;
  for (const auto& page : column.pages) counts.Add(page.layout);
  return counts.Text();
}

// What is stored, what the writer's policy would make of the same rows, and why.
Result<int> ColumnsWhy(const FileArgs& args, const FileReader& file, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto profile, ParseProfile(args.output.profile));
  PILUM_ASSIGN_OR_RETURN(auto planned, PlanColumns(file, profile, ctx));
  const auto stored = file.Columns();
  for (size_t i = 0; i < planned.size(); ++i) {
    const PlannedColumn& p = planned[i];
    std::string text = p.name + "\n";
    auto line = [&](std::string_view what, std::string_view value) {
      text += fmt::format("  {:<10} {}\n", what, value);
    };
    auto size = [](uint64_t pages, uint64_t bytes) {
      return fmt::format("{}, {}", Plural(pages, "page"), Plural(bytes, "byte"));
    };
    for (const ColumnInfo& c : stored) {
      if (c.name == p.name) line("stored", fmt::format("{}; {}", size(c.pages.size(), c.bytes), Layouts(c)));
    }
    line(ProfileName(profile), fmt::format("{}; {}", size(p.pages, p.bytes), LayoutsText(p.layouts)));
    std::string others;
    for (const Alternative& a : p.alternatives) {
      others += fmt::format("{}{} {}", others.empty() ? "" : "; ", a.name, Plural(a.bytes, "byte"));
    }
    if (!others.empty()) line("weighed", others);
    if (!p.reasons.empty()) line("because", p.reasons[0] + (p.pages > 1 ? " (first page)" : ""));
    PILUM_RETURN_NOT_OK(Print(text));
  }
  return kExitOk;
}

Result<int> Columns(const FileArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto file, OpenFile(args.file, session->ctx()));
  if (args.why) return ColumnsWhy(args, *file, session->ctx());
  std::vector<GridColumn> heads = {{"column", ""}, {"type", ""}};
  if (args.pages)
    heads.insert(heads.end(), {{"page", "", true}, {"first row", "", true}, {"rows", "", true}});
  else
    heads.push_back({"pages", "", true});
  heads.insert(heads.end(), {{"bytes", "", true}, {"bytes/row", "", true}, {"encoding", ""}});
  Grid grid(std::move(heads), GridStyle::ForStdout());
  for (const ColumnInfo& c : file->Columns()) {
    if (!args.pages) {
      PILUM_RETURN_NOT_OK(grid.Add({{c.name},
                                    {c.type},
                                    {Thousands(c.pages.size())},
                                    {Thousands(c.bytes)},
                                    {PerRow(c.bytes, file->num_rows())},
                                    {Layouts(c)}}));
      continue;
    }
    for (size_t p = 0; p < c.pages.size(); ++p) {
      const ColumnPageInfo& page = c.pages[p];
      PILUM_RETURN_NOT_OK(grid.Add({{c.name},
                                    {c.type},
                                    {Thousands(p)},
                                    {Thousands(page.first_row)},
                                    {Thousands(page.rows)},
                                    {Thousands(page.bytes)},
                                    {PerRow(page.bytes, page.rows)},
                                    {page.layout}}));
    }
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  return kExitOk;
}

Result<int> Check(const FileArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  int exit = kExitOk;
  for (const std::string& path : args.files) {
    std::vector<Status> faults;
    auto file = OpenFile(path, session->ctx());
    if (file.ok()) {
      PILUM_ASSIGN_OR_RETURN(faults, (*file)->Check(session->ctx()));
    } else if (KindOf(file.status()) == ErrorKind::kCorrupt) {
      faults.push_back(file.status());
    } else {
      return file.status();
    }
    for (const Status& fault : faults) PILUM_RETURN_NOT_OK(Print(fmt::format("fault: {}\n", fault.message())));
    if (faults.empty()) {
      PILUM_RETURN_NOT_OK(Print(fmt::format("{}: sound, {} in {}\n", path, Plural((*file)->num_rows(), "row"),
                                            Plural(static_cast<uint64_t>((*file)->schema()->num_fields()), "column"))));
    } else {
      exit = kExitError;
      PILUM_RETURN_NOT_OK(Print(fmt::format("{}: {}\n", path, Plural(faults.size(), "fault"))));
    }
  }
  return exit;
}

Result<int> Convert(const FileArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto session, Session::Make(args.run));
  PILUM_ASSIGN_OR_RETURN(auto reading, ToIngestOptions(args.input));
  PILUM_ASSIGN_OR_RETURN(auto input, OpenInput(args.file, reading, session->ctx()));
  OutputOptions output = args.output;
  output.output = args.out;
  PILUM_ASSIGN_OR_RETURN(auto writer, RowWriter::Make(output, input->schema()));
  uint64_t rows = 0;
  {
    Progress progress("converting");
    for (;;) {
      std::shared_ptr<arrow::RecordBatch> batch;
      PILUM_RETURN_NOT_OK(input->ReadNext(&batch));
      if (!batch) break;
      PILUM_RETURN_NOT_OK(writer->Write(*batch));
      rows += static_cast<uint64_t>(batch->num_rows());
      progress.Add(static_cast<uint64_t>(batch->num_rows()));
    }
    PILUM_RETURN_NOT_OK(writer->Close());
  }
  if (args.out == "-") return kExitOk;
  PILUM_ASSIGN_OR_RETURN(auto written, OpenFileOrObject(args.out, session->ctx()));
  PILUM_RETURN_NOT_OK(Print(fmt::format("{}: {}, {}\n", args.out, Plural(rows, "row"), HumanBytes(written->size()))));
  return kExitOk;
}

// --- the command lines

CLI::App* Add(CLI::App* group, const std::string& name, const std::string& what, const std::string& example, Args args,
              Action* action, Result<int> (*run)(const FileArgs&)) {
  CLI::App* command = group->add_subcommand(name, what);
  command->footer("Example:\n  " + example);
  command->callback([=] { *action = [=] { return run(*args); }; });
  AddRunOptions(*command, &args->run);
  return command;
}

void AddFile(CLI::App* command, const Args& args) {
  command->add_option("file", args->file, "A Lance file")->required()->type_name("FILE");
}

void AddColumns(CLI::App* command, const Args& args) {
  command->add_option("--columns,-c", args->columns, "Only these, in this order: a,st.x,\"odd.name\"")
      ->type_name("NAMES");
}

}  // namespace

void AddFileCommands(CLI::App& app, Action* action) {
  CLI::App* group = app.add_subcommand("file", "One Lance file: look at it, read it, check it, convert it");
  group->require_subcommand(1);
  group->footer("Example:\n  pilum file head flights.lance -n 5");
  auto args = std::make_shared<FileArgs>();

  AddFile(Add(group, "info", "Version, rows and sizes, from the file's tail alone", "pilum file info flights.lance",
              args, action, Info),
          args);

  CLI::App* schema = Add(group, "schema", "Columns and their types", "pilum file schema flights.lance --metadata", args,
                         action, Schema);
  AddFile(schema, args);
  schema->add_flag("--metadata", args->metadata, "Metadata of the schema and its fields too");

  CLI::App* head = Add(group, "head", "The first rows", "pilum file head flights.lance -n 5 -c carrier,dep_delay", args,
                       action, Head);
  AddFile(head, args);
  head->add_option("-n,--rows", args->count, "How many (default: 10)")->type_name("N")->check(WholeNumber());

  CLI::App* cat = Add(group, "cat", "All rows, or ranges of them, in file order",
                      "pilum file cat flights.lance --rows 1000:2000 --format csv", args, action, Cat);
  AddFile(cat, args);
  cat->add_option("--rows,-r", args->rows, "Rows 10:20 (half open), 7, or several with commas")
      ->type_name("RANGES")
      ->take_all()
      ->allow_extra_args(false);

  CLI::App* take = Add(group, "take", "Rows by number, in the order given", "pilum file take flights.lance 7 3 100:105",
                       args, action, Take);
  AddFile(take, args);
  take->add_option("rows", args->rows, "Row numbers from 0, or ranges 10:20 (half open)")->required()->type_name("ROW");

  CLI::App* columns = Add(group, "columns", "Per stored column: pages, encodings, bytes and bytes per row",
                          "pilum file columns flights.lance --pages", args, action, Columns);
  AddFile(columns, args);
  columns->add_flag("--pages", args->pages, "One line a page");
  columns->add_flag("--why", args->why, "What the writer would choose for these rows, what else it weighs, and why");
  columns->add_option("--profile", args->output.profile, "With --why: fast, balanced or small (default: balanced)")
      ->type_name("PROFILE");

  CLI::App* check =
      Add(group, "check", "Verify, read and decode everything; print every fault (exit code 1 if there is one)",
          "pilum file check flights.lance other.lance", args, action, Check);
  check->add_option("files", args->files, "Lance files")->required()->type_name("FILE");

  CLI::App* convert =
      Add(group, "convert", "Parquet, CSV, JSON lines, Arrow IPC or Lance (also zipped) into another format",
          "pilum file convert flights.parquet flights.lance\n  zcat big.csv.gz | pilum file convert - big.lance", args,
          action, Convert);
  convert->add_option("in", args->file, "What to read; - is standard input")->required()->type_name("IN");
  convert
      ->add_option("out", args->out,
                   "What to write, by its extension: .lance .parquet .csv .jsonl .arrow; - with --format")
      ->required()
      ->type_name("OUT");
  convert
      ->add_option("--format,-f", args->output.format, "csv, jsonl, arrow, parquet or lance (default: by OUT's name)")
      ->type_name("FORMAT");
  convert->add_option("--version", args->output.version, "Of a Lance file: 2.0, 2.1 or 2.2 (default: 2.2)")
      ->type_name("VERSION");
  convert->add_option("--profile", args->output.profile, "Of a Lance file: fast, balanced or small (default: balanced)")
      ->type_name("PROFILE");
  AddInputOptions(*convert, &args->input);

  for (CLI::App* command : {head, cat, take}) {
    AddColumns(command, args);
    AddOutputOptions(*command, &args->output);
  }
}

}  // namespace pilum::cli
