// Taking arrays apart: struct steps, dictionaries, and the three comparable forms of numbers.
#include <arrow/compute/api.h>
#include <arrow/util/float16.h>

#include "pilum/query/evaluate.h"
#include "pilum/values/exact_number.h"

namespace pilum {

std::shared_ptr<arrow::Array> Storage(std::shared_ptr<arrow::Array> array) {
  while (array->type_id() == arrow::Type::EXTENSION) {
    array = static_cast<const arrow::ExtensionArray&>(*array).storage();
  }
  return array;
}

Result<std::shared_ptr<arrow::Array>> Plain(std::shared_ptr<arrow::Array> array) {
  for (array = Storage(std::move(array)); array->type_id() == arrow::Type::DICTIONARY; array = Storage(array)) {
    const auto& d = static_cast<const arrow::DictionaryArray&>(*array);
    PILUM_ASSIGN_OR_RETURN(arrow::Datum taken, arrow::compute::Take(d.dictionary(), d.indices()));
    array = taken.make_array();
  }
  return array;
}

Result<std::shared_ptr<arrow::Array>> EvalPlain(const ValueExpr& value, EvalContext& in) {
  PILUM_ASSIGN_OR_RETURN(auto array, value.Eval(in));
  return Plain(std::move(array));
}

Status CheckHasValues(const EvalContext& in, const arrow::Array& result,
                      std::initializer_list<const arrow::Array*> arguments, const std::string& expression) {
  if (!in.strict || result.null_count() == 0) return Status::OK();
  for (int64_t i = 0; i < result.length(); ++i) {
    if (result.IsValid(i)) continue;
    if (in.active && !((*in.active)[static_cast<size_t>(i / 64)] >> (i % 64) & 1)) continue;
    if (!std::all_of(arguments.begin(), arguments.end(), [&](const auto* a) { return a->IsValid(i); })) continue;
    std::string values;
    for (const auto* a : arguments) {
      PILUM_ASSIGN_OR_RETURN(auto v, ValueAt(*a, i));
      values += (values.empty() ? "" : ", ") + v->ToString();
    }
    return QueryError(
        "{} has no value for {}: an overflow, a division by zero or an impossible cast; leave such rows out with "
        "WHERE, "
        "or use CASE, NULLIF or TRY_CAST",
        expression, values);
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::Array>> StepInto(const std::shared_ptr<arrow::Array>& array, const std::string& name) {
  // Rebuilds a list around the stepped-into items: same offsets, same nulls.
  auto around = [&](auto type_of, const auto& list) -> Result<std::shared_ptr<arrow::Array>> {
    PILUM_ASSIGN_OR_RETURN(auto items, StepInto(list.values(), name));
    auto data = list.data()->Copy();
    data->type = type_of(items->type());
    data->child_data = {items->data()};
    return arrow::MakeArray(data);
  };
  switch (array->type_id()) {
    case arrow::Type::EXTENSION: return StepInto(static_cast<const arrow::ExtensionArray&>(*array).storage(), name);
    case arrow::Type::STRUCT: {
      const auto& s = static_cast<const arrow::StructArray&>(*array);
      int at = s.struct_type()->GetFieldIndex(name);
      if (at < 0) return Status::KeyError("the batch has no field '", name, "' (or more than one)");
      return s.GetFlattenedField(at);
    }
    case arrow::Type::LIST:
      return around([](auto t) { return arrow::list(t); }, static_cast<const arrow::ListArray&>(*array));
    case arrow::Type::LARGE_LIST:
      return around([](auto t) { return arrow::large_list(t); }, static_cast<const arrow::LargeListArray&>(*array));
    case arrow::Type::FIXED_SIZE_LIST: {
      const auto& l = static_cast<const arrow::FixedSizeListArray&>(*array);
      int32_t size = l.list_type()->list_size();
      return around([&](auto t) { return arrow::fixed_size_list(t, size); }, l);
    }
    default: return Status::TypeError("no field '", name, "' in ", array->type()->ToString());
  }
}

namespace {

template <typename ArrayType>
std::vector<std::string_view> Views(const arrow::Array& a) {
  const auto& typed = static_cast<const ArrayType&>(a);
  std::vector<std::string_view> out(static_cast<size_t>(a.length()));
  for (int64_t i = 0; i < a.length(); ++i) {
    if (typed.IsValid(i)) out[static_cast<size_t>(i)] = typed.GetView(i);
  }
  return out;
}

template <typename Out, typename ArrayType, typename Get>
std::vector<Out> Each(const arrow::Array& a, Get get) {
  const auto& typed = static_cast<const ArrayType&>(a);
  std::vector<Out> out(static_cast<size_t>(a.length()));
  for (int64_t i = 0; i < a.length(); ++i) {
    if (typed.IsValid(i)) out[static_cast<size_t>(i)] = get(typed, i);
  }
  return out;
}

template <typename ArrayType>
std::vector<Int128> Ints(const arrow::Array& a) {
  return Each<Int128, ArrayType>(a, [](const ArrayType& t, int64_t i) { return static_cast<Int128>(t.Value(i)); });
}

template <typename ArrayType>
std::vector<double> Floats(const arrow::Array& a) {
  return Each<double, ArrayType>(a, [](const ArrayType& t, int64_t i) { return static_cast<double>(t.Value(i)); });
}

}  // namespace

Result<std::vector<std::string_view>> BytesOf(const arrow::Array& a) {
  switch (a.type_id()) {
    case arrow::Type::STRING: return Views<arrow::StringArray>(a);
    case arrow::Type::LARGE_STRING: return Views<arrow::LargeStringArray>(a);
    case arrow::Type::STRING_VIEW: return Views<arrow::StringViewArray>(a);
    case arrow::Type::BINARY: return Views<arrow::BinaryArray>(a);
    case arrow::Type::LARGE_BINARY: return Views<arrow::LargeBinaryArray>(a);
    case arrow::Type::BINARY_VIEW: return Views<arrow::BinaryViewArray>(a);
    case arrow::Type::FIXED_SIZE_BINARY: return Views<arrow::FixedSizeBinaryArray>(a);
    default: return Status::TypeError("not text or binary: ", a.type()->ToString());
  }
}

Result<std::vector<Int128>> IntsOf(const arrow::Array& a) {
  using arrow::Type;
  switch (a.type_id()) {
    case Type::BOOL: return Ints<arrow::BooleanArray>(a);
    case Type::INT8: return Ints<arrow::Int8Array>(a);
    case Type::INT16: return Ints<arrow::Int16Array>(a);
    case Type::INT32: return Ints<arrow::Int32Array>(a);
    case Type::INT64: return Ints<arrow::Int64Array>(a);
    case Type::UINT8: return Ints<arrow::UInt8Array>(a);
    case Type::UINT16: return Ints<arrow::UInt16Array>(a);
    case Type::UINT32: return Ints<arrow::UInt32Array>(a);
    case Type::UINT64: return Ints<arrow::UInt64Array>(a);
    case Type::DATE32: return Ints<arrow::Date32Array>(a);
    case Type::DATE64: return Ints<arrow::Date64Array>(a);
    case Type::TIME32: return Ints<arrow::Time32Array>(a);
    case Type::TIME64: return Ints<arrow::Time64Array>(a);
    case Type::TIMESTAMP: return Ints<arrow::TimestampArray>(a);
    case Type::DURATION: return Ints<arrow::DurationArray>(a);
    default: return Status::TypeError("not integers: ", a.type()->ToString());
  }
}

Result<std::vector<double>> FloatsOf(const arrow::Array& a) {
  switch (a.type_id()) {
    case arrow::Type::HALF_FLOAT:
      return Each<double, arrow::HalfFloatArray>(a, [](const arrow::HalfFloatArray& t, int64_t i) {
        return arrow::util::Float16::FromBits(t.Value(i)).ToDouble();
      });
    case arrow::Type::FLOAT: return Floats<arrow::FloatArray>(a);
    case arrow::Type::DOUBLE: return Floats<arrow::DoubleArray>(a);
    default: return Status::TypeError("not floats: ", a.type()->ToString());
  }
}

Result<std::vector<arrow::Decimal256>> DecimalsOf(const arrow::Array& a) {
  using arrow::Decimal128;
  using arrow::Decimal256;
  switch (a.type_id()) {
    case arrow::Type::DECIMAL32:
      return Each<Decimal256, arrow::Decimal32Array>(a, [](const auto& t, int64_t i) {
        return Decimal256(Decimal128(static_cast<int64_t>(arrow::Decimal32(t.GetValue(i)).value())));
      });
    case arrow::Type::DECIMAL64:
      return Each<Decimal256, arrow::Decimal64Array>(a, [](const auto& t, int64_t i) {
        return Decimal256(Decimal128(static_cast<int64_t>(arrow::Decimal64(t.GetValue(i)).value())));
      });
    case arrow::Type::DECIMAL128:
      return Each<Decimal256, arrow::Decimal128Array>(
          a, [](const auto& t, int64_t i) { return Decimal256(Decimal128(t.GetValue(i))); });
    case arrow::Type::DECIMAL256:
      return Each<Decimal256, arrow::Decimal256Array>(
          a, [](const auto& t, int64_t i) { return Decimal256(t.GetValue(i)); });
    default: return Status::TypeError("not decimals: ", a.type()->ToString());
  }
}

Result<std::vector<double>> DoublesOf(const arrow::Array& a) {
  if (arrow::is_floating(a.type_id())) return FloatsOf(a);
  std::vector<double> out(static_cast<size_t>(a.length()));
  if (arrow::is_decimal(a.type_id())) {
    PILUM_ASSIGN_OR_RETURN(auto decimals, DecimalsOf(a));
    const int32_t scale = static_cast<const arrow::DecimalType&>(*a.type()).scale();
    for (size_t i = 0; i < out.size(); ++i) {
      if (a.IsValid(static_cast<int64_t>(i))) out[i] = ExactNumber::FromDecimal(decimals[i], scale).ToDouble();
    }
    return out;
  }
  PILUM_ASSIGN_OR_RETURN(auto ints, IntsOf(a));
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<double>(ints[i]);
  return out;
}

}  // namespace pilum
