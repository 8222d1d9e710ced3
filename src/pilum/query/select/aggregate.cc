#include "pilum/query/select/aggregate.h"

#include <algorithm>
#include <cmath>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/compute/api.h>
#include <arrow/type.h>

#include "pilum/query/select/group_table.h"
#include "pilum/query/select/row_key.h"
#include "pilum/values/decimal.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

using arrow::Decimal256;
using ArrayPtr = std::shared_ptr<arrow::Array>;

// The three forms of numbers, and bytes: how they come out of an array, are kept, compared and given back.
struct Ints {
  using In = Int128;
  using Kept = Int128;
  static Result<std::vector<In>> Of(const arrow::Array& a) { return IntsOf(a); }
  static bool Less(In a, In b) { return a < b; }
  static Value ToValue(Kept v) { return Value::Int(v); }
};
struct Floats {
  using In = double;
  using Kept = double;
  static Result<std::vector<In>> Of(const arrow::Array& a) { return FloatsOf(a); }
  static bool Less(In a, In b) { return CompareFloat(a, b) < 0; }
  static Value ToValue(Kept v) { return Value::Float(v); }
};
struct Decimals {
  using In = Decimal256;
  using Kept = Decimal256;
  static Result<std::vector<In>> Of(const arrow::Array& a) { return DecimalsOf(a); }
  static bool Less(const In& a, const In& b) { return a < b; }
  static Value ToValue(const Kept& v) { return Value::Decimal(v); }
};
struct Bytes {
  using In = std::string_view;
  using Kept = std::string;
  static Result<std::vector<In>> Of(const arrow::Array& a) { return BytesOf(a); }
  static bool Less(In a, In b) { return a < b; }
  static Value ToValue(Kept v) { return Value::Text(std::move(v)); }
};
struct BinaryBytes : Bytes {
  static Value ToValue(Kept v) { return Value::Binary(std::move(v)); }
};

uint64_t HeapBytes(const std::string& v) { return v.capacity() > 15 ? v.capacity() : 0; }
template <typename T>
uint64_t HeapBytes(const T&) {
  return 0;
}

// One slot a group, a few at a time: a Value takes many times the bytes of what it becomes.
template <typename F>
Result<ArrayPtr> ArrayOfGroups(const std::shared_ptr<arrow::DataType>& type, size_t num_groups, F value_of) {
  constexpr size_t kAtOnce = 4096;
  arrow::ArrayVector chunks;
  std::vector<std::optional<Value>> values;
  for (size_t g = 0; g < num_groups || chunks.empty();) {
    values.clear();
    for (const size_t end = std::min(num_groups, g + kAtOnce); g < end; ++g) {
      PILUM_ASSIGN_OR_RETURN(auto value, value_of(g));
      values.push_back(std::move(value));
    }
    PILUM_ASSIGN_OR_RETURN(auto chunk, MakeArrayOf(type, values));
    chunks.push_back(std::move(chunk));
  }
  return chunks.size() == 1 ? Result<ArrayPtr>(chunks[0]) : arrow::Concatenate(chunks);
}
using MaybeValue = Result<std::optional<Value>>;

template <template <typename> class Make, typename... A>
std::unique_ptr<Accumulator> ByDomain(const arrow::DataType& type, A&&... a) {
  switch (DomainOf(type)) {
    case Domain::kFloat: return std::make_unique<Make<Floats>>(std::forward<A>(a)...);
    case Domain::kDecimal: return std::make_unique<Make<Decimals>>(std::forward<A>(a)...);
    case Domain::kText: return std::make_unique<Make<Bytes>>(std::forward<A>(a)...);
    case Domain::kBinary: return std::make_unique<Make<BinaryBytes>>(std::forward<A>(a)...);
    default: return std::make_unique<Make<Ints>>(std::forward<A>(a)...);
  }
}

