#include "pilum/query/row_function.h"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/type.h>

#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

class RowFunction : public ValueExpr {
 public:
  RowFunction(std::string shown, std::vector<ValuePtr> args, std::string_view forms,
              std::shared_ptr<arrow::DataType> type)
      : ValueExpr(std::move(type)), shown_(std::move(shown)), args_(std::move(args)), forms_(forms) {}
  std::string ToString() const override { return shown_; }
  double cost() const override {
    double all = 50;
    for (const auto& a : args_) all += a->cost();
    return all;
  }

  Result<std::shared_ptr<arrow::Array>> Eval(EvalContext& in) const override {
    PILUM_ASSIGN_OR_RETURN(const RowArgs args, EvalArgs(args_, forms_, in));
    PILUM_ASSIGN_OR_RETURN(auto result, Rows(args, in));
    PILUM_RETURN_NOT_OK(Check(args.arrays, *result, in));
    return result;
  }

 protected:
  static bool AllThere(const RowArgs& args, int64_t row) {
    for (const auto& a : args.arrays) {
      if (a->IsNull(row)) return false;
    }
    return true;
  }

 private:
  virtual Result<std::shared_ptr<arrow::Array>> Rows(const RowArgs& args, EvalContext& in) const = 0;

  Status Check(const arrow::ArrayVector& args, const arrow::Array& result, const EvalContext& in) const {
    const auto at = [&](size_t i) { return args[std::min(i, args.size() - 1)].get(); };  // at most three
    return CheckHasValues(in, result, {at(0), at(1), at(2)}, shown_);
  }

  std::string shown_;
  std::vector<ValuePtr> args_;
  std::string forms_;
};

class TextRows : public RowFunction {
 public:
  TextRows(std::string shown, std::vector<ValuePtr> args, std::string_view forms, std::shared_ptr<arrow::DataType> type,
           TextRow row)
      : RowFunction(std::move(shown), std::move(args), forms, std::move(type)), row_(row) {}

 private:
  Result<std::shared_ptr<arrow::Array>> Rows(const RowArgs& args, EvalContext& in) const override {
    switch (type()->id()) {
      case arrow::Type::STRING: return Build<arrow::StringBuilder>(args, in);
      case arrow::Type::BINARY: return Build<arrow::BinaryBuilder>(args, in);
      default: return Build<arrow::LargeStringBuilder>(args, in);
    }
  }

  template <typename Builder>
  Result<std::shared_ptr<arrow::Array>> Build(const RowArgs& args, EvalContext& in) const {
    Builder out(in.ctx.memory_pool());
    std::string room;
    for (int64_t i = 0; i < in.rows; ++i) {
      if (i % 1024 == 0) PILUM_RETURN_NOT_OK(in.ctx.Check());
      room.clear();
      const auto value = AllThere(args, i) ? row_(args, static_cast<size_t>(i), &room) : std::nullopt;
      PILUM_RETURN_NOT_OK(value ? out.Append(*value) : out.AppendNull());
    }
    return out.Finish();
  }

  TextRow row_;
};

class NumberRows : public RowFunction {
 public:
  NumberRows(std::string shown, std::vector<ValuePtr> args, std::string_view forms, NumberRow row)
      : RowFunction(std::move(shown), std::move(args), forms, arrow::int64()), row_(row) {}

 private:
  Result<std::shared_ptr<arrow::Array>> Rows(const RowArgs& args, EvalContext& in) const override {
    arrow::Int64Builder out(in.ctx.memory_pool());
    PILUM_RETURN_NOT_OK(out.Reserve(in.rows));
    for (int64_t i = 0; i < in.rows; ++i) {
      const auto value = AllThere(args, i) ? row_(args, static_cast<size_t>(i)) : std::nullopt;
      if (value && *value >= INT64_MIN && *value <= INT64_MAX) {
        out.UnsafeAppend(static_cast<int64_t>(*value));
      } else {
        out.UnsafeAppendNull();
      }
    }
    return out.Finish();
  }

  NumberRow row_;
};

}  // namespace

Result<RowArgs> EvalArgs(const std::vector<ValuePtr>& args, std::string_view forms, EvalContext& in) {
  RowArgs out;
  for (size_t i = 0; i < args.size(); ++i) {
    PILUM_ASSIGN_OR_RETURN(auto array, EvalPlain(*args[i], in));
    out.texts.emplace_back();
    out.ints.emplace_back();
    if (i < forms.size() && forms[i] == 'i') {
      PILUM_ASSIGN_OR_RETURN(out.ints.back(), IntsOf(*array));
    } else {
      PILUM_ASSIGN_OR_RETURN(out.texts.back(), BytesOf(*array));
    }
    out.arrays.push_back(std::move(array));
  }
  return out;
}

bool HasNullArgument(const FunctionCall& f) {
  for (const auto& o : f.args) {
    if (IsNullOperand(o)) return true;
  }
  return false;
}

Result<std::vector<ValuePtr>> BindArgs(const FunctionCall& f, std::string_view forms) {
  std::vector<ValuePtr> out;
  for (size_t i = 0; i < f.args.size(); ++i) {
    const char form = forms[i];
    if (form == 't' && !IsTextOperand(f.args[i])) return WrongArgument(f, i, "a text");
    PILUM_ASSIGN_OR_RETURN(ValuePtr v, f.binder.AsValue(f.args[i]));
    const auto type = PlainType(v->type());
    const Domain domain = DomainOf(*type);
    if (form == 'b' && domain != Domain::kText && domain != Domain::kBinary)
      return WrongArgument(f, i, "a text or binary");
    if (form == 'i' && !arrow::is_integer(type->id())) return WrongArgument(f, i, "a whole number");
    out.push_back(std::move(v));
  }
  return out;
}

ValuePtr MakeTextRows(std::string shown, std::vector<ValuePtr> args, std::string_view forms,
                      std::shared_ptr<arrow::DataType> type, TextRow row) {
  return std::make_shared<TextRows>(std::move(shown), std::move(args), forms, std::move(type), row);
}

ValuePtr MakeNumberRows(std::string shown, std::vector<ValuePtr> args, std::string_view forms, NumberRow row) {
  return std::make_shared<NumberRows>(std::move(shown), std::move(args), forms, row);
}

}  // namespace pilum
