// pilum table files: every file that the rows and indices of a version are in.
#include <algorithm>

#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {
namespace {

struct FileLine {
  std::string kind, path;  // below the table's root, or its base path
  std::optional<uint64_t> fragment, bytes, rows;
  std::string version;          // of a data file
  std::vector<int32_t> fields;  // ids
  std::optional<uint32_t> base_id;
};

Result<std::vector<FileLine>> Look(const Table& table, ReadContext& ctx) {
  std::vector<FileLine> out;
  PILUM_ASSIGN_OR_RETURN(auto deletions, table.store().List("_deletions/", ctx));
  for (const Fragment& f : table.manifest().fragments) {
    for (const DataFile& file : f.files) {
      const std::optional<uint64_t> size = file.size > 0 ? std::optional(file.size) : std::nullopt;
      out.push_back(
          {"data", "data/" + file.path, f.id, size, f.physical_rows, file.version(), file.fields, file.base_id});
    }
    if (!f.deletions) continue;
    FileLine line{"deletions", f.deletions->Path(f.id), f.id, std::nullopt, f.deletions->num_deleted};
    line.base_id = f.deletions->base_id;
    const auto at = std::lower_bound(deletions.begin(), deletions.end(), line.path,
                                     [](const ObjectInfo& o, const std::string& path) { return o.path < path; });
    if (!line.base_id && at != deletions.end() && at->path == line.path) line.bytes = at->size;
    out.push_back(std::move(line));
  }
  PILUM_ASSIGN_OR_RETURN(auto indices, table.Indices(ctx));
  for (const TableIndex& index : indices) {
    for (const IndexFile& file : index.files) {
      FileLine line{"index", "_indices/" + index.uuid + "/" + file.path, std::nullopt, file.size};
      line.fields = index.fields;
      line.base_id = index.base_id;
      out.push_back(std::move(line));
    }
    if (!index.files.empty() || index.is_system() || index.base_id) continue;
    // Old tables do not list them.
    PILUM_ASSIGN_OR_RETURN(auto objects, table.store().List("_indices/" + index.uuid + "/", ctx));
    for (ObjectInfo& o : objects) {
      FileLine line{"index", std::move(o.path), std::nullopt, o.size};
      line.fields = index.fields;
      out.push_back(std::move(line));
    }
  }
  return out;
}

// "id, s, x", of ids that are in the schema; "-" for the slot of one that has moved, "(4)" for one that is gone.
std::string FieldsText(const Manifest& m, const std::vector<int32_t>& ids) {
  std::vector<std::string> out;
  for (const int32_t id : ids) {
    std::string name = id == DataFile::kTombstone ? "-" : fmt::format("({})", id);
    for (const WireField& f : m.schema.fields) {
      if (f.id == id) name = f.name;
    }
    out.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

Json ToJson(const FileLine& f) {
  return {{"kind", f.kind},
          {"path", f.path},
          {"base_id", OrNull(f.base_id)},
          {"fragment", OrNull(f.fragment)},
          {"bytes", OrNull(f.bytes)},
          {"rows", OrNull(f.rows)},
          {"version", f.version.empty() ? Json() : Json(f.version)},
          {"fields", f.fields}};
}

Result<int> ShowFiles(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(const auto files, Look(*opened.table, opened.ctx()));
  if (args.json) {
    Json j = JsonHead(*opened.table);
    j["files"] = Json::array();
    for (const FileLine& f : files) j["files"].push_back(ToJson(f));
    return PrintJson(j);
  }
  Grid grid({{"fragment", "", true},
             {"kind", ""},
             {"file", ""},
             {"version", ""},
             {"rows", "", true},
             {"bytes", "", true},
             {"columns", ""}},
            GridStyle::ForStdout());
  uint64_t bytes = 0;
  for (const FileLine& f : files) {
    bytes += f.bytes.value_or(0);
    const std::string base = f.base_id ? fmt::format(" (base {})", *f.base_id) : "";
    PILUM_RETURN_NOT_OK(grid.Add({{f.fragment ? fmt::format("{}", *f.fragment) : ""},
                                  {f.kind},
                                  {f.path + base},
                                  {f.version == "0.1" ? "0.1 (legacy)" : f.version},
                                  {f.rows && *f.rows > 0 ? Thousands(*f.rows) : ""},
                                  {f.bytes ? Thousands(*f.bytes) : "?"},
                                  {FieldsText(opened.manifest(), f.fields)}}));
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  PILUM_RETURN_NOT_OK(Print(fmt::format("{}, {}\n", Plural(files.size(), "file"), HumanBytes(bytes))));
  return kExitOk;
}

}  // namespace

void AddFilesVerb(CLI::App* group, Action* action) {
  AddVerb<TableArgs>(group, "files", "The files of a version: data, deleted rows, indices",
                     "pilum table files flights.lance", action, ShowFiles);
}

}  // namespace pilum::cli