class Count : public Accumulator {
 public:
  Status Update(const arrow::Array* values, std::span<const uint32_t> groups, size_t num_groups) override {
    counts_.resize(num_groups, 0);
    for (size_t i = 0; i < groups.size(); ++i)
      counts_[groups[i]] += !values || values->IsValid(static_cast<int64_t>(i));
    return Status::OK();
  }
  Result<ArrayPtr> Finish(size_t num_groups) override {
    counts_.resize(num_groups, 0);
    arrow::Int64Builder builder;
    PILUM_RETURN_NOT_OK(builder.AppendValues(counts_));
    return builder.Finish();
  }
  uint64_t bytes() const override { return counts_.capacity() * 8; }

 private:
  std::vector<int64_t> counts_;
};

class Nulls : public Accumulator {
 public:
  explicit Nulls(std::shared_ptr<arrow::DataType> type) : type_(std::move(type)) {}
  Status Update(const arrow::Array*, std::span<const uint32_t>, size_t) override { return Status::OK(); }
  Result<ArrayPtr> Finish(size_t num_groups) override {
    return arrow::MakeArrayOfNull(type_, static_cast<int64_t>(num_groups));
  }
  uint64_t bytes() const override { return 0; }

 private:
  std::shared_ptr<arrow::DataType> type_;
};

template <typename F>
class Extreme : public Accumulator {
 public:
  Extreme(std::shared_ptr<arrow::DataType> type, bool greatest) : type_(std::move(type)), greatest_(greatest) {}
  Status Update(const arrow::Array* values, std::span<const uint32_t> groups, size_t num_groups) override {
    best_.resize(num_groups);
    PILUM_ASSIGN_OR_RETURN(auto in, F::Of(*values));
    for (size_t i = 0; i < groups.size(); ++i) {
      if (values->IsNull(static_cast<int64_t>(i))) continue;
      auto& best = best_[groups[i]];
      if (best && !(greatest_ ? F::Less(*best, in[i]) : F::Less(in[i], *best))) continue;
      if (best) heap_ -= HeapBytes(*best);
      best.emplace(in[i]);
      heap_ += HeapBytes(*best);
    }
    return Status::OK();
  }
  Result<ArrayPtr> Finish(size_t num_groups) override {
    best_.resize(num_groups);
    return ArrayOfGroups(type_, num_groups, [&](size_t g) -> MaybeValue {
      return best_[g] ? std::optional(F::ToValue(std::move(*best_[g]))) : std::nullopt;
    });
  }
  uint64_t bytes() const override { return best_.capacity() * sizeof(best_[0]) + heap_; }

 private:
  std::shared_ptr<arrow::DataType> type_;
  bool greatest_;
  std::vector<std::optional<typename F::Kept>> best_;
  uint64_t heap_ = 0;
};

// SUM and AVG of integers, exactly: 2^63 rows of any integers do not fill 128 bits.
class IntSum : public Accumulator {
 public:
  explicit IntSum(const Aggregate& a) : a_(a) {}
  Status Update(const arrow::Array* values, std::span<const uint32_t> groups, size_t num_groups) override {
    sums_.resize(num_groups);
    PILUM_ASSIGN_OR_RETURN(auto in, IntsOf(*values));
    for (size_t i = 0; i < groups.size(); ++i) {
      if (values->IsNull(static_cast<int64_t>(i))) continue;
      Sum& s = sums_[groups[i]];
      s.sum += in[i];
      ++s.count;
    }
    return Status::OK();
  }
  Result<ArrayPtr> Finish(size_t num_groups) override {
    sums_.resize(num_groups);
    const bool mean = a_.kind == Aggregate::Kind::kAvg;
    const IntRange range = mean ? IntRange{0, 0} : IntRangeOf(*a_.type);
    return ArrayOfGroups(a_.type, num_groups, [&](size_t g) -> MaybeValue {
      const Sum& s = sums_[g];
      if (s.count == 0) return std::nullopt;
      if (mean)
        return Value::Float(static_cast<double>(static_cast<long double>(s.sum) / static_cast<long double>(s.count)));
      if (s.sum >= range.min && s.sum <= range.max) return Value::Int(s.sum);
      if (!a_.strict) return std::nullopt;
      return QueryError("{} overflows {}; sum the argument as CAST(… AS decimal(38, 0))", a_.text, a_.type->ToString());
    });
  }
  uint64_t bytes() const override { return sums_.capacity() * sizeof(Sum); }

