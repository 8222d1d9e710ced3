// Rows' values of some columns as bytes whose order (memcmp) is that of the values: the one of queries (values/value.h), NULLs
// last. Used inside part/ only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/base/types.h"

namespace pilum {

// A column by the name that people write: a top-level one spelled exactly so, else a path of fields of structs. kUsage: there
// is none, or its values have no order.
Result<FieldPath> SortColumn(const arrow::Schema& schema, const std::string& dotted);

// Of timestamps and dates: the day of each row since 1970, in UTC; a day of its own for NULLs. kUsage: other types.
Result<std::vector<int64_t>> DaysOf(const arrow::Array& times);
bool HasDays(const arrow::DataType& type);
// The day of one value of such a type, as it is stored.
int64_t DayOf(int64_t value, const arrow::DataType& type);

// The keys of a batch's rows, one after another.
class SortKeys {
 public:
  Status Append(const arrow::RecordBatch& rows, const std::vector<FieldPath>& columns, arrow::MemoryPool* pool);
  uint64_t size() const { return ends_.size(); }
  uint64_t bytes() const { return bytes_.size() + 8 * ends_.size(); }
  std::string_view operator[](uint64_t row) const {
    const uint64_t begin = row == 0 ? 0 : ends_[row - 1];
    return {bytes_.data() + begin, ends_[row] - begin};
  }
  void Clear() {
    bytes_.clear();
    ends_.clear();
  }

 private:
  std::string bytes_;
  std::vector<uint64_t> ends_;
};

}  // namespace pilum
