// That no two merges insert the same new key: what a transaction says of the keys that it inserts, for pylance, and the look
// at rows that others inserted meanwhile. Called by merge_rows.cc. Format: docs/formats/table.md, "Upserts".
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "pilum/change/merge_plan.h"

namespace pilum {

// Field ids of the primary key that the schema declares, in its order; empty: it declares none.
std::vector<int32_t> PrimaryKeyOf(const wire::Manifest& manifest);

// The keys of rows that are inserted, as the split block Bloom filter that pylance writes. Of types that it does not know
// (others than integers of 32 and 64 bits, text, binary) no key is in it.
Status SetInsertedKeys(const std::vector<int32_t>& field_ids, const std::vector<std::string>& on,
                       const MergeSource& source, const MergePlan& plan, ReadContext& ctx,
                       wire::Transaction::Update* op);

// Asked before each attempt to commit on a newer version.
class InsertedKeysCheck {
 public:
  InsertedKeysCheck(const ChangeBase& base, const std::vector<std::string>& on, const MergeKeys& keys,
                    const MergePlan& plan);
  // kRetry: a fragment that came since has a row with a key that is to be inserted.
  Status Check(const StoredVersion& newest, ReadContext& ctx);

 private:
  const ChangeBase& base_;
  const std::vector<std::string>& on_;
  const MergeKeys& keys_;
  const MergePlan& plan_;
  std::set<std::string> known_;  // files of fragments that were looked at, or were there before
};

}  // namespace pilum