 private:
  struct Sum {
    Int128 sum = 0;
    int64_t count = 0;
  };
  const Aggregate a_;
  std::vector<Sum> sums_;
};

// SUM and AVG of floats, with the rounding errors kept beside the sum (Neumaier).
class FloatSum : public Accumulator {
 public:
  explicit FloatSum(const Aggregate& a) : a_(a) {}
  Status Update(const arrow::Array* values, std::span<const uint32_t> groups, size_t num_groups) override {
    sums_.resize(num_groups);
    PILUM_ASSIGN_OR_RETURN(auto in, FloatsOf(*values));
    for (size_t i = 0; i < groups.size(); ++i) {
      if (values->IsNull(static_cast<int64_t>(i))) continue;
      Sum& s = sums_[groups[i]];
      const double x = in[i], sum = s.sum + x;
      s.rest += std::fabs(s.sum) >= std::fabs(x) ? (s.sum - sum) + x : (x - sum) + s.sum;
      s.sum = sum;
      ++s.count;
    }
    return Status::OK();
  }
  Result<ArrayPtr> Finish(size_t num_groups) override {
    sums_.resize(num_groups);
    return ArrayOfGroups(a_.type, num_groups, [&](size_t g) -> MaybeValue {
      const Sum& s = sums_[g];
      if (s.count == 0) return std::nullopt;
      double v = std::isfinite(s.sum) && std::isfinite(s.rest) ? s.sum + s.rest : s.sum;
      if (a_.kind == Aggregate::Kind::kAvg) v /= static_cast<double>(s.count);
      return Value::Float(v);
    });
  }
  uint64_t bytes() const override { return sums_.capacity() * sizeof(Sum); }

 private:
  struct Sum {
    double sum = 0, rest = 0;
    int64_t count = 0;
  };
  const Aggregate a_;
  std::vector<Sum> sums_;
};

class DecimalSum : public Accumulator {
 public:
  explicit DecimalSum(const Aggregate& a, int32_t scale) : a_(a), scale_(scale) {}
  Status Update(const arrow::Array* values, std::span<const uint32_t> groups, size_t num_groups) override {
    sums_.resize(num_groups);
    PILUM_ASSIGN_OR_RETURN(auto in, DecimalsOf(*values));
    for (size_t i = 0; i < groups.size(); ++i) {
      if (values->IsNull(static_cast<int64_t>(i))) continue;
      Sum& s = sums_[groups[i]];
      ++s.count;
      if (s.overflowed) continue;
      s.sum += in[i];  // both below 10^76: the sum fits in 256 bits
      s.overflowed = !s.sum.FitsInPrecision(76);
      if (s.overflowed && a_.strict) return Overflow();
    }
    return Status::OK();
  }
  Result<ArrayPtr> Finish(size_t num_groups) override {
    sums_.resize(num_groups);
    const auto& type = static_cast<const arrow::DecimalType&>(*a_.type);
    return ArrayOfGroups(a_.type, num_groups, [&](size_t g) -> MaybeValue {
      const Sum& s = sums_[g];
      if (s.count == 0) return std::nullopt;
      const auto v = s.overflowed ? std::nullopt : ResultOf(s, type);
      if (!v && a_.strict) return Overflow();
      return v ? std::optional(Value::Decimal(*v)) : std::nullopt;
    });
  }
  uint64_t bytes() const override { return sums_.capacity() * sizeof(Sum); }

