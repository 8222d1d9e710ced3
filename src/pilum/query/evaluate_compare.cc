// Two values a row, by mathematical value: integers of any sign and width, floats and decimals never go through a narrower
// type; times of different units meet as nanoseconds.
#include <cmath>

#include "pilum/query/evaluate.h"
#include "pilum/values/exact_number.h"
#include "pilum/values/time.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

int Sign(int c) { return c < 0 ? -1 : c > 0; }

int CompareIntFloat(Int128 a, double b) {
  if (std::isnan(b) || b >= 0x1p100) return -1;
  if (b <= -0x1p100) return 1;
  const double floor = std::floor(b);
  const auto whole = static_cast<Int128>(floor);
  if (a != whole) return a < whole ? -1 : 1;
  return floor < b ? -1 : 0;
}

struct Dec {
  arrow::Decimal256 value;
  int32_t scale;
};

int CompareDecimals(const Dec& a, const Dec& b) {
  arrow::Decimal256 x = a.value, y = b.value;
  if (a.scale != b.scale) {
    auto& coarse = a.scale < b.scale ? x : y;
    auto scaled = coarse.Rescale(std::min(a.scale, b.scale), std::max(a.scale, b.scale));
    if (!scaled.ok()) {  // too long for 256 bits at the finer scale
      return ExactNumber::FromDecimal(a.value, a.scale).Compare(ExactNumber::FromDecimal(b.value, b.scale));
    }
    coarse = *scaled;
  }
  return x < y ? -1 : y < x;
}

int CompareDecimalFloat(const Dec& a, double b) {
  if (std::isnan(b) || b == HUGE_VAL) return -1;
  if (b == -HUGE_VAL) return 1;
  const double near = a.value.ToDouble(a.scale);
  if (std::abs(near - b) > 1e-9 * std::max(std::abs(near), std::abs(b))) return near < b ? -1 : 1;
  return ExactNumber::FromDecimal(a.value, a.scale).Compare(ExactNumber::FromDouble(b));
}

// One side, taken apart once a batch.
struct Side {
  enum class Form { kInt, kFloat, kDecimal, kBytes } form;
  std::shared_ptr<arrow::Array> array;
  std::vector<Int128> ints;
  std::vector<double> floats;
  std::vector<arrow::Decimal256> decimals;
  std::vector<std::string_view> bytes;
  int32_t scale = 0;
};

int CompareAt(const Side& a, const Side& b, size_t i) {
  using Form = Side::Form;
  if (a.form == Form::kBytes) return Sign(a.bytes[i].compare(b.bytes[i]));
  if (a.form == Form::kInt && b.form == Form::kInt) return a.ints[i] < b.ints[i] ? -1 : a.ints[i] > b.ints[i];
  if (a.form == Form::kFloat && b.form == Form::kFloat) return CompareFloat(a.floats[i], b.floats[i]);
  if (a.form == Form::kInt && b.form == Form::kFloat) return CompareIntFloat(a.ints[i], b.floats[i]);
  if (a.form == Form::kFloat && b.form == Form::kInt) return -CompareIntFloat(b.ints[i], a.floats[i]);
  auto dec = [&](const Side& s) {
    if (s.form == Form::kDecimal) return Dec{s.decimals[i], s.scale};
    return Dec{
        arrow::Decimal256(arrow::Decimal128(static_cast<int64_t>(s.ints[i] >> 64), static_cast<uint64_t>(s.ints[i]))),
        0};
  };
  if (a.form == Form::kFloat) return -CompareDecimalFloat(dec(b), a.floats[i]);
  if (b.form == Form::kFloat) return CompareDecimalFloat(dec(a), b.floats[i]);
  return CompareDecimals(dec(a), dec(b));
}

// Which of less, equal, greater an operator accepts.
struct Accepts {
  bool less, equal, greater;
  explicit Accepts(const std::string& op)
      : less(op[0] == '<'), equal(op == "=" || op.back() == '='), greater(op[0] == '>' || op == "<>") {}
  bool operator()(int c) const { return c < 0 ? less : c > 0 ? greater : equal; }
};

