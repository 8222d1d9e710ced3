// Random tables in several parts, over every type that a predicate can name, kept both as plain cells and as Arrow
// batches.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "tests/support/cell.h"

namespace pilum::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  int64_t Below(int64_t n) { return static_cast<int64_t>(engine_() % static_cast<uint64_t>(n)); }
  bool Chance(double p) { return static_cast<double>(engine_() >> 11) * 0x1p-53 < p; }
  template <typename T>
  const T& Pick(const std::vector<T>& from) {
    return from[static_cast<size_t>(Below(static_cast<int64_t>(from.size())))];
  }

 private:
  std::mt19937_64 engine_;
};

struct Column {
  std::string name;
  std::string sql;                          // as written in a statement
  std::shared_ptr<arrow::DataType> type;    // of the dataset
  std::shared_ptr<arrow::DataType> narrow;  // of some parts; null: `type` everywhere
};

using Row = std::vector<Cell>;  // one cell a column

struct RandomTable {
  std::vector<Column> columns;  // the first is `id`: int64, unique, never null
  std::vector<std::vector<Row>> parts;
  std::vector<std::shared_ptr<arrow::RecordBatch>>
      batches;                            // one a part; may lack columns, or have them narrower or in another order
  std::shared_ptr<arrow::Schema> schema;  // with every column at its widest
};

// Parts may be empty, of one row, of a few, or of more than one zone of 1,024 rows.
RandomTable MakeRandomTable(Random& rng);

}  // namespace pilum::testing
