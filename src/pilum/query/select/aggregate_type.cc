#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "pilum/query/binder.h"
#include "pilum/query/select/aggregate.h"

namespace pilum {
namespace {

constexpr int32_t kMostDigits = 76;

int32_t ScaleOf(const arrow::DataType& t) { return static_cast<const arrow::DecimalType&>(t).scale(); }

std::shared_ptr<arrow::DataType> SumOfDecimals(const arrow::DataType& t) {
  if (t.id() == arrow::Type::DECIMAL256) return arrow::decimal256(kMostDigits, ScaleOf(t));
  return arrow::decimal128(38, ScaleOf(t));
}

}  // namespace

std::optional<Aggregate::Kind> AggregateKind(const std::string& name) {
  if (name == "count") return Aggregate::Kind::kCount;
  if (name == "sum") return Aggregate::Kind::kSum;
  if (name == "avg" || name == "mean") return Aggregate::Kind::kAvg;
  if (name == "min") return Aggregate::Kind::kMin;
  if (name == "max") return Aggregate::Kind::kMax;
  if (name == "median") return Aggregate::Kind::kMedian;
  if (name == "approx_count_distinct") return Aggregate::Kind::kApproxDistinct;
  if (name == "approx_percentile") return Aggregate::Kind::kApproxPercentile;
  if (name == "approx_top_k") return Aggregate::Kind::kApproxTopK;
  return std::nullopt;
}

bool IsAggregate(const std::string& name) {
  return AggregateKind(name).has_value() || name.starts_with("approx_") || name.starts_with("stddev") ||
         name.starts_with("var_") || name == "variance" || name == "any_value";
}

Result<std::shared_ptr<arrow::DataType>> AggregateType(Aggregate::Kind kind,
                                                       const std::shared_ptr<arrow::DataType>& t) {
  using Kind = Aggregate::Kind;
  if (kind == Kind::kCount) return arrow::int64();
  if (kind == Kind::kApproxDistinct && t->id() == arrow::Type::NA) return arrow::int64();
  if (t->id() == arrow::Type::NA) return kind == Kind::kSum ? arrow::int64() : arrow::null();
  if (kind == Kind::kApproxDistinct && IsNormalizable(*t)) return arrow::int64();
  if (kind == Kind::kApproxTopK && IsNormalizable(*t)) {
    return arrow::list(arrow::struct_({arrow::field("value", t), arrow::field("count", arrow::int64())}));
  }
  const bool integer = arrow::is_integer(t->id()), decimal = arrow::is_decimal(t->id());
  const bool number = integer || decimal || arrow::is_floating(t->id());
  switch (kind) {
    case Kind::kSum:
      if (decimal) return SumOfDecimals(*t);
      if (integer) return t->id() == arrow::Type::UINT64 ? arrow::uint64() : arrow::int64();
      if (number) return arrow::float64();
      if (t->id() == arrow::Type::DURATION) return t;
      break;
    case Kind::kAvg:
      if (decimal)
        return arrow::decimal256(kMostDigits, std::max(ScaleOf(*t), std::min(std::max(ScaleOf(*t), 0) + 6, 38)));
      if (number) return arrow::float64();
      break;
    case Kind::kApproxPercentile: {
      const Domain domain = DomainOf(*t);
      if (domain == Domain::kFloat || domain == Domain::kDecimal || t->id() == arrow::Type::UINT64)
        return arrow::float64();
      if (domain == Domain::kInt && t->id() != arrow::Type::BOOL) return t;
      break;
    }
    case Kind::kApproxDistinct:
    case Kind::kApproxTopK: break;
    case Kind::kMedian:
      // The mean of two has one digit more.
      if (decimal) return arrow::decimal256(kMostDigits, std::min(ScaleOf(*t) + 1, kMostDigits));
      if (number) return arrow::float64();
      if (t->id() != arrow::Type::BOOL && IsNormalizable(*t)) return t;
      break;
    default:
      if (IsNormalizable(*t)) return t;
  }
  return QueryError("is not defined for {}", t->ToString());
}

}  // namespace pilum
