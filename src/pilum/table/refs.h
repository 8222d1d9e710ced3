// Tags and branches of a table: names for versions, kept as JSON below _refs/ of its root. Called by table.cc, cli and
// python. Format: docs/formats/table.md, "Tags and branches".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pilum/io/read_only_store.h"

namespace pilum {

struct TableTag {
  std::optional<std::string> branch;  // none: main
  uint64_t version = 0;
  uint64_t manifest_size = 0;
  std::string created_at, updated_at;  // RFC 3339, as stored; may be empty
  std::map<std::string, std::string> metadata;
};

struct TableBranch {
  std::optional<std::string> parent;  // none: main
  uint64_t parent_version = 0;
  uint64_t manifest_size = 0;
  int64_t created_at = 0;  // seconds since 1970, UTC
  // Of it and those it came from, outermost first: where each began, and what tells it from others of its name.
  std::vector<std::pair<uint64_t, std::string>> identifier;
  std::map<std::string, std::string> metadata;
};

// By name, of the table at whose root `root` is; none where there is no folder for them. kCorrupt names the file.
Result<std::map<std::string, TableTag>> ListTags(const ReadOnlyStore& root, ReadContext& ctx);
Result<std::map<std::string, TableBranch>> ListBranches(const ReadOnlyStore& root, ReadContext& ctx);
// nullopt: there is none of that name.
Result<std::optional<TableTag>> FindTag(const ReadOnlyStore& root, const std::string& name, ReadContext& ctx);

Result<std::optional<TableBranch>> FindBranch(const ReadOnlyStore& root, const std::string& name, ReadContext& ctx);
std::string BranchRefPath(const std::string& name);  // "_refs/branches/feat%2Fx.json"

// kUsage says what is wrong with the name of a branch (it becomes a path).
Status CheckBranchName(const std::string& name);
std::string BranchFolder(const std::string& name);  // "tree/dev", below the root

}  // namespace pilum
