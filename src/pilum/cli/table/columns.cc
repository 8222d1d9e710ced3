// pilum table columns: what each column of a version takes over all its data files, and how it is stored.
#include "pilum/cli/layouts.h"
#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {
namespace {

struct ColumnSum {
  std::string name, type;
  uint64_t files = 0, pages = 0, bytes = 0, rows = 0;
  LayoutCounts layouts;
};

struct Sums {
  std::vector<ColumnSum> columns;  // in the order of the schema
  uint64_t files = 0, bytes = 0;   // of data files that were looked into
  uint64_t other_bytes = 0;        // of those: of no column of this version, or no column's (metadata, padding)
  uint64_t legacy_files = 0, legacy_bytes = 0;
  std::vector<std::string> damage;  // a data file each, and why it was not looked into
};

ColumnSum* Find(const std::string& name, Sums* sums) {
  for (ColumnSum& c : sums->columns) {
    if (c.name == name) return &c;
  }
  return nullptr;
}

Status AddFile(const Table& table, const DataFile& file, Sums* sums, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto view, table.columns().ViewOf(file));
  PILUM_ASSIGN_OR_RETURN(auto source, table.files().OpenData(file, ctx));
  const uint64_t size = source->size();
  PILUM_ASSIGN_OR_RETURN(auto reader, FileReader::OpenView(std::move(source), *view, ctx));
  uint64_t told = 0;
  for (const ColumnInfo& info : reader->Columns()) {
    ColumnSum* sum = Find(info.name, sums);
    if (!sum) {
      sums->columns.push_back({info.name, info.type});
      sum = &sums->columns.back();
    }
    if (sum->files == 0) sum->type = info.type;
    ++sum->files;
    sum->pages += info.pages.size();
    sum->bytes += info.bytes;
    sum->rows += reader->num_rows();
    for (const ColumnPageInfo& page : info.pages) sum->layouts.Add(page.layout);
    told += info.bytes;
  }
  ++sums->files;
  sums->bytes += size;
  sums->other_bytes += size - std::min(size, told);
  return Status::OK();
}

Result<Sums> Look(const Table& table, ReadContext& given) {
  ReadContext ctx = given;
  ctx.allow_unstable = true;  // metadata alone
  Sums sums;
  const TableSchema& schema = table.columns();
  for (const LeafColumn& leaf : schema.leaves()) {
    if (leaf.top_level < schema.stored()->num_fields())
      sums.columns.push_back({leaf.name, leaf.leaf->type()->ToString()});
  }
  for (const Fragment& f : table.manifest().fragments) {
    for (const DataFile& file : f.files) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      if (file.is_legacy()) {
        ++sums.legacy_files;
        sums.legacy_bytes += file.size;
        continue;
      }
      const Status st = AddFile(table, file, &sums, ctx);
      if (st.ok()) continue;
      const ErrorKind kind = KindOf(st);
      if (kind != ErrorKind::kCorrupt && kind != ErrorKind::kNotFound && kind != ErrorKind::kUnsupported) return st;
      sums.damage.push_back(st.message());
    }
  }
  return sums;
}

Json ToJson(const Table& table, const Sums& sums) {
  Json j = JsonHead(table);
  j["data_files"] = sums.files;
  j["bytes"] = sums.bytes;
  j["other_bytes"] = sums.other_bytes;
  j["legacy_files"] = sums.legacy_files;
  j["legacy_bytes"] = sums.legacy_bytes;
  j["damage"] = sums.damage;
  j["columns"] = Json::array();
  for (const ColumnSum& c : sums.columns) {
    Json encodings = Json::object();
    for (const auto& [layout, pages] : c.layouts.counts()) encodings[layout] = pages;
    j["columns"].push_back({{"column", c.name},
                            {"type", c.type.empty() ? Json() : Json(c.type)},
                            {"data_files", c.files},
                            {"pages", c.pages},
                            {"rows", c.rows},
                            {"bytes", c.bytes},
                            {"encodings", encodings}});
  }
  return j;
}

Result<int> ShowColumns(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(const Sums sums, Look(*opened.table, opened.ctx()));
  const int exit = sums.damage.empty() ? kExitOk : kExitError;
  if (args.json) {
    PILUM_RETURN_NOT_OK(PrintJson(ToJson(*opened.table, sums)).status());
    return exit;
  }
  Grid grid({{"column", ""},
             {"type", ""},
             {"files", "", true},
             {"pages", "", true},
             {"bytes", "", true},
             {"share", "", true},
             {"bytes/row", "", true},
             {"encoding", ""}},
            GridStyle::ForStdout());
  const auto share = [&](uint64_t bytes) {
    return sums.bytes == 0
               ? std::string()
               : fmt::format("{:.1f} %", 100.0 * static_cast<double>(bytes) / static_cast<double>(sums.bytes));
  };
  for (const ColumnSum& c : sums.columns) {
    PILUM_RETURN_NOT_OK(grid.Add({{c.name},
                                  {c.type},
                                  {Thousands(c.files)},
                                  {Thousands(c.pages)},
                                  {HumanBytes(c.bytes)},
                                  {share(c.bytes)},
                                  {PerRow(c.bytes, c.rows)},
                                  {c.files == 0 && sums.legacy_files == 0 ? "in no file: NULL" : c.layouts.Text()}}));
  }
  if (sums.files > 0) {
    PILUM_RETURN_NOT_OK(grid.Add({{"(no column)", true},
                                  {""},
                                  {""},
                                  {""},
                                  {HumanBytes(sums.other_bytes)},
                                  {share(sums.other_bytes)},
                                  {""},
                                  {"metadata, padding, dropped columns"}}));
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  if (sums.files > 0) {
    PILUM_RETURN_NOT_OK(Print(fmt::format("{}, {}\n", Plural(sums.files, "data file"), HumanBytes(sums.bytes))));
  }
  if (sums.legacy_files > 0) {
    PILUM_RETURN_NOT_OK(Print(fmt::format("{} of the legacy format (0.1), {}: they do not tell what a column takes\n",
                                          Plural(sums.legacy_files, "data file"), HumanBytes(sums.legacy_bytes))));
  }
  for (const std::string& d : sums.damage) PILUM_RETURN_NOT_OK(Print("not looked into: " + d + "\n"));
  return exit;
}

}  // namespace

void AddColumnsVerb(CLI::App* group, Action* action) {
  AddVerb<TableArgs>(group, "columns", "Per column of a version: pages, encodings and bytes over all its data files",
                     "pilum table columns flights.lance", action, ShowColumns);
}

}  // namespace pilum::cli
