// The type of a text column, from all of its values: the first of int64, uint64 (past int64's range), double, bool,
// date, timestamp (with a zone: UTC) that every value fits, else text. Never double for whole numbers alone. Used by the CSV and JSON readers.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include <arrow/type_fwd.h>

namespace pilum::ingest {

class TextInference {
 public:
  // `numbers` false: text of a JSON string, where "5" is text and only dates and timestamps are looked for.
  explicit TextInference(bool numbers = true);
  void Add(std::string_view value);
  bool settled() const { return mask_ == 0; }  // text, whatever follows
  // Null type: no value was seen.
  std::shared_ptr<arrow::DataType> type() const;

 private:
  uint32_t mask_;
  bool seen_ = false;
  bool all_whole_ = true;  // numbers without point and exponent
};

}  // namespace pilum::ingest
