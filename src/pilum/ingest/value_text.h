// One Arrow value as text: in a CSV cell, in JSON, in a table on a terminal. Shared by the sinks and the CLI's tables.
//
// CSV: timestamps in ISO form, with a zone in UTC with Z; durations as their number; binary in hex; nested values as
// JSON. JSON: numbers as numbers (NaN and infinities as text), decimals as exact numbers, maps with text keys as
// objects.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

enum class TextStyle {
  kPlain,  // a CSV cell before quoting; a null appends nothing
  kJson,   // a JSON value; a null is null
  kTable,  // as kPlain, for people: control characters escaped, durations with their unit
};

// Appends value `i` of `array`, a column of `field`, whose metadata may say what the bytes are: a uuid has its own text.
void AppendValueText(const arrow::Field& field, const arrow::Array& array, int64_t i, TextStyle style,
                     std::string* out);
// The same without a field. Types that have no text (unions, run-end encoded) append their type's name in <>.
void AppendValueText(const arrow::Array& array, int64_t i, TextStyle style, std::string* out);

void AppendJsonString(std::string_view text, std::string* out);  // quoted and escaped; bad UTF-8 becomes U+FFFD

}  // namespace pilum
