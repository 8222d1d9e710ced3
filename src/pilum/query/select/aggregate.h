// The running state of one aggregate over many groups. docs/formats/sql.md says what each means.
#pragma once

#include <memory>
#include <span>

#include <arrow/type_fwd.h>

#include "pilum/index/column_stats.h"
#include "pilum/query/select/select.h"

namespace pilum {

// Not thread-safe. Groups are numbered from 0 and only grow.
class Accumulator {
 public:
  virtual ~Accumulator() = default;
  // groups[i]: of row i. `values`: the argument, plain, one slot a row; null for COUNT(*).
  virtual Status Update(const arrow::Array* values, std::span<const uint32_t> groups, size_t num_groups) = 0;
  // One slot a group, of the aggregate's type.
  virtual Result<std::shared_ptr<arrow::Array>> Finish(size_t num_groups) = 0;
  virtual uint64_t bytes() const = 0;
};

std::unique_ptr<Accumulator> MakeAccumulator(const Aggregate& aggregate, arrow::MemoryPool* pool);

// Kind of a lower-case name, nullopt where it is no aggregate.
std::optional<Aggregate::Kind> AggregateKind(const std::string& name);
// The type of the result over an argument of this plain type; kQuery (without a position) where it is not defined.
Result<std::shared_ptr<arrow::DataType>> AggregateType(Aggregate::Kind kind,
                                                       const std::shared_ptr<arrow::DataType>& argument);

// What is said of an approximate answer in its field's metadata: pilum:sketch, pilum:params, pilum:error_bound and
// pilum:confidence; null for an exact one. (approx.cc)
std::shared_ptr<const arrow::KeyValueMetadata> AggregateMetadata(const Aggregate& aggregate);
// The most values that approx_top_k gives: half of what its sketch holds.
inline constexpr uint64_t kMostTop = 128;
std::unique_ptr<Accumulator> MakeApproximate(const Aggregate& aggregate, arrow::MemoryPool* pool);
// One slot: the answer of the sketches of one column, null where they are unknown.
Result<std::shared_ptr<arrow::Array>> AnswerFromStats(const Aggregate& aggregate, const ColumnStats& stats);

}  // namespace pilum
