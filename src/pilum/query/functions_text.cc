// Functions of text. Lengths and places count code points; case and space follow Unicode (Arrow's utf8 kernels agree).
#include <arrow/compute/api.h>
#include <arrow/util/bitmap_ops.h>

#include "pilum/base/bytes.h"
#include "pilum/base/utf8.h"
#include "pilum/query/row_function.h"
#include "pilum/values/text.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

// ASCII of another case, eight bytes a step.
void OtherCase(const uint8_t* in, int64_t size, bool lower, uint8_t* out) {
  constexpr uint64_t kEach = 0x0101010101010101;
  const uint8_t first = lower ? 'A' : 'a';
  int64_t i = 0;
  for (; i + 8 <= size; i += 8) {
    const auto x = LoadLE<uint64_t>(in + i);
    const uint64_t letters = (x + (0x80 - first) * kEach) & ~(x + (0x80 - first - 26) * kEach) & 0x80 * kEach;
    StoreLE(out + i, x ^ letters >> 2);
  }
  for (; i < size; ++i) out[i] = static_cast<uint8_t>(in[i] - first) < 26 ? static_cast<uint8_t>(in[i] ^ 0x20) : in[i];
}

// lower or upper of text that is ASCII as a whole: bytes at once, each value as long as it was. null: it is not.
template <typename Array>
Result<std::shared_ptr<arrow::Array>> CaseOfAscii(const Array& text, bool lower) {
  using Offset = typename Array::offset_type;
  const int64_t rows = text.length();
  const Offset begin = rows > 0 ? text.value_offset(0) : 0;
  const int64_t size = rows > 0 ? text.value_offset(rows) - begin : 0;
  if (rows == 0 || !IsAscii(text.raw_data() + begin, static_cast<uint64_t>(size))) return nullptr;
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> bytes, arrow::AllocateBuffer(size));
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> offsets,
                         arrow::AllocateBuffer((rows + 1) * static_cast<int64_t>(sizeof(Offset))));
  OtherCase(text.raw_data() + begin, size, lower, bytes->mutable_data());
  auto* out = reinterpret_cast<Offset*>(offsets->mutable_data());
  for (int64_t i = 0; i <= rows; ++i) out[i] = text.value_offset(i) - begin;
  std::shared_ptr<arrow::Buffer> valid;
  if (text.null_count() > 0) {
    PILUM_ASSIGN_OR_RETURN(
        valid, arrow::internal::CopyBitmap(arrow::default_memory_pool(), text.null_bitmap_data(), text.offset(), rows));
  }
  return std::make_shared<Array>(rows, std::move(offsets), std::move(bytes), std::move(valid), text.null_count());
}

Result<std::shared_ptr<arrow::Array>> CaseOfAscii(const arrow::Array& text, bool lower) {
  if (text.type_id() == arrow::Type::STRING) return CaseOfAscii(static_cast<const arrow::StringArray&>(text), lower);
  if (text.type_id() != arrow::Type::LARGE_STRING) return nullptr;
  return CaseOfAscii(static_cast<const arrow::LargeStringArray&>(text), lower);
}