class Compare2 : public BoolExpr {
 public:
  Compare2(std::shared_ptr<const Node> node, const std::string& op, ValuePtr a, ValuePtr b,
           std::shared_ptr<const Zone> zone)
      : BoolExpr(std::move(node)), accepts_(op), a_(std::move(a)), b_(std::move(b)), zone_(std::move(zone)) {}

  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(Side a, Take(*a_, in));
    PILUM_ASSIGN_OR_RETURN(Side b, Take(*b_, in));
    Tri t = Tri::Null(in.rows);
    for (int64_t i = 0; i < in.rows; ++i) {
      if (a.array->IsNull(i) || b.array->IsNull(i)) continue;
      bool holds = accepts_(CompareAt(a, b, static_cast<size_t>(i)));
      (holds ? t.is_true : t.is_false)[static_cast<size_t>(i / 64)] |= uint64_t{1} << (i % 64);
    }
    return t;
  }

 private:
  Result<Side> Take(const ValueExpr& value, EvalContext& in) const {
    Side s{};
    PILUM_ASSIGN_OR_RETURN(s.array, EvalPlain(value, in));
    const arrow::DataType& type = *s.array->type();
    if (DomainOf(type) == Domain::kText || DomainOf(type) == Domain::kBinary) {
      s.form = Side::Form::kBytes;
      PILUM_ASSIGN_OR_RETURN(s.bytes, BytesOf(*s.array));
    } else if (DomainOf(type) == Domain::kFloat) {
      s.form = Side::Form::kFloat;
      PILUM_ASSIGN_OR_RETURN(s.floats, FloatsOf(*s.array));
    } else if (DomainOf(type) == Domain::kDecimal) {
      s.form = Side::Form::kDecimal;
      s.scale = static_cast<const arrow::DecimalType&>(type).scale();
      PILUM_ASSIGN_OR_RETURN(s.decimals, DecimalsOf(*s.array));
    } else {
      s.form = Side::Form::kInt;
      PILUM_ASSIGN_OR_RETURN(s.ints, IntsOf(*s.array));
      PILUM_RETURN_NOT_OK(ToNanos(type, &s));
    }
    return s;
  }

  Status ToNanos(const arrow::DataType& type, Side* s) const {
    const int64_t unit = NanosPerUnit(type);
    if (unit == 0) return Status::OK();
    for (size_t i = 0; i < s->ints.size(); ++i) {
      s->ints[i] *= unit;
      // A date beside a column with a zone is midnight there.
      if (zone_ && arrow::is_date(type.id()) && s->array->IsValid(static_cast<int64_t>(i))) {
        PILUM_ASSIGN_OR_RETURN(s->ints[i], zone_->ToInstant(s->ints[i]));
      }
    }
    return Status::OK();
  }

  Accepts accepts_;
  ValuePtr a_, b_;
  std::shared_ptr<const Zone> zone_;
};

// Types of one group compare with each other.
int GroupOf(const arrow::DataType& type) {
  if (arrow::is_integer(type.id()) || arrow::is_floating(type.id()) || arrow::is_decimal(type.id())) return 1;
  if (DomainOf(type) == Domain::kText) return 2;
  if (DomainOf(type) == Domain::kBinary) return 3;
  if (type.id() == arrow::Type::BOOL) return 4;
  if (arrow::is_date(type.id()) || type.id() == arrow::Type::TIMESTAMP) return 5;
  if (arrow::is_time(type.id())) return 6;
  if (type.id() == arrow::Type::DURATION) return 7;
  return 0;
}

}  // namespace

Result<BoolPtr> MakeCompare(const std::string& op, ValuePtr a, ValuePtr b) {
  auto ta = PlainType(a->type()), tb = PlainType(b->type());
  if (ta->id() == arrow::Type::NA || tb->id() == arrow::Type::NA) return MakeConst(std::nullopt);
  const int group = GroupOf(*ta);
  if (group == 0 || group != GroupOf(*tb)) {
    const bool nested = arrow::is_nested(ta->id()) || arrow::is_nested(tb->id());
    return QueryError("{} and {} cannot be compared; {}", a->type()->ToString(), b->type()->ToString(),
                      nested ? "name a field, or use array_has and cardinality" : "use CAST to convert one of them");
  }
  std::shared_ptr<const Zone> zone;
  for (const auto& t : {ta, tb}) {
    if (t->id() != arrow::Type::TIMESTAMP) continue;
    const std::string& name = static_cast<const arrow::TimestampType&>(*t).timezone();
    if (name.empty() || (!arrow::is_date(ta->id()) && !arrow::is_date(tb->id()))) continue;
    PILUM_ASSIGN_OR_RETURN(zone, Zone::Load(name));
  }
  auto node = std::make_shared<BoundPredicate::Node>();
  node->text = fmt::format("{} {} {}", a->ToString(), op, b->ToString());
  node->cost = (group == 2 || group == 3 ? 15 : 8) + a->cost() + b->cost();
  node->guess = op == "=" ? 0.1 : op == "<>" ? 0.9 : 1.0 / 3;
  return std::make_shared<Compare2>(std::move(node), op, std::move(a), std::move(b), std::move(zone));
}

}  // namespace pilum
