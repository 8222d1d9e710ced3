// pilum table log: one line a version, newest first.
#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"
#include "pilum/table/history.h"

namespace pilum::cli {
namespace {

struct LogArgs : TableArgs {
  uint64_t number = 20;  // 0: all
};

using TagsOf = std::map<uint64_t, std::vector<std::string>>;  // of one branch, by version

TagsOf TagsByVersion(const std::map<std::string, TableTag>& tags, const std::string& branch) {
  TagsOf out;
  for (const auto& [name, tag] : tags) {
    if (tag.branch.value_or("") == branch) out[tag.version].push_back(name);
  }
  return out;
}

Json ChangeJson(const VersionChange& c) {
  return {{"added_fragments", c.added.size()},
          {"added_rows", c.added_rows},
          {"removed_fragments", c.removed.size()},
          {"removed_rows", c.removed_rows},
          {"deleted_rows", c.deleted_rows},
          {"deleted_in_fragments", c.deleted_in.size()},
          {"new_data_files", c.new_files.size()},
          {"dropped_data_files", c.dropped_files.size()},
          {"new_deletion_files", c.new_deletions.size()},
          {"changed_fields", c.fields.size()},
          {"new_indices", c.new_indices.size()},
          {"dropped_indices", c.dropped_indices.size()},
          {"reserved_fragment_ids", c.reserved}};
}

Json ToJson(const VersionRecord& r, const std::vector<std::string>& tags) {
  Json j = {{"version", r.listed.name.version}, {"what", r.words}};
  j["manifest"] = r.listed.path();
  j["manifest_bytes"] = r.listed.size;
  j["tags"] = tags;
  j["damage"] = r.damage.ok() ? Json() : Json(r.damage.message());
  if (!r.damage.ok()) return j;
  const Manifest& m = *r.manifest;
  j["written"] = JsonTime(m.timestamp_ns);
  j["writer"] = m.writer;
  j["rows"] = r.totals.rows;
  j["deleted_rows"] = r.totals.deleted_rows;
  j["fragments"] = r.totals.fragments;
  j["data_files"] = r.totals.data_files;
  j["data_bytes"] = r.totals.data_bytes;
  j["operation"] = r.transaction ? Json(r.transaction->operation) : Json();
  j["read_version"] = r.transaction ? Json(r.transaction->read_version) : Json();
  j["transaction_file"] = m.transaction_file;
  j["transaction_damage"] = r.transaction_damage.ok() ? Json() : Json(r.transaction_damage.message());
  j["properties"] = r.transaction ? Json(r.transaction->properties) : Json::object();
  j["change"] = r.change ? ChangeJson(*r.change) : Json();
  j["new_bytes"] = Json();
  if (r.brought) {
    const BroughtBytes& b = *r.brought;
    j["new_bytes"] = {{"total", b.total()},
                      {"data", b.data},
                      {"deletions", b.deletions},
                      {"indices", b.indices},
                      {"manifest", b.manifest},
                      {"transaction", b.transaction},
                      {"unknown_files", b.unknown_files}};
  }
  return j;
}

// On a narrow terminal times lose their seconds, and writers are left to --json: the words are what it is read for.
constexpr int kWide = 110;

std::vector<GridColumn> Heads(bool narrow) {
  std::vector<GridColumn> out = {{"version", "", true},
                                 {narrow ? "written (UTC)" : "written", ""},
                                 {"rows", "", true},
                                 {"files", "", true},
                                 {"new bytes", "", true}};
  if (!narrow) out.push_back({"writer", ""});
  out.push_back({"what", ""});
  return out;
}

std::vector<GridCell> ToRow(const VersionRecord& r, const std::vector<std::string>& tags, bool narrow) {
  std::vector<GridCell> out = {{fmt::format("{}", r.listed.name.version)}};
  if (!r.damage.ok()) {
    out.resize(narrow ? 5 : 6, {"?"});
    out.push_back({r.words});
    return out;
  }
  std::string what = r.words;
  if (!r.transaction_damage.ok()) what += " (told by its manifest: its transaction is damaged)";
  if (!tags.empty()) what += fmt::format(" [{}]", fmt::join(tags, ", "));
  const std::string more = r.brought && r.brought->unknown_files > 0 ? "+" : "";
  const std::string time = TimeText(r.manifest->timestamp_ns);
  out.push_back({narrow ? time.substr(0, 16) : time});
  out.push_back({Thousands(r.totals.rows)});
  out.push_back({Thousands(r.totals.data_files)});
  out.push_back({r.brought ? HumanBytes(r.brought->total()) + more : "?"});
  if (!narrow) out.push_back({r.manifest->writer.empty() ? "?" : r.manifest->writer});
  out.push_back({std::move(what)});
  return out;
}

Result<int> Log(const LogArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  PILUM_ASSIGN_OR_RETURN(auto history, History::Open(*opened.table, args.number, opened.ctx()));
  PILUM_ASSIGN_OR_RETURN(const auto all_tags, opened.table->Tags(opened.ctx()));
  const TagsOf tags = TagsByVersion(all_tags, opened.table->branch());
  const auto tags_of = [&](const VersionRecord& r) {
    const auto at = tags.find(r.listed.name.version);
    return at == tags.end() ? std::vector<std::string>() : at->second;
  };
  Json json = JsonHead(*opened.table);
  json["versions"] = Json::array();
  const GridStyle style = GridStyle::ForStdout();
  const bool narrow = style.width > 0 && style.width < kWide;
  Grid grid(Heads(narrow), style);
  for (uint64_t shown = 0; args.number == 0 || shown < args.number; ++shown) {
    PILUM_ASSIGN_OR_RETURN(auto record, history->Next(opened.ctx()));
    if (!record) break;
    if (args.json) {
      json["versions"].push_back(ToJson(*record, tags_of(*record)));
    } else {
      PILUM_RETURN_NOT_OK(grid.Add(ToRow(*record, tags_of(*record), narrow)));
    }
  }
  if (args.json) {
    json["older_versions"] = history->left();
    return PrintJson(json);
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  if (history->left() > 0) {
    PILUM_RETURN_NOT_OK(Print(fmt::format("and {}; -n 0 shows all\n", Plural(history->left(), "older version"))));
  }
  return kExitOk;
}

}  // namespace

void AddLogVerb(CLI::App* group, Action* action) {
  auto verb = AddVerb<LogArgs>(group, "log",
                               "One line a version, newest first: when, rows, files, bytes it brought, what it did",
                               "pilum table log flights.lance -n 5", action, Log);
  verb.command->add_option("-n", verb.args->number, "At most this many versions; 0: all (default: 20)")
      ->type_name("N")
      ->check(WholeNumber());
}

}  // namespace pilum::cli