class TextFunction : public ValueExpr {
 public:
  TextFunction(std::string name, std::vector<ValuePtr> args, std::shared_ptr<arrow::DataType> type)
      : ValueExpr(std::move(type)), name_(std::move(name)), args_(std::move(args)) {}
  std::string ToString() const override {
    return fmt::format("{}({}{})", name_, args_[0]->ToString(), args_.size() > 1 ? ", …" : "");
  }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto text, EvalPlain(*args_[0], in));
    if (name_ == "lower" || name_ == "upper" || name_ == "trim") return Kernel(text);
    PILUM_ASSIGN_OR_RETURN(auto views, BytesOf(*text));
    if (name_ == "length") {
      arrow::Int64Builder out;
      PILUM_RETURN_NOT_OK(out.Reserve(in.rows));
      for (int64_t i = 0; i < in.rows; ++i) {
        if (text->IsNull(i)) {
          out.UnsafeAppendNull();
        } else {
          out.UnsafeAppend(CountCodePoints(views[static_cast<size_t>(i)]));
        }
      }
      return out.Finish();
    }
    return Substr(*text, views, in);
  }

 private:
  Result<std::shared_ptr<arrow::Array>> Kernel(const std::shared_ptr<arrow::Array>& text) const {
    if (name_ != "trim") {
      PILUM_ASSIGN_OR_RETURN(auto out, CaseOfAscii(*text, name_ == "lower"));
      if (out) return out;
    }
    arrow::Datum in(text);
    if (text->type_id() == arrow::Type::STRING_VIEW) {
      PILUM_ASSIGN_OR_RETURN(in, arrow::compute::Cast(in, arrow::large_utf8()));
    }
    const arrow::compute::TrimOptions spaces(" ");
    const bool trim = name_ == "trim";
    PILUM_ASSIGN_OR_RETURN(arrow::Datum out,
                           arrow::compute::CallFunction("utf8_" + name_, {in}, trim ? &spaces : nullptr));
    return out.make_array();
  }

  // substr(text, from [, count]): from counts from 1; positions before the start take nothing but use up the count.
  Result<std::shared_ptr<arrow::Array>> Substr(const arrow::Array& text, const std::vector<std::string_view>& views,
                                               EvalContext& in) const {
    PILUM_ASSIGN_OR_RETURN(auto from_array, EvalPlain(*args_[1], in));
    PILUM_ASSIGN_OR_RETURN(auto from, IntsOf(*from_array));
    std::shared_ptr<arrow::Array> count_array;
    std::vector<Int128> count;
    if (args_.size() > 2) {
      PILUM_ASSIGN_OR_RETURN(count_array, EvalPlain(*args_[2], in));
      PILUM_ASSIGN_OR_RETURN(count, IntsOf(*count_array));
    }
    arrow::LargeStringBuilder out;
    for (int64_t i = 0; i < in.rows; ++i) {
      const auto k = static_cast<size_t>(i);
      if (text.IsNull(i) || from_array->IsNull(i) || (count_array && (count_array->IsNull(i) || count[k] < 0))) {
        PILUM_RETURN_NOT_OK(out.AppendNull());  // a negative count is impossible
        continue;
      }
      const std::string_view v = views[k];
      const Int128 end = count_array ? from[k] + count[k] : static_cast<Int128>(v.size()) + 1;
      size_t begin_byte = v.size(), end_byte = v.size();
      Int128 position = 1;
      for (size_t b = 0; b < v.size() && position < end; b += CodePointSize(v, b), ++position) {
        if (position >= from[k] && begin_byte == v.size()) begin_byte = b;
        end_byte = b + CodePointSize(v, b);
      }
      PILUM_RETURN_NOT_OK(
          out.Append(begin_byte < end_byte ? v.substr(begin_byte, end_byte - begin_byte) : std::string_view()));
    }
    return out.Finish();
  }

  std::string name_;
  std::vector<ValuePtr> args_;
};

// ||: NULL if any part is; concat(): NULL parts count as ''.
class Concat : public ValueExpr {
 public:
  Concat(std::vector<ValuePtr> parts, bool skip_null)
      : ValueExpr(arrow::large_utf8()), parts_(std::move(parts)), skip_null_(skip_null) {}
  std::string ToString() const override { return fmt::format("concat({}, …)", parts_[0]->ToString()); }
  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(const RowArgs parts, EvalArgs(parts_, "", in));
    arrow::LargeStringBuilder out;
    std::string row;
    for (int64_t i = 0; i < in.rows; ++i) {
      row.clear();
      bool null = false;
      for (size_t p = 0; p < parts.size(); ++p) {
        if (parts.arrays[p]->IsNull(i)) {
          null |= !skip_null_;
        } else {
          row += parts.text(p, static_cast<size_t>(i));
        }
      }
      PILUM_RETURN_NOT_OK(null ? out.AppendNull() : out.Append(row));
    }
    return out.Finish();
  }

 private:
  std::vector<ValuePtr> parts_;
  bool skip_null_;
};

