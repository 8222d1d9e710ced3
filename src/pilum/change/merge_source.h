// The rows that are merged into a table: read once from a stream, then as often as needed. Small ones stay in memory, more of
// them lie in data files of the table, which become its fragments where that is all that is left to do. Called by
// merge_rows.cc. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/change/change.h"
#include "pilum/change/fit_rows.h"
#include "pilum/change/fragment_writer.h"
#include "pilum/change/merge_keys.h"
#include "pilum/file/file_reader.h"

namespace pilum {

class MergeSource {
 public:
  struct Options {
    FragmentWriterOptions files;
    uint64_t held_bytes = uint64_t{64} << 20;  // most that stays in memory
  };
  // Reads all of `rows`. `keys`: columns of the table by name. kUsage where they do not fit the table or lack a key.
  static Result<std::unique_ptr<MergeSource>> Collect(std::shared_ptr<ObjectStore> store, const FileSchema& table,
                                                      const std::vector<std::string>& keys,
                                                      arrow::RecordBatchReader& rows, const Options& options,
                                                      ReadContext& ctx);
  ~MergeSource();  // files that were not handed over are removed

  const MergeKeys& keys() const { return keys_; }
  // In the table's order, without those that the rows lack.
  const std::shared_ptr<arrow::Schema>& schema() const { return fit_->schema(); }

  // All rows in order; `first`: the number of the batch's first.
  Status Read(ReadContext& ctx, const std::function<Status(uint64_t first, const arrow::RecordBatch&)>& take) const;
  // These rows of these columns (of schema()), in that order. Pieces of a bounded size: `at` says where in `rows` one begins.
  Status Take(const std::vector<std::string>& columns, std::span<const uint32_t> rows, ReadContext& ctx,
              const std::function<Status(size_t at, const arrow::RecordBatch&)>& take) const;

  // Data files that hold exactly these rows in this order, or null.
  const NewFragments* files() const { return spilled_ ? &*spilled_ : nullptr; }
  // A version may name them: they stay.
  void HandOver() { handed_over_ = true; }

 private:
  explicit MergeSource(std::shared_ptr<ObjectStore> store) : store_(std::move(store)) {}
  Status AddKeys(const arrow::RecordBatch& batch, const std::vector<std::string>& keys);
  Result<std::shared_ptr<arrow::RecordBatch>> TakeHeld(const std::vector<std::string>& columns,
                                                       std::span<const uint32_t> rows) const;
  Status OpenFiles(ReadContext& ctx);

  const std::shared_ptr<ObjectStore> store_;
  std::optional<FitRows> fit_;
  MergeKeys keys_;
  std::vector<std::shared_ptr<arrow::RecordBatch>> held_;
  std::vector<uint64_t> first_;  // of each batch or file, and the number of all rows
  std::optional<NewFragments> spilled_;
  std::vector<std::shared_ptr<const FileReader>> files_;
  size_t piece_rows_ = 1;  // that are taken at once from memory
  bool handed_over_ = false;
};

}  // namespace pilum
