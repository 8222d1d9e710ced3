// pilum table manifest: what the manifest of a version holds, and where.
#include "pilum/cli/table/verb.h"
#include "pilum/cli/table/verbs.h"

namespace pilum::cli {
namespace {

Result<int> ShowManifest(const TableArgs& args) {
  PILUM_ASSIGN_OR_RETURN(auto opened, OpenFor(args));
  const Manifest& m = opened.table->manifest();
  std::string bases;
  for (const BasePath& b : m.base_paths) bases += fmt::format("{}{} {}", bases.empty() ? "" : ", ", b.id, b.path);
  const auto place = [](const std::optional<uint64_t>& at) {
    return at ? fmt::format("in this file, offset {}", *at) : std::string();
  };
  PILUM_RETURN_NOT_OK(
      Print(Lines({{"file", opened.table->listed().path()},
                   {"bytes", Thousands(m.file_size)},
                   {"message", fmt::format("offset {}, {}", m.section.offset, Plural(m.section.size, "byte"))},
                   {"indices", place(m.indices)},
                   {"transaction", place(m.transaction)},
                   {"transaction file", m.transaction_file},
                   {"version", fmt::format("{}", m.version)},
                   {"branch", m.branch.value_or("")},
                   {"written", TimeText(m.timestamp_ns)},
                   {"writer", m.writer},
                   {"readers' flags", FlagsText(m.reader_flags)},
                   {"writers' flags", FlagsText(m.writer_flags)},
                   {"fragments", Thousands(m.fragments.size())},
                   {"highest fragment", m.max_fragment_id ? fmt::format("{}", *m.max_fragment_id) : ""},
                   {"next row id", m.has_stable_row_ids() ? fmt::format("{}", m.next_row_id) : ""},
                   {"base paths", bases}})));
  return kExitOk;
}

}  // namespace

void AddManifestVerb(CLI::App* group, Action* action) {
  AddVerb<TableArgs>(group, "manifest", "What the manifest of a version holds, and where",
                     "pilum table manifest flights.lance", action, ShowManifest);
}

}  // namespace pilum::cli
