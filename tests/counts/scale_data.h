// The dataset of the scale test, at any size: rows by their number, parts of so many of them, and what a question about them
// must answer. Pure functions of the row's number, so an answer needs no index, no file and no query.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

namespace pilum::scale {

inline constexpr int64_t kParts = 3;

struct Shape {
  int64_t part_rows = 0;
  int64_t rows() const { return kParts * part_rows; }
};

// One row; what only a batch needs (tags' and words' texts) is made there.
struct Row {
  int64_t id, sid;              // 7 k + 3, ascending over all rows and shuffled over all rows
  uint32_t u32;                 // part_rows / 50 values from 3,000,000,000 on, in every part
  int kind;                     // 0 to 4
  int64_t ts;                   // microseconds; 30 days a part, disjoint
  std::optional<double> price;  // NULL in a third of the rows; 8,000 values, quarters
  std::optional<int32_t> late;  // NULL in a run of 100 rows a part and in one row of 5,000
  int32_t day;                  // of ts
  float f32;                    // 1,000 tenths
  bool flag;                    // one row in 1,000
  std::vector<int> tags;        // up to 3 of 300
  int32_t leaf;                 // st.a: 5,000 values
  bool rare_word;               // the text holds "zyzzyva": about 20 rows a part, whatever its size
};
Row RowAt(int64_t k, const Shape& shape);

std::shared_ptr<arrow::Schema> SchemaOf();
// One part's rows, in batches of 16,384. About 420 bytes of Arrow a row.
std::shared_ptr<arrow::RecordBatchReader> ReadPart(int64_t part, const Shape& shape);

}  // namespace pilum::scale
