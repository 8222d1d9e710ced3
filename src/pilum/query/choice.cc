// CASE, COALESCE and the type that several branches share.
#include <arrow/compute/api.h>

#include "pilum/query/binder.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

std::shared_ptr<arrow::DataType> CommonNumber(const std::vector<std::shared_ptr<arrow::DataType>>& types, bool point) {
  bool decimal = false, floating = false, all_unsigned = true;
  int32_t scale = 0;
  for (const auto& t : types) {
    floating |= arrow::is_floating(t->id());
    all_unsigned &= t->id() == arrow::Type::UINT64;
    if (!arrow::is_decimal(t->id())) continue;
    decimal = true;
    scale = std::max(scale, static_cast<const arrow::DecimalType&>(*t).scale());
  }
  if (floating || (point && !decimal)) return arrow::float64();
  if (decimal) return arrow::decimal256(76, scale);
  return all_unsigned ? arrow::uint64() : arrow::int64();
}

// A kernel that knows views does not exist for all of these; plain text does.
std::shared_ptr<arrow::DataType> WithoutView(const std::shared_ptr<arrow::DataType>& t) {
  if (t->id() == arrow::Type::STRING_VIEW) return arrow::large_utf8();
  if (t->id() == arrow::Type::BINARY_VIEW) return arrow::large_binary();
  return t;
}

// The active rows of `in`, narrowed while this lives, as before afterwards.
class ActiveRows {
 public:
  explicit ActiveRows(EvalContext* in) : in_(in), before_(in->active) {
    if (!in->strict) return;
    words_ = before_ ? *before_ : std::vector<uint64_t>(WordsFor(in->rows), ~uint64_t{0});
    in->active = &words_;
  }
  ~ActiveRows() { in_->active = before_; }
  ActiveRows(const ActiveRows&) = delete;

  std::vector<uint64_t> And(const std::vector<uint64_t>& rows) const {
    std::vector<uint64_t> out = words_;
    for (size_t w = 0; w < out.size(); ++w) out[w] &= rows[w];
    return out;
  }
  void Keep(const std::vector<uint64_t>& rows, bool inverted = false) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] &= inverted ? ~rows[w] : rows[w];
  }

 private:
  EvalContext* in_;
  const std::vector<uint64_t>* before_;
  std::vector<uint64_t> words_;
};

Result<std::shared_ptr<arrow::Array>> EvalIn(const ValueExpr& value, EvalContext& in,
                                             const std::vector<uint64_t>& rows) {
  const auto* before = in.active;
  if (in.strict) in.active = &rows;
  auto result = EvalPlain(value, in);
  in.active = before;
  return result;
}

class Choice : public ValueExpr {
 public:
  Choice(std::vector<BoolPtr> conditions, std::vector<ValuePtr> results, std::shared_ptr<arrow::DataType> type)
      : ValueExpr(std::move(type)), conditions_(std::move(conditions)), results_(std::move(results)) {}
  std::string ToString() const override { return fmt::format("CASE with {} branches", results_.size()); }

  // A condition is asked of the rows that no earlier one took, a result of the rows that chose it (strict errors only).
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    ActiveRows rest(&in);
    arrow::ArrayVector chosen, results;
    for (size_t i = 0; i < conditions_.size(); ++i) {
      PILUM_RETURN_NOT_OK(in.ctx.Check());
      PILUM_ASSIGN_OR_RETURN(Tri t, conditions_[i]->Eval(in));
      t.is_false = t.is_true;  // NULL chooses as FALSE does
      for (uint64_t& w : t.is_false) w = ~w;
      if (in.rows % 64 != 0) t.is_false.back() &= (uint64_t{1} << (in.rows % 64)) - 1;
      PILUM_ASSIGN_OR_RETURN(auto condition, t.ToArray());
      chosen.push_back(std::move(condition));
      PILUM_ASSIGN_OR_RETURN(auto result, EvalIn(*results_[i], in, rest.And(t.is_true)));
      results.push_back(std::move(result));
      rest.Keep(t.is_false);
    }
    PILUM_ASSIGN_OR_RETURN(auto out, EvalPlain(*results_.back(), in));
    for (size_t i = chosen.size(); i-- > 0;) {
      PILUM_ASSIGN_OR_RETURN(arrow::Datum d, arrow::compute::IfElse(chosen[i], results[i], out));
      out = d.make_array();
    }
    return out;
  }

 private:
  std::vector<BoolPtr> conditions_;
  std::vector<ValuePtr> results_;
};

