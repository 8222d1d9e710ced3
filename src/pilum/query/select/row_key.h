// Rows as bytes that compare (memcmp) as the one order of values says, column after column: for ORDER BY, GROUP BY,
// DISTINCT and COUNT(DISTINCT). Equal bytes: equal rows (one NaN, -0.0 is 0.0, NULL equals NULL).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"

namespace pilum {

struct KeyOrder {
  bool descending = false, nulls_first = false;
};

// One key a row, in one block. A value.
class RowKeys {
 public:
  // Plain arrays (no dictionaries, no extensions) of equal length; types with a normal form, or null. `orders`: one a
  // column, or empty: ascending, NULLs last. The same types must be encoded wherever keys are compared.
  static Result<RowKeys> Encode(const arrow::ArrayVector& columns, std::span<const KeyOrder> orders, int64_t rows);
  static bool CanEncode(const arrow::DataType& type);

  static RowKeys Of(std::span<const std::string_view> keys);

  uint64_t bytes() const { return bytes_.size() + ends_.size() * sizeof(size_t); }
  size_t size() const { return ends_.size() - 1; }
  std::string_view operator[](size_t i) const { return {bytes_.data() + ends_[i], ends_[i + 1] - ends_[i]}; }

 private:
  std::string bytes_;
  std::vector<size_t> ends_ = {0};
};

}  // namespace pilum
