#include "pilum/cli/open_table.h"

#include <sys/stat.h>

#include <charconv>

#include <CLI/CLI.hpp>

namespace pilum::cli {

void AddVersionOptions(CLI::App& command, VersionOptions* options) {
  command.add_option("--version", options->version, "Of a table: a version by number, or by the name of a tag")
      ->type_name("N|TAG");
  command.add_option("--branch", options->branch, "Of a table: the branch (default: main)")->type_name("BRANCH");
}

bool IsTableFolder(const std::string& path) {
  struct stat st;
  return ::stat((path + "/_versions").c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

Result<std::shared_ptr<const Table>> OpenTable(const std::string& uri, const VersionOptions& options,
                                               ReadContext& ctx) {
  TableRef ref;
  ref.branch = options.branch;
  uint64_t number = 0;
  const char* end = options.version.data() + options.version.size();
  const auto [at, error] = std::from_chars(options.version.data(), end, number);
  if (!options.version.empty() && error == std::errc() && at == end) {
    ref.version = number;
  } else {
    ref.tag = options.version;
  }
  if (!ref.tag.empty() && !ref.branch.empty()) {
    return UsageError("--version {}: a tag says itself which branch it is on; leave --branch out", ref.tag);
  }
  return Table::Open(uri, ref, {}, ctx);
}

}  // namespace pilum::cli