 private:
  Status Overflow() const { return QueryError("{} overflows {}", a_.text, a_.type->ToString()); }
  struct Sum {
    Decimal256 sum;
    int64_t count = 0;
    bool overflowed = false;
  };
  std::optional<Decimal256> ResultOf(const Sum& s, const arrow::DecimalType& type) const {
    Decimal256 v = s.sum;
    if (a_.kind == Aggregate::Kind::kAvg) {
      const int32_t more = type.scale() - scale_;
      if (!v.FitsInPrecision(76 - more)) return std::nullopt;
      v = *DivideRounded(v * Decimal256(Decimal256::GetScaleMultiplier(more)), Decimal256(s.count));
    }
    return v.FitsInPrecision(type.precision()) ? std::optional(v) : std::nullopt;
  }
  const Aggregate a_;
  const int32_t scale_;  // of the argument
  std::vector<Sum> sums_;
};

// MEDIAN keeps every value.
template <typename F>
class Median : public Accumulator {
 public:
  Median(const Aggregate& a, std::shared_ptr<arrow::DataType> argument) : a_(a), argument_(std::move(argument)) {}
  Status Update(const arrow::Array* values, std::span<const uint32_t> groups, size_t) override {
    PILUM_ASSIGN_OR_RETURN(auto in, F::Of(*values));
    for (size_t i = 0; i < groups.size(); ++i) {
      if (values->IsNull(static_cast<int64_t>(i))) continue;
      groups_.push_back(groups[i]);
      values_.emplace_back(in[i]);
      heap_ += HeapBytes(values_.back());
    }
    return Status::OK();
  }
  Result<ArrayPtr> Finish(size_t num_groups) override {
    std::vector<size_t> ends(num_groups + 1, 0);
    for (uint32_t g : groups_) ++ends[g + 1];
    for (size_t g = 0; g < num_groups; ++g) ends[g + 1] += ends[g];
    std::vector<typename F::Kept> sorted(values_.size());
    std::vector<size_t> at(ends.begin(), ends.end() - 1);
    for (size_t i = 0; i < groups_.size(); ++i) sorted[at[groups_[i]]++] = std::move(values_[i]);
    std::vector<typename F::Kept>().swap(values_);
    std::vector<uint32_t>().swap(groups_);
    return ArrayOfGroups(a_.type, num_groups, [&](size_t g) -> MaybeValue {
      const auto first = sorted.begin() + static_cast<std::ptrdiff_t>(ends[g]);
      const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(ends[g + 1]);
      if (first == last) return std::nullopt;
      const auto upper = first + (last - first) / 2;
      auto less = [](const auto& a, const auto& b) { return F::Less(a, b); };
      std::nth_element(first, upper, last, less);
      const bool two = (last - first) % 2 == 0;
      const auto lower = two ? std::max_element(first, upper, less) : upper;
      return Middle(*lower, *upper);
    });
  }
  // With the half more that they take while they grow; put in order they take twice as much.
  uint64_t bytes() const override {
    return std::max((values_.capacity() * sizeof(values_[0]) + groups_.capacity() * 4) * 3 / 2,
                    values_.capacity() * sizeof(values_[0]) * 2 + groups_.capacity() * 4) +
           heap_;
  }

 private:
  Value Middle(const typename F::Kept& low, const typename F::Kept& high) const {
    if constexpr (std::is_same_v<F, Ints>) {
      if (arrow::is_integer(argument_->id())) return Value::Float(static_cast<double>(low + high) / 2);
    } else if constexpr (std::is_same_v<F, Floats>) {
      const double sum = low + high;
      return Value::Float(std::isfinite(sum) ? sum / 2 : low / 2 + high / 2);
    } else if constexpr (std::is_same_v<F, Decimals>) {
      const auto& from = static_cast<const arrow::DecimalType&>(*argument_);
      const int32_t more = static_cast<const arrow::DecimalType&>(*a_.type).scale() - from.scale();
      if (more == 0) return Value::Decimal(low);
      return Value::Decimal((low + high) * Decimal256(5));  // (low + high) / 2, one digit further
    }
    return F::ToValue(low);
  }

  const Aggregate a_;
  std::shared_ptr<arrow::DataType> argument_;
  std::vector<uint32_t> groups_;
  std::vector<typename F::Kept> values_;
  uint64_t heap_ = 0;
};

