#include "pilum/query/arithmetic_int64.h"

#include <limits>
#include <vector>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

namespace pilum {
namespace {

// The values of an array as int64; those of NULLs are whatever lies there.
class Int64s {
 public:
  explicit Int64s(const arrow::Array& a) {
    using arrow::Type;
    switch (a.type_id()) {
      case Type::INT8: Widen<arrow::Int8Array>(a); break;
      case Type::INT16: Widen<arrow::Int16Array>(a); break;
      case Type::INT32: Widen<arrow::Int32Array>(a); break;
      case Type::UINT8: Widen<arrow::UInt8Array>(a); break;
      case Type::UINT16: Widen<arrow::UInt16Array>(a); break;
      case Type::UINT32: Widen<arrow::UInt32Array>(a); break;
      default: values_ = static_cast<const arrow::Int64Array&>(a).raw_values();
    }
  }
  int64_t operator[](int64_t i) const { return values_[i]; }

 private:
  template <typename Array>
  void Widen(const arrow::Array& a) {
    const auto* values = static_cast<const Array&>(a).raw_values();
    own_.assign(values, values + a.length());
    values_ = own_.data();
  }

  std::vector<int64_t> own_;
  const int64_t* values_ = nullptr;
};

// Each gives true where there is no result.
struct Plus {
  static bool Run(int64_t a, int64_t b, int64_t* r) { return __builtin_add_overflow(a, b, r); }
};
struct Minus {
  static bool Run(int64_t a, int64_t b, int64_t* r) { return __builtin_sub_overflow(a, b, r); }
};
struct Times {
  static bool Run(int64_t a, int64_t b, int64_t* r) { return __builtin_mul_overflow(a, b, r); }
};
struct Divide {
  static bool Run(int64_t a, int64_t b, int64_t* r) {
    if (b == 0 || (b == -1 && a == std::numeric_limits<int64_t>::min())) return true;
    *r = a / b;
    return false;
  }
};
struct Modulo {
  static bool Run(int64_t a, int64_t b, int64_t* r) {
    if (b == 0) return true;
    *r = b == -1 ? 0 : a % b;
    return false;
  }
};

// One value for all rows.
struct Same {
  int64_t value;
  int64_t operator[](int64_t) const { return value; }
};

bool HasNulls(const Int64Side& side) { return side.rows && side.rows->null_count() > 0; }
bool IsNull(const Int64Side& side, int64_t i) { return side.rows && side.rows->IsNull(i); }

template <typename Op, typename X, typename Y>
Result<std::shared_ptr<arrow::Array>> Run(const Int64Side& a, const X& x, const Int64Side& b, const Y& y) {
  const int64_t rows = (a.rows ? a.rows : b.rows)->length();
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> values, arrow::AllocateBuffer(rows * 8));
  auto* out = reinterpret_cast<int64_t*>(values->mutable_data());
  bool nulls = HasNulls(a) || HasNulls(b);
  if (!nulls) {
    bool none = false;
    for (int64_t i = 0; i < rows; ++i) {
      int64_t r = 0;
      none |= Op::Run(x[i], y[i], &r);
      out[i] = r;
    }
    nulls = none;
  }
  if (!nulls) return std::make_shared<arrow::Int64Array>(rows, std::move(values));
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> valid, arrow::AllocateEmptyBitmap(rows));
  for (int64_t i = 0; i < rows; ++i) {
    out[i] = 0;
    if (IsNull(a, i) || IsNull(b, i)) continue;
    const bool none = Op::Run(x[i], y[i], &out[i]);
    if (none) out[i] = 0;
    arrow::bit_util::SetBitTo(valid->mutable_data(), i, !none);
  }
  return std::make_shared<arrow::Int64Array>(rows, std::move(values), std::move(valid));
}

template <typename Op>
Result<std::shared_ptr<arrow::Array>> Run(const Int64Side& a, const Int64Side& b) {
  if (!b.rows) return Run<Op>(a, Int64s(*a.rows), b, Same{b.same});
  if (!a.rows) return Run<Op>(a, Same{a.same}, b, Int64s(*b.rows));
  return Run<Op>(a, Int64s(*a.rows), b, Int64s(*b.rows));
}

}  // namespace

bool FitsInt64(const arrow::DataType& type) { return arrow::is_integer(type.id()) && type.id() != arrow::Type::UINT64; }

std::optional<int64_t> Int64Of(const arrow::Scalar& scalar) {
  if (!scalar.is_valid || !FitsInt64(*scalar.type)) return std::nullopt;
  const auto one = arrow::MakeArrayFromScalar(scalar, 1);
  if (!one.ok()) return std::nullopt;
  return Int64s(**one)[0];
}

Result<std::shared_ptr<arrow::Array>> ArithInt64(char op, Int64Side a, Int64Side b) {
  switch (op) {
    case '+': return Run<Plus>(a, b);
    case '-': return Run<Minus>(a, b);
    case '*': return Run<Times>(a, b);
    case '/': return Run<Divide>(a, b);
    default: return Run<Modulo>(a, b);
  }
}

}  // namespace pilum
