// pilum table show: one version, with the numbers of LanceDB's statistics, its indices, tags, branches and columns.
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/table/feature_flags.h"
#include "pilum/table/statistics.h"

namespace pilum::cli {
namespace {

struct Shown {
  const Table* table;
  TableStatistics stats;
  uint64_t latest = 0, versions = 0;
  std::vector<TableIndex> indices;
  std::vector<std::optional<RowSet>> coverage;  // of each
  std::map<std::string, TableTag> tags;
  std::map<std::string, TableBranch> branches;
  TableTotals totals;
};

Result<Shown> Look(const Table& table, ReadContext& ctx) {
  Shown s{&table};
  const Manifest& m = table.manifest();
  s.totals = TotalsOf(m);
  PILUM_ASSIGN_OR_RETURN(s.indices, table.Indices(ctx));
  PILUM_ASSIGN_OR_RETURN(const uint64_t rows, table.CountRows(ctx));
  s.stats = StatisticsOf(m, s.indices, rows);
  for (const TableIndex& index : s.indices) {
    PILUM_ASSIGN_OR_RETURN(auto covered, LiveCoverage(index, s.indices, m));
    s.coverage.push_back(std::move(covered));
  }
  PILUM_ASSIGN_OR_RETURN(s.tags, table.Tags(ctx));
  PILUM_ASSIGN_OR_RETURN(s.branches, table.Branches(ctx));
  PILUM_ASSIGN_OR_RETURN(auto listed, ListVersions(table.store(), ctx));
  s.versions = listed.attached.size();
  s.latest = listed.attached.empty() ? m.version : listed.attached.back().name.version;
  return s;
}

// Rows, deleted ones left out, in fragments of that set.
uint64_t RowsIn(const Manifest& m, const RowSet& fragments) {
  uint64_t rows = 0;
  for (const Fragment& f : m.fragments) {
    if (!fragments.Contains(f.id)) continue;
    rows += f.physical_rows - std::min(f.physical_rows, f.deletions ? f.deletions->num_deleted : 0);
  }
  return rows;
}

std::vector<std::string> FieldNames(const Manifest& m, const std::vector<int32_t>& ids) {
  std::vector<std::string> out;
  for (const int32_t id : ids) {
    std::string name = fmt::format("field {}", id);
    for (const WireField& f : m.schema.fields) {
      if (f.id == id) name = f.name;
    }
    out.push_back(std::move(name));
  }
  return out;
}

// --- JSON

Json StatsJson(const TableStatistics& s) {
  const FragmentLengths& l = s.lengths;
  return {{"total_bytes", s.total_bytes},
          {"num_rows", s.num_rows},
          {"num_indices", s.num_indices},
          {"fragment_stats",
           {{"num_fragments", s.num_fragments},
            {"num_small_fragments", s.num_small_fragments},
            {"lengths",
             {{"min", l.min},
              {"max", l.max},
              {"mean", l.mean},
              {"p25", l.p25},
              {"p50", l.p50},
              {"p75", l.p75},
              {"p99", l.p99}}}}}};
}

Json IndexJson(const Manifest& m, const TableIndex& i, const std::optional<RowSet>& coverage) {
  Json j = {{"name", i.name}, {"type", i.kind}, {"uuid", i.uuid}, {"fields", i.fields}};
  j["columns"] = FieldNames(m, i.fields);
  j["dataset_version"] = i.dataset_version;
  j["index_version"] = OrNull(i.index_version);
  j["details_url"] = i.details_url;
  j["fragments"] = i.fragments ? JsonOf(*i.fragments) : Json();
  j["covered_fragments"] = coverage ? JsonOf(*coverage) : Json();
  j["covered_rows"] = coverage ? Json(RowsIn(m, *coverage)) : Json();
  j["created_at"] = i.created_at_ms ? Json(JsonTime(static_cast<int64_t>(*i.created_at_ms) * 1000000)) : Json();
  j["base_id"] = OrNull(i.base_id);
  j["bytes"] = OrNull(i.total_bytes());
  j["files"] = Json::array();
  for (const IndexFile& f : i.files) j["files"].push_back({{"path", f.path}, {"bytes", f.size}});
  return j;
}

Json FieldsJson(const Manifest& m) {
  Json out = Json::array();
  for (const WireField& f : m.schema.fields) {
    out.push_back({{"id", f.id},
                   {"name", f.name},
                   {"parent_id", f.parent_id},
                   {"type", f.logical_type},
                   {"nullable", f.nullable},
                   {"extension", f.extension_name.empty() ? Json() : Json(f.extension_name)}});
  }
  return out;
}

Json SchemaMetadataJson(const Manifest& m) {
  Json out = Json::object();
  const auto& metadata = m.schema.schema->metadata();
  for (int64_t i = 0; metadata && i < metadata->size(); ++i) out[metadata->key(i)] = metadata->value(i);
  return out;
}

Json ToJson(const Shown& s) {
  const Manifest& m = s.table->manifest();
  Json j = JsonHead(*s.table);
  j["latest_version"] = s.latest;
  j["versions"] = s.versions;
  j["written"] = JsonTime(m.timestamp_ns);
  j["writer"] = m.writer;
  j["stats"] = StatsJson(s.stats);
  j["deleted_rows"] = s.totals.deleted_rows;
  j["deletion_files"] = s.totals.deletion_files;
  j["data_files"] = s.totals.data_files;
  j["data_bytes"] = s.totals.data_bytes;
  j["data_storage_version"] = m.data_version;
  j["stable_row_ids"] = m.has_stable_row_ids();
  j["reader_flags"] = m.reader_flags;
  j["writer_flags"] = m.writer_flags;
  j["config"] = m.config;
  j["metadata"] = m.table_metadata;
  j["schema_metadata"] = SchemaMetadataJson(m);
  j["indices"] = Json::array();
  for (size_t i = 0; i < s.indices.size(); ++i) j["indices"].push_back(IndexJson(m, s.indices[i], s.coverage[i]));
  j["tags"] = Json::object();
  for (const auto& [name, t] : s.tags) j["tags"][name] = {{"branch", OrNull(t.branch)}, {"version", t.version}};
  j["branches"] = Json::object();
  for (const auto& [name, b] : s.branches) {
    j["branches"][name] = {{"parent_branch", OrNull(b.parent)}, {"parent_version", b.parent_version}};
  }
  j["base_paths"] = Json::array();
  for (const BasePath& b : m.base_paths) {
    j["base_paths"].push_back(
        {{"id", b.id}, {"name", b.name}, {"path", b.path}, {"is_dataset_root", b.is_dataset_root}});
  }
  j["fields"] = FieldsJson(m);
  return j;
}

// --- text

std::string VersionText(const Shown& s) {
  const uint64_t version = s.table->manifest().version;
  if ((version & kDetachedBit) != 0) return fmt::format("{} (detached)", version);
  std::string out = version == s.latest ? fmt::format("{} (the newest", version)
                                        : fmt::format("{} (the newest is {}", version, s.latest);
  return out + (s.versions > 1 ? fmt::format(", {} are kept)", Thousands(s.versions)) : ", the only one)");
}

std::string RowsText(const Shown& s) {
  std::string out = Thousands(s.stats.num_rows);
  if (s.totals.deleted_rows > 0) {
    out +=
        fmt::format(", and {} deleted ({:.3g} %)", Thousands(s.totals.deleted_rows),
                    100.0 * static_cast<double>(s.totals.deleted_rows) / static_cast<double>(s.totals.physical_rows));
  }
  return out;
}

std::string FragmentsText(const TableStatistics& s) {
  if (s.num_fragments == 0) return "0";
  const std::string small = s.num_small_fragments == 0 ? "none"
                            : s.num_small_fragments == s.num_fragments && s.num_fragments > 1
                                ? "all"
                                : Thousands(s.num_small_fragments);
  return fmt::format("{} ({} of fewer than {} rows)", Thousands(s.num_fragments), small,
                     Thousands(TableStatistics::kSmall));
}

std::string LengthsText(const TableStatistics& s) {
  const FragmentLengths& l = s.lengths;
  if (s.num_fragments == 0) return "";
  if (l.min == l.max) return Thousands(l.max);
  return fmt::format("{} to {}, mean {}; quarters {}, {}, {}; 99 % {}", Thousands(l.min), Thousands(l.max),
                     Thousands(l.mean), Thousands(l.p25), Thousands(l.p50), Thousands(l.p75), Thousands(l.p99));
}

std::string BytesText(uint64_t bytes) {
  return bytes < 1000 ? Plural(bytes, "byte") : fmt::format("{} ({} bytes)", HumanBytes(bytes), Thousands(bytes));
}

std::string RefsText(const Shown& s) {
  std::string out;
  for (const auto& [name, tag] : s.tags) {
    out += fmt::format("{}{} ({}{})", out.empty() ? "" : ", ", name, tag.branch ? *tag.branch + " " : std::string(),
                       tag.version);
  }
  return out;
}

std::string BranchesText(const Shown& s) {
  std::string out;
  for (const auto& [name, b] : s.branches) {
    out += fmt::format("{}{} (from {}{})", out.empty() ? "" : ", ", name, b.parent ? *b.parent + " " : std::string(),
                       b.parent_version);
  }
  return out;
}

std::string FlagWords(const Manifest& m) {
  if (m.reader_flags == m.writer_flags || m.writer_flags == 0) return FlagsText(m.reader_flags);
  if (m.reader_flags == 0) return "writers: " + FlagsText(m.writer_flags);
  return FlagsText(m.reader_flags) + "\nwriters: " + FlagsText(m.writer_flags);
}

std::string MapLines(const std::map<std::string, std::string>& map) {
  std::string out;
  for (const auto& [key, value] : map) out += (out.empty() ? "" : "\n") + key + " = " + value;
  return out;
}

std::string BasesText(const Manifest& m) {
  std::string out;
  for (const BasePath& b : m.base_paths) {
    out += fmt::format("{}{}: {}{}", out.empty() ? "" : "\n", b.id, b.path,
                       b.name.empty() ? std::string() : " (" + b.name + ")");
  }
  return out;
}

Status PrintIndices(const Shown& s) {
  const Manifest& m = s.table->manifest();
  if (s.indices.empty()) return Status::OK();
  PILUM_RETURN_NOT_OK(Print("\n"));
  Grid grid(
      {{"index", ""}, {"kind", ""}, {"columns", ""}, {"fragments", "", true}, {"rows", "", true}, {"bytes", "", true}},
      GridStyle::ForStdout());
  for (size_t i = 0; i < s.indices.size(); ++i) {
    const TableIndex& index = s.indices[i];
    const auto& covered = s.coverage[i];
    PILUM_RETURN_NOT_OK(grid.Add(
        {{index.name},
         {index.kind},
         {fmt::format("{}", fmt::join(FieldNames(m, index.fields), ", "))},
         {covered ? fmt::format("{} of {}", covered->size(), m.fragments.size()) : std::string("?")},
         {covered ? fmt::format("{} of {}", Thousands(RowsIn(m, *covered)), Thousands(s.stats.num_rows))
                  : std::string("?")},
         {index.total_bytes() ? HumanBytes(*index.total_bytes()) : std::string(index.is_system() ? "" : "?")}}));
  }
  return grid.Finish();
}

Status PrintColumns(const Manifest& m, const arrow::Schema& schema) {
  PILUM_RETURN_NOT_OK(Print("\n"));
  Grid grid({{"id", "", true}, {"column", ""}, {"type", ""}}, GridStyle::ForStdout());
  std::map<int32_t, int> depth;
  int top = 0;
  for (const WireField& f : m.schema.fields) {
    const auto parent = depth.find(f.parent_id);
    const int level = parent == depth.end() ? 0 : parent->second + 1;
    depth[f.id] = level;
    std::string type = f.logical_type;
    if (level == 0 && top < schema.num_fields()) {
      const auto& field = *schema.field(top++);
      type = field.type()->num_fields() > 0 && field.type()->id() != arrow::Type::FIXED_SIZE_LIST
                 ? type
                 : field.type()->ToString();
    }
    if (!f.extension_name.empty()) type += " as " + f.extension_name;
    PILUM_RETURN_NOT_OK(grid.Add({{fmt::format("{}", f.id)},
                                  {std::string(static_cast<size_t>(2 * level), ' ') + f.name},
                                  {type + (f.nullable ? "" : " not null")}}));
  }
  return grid.Finish();
}

Result<int> Show(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(const Shown s, Look(*opened.table, opened.ctx()));
  if (args.json) return PrintJson(ToJson(s));
  const Manifest& m = opened.manifest();
  PILUM_RETURN_NOT_OK(
      Print(Lines({{"version", VersionText(s)},
                   {"branch", opened.table->branch()},
                   {"written", TimeText(m.timestamp_ns) + (m.writer.empty() ? "" : " by " + m.writer)},
                   {"rows", RowsText(s)},
                   {"fragments", FragmentsText(s.stats)},
                   {"rows in each", LengthsText(s.stats)},
                   {"data files", fmt::format("{}{}", Thousands(s.totals.data_files),
                                              s.totals.deletion_files == 0
                                                  ? std::string()
                                                  : fmt::format(", and {} of deleted rows", s.totals.deletion_files))},
                   {"bytes", BytesText(s.stats.total_bytes) + (s.indices.empty() ? "" : ", indices included")},
                   {"indices", s.indices.empty() ? "none" : Thousands(s.stats.num_indices)},
                   {"file version", m.data_version},
                   {"row ids", m.has_stable_row_ids() ? "stable" : "addresses"},
                   {"flags", FlagWords(m)},
                   {"config", MapLines(m.config)},
                   {"metadata", MapLines(m.table_metadata)},
                   {"tags", RefsText(s)},
                   {"branches", BranchesText(s)},
                   {"base paths", BasesText(m)}})));
  PILUM_RETURN_NOT_OK(PrintIndices(s));
  PILUM_RETURN_NOT_OK(PrintColumns(m, *opened.table->schema()));
  return kExitOk;
}

}  // namespace

void AddShowVerb(CLI::App* group, Action* action) {
  AddVerb<TableArgs>(group, "show", "One version: rows, fragments, files, indices, tags, columns",
                     "pilum table show flights.lance --version 7", action, Show);
}

}  // namespace pilum::cli
