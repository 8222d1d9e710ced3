// Takes: few rows, anywhere in a file, in any order. Columns whose pages are addressable are read value by value (of a
// mapped file where that pays); the others through units. Called by file_reader.cc.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "pilum/encoding/take/leaf_take.h"
#include "pilum/file/projection.h"
#include "pilum/file/unit.h"

namespace pilum {

// Of one open file. Thread-safe.
class FileTaker {
 public:
  explicit FileTaker(std::shared_ptr<const OpenFile> file);

  // One array a ReadField, with one entry for each of `rows` (below the file's num_rows), in their order. Errors have no
  // file name. `most_bytes`: as FileReader::TakeBatch.
  Result<std::vector<std::shared_ptr<arrow::Array>>> Take(const Projection& projection, std::span<const uint64_t> rows,
                                                          ReadContext& ctx, uint64_t most_bytes) const;

 private:
  struct Leaf {
    std::atomic<bool> ready{false};
    std::unique_ptr<const LeafTaker> taker;  // null: not addressable
    std::atomic<bool> taken{false};          // by a take of a mapped file
  };
  const LeafTaker* TakerOf(int leaf) const;
  const uint8_t* MapFor(size_t cells, const ReadContext& ctx) const;
  bool IsSparse(int leaf, size_t rows) const;

  std::shared_ptr<const OpenFile> file_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<Leaf[]> leaves_;
  mutable std::atomic<uint64_t> cells_taken_{0};
};

}  // namespace pilum
