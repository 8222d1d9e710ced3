// Asks the `inverted` (or `members`) section of a sidecar which rows hold a value of a set, by range: its root, then the
// blocks that the question touches (docs/formats/sidecar.md). Immutable and thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pilum/index/index.h"
#include "pilum/index/sidecar.h"
#include "pilum/index/value_list.h"

namespace pilum {

class InvertedIndex {
 public:
  // Reads the root. kCorrupt names the sidecar.
  static Result<InvertedIndex> Open(std::shared_ptr<const SidecarReader> reader, const SectionEntry& entry,
                                    uint64_t num_rows, ReadContext& ctx);
  const ValueShape& shape() const { return shape_; }

  struct Answer {
    RowSet rows;
    bool outside = false;  // `rows` are not those in the set but those whose values are all outside of it
  };
  // `possible`: the rows that the caller would otherwise read. nullopt: can't help, or not for less than reading those
  // rows would cost. `may_invert`: rows outside of the set may be given instead where that is less to read.
  Result<std::optional<Answer>> Rows(const ValueSet& set, uint64_t possible, bool may_invert, ReadContext& ctx) const;

  // The rows of each of some values, ascending and distinct: nullopt where they were left out. nullopt as a whole: not for less
  // than reading `possible` rows would cost.
  using RowsEach = std::vector<std::optional<RowSet>>;
  Result<std::optional<RowsEach>> Each(const std::vector<Value>& values, uint64_t possible, ReadContext& ctx) const;

  // Calls f(value) for every value, in order.
  Status ForEachValue(const std::function<void(const Value&)>& f, ReadContext& ctx) const;
  // For checks: calls f(value, rows) for each value whose postings are kept.
  Status ForEach(const std::function<void(const Value&, const RowSet&)>& f, ReadContext& ctx) const;

 private:
  struct Head {  // of a block
    uint32_t values;
    uint64_t rows, runs;
  };
  struct Touched {
    std::vector<size_t> blocks;
    double runs = 0;     // about how many would be read
    uint64_t bytes = 0;  // to fetch and to unpack
  };
  struct Block;
  InvertedIndex() = default;
  Touched Touch(const ValueSet& set) const;
  Status ReadRows(const ValueSet& set, const std::vector<std::string>& blocks, std::vector<RowRange>* out,
                  bool* complete) const;
  Status Parse(std::string_view bytes, Block* block) const;
  std::pair<size_t, size_t> BlocksOf(const Interval& i) const;

  std::shared_ptr<const SidecarReader> reader_;
  uint64_t num_rows_ = 0;
  ValueShape shape_;
  std::shared_ptr<const BlockRoot> root_;  // shared, so that views into it survive a move
  std::vector<Head> heads_;
  uint64_t runs_ = 0;  // of all blocks
  ValueListView firsts_;
};

}  // namespace pilum
