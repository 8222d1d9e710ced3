// Functions that are computed a row at a time: what they get, and the values they become. Used by functions_*.cc only.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/query/functions.h"

namespace pilum {

// The arguments of one batch, in the forms that were asked for; what a form does not fill is empty.
struct RowArgs {
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  std::vector<std::vector<std::string_view>> texts;
  std::vector<std::vector<Int128>> ints;

  std::string_view text(size_t arg, size_t row) const { return texts[arg][row]; }
  Int128 number(size_t arg, size_t row) const { return ints[arg][row]; }
  size_t size() const { return arrays.size(); }
};

// Of a row whose arguments are all there. nullopt: there is no value (NULL in WHERE, an error in SELECT).
using TextRow = std::optional<std::string_view> (*)(const RowArgs& args, size_t row, std::string* room);
using NumberRow = std::optional<Int128> (*)(const RowArgs& args, size_t row);

// The values of arguments: whole numbers where the form is i, else texts or binaries; those past `forms` too.
Result<RowArgs> EvalArgs(const std::vector<ValuePtr>& args, std::string_view forms, EvalContext& in);
// What an argument must be, a character each: t text, b text or binary, i whole number.
Result<std::vector<ValuePtr>> BindArgs(const FunctionCall& f, std::string_view forms);
bool HasNullArgument(const FunctionCall& f);
// Texts or binaries of `type`; whole numbers (int64).
ValuePtr MakeTextRows(std::string shown, std::vector<ValuePtr> args, std::string_view forms,
                      std::shared_ptr<arrow::DataType> type, TextRow row);
ValuePtr MakeNumberRows(std::string shown, std::vector<ValuePtr> args, std::string_view forms, NumberRow row);

}  // namespace pilum
