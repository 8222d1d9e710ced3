// approx_count_distinct (HyperLogLog), approx_percentile (KLL), approx_top_k (heavy hitters): a sketch a group.
#include <cmath>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/query/select/aggregate.h"
#include "pilum/sketch/sort_keys.h"
#include "pilum/sketch/value_hash.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

Kll::Params KllParams(const Aggregate& a) {
  Kll::Params params;
  params.kind = a.type->id() == arrow::Type::DOUBLE ? Kll::Kind::kFloat : Kll::Kind::kInt;
  return params;
}

Result<ArrayPtr> Answer(const Aggregate&, const Hll& sketch) {
  arrow::Int64Builder builder;
  PILUM_RETURN_NOT_OK(builder.Append(static_cast<int64_t>(std::llround(sketch.Count().value))));
  return builder.Finish();
}

Result<ArrayPtr> Answer(const Aggregate& a, const Kll& sketch) {
  if (sketch.count() == 0) return arrow::MakeArrayOfNull(a.type, 1);
  PILUM_ASSIGN_OR_RETURN(const int64_t key, sketch.QuantileKey(a.quantile));
  const bool is_float = sketch.params().kind == Kll::Kind::kFloat;
  return MakeArrayOf(a.type, {is_float ? Value::Float(DoubleOf(key)) : Value::Int(key)});
}

Result<ArrayPtr> Answer(const Aggregate& a, const HeavyHitters& sketch) {
  if (sketch.total() == 0) return arrow::MakeArrayOfNull(a.type, 1);
  const auto& item = static_cast<const arrow::StructType&>(*static_cast<const arrow::ListType&>(*a.type).value_type());
  const auto& type = item.field(0)->type();
  std::vector<std::optional<Value>> values, counts;
  for (const HeavyHitters::Item& top : sketch.Top(a.top)) {
    auto value = ValueOfHashBytes(top.hash_bytes, *type);
    if (!value) return Status::Invalid("a sketch holds bytes that are no value");
    values.push_back(std::move(value));
    counts.emplace_back(Value::Int(static_cast<Int128>(top.low)));
  }
  PILUM_ASSIGN_OR_RETURN(auto value_array, MakeArrayOf(type, values));
  PILUM_ASSIGN_OR_RETURN(auto count_array, MakeArrayOf(arrow::int64(), counts));
  PILUM_ASSIGN_OR_RETURN(auto items, arrow::StructArray::Make({value_array, count_array}, item.fields()));
  arrow::Int32Builder offsets;
  PILUM_RETURN_NOT_OK(offsets.AppendValues({0, static_cast<int32_t>(items->length())}));
  PILUM_ASSIGN_OR_RETURN(auto offset_array, offsets.Finish());
  return std::make_shared<arrow::ListArray>(a.type, 1, offset_array->data()->buffers[1], items);
}

template <typename S>
class Sketched : public Accumulator {
 public:
  Sketched(const Aggregate& a, S empty, arrow::MemoryPool* pool) : a_(a), empty_(std::move(empty)), pool_(pool) {}

