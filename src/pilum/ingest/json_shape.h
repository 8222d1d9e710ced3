// The type of a JSON column from all its values: numbers, booleans, text (dates and timestamps told apart), lists and
// objects. A first pass adds every row; then type() is what the second pass builds.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/ingest/infer.h"
#include "pilum/ingest/json_value.h"

namespace pilum::ingest {

class JsonShape {
 public:
  // `place`: the dotted column, for messages. Fails where a list or object meets another kind: names both lines.
  Status Add(const JsonValue& value, const std::string& place, int64_t line);
  std::shared_ptr<arrow::DataType> type() const;

 private:
  Status AddObject(const JsonValue& value, const std::string& place, int64_t line);

  int64_t first_line_[8] = {};  // by JsonValue::Kind; 0: none seen
  bool negative_ = false;
  TextInference text_{false};
  std::unique_ptr<JsonShape> item_;
  std::vector<std::pair<std::string, std::unique_ptr<JsonShape>>> fields_;
  std::unordered_map<std::string, size_t> index_;
};

}  // namespace pilum::ingest
