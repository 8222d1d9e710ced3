// pilum table fragments: the fragments of a version and their data files.
#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {
namespace {

std::string FieldsText(const DataFile& file) {
  std::string out;
  for (const int32_t id : file.fields) {
    out += out.empty() ? "" : ",";
    out += id == DataFile::kTombstone ? "-" : fmt::format("{}", id);
  }
  return out;
}

Result<int> ShowFragments(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  Grid grid({{"fragment", "", true},
             {"rows", "", true},
             {"deleted", "", true},
             {"file", ""},
             {"version", ""},
             {"bytes", "", true},
             {"fields", ""}},
            GridStyle::ForStdout());
  for (const Fragment& f : opened.table->manifest().fragments) {
    const uint64_t deleted = f.deletions ? f.deletions->num_deleted : 0;
    bool first = true;
    for (const DataFile& file : f.files) {
      const auto once = [&](const std::string& text) { return GridCell{first ? text : ""}; };
      PILUM_RETURN_NOT_OK(grid.Add({once(fmt::format("{}", f.id)),
                                    once(Thousands(f.physical_rows - std::min(f.physical_rows, deleted))),
                                    once(deleted > 0 ? Thousands(deleted) : ""),
                                    {file.path + (file.base_id ? fmt::format(" (base {})", *file.base_id) : "")},
                                    {file.version()},
                                    {file.size > 0 ? Thousands(file.size) : "?"},
                                    {FieldsText(file)}}));
      first = false;
    }
  }
  PILUM_RETURN_NOT_OK(grid.Finish());
  return kExitOk;
}

}  // namespace

void AddFragmentsVerb(CLI::App* group, Action* action) {
  AddVerb<TableArgs>(group, "fragments", "The fragments of a version and their data files",
                     "pilum table fragments flights.lance", action, ShowFragments);
}

}  // namespace pilum::cli