// The whole-pattern search of Arrow's RE2, as a predicate.
class Regexp : public BoolExpr {
 public:
  Regexp(std::shared_ptr<const Node> node, ValuePtr text, std::string pattern)
      : BoolExpr(std::move(node)), text_(std::move(text)), options_(std::move(pattern)) {}
  Result<Tri> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(auto text, EvalPlain(*text_, in));
    arrow::Datum d(text);
    if (text->type_id() == arrow::Type::STRING_VIEW) {
      PILUM_ASSIGN_OR_RETURN(d, arrow::compute::Cast(d, arrow::large_utf8()));
    }
    PILUM_ASSIGN_OR_RETURN(arrow::Datum out, arrow::compute::CallFunction("match_substring_regex", {d}, &options_));
    return Tri::FromArray(*out.make_array());
  }

 private:
  ValuePtr text_;
  arrow::compute::MatchSubstringOptions options_;
};

}  // namespace

Result<ValuePtr> MakeConcat(std::vector<ValuePtr> parts, bool skip_null) {
  for (const auto& p : parts) {
    if (DomainOf(*p->type()) != Domain::kText) {
      return QueryError("{} joins texts, not {}; use CAST", skip_null ? "concat" : "||", p->type()->ToString());
    }
  }
  return std::make_shared<Concat>(std::move(parts), skip_null);
}

Result<Operand> BindTextFunction(FunctionCall f) {
  std::vector<ValuePtr> args;
  for (size_t i = 0; i < f.args.size(); ++i) {
    if (IsNullOperand(f.args[i])) return NullOperand(f.call.pos);
    if (i == 0 && !IsTextOperand(f.args[i])) return WrongArgument(f, i, "a text");
    PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValue(f.args[i]));
    if (i > 0 && !arrow::is_integer(PlainType(v->type())->id())) return WrongArgument(f, i, "a whole number");
    args.push_back(std::move(v));
  }
  std::shared_ptr<arrow::DataType> type = PlainType(args[0]->type());
  if (f.call.name == "length") type = arrow::int64();
  if (f.call.name == "substr" || type->id() == arrow::Type::STRING_VIEW) type = arrow::large_utf8();
  return ValueResult(std::make_shared<TextFunction>(f.call.name, std::move(args), std::move(type)), f.call.pos);
}

Result<Operand> BindConcat(FunctionCall f) {
  std::vector<ValuePtr> parts;
  for (size_t i = 0; i < f.args.size(); ++i) {
    if (IsNullOperand(f.args[i])) continue;
    if (!IsTextOperand(f.args[i])) return WrongArgument(f, i, "a text (use CAST)");
    PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValue(f.args[i]));
    parts.push_back(std::move(v));
  }
  if (parts.empty()) parts.push_back(MakeConstant(std::make_shared<arrow::StringScalar>("")));
  PILUM_ASSIGN_OR_RETURN(ValuePtr v, MakeConcat(std::move(parts), true));
  return ValueResult(std::move(v), f.call.pos);
}

Result<Operand> BindRegexp(FunctionCall f) {
  for (size_t i = 0; i < 2; ++i) {
    if (IsNullOperand(f.args[i])) return NullOperand(f.call.pos);
    if (!IsTextOperand(f.args[i])) return WrongArgument(f, i, "a text");
  }
  if (!f.args[1].literal) return NotYetAt(f.args[1].pos, "a pattern that is not a literal is");
  const std::string pattern = f.args[1].literal->bytes;
  PILUM_ASSIGN_OR_RETURN(ValuePtr text, f.binder.AsValue(f.args[0]));
  auto node = std::make_shared<BoundPredicate::Node>();
  node->text = fmt::format("{}({}, {})", f.call.name, text->ToString(), f.args[1].literal->ToString());
  node->cost = 150 + text->cost();
  node->guess = 0.2;
  auto expr = std::make_shared<Regexp>(std::move(node), std::move(text), pattern);
  // A pattern that does not compile is an error now, not at the first row.
  const arrow::compute::MatchSubstringOptions options(pattern);
  auto tried = arrow::compute::CallFunction("match_substring_regex",
                                            {arrow::Datum(std::make_shared<arrow::StringScalar>(""))}, &options);
  if (!tried.ok()) return ErrorAt(f.args[1].pos, "bad regular expression: {}", tried.status().message());
  return Boolean(std::move(expr), f.call.pos);
}

}  // namespace pilum
