// A dataset's own wishes: `dataset.toml` beside its parts (docs/formats/dataset.md). A value.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

inline constexpr std::string_view kDatasetKey = "pilum:dataset";

struct DatasetSpec {
  std::vector<std::string> owner, time, key;                // columns, as dotted paths
  std::optional<uint64_t> target_part_bytes;                // at least 1
  std::optional<uint64_t> page_rows;                        // at least 1: most rows of a page of the parts' Lance files
  std::vector<std::pair<std::string, std::string>> pairs;   // of columns that are asked for together
  std::map<std::string, std::vector<std::string>> indexes;  // per column: names as in `pilum:index`
  std::string hash;                                         // first 16 hex digits of BLAKE3 of the file's bytes

  // kUsage names `source`, the line, what is wrong and what there could be.
  static Result<DatasetSpec> Parse(std::string_view text, std::string_view source);

  // The schema with `pilum:index` on every field that is named: what the file says, over what the field said. Fields inside of
  // structs by their path; the hash in the schema's metadata, under kDatasetKey. Named columns that the schema lacks are left alone.
  Result<std::shared_ptr<arrow::Schema>> Annotate(const arrow::Schema& schema) const;
};

}  // namespace pilum
