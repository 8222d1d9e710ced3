// One line on standard error that shows how far long work is; nothing where standard error is no terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

namespace pilum::cli {

class Progress {
 public:
  // `total` 0: unknown, so rows are counted without a bar.
  explicit Progress(std::string label, uint64_t total_rows = 0);
  ~Progress();  // wipes the line
  void Add(uint64_t rows);

 private:
  void Draw();
  std::string label_;
  uint64_t total_, done_ = 0;
  bool on_ = false, drawn_ = false;
  std::chrono::steady_clock::time_point start_, last_;
};

// `input` as it is, counted. `progress` must outlive it.
std::shared_ptr<arrow::RecordBatchReader> WithProgress(std::shared_ptr<arrow::RecordBatchReader> input,
                                                       Progress* progress);

}  // namespace pilum::cli