// Gives the inner aggregate each value of a group once.
class Distinct : public Accumulator {
 public:
  Distinct(std::unique_ptr<Accumulator> inner, arrow::MemoryPool* pool) : inner_(std::move(inner)), pool_(pool) {}
  Status Update(const arrow::Array* values, std::span<const uint32_t> groups, size_t num_groups) override {
    arrow::UInt32Builder builder(pool_);
    PILUM_RETURN_NOT_OK(builder.AppendValues(groups.data(), static_cast<int64_t>(groups.size())));
    PILUM_ASSIGN_OR_RETURN(auto group_array, builder.Finish());
    ArrayPtr value_array = arrow::MakeArray(values->data());
    PILUM_ASSIGN_OR_RETURN(auto keys, RowKeys::Encode({group_array, value_array}, {}, values->length()));
    arrow::Int64Builder fresh_rows(pool_);
    std::vector<uint32_t> fresh_groups;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (values->IsNull(static_cast<int64_t>(i))) continue;
      if (seen_.size() >= GroupTable::kMost) return MakeError(ErrorKind::kMemory, "DISTINCT over 2^32 values");
      bool fresh = false;
      seen_.Find(keys[i], &fresh);
      if (!fresh) continue;
      PILUM_RETURN_NOT_OK(fresh_rows.Append(static_cast<int64_t>(i)));
      fresh_groups.push_back(groups[i]);
    }
    PILUM_ASSIGN_OR_RETURN(auto rows, fresh_rows.Finish());
    arrow::compute::ExecContext exec(pool_);
    PILUM_ASSIGN_OR_RETURN(
        auto taken, arrow::compute::Take(*value_array, *rows, arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
    return inner_->Update(taken.get(), fresh_groups, num_groups);
  }
  Result<ArrayPtr> Finish(size_t num_groups) override { return inner_->Finish(num_groups); }
  uint64_t bytes() const override { return seen_.bytes() + inner_->bytes(); }

 private:
  std::unique_ptr<Accumulator> inner_;
  arrow::MemoryPool* pool_;
  GroupTable seen_;
};

std::unique_ptr<Accumulator> MakePlain(const Aggregate& a, arrow::MemoryPool* pool) {
  if (a.kind == Aggregate::Kind::kCount) return std::make_unique<Count>();
  const auto type = PlainType(a.argument->type());
  if (type->id() == arrow::Type::NA) {
    if (a.kind == Aggregate::Kind::kApproxDistinct) return std::make_unique<Count>();  // of what has no value: 0
    return std::make_unique<Nulls>(a.type);
  }
  switch (a.kind) {
    case Aggregate::Kind::kApproxDistinct:
    case Aggregate::Kind::kApproxPercentile:
    case Aggregate::Kind::kApproxTopK: return MakeApproximate(a, pool);
    case Aggregate::Kind::kMin:
    case Aggregate::Kind::kMax: return ByDomain<Extreme>(*type, a.type, a.kind == Aggregate::Kind::kMax);
    case Aggregate::Kind::kMedian: return ByDomain<Median>(*type, a, type);
    default: break;
  }
  switch (DomainOf(*type)) {
    case Domain::kFloat: return std::make_unique<FloatSum>(a);
    case Domain::kDecimal:
      return std::make_unique<DecimalSum>(a, static_cast<const arrow::DecimalType&>(*type).scale());
    default: return std::make_unique<IntSum>(a);
  }
}

}  // namespace

std::unique_ptr<Accumulator> MakeAccumulator(const Aggregate& a, arrow::MemoryPool* pool) {
  auto plain = MakePlain(a, pool);
  // The least and the greatest are the same with and without repeats.
  const bool matters =
      a.kind != Aggregate::Kind::kMin && a.kind != Aggregate::Kind::kMax && a.kind != Aggregate::Kind::kApproxDistinct;
  if (!a.distinct || !matters) return plain;
  return std::make_unique<Distinct>(std::move(plain), pool);
}

}  // namespace pilum
