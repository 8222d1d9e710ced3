// What made a version: the transaction that a manifest carries or names. Called by table.cc. Plain structs; protobuf stays
// in transaction.cc. Format: docs/formats/table.md, "Transactions".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pilum/base/status.h"
#include "pilum/io/read_only_store.h"
#include "pilum/table/manifest.h"

namespace pilum {

// Of properties: what its author said.
inline constexpr const char* kCommitMessageKey = "__lance_commit_message";

struct Transaction {
  uint64_t read_version = 0;
  std::string uuid, tag;
  std::map<std::string, std::string> properties;
  std::string operation;  // "Append"; "Unknown" for one of a newer Lance
  // What it did, as name and value for people: {"fragments", "2"}, {"predicate", "x > 3"}.
  std::vector<std::pair<std::string, std::string>> facts;
};

// kCorrupt where it does not parse. Errors name no file.
Result<Transaction> ParseTransaction(std::string_view message);

// The message of one, and where it was found.
struct TransactionBytes {
  std::string message;
  std::string file;               // below the table's root; empty: in the manifest
  std::optional<uint64_t> place;  // there: of its length
};
// What made a version: `source` is its manifest file. The manifest's own copy, or where that is missing or damaged the
// file that it names. nullopt: there is neither.
Result<std::optional<TransactionBytes>> ReadTransactionBytes(const ReadOnlyStore& store, const ByteSource& source,
                                                             const Manifest& manifest, ReadContext& ctx);
Result<std::optional<Transaction>> ReadTransaction(const ReadOnlyStore& store, const ByteSource& source,
                                                   const Manifest& manifest, ReadContext& ctx);
// A whole file as such a message; kCorrupt where it is too large to be one.
Result<std::string> ReadTransactionFile(const ByteSource& source, ReadContext& ctx);

}  // namespace pilum
