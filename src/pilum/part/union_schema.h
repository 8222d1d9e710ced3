// The schema of a dataset: the union of its parts' by name, and the columns on which parts disagree beyond widening
// (docs/formats/part_store.md, "Schema").
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

// Keys of a part's schema metadata that belong to the store and are no part of the dataset's schema.
inline constexpr char kBatchIdKey[] = "pilum:batch_id";
inline constexpr char kBatchRowKey[] = "pilum:batch_row";

// Schema metadata without what belongs to the store; null where nothing is left.
std::shared_ptr<const arrow::KeyValueMetadata> WithoutStoreKeys(
    const std::shared_ptr<const arrow::KeyValueMetadata>& metadata);

struct NamedSchema {
  std::string name;  // "part abc…", for messages
  std::shared_ptr<arrow::Schema> schema;
};

struct UnionSchema {
  std::shared_ptr<arrow::Schema> schema;       // a clashing column has the type of the first part that has it
  std::map<std::string, std::string> clashes;  // column -> what two parts disagree about

  // In the order of `parts`.
  static UnionSchema Of(const std::vector<NamedSchema>& parts);
};

}  // namespace pilum
