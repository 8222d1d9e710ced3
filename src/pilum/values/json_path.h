// JSON paths, as Lance's json_* functions take them: "$.a.b[0]", "$.a[*]", "$.items[0, last]?(@.price > 3)". Called by query.
// Immutable once made. The language is in docs/formats/sql.md, "JSON".
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/values/json.h"

namespace pilum {

class JsonPath {
 public:
  // kUsage: it is none; says at which byte.
  static Result<JsonPath> Parse(std::string_view text);

  // The nodes that it leads to, in order; none where the document has no such place. kUsage: more than kMostPlaces.
  static constexpr size_t kMostPlaces = size_t{1} << 20;
  Result<std::vector<uint32_t>> Select(const JsonTree& doc) const;

  struct Condition;

 private:
  friend class JsonPathParser;
  friend class JsonPathRun;

  struct Place {  // of an array's element
    int64_t number = 0;
    bool from_last = false;
  };
  struct Range {
    Place first, last;
  };
  enum class StepKind { kMember, kAnyMember, kAnyElement, kElements, kDescend, kFilter };
  struct Step {
    StepKind kind;
    std::string name = {};
    std::vector<Range> ranges = {};
    uint32_t least = 0, most = UINT32_MAX;  // levels to descend
    std::shared_ptr<const Condition> condition = {};
  };
  std::vector<Step> steps_;
};

}  // namespace pilum
