// What made a version: the transaction that a manifest carries or names. Called by table.cc. Plain structs; protobuf stays
// in transaction.cc. Format: docs/formats/table.md, "Transactions".
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pilum/base/status.h"

namespace pilum {

struct Transaction {
  uint64_t read_version = 0;
  std::string uuid, tag;
  std::map<std::string, std::string> properties;  // "__lance_commit_message" is what its author said
  std::string operation;                          // "Append"; "Unknown" for one of a newer Lance
  // What it did, as name and value for people: {"fragments", "2"}, {"predicate", "x > 3"}.
  std::vector<std::pair<std::string, std::string>> facts;
};

// kCorrupt where it does not parse. Errors name no file.
Result<Transaction> ParseTransaction(std::string_view message);

}  // namespace pilum
