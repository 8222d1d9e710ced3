// Tables for people: aligned, cut to the terminal's width, types under the names, nulls dim. Used for rows and for what
// `columns` and `ls` list.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum::cli {

struct GridColumn {
  std::string name, type;  // type empty in all columns: no line of types
  bool right = false;      // numbers
};
struct GridCell {
  std::string text;
  bool dim = false;
};

struct GridStyle {
  int width = 0;       // of the terminal; 0: not cut
  bool color = false;  // dim and bold by escape codes
  static GridStyle ForStdout();
};

// Prints rows as they come: widths are settled by the first kSample rows, later cells are cut to them.
class Grid {
 public:
  static constexpr size_t kSample = 1000;
  Grid(std::vector<GridColumn> columns, GridStyle style);
  Status Add(std::vector<GridCell> row);
  Status Finish();  // what is still held back; a note if columns did not fit

 private:
  Status Flush();
  void Settle();
  void AppendLine(const std::vector<GridCell>& cells, const char* style, std::string* out) const;

  std::vector<GridColumn> columns_;
  GridStyle style_;
  std::vector<std::vector<GridCell>> held_;
  std::vector<int> widths_;
  size_t shown_ = 0;  // columns that fit
  bool settled_ = false;
};

// Record batches into a Grid, with "N rows" below, and how far off the approximate columns may be.
class TableRenderer {
 public:
  TableRenderer(const arrow::Schema& schema, GridStyle style);
  Status Write(const arrow::RecordBatch& batch);
  Status Close();

 private:
  Grid grid_;
  std::string notes_;
  uint64_t rows_ = 0;
};

int DisplayWidth(std::string_view utf8);  // terminal columns

}  // namespace pilum::cli