  Status Update(const arrow::Array* values, std::span<const uint32_t> groups, size_t num_groups) override {
    for (size_t g = sketches_.size(); g < num_groups; ++g) {
      sketches_.push_back(empty_);
      held_ += sizeof(S) + empty_.memory();
    }
    if (num_groups == 1) return UpdateOne(&sketches_[0], *values);
    std::vector<int64_t> order(groups.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return groups[static_cast<size_t>(a)] < groups[static_cast<size_t>(b)];
    });
    arrow::Int64Builder builder(pool_);
    PILUM_RETURN_NOT_OK(builder.AppendValues(order));
    PILUM_ASSIGN_OR_RETURN(auto rows, builder.Finish());
    arrow::compute::ExecContext exec(pool_);
    PILUM_ASSIGN_OR_RETURN(auto sorted, arrow::compute::Take(*arrow::MakeArray(values->data()), *rows,
                                                             arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
    for (size_t begin = 0, end = 0; begin < order.size(); begin = end) {
      const uint32_t group = groups[static_cast<size_t>(order[begin])];
      for (end = begin; end < order.size() && groups[static_cast<size_t>(order[end])] == group;) ++end;
      PILUM_RETURN_NOT_OK(
          UpdateOne(&sketches_[group], *sorted->Slice(static_cast<int64_t>(begin), static_cast<int64_t>(end - begin))));
    }
    return Status::OK();
  }

  Result<ArrayPtr> Finish(size_t num_groups) override {
    sketches_.resize(num_groups, empty_);
    arrow::ArrayVector answers;
    for (const S& s : sketches_) {
      PILUM_ASSIGN_OR_RETURN(auto one, Answer(a_, s));
      answers.push_back(std::move(one));
    }
    if (answers.empty()) return arrow::MakeArrayOfNull(a_.type, 0, pool_);
    return arrow::Concatenate(answers, pool_);
  }
  uint64_t bytes() const override { return held_; }

 private:
  Status UpdateOne(S* sketch, const arrow::Array& values) {
    held_ -= sketch->memory();
    const Status status = sketch->Update(values);
    held_ += sketch->memory();
    return status;
  }

  const Aggregate a_;
  const S empty_;
  arrow::MemoryPool* pool_;
  std::vector<S> sketches_;
  uint64_t held_ = 0;
};

}  // namespace

std::unique_ptr<Accumulator> MakeApproximate(const Aggregate& a, arrow::MemoryPool* pool) {
  switch (a.kind) {
    case Aggregate::Kind::kApproxDistinct: return std::make_unique<Sketched<Hll>>(a, Hll::Empty({}).ValueOrDie(), pool);
    case Aggregate::Kind::kApproxPercentile:
      return std::make_unique<Sketched<Kll>>(a, Kll::Empty(KllParams(a)).ValueOrDie(), pool);
    default: return std::make_unique<Sketched<HeavyHitters>>(a, HeavyHitters::Empty({}).ValueOrDie(), pool);
  }
}

std::shared_ptr<const arrow::KeyValueMetadata> AggregateMetadata(const Aggregate& a) {
  auto said = [](std::string_view sketch, const std::string& params, double bound, const char* of, double confidence) {
    return arrow::key_value_metadata(
        {"pilum:sketch", "pilum:params", "pilum:error_bound", "pilum:confidence"},
        {std::string(sketch), params, fmt::format("{:.4g} {}", bound, of), fmt::format("{:g}", confidence)});
  };
  switch (a.kind) {
    case Aggregate::Kind::kApproxDistinct: {
      const Hll::Params params;
      return said(Hll::kName, params.ToString(), 1.96 * 1.04 / std::sqrt(std::exp2(params.p)), "of the count", 0.95);
    }
    case Aggregate::Kind::kApproxPercentile: {
      const Kll::Params params = KllParams(a);
      return said(Kll::kName, params.ToString(), Kll::RankErrorOf(params.k), "of the rows, in rank", 0.99);
    }
    case Aggregate::Kind::kApproxTopK: {
      const HeavyHitters::Params params;
      return said(HeavyHitters::kName, params.ToString(), 1.0 / (params.capacity / 2 + 1), "of the rows, too low", 1);
    }
    default: return nullptr;
  }
}

Result<ArrayPtr> AnswerFromStats(const Aggregate& a, const ColumnStats& stats) {
  using Kind = Aggregate::Kind;
  switch (a.kind) {
    case Kind::kCount:
      return MakeArrayOf(arrow::int64(), {Value::Int(static_cast<Int128>(stats.rows() - stats.nulls()))});
    case Kind::kMin:
    case Kind::kMax:
      if (!stats.has_extremes()) return nullptr;
      return MakeArrayOf(a.type, {a.kind == Kind::kMin ? stats.min() : stats.max()});
    case Kind::kApproxDistinct: return stats.distinct() ? Answer(a, *stats.distinct()) : nullptr;
    case Kind::kApproxPercentile:
      if (!stats.quantiles() || !(stats.quantiles()->params() == KllParams(a))) return nullptr;
      return Answer(a, *stats.quantiles());
    case Kind::kApproxTopK: return stats.top() ? Answer(a, *stats.top()) : nullptr;
    default: return nullptr;
  }
}

}  // namespace pilum