class Coalesce : public ValueExpr {
 public:
  Coalesce(std::vector<ValuePtr> values, std::shared_ptr<arrow::DataType> type)
      : ValueExpr(std::move(type)), values_(std::move(values)) {}
  std::string ToString() const override { return fmt::format("coalesce({}, …)", values_[0]->ToString()); }
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    ActiveRows rest(&in);
    std::vector<arrow::Datum> arrays;
    for (const auto& v : values_) {
      PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*v, in));
      arrays.emplace_back(array);
      if (in.strict) rest.Keep(Tri::FromMatches(*array, std::vector<uint64_t>(WordsFor(in.rows), 0)).is_false, true);
    }
    PILUM_ASSIGN_OR_RETURN(arrow::Datum d, arrow::compute::CallFunction("coalesce", arrays));
    return d.make_array();
  }

 private:
  std::vector<ValuePtr> values_;
};

}  // namespace

Result<std::shared_ptr<arrow::DataType>> CommonType(const std::vector<Operand>& operands, size_t pos) {
  std::vector<std::shared_ptr<arrow::DataType>> values, literals;
  bool point = false, quoted = false;
  for (const auto& o : operands) {
    if (o.literal) {
      if (o.literal->kind == Literal::Kind::kNull && !o.literal->type) continue;
      if (o.literal->kind == Literal::Kind::kList) return NotYetAt(o.pos, "a list here is");
      const bool text = o.literal->kind == Literal::Kind::kText && !o.literal->type;
      quoted |= text;
      point |= o.literal->kind == Literal::Kind::kNumber && o.literal->point;
      if (!text) literals.push_back(DefaultType(*o.literal));
    } else {
      values.push_back(o.boolean ? arrow::boolean() : PlainType(o.value->type()));
    }
  }
  auto all = values;
  all.insert(all.end(), literals.begin(), literals.end());
  if (all.empty()) return quoted ? arrow::utf8() : arrow::null();
  auto is_number = [](const auto& t) {
    return arrow::is_integer(t->id()) || arrow::is_floating(t->id()) || arrow::is_decimal(t->id());
  };
  auto same = [&](const auto& t) { return t->Equals(*all[0]); };
  if (std::all_of(all.begin(), all.end(), same)) {
    if (!IsNormalizable(*all[0]) && all[0]->id() != arrow::Type::NA) {
      return NotYetAt(pos, "choosing between values of type {} is", all[0]->ToString());
    }
    return WithoutView(all[0]);
  }
  if (std::all_of(all.begin(), all.end(), is_number)) return CommonNumber(all, point);
  const Domain domain = DomainOf(*all[0]);
  bool one_domain = std::all_of(all.begin(), all.end(), [&](const auto& t) { return DomainOf(*t) == domain; });
  if (one_domain && domain == Domain::kText) return arrow::large_utf8();
  // Dates and times: what the columns say, where they agree.
  if (!values.empty() &&
      std::all_of(values.begin(), values.end(), [&](const auto& t) { return t->Equals(*values[0]); }) &&
      std::all_of(literals.begin(), literals.end(), [&](const auto& t) { return t->id() == values[0]->id(); })) {
    return values[0];
  }
  return ErrorAt(pos, "{} and {} have no common type here; use CAST", all[0]->ToString(),
                 (*std::find_if_not(all.begin(), all.end(), same))->ToString());
}

ValuePtr MakeChoice(std::vector<BoolPtr> conditions, std::vector<ValuePtr> results,
                    std::shared_ptr<arrow::DataType> type) {
  return std::make_shared<Choice>(std::move(conditions), std::move(results), std::move(type));
}
ValuePtr MakeCoalesce(std::vector<ValuePtr> values, std::shared_ptr<arrow::DataType> type) {
  return std::make_shared<Coalesce>(std::move(values), std::move(type));
}

}  // namespace pilum
