// A literal before it meets a column, and what it becomes beside one: a place in the column's own order. Called by bind.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/values/exact_number.h"
#include "pilum/values/value.h"

namespace pilum {

struct Literal {
  enum class Kind { kNull, kBool, kNumber, kText, kBinary, kDate, kTime, kTimestamp, kInterval, kList };
  Kind kind = Kind::kNull;
  size_t pos = 0;
  bool boolean = false;
  ExactNumber number;
  bool point = false;    // number: written with a point or exponent, or computed as a float
  std::string bytes;     // text, binary
  Int128 nanos = 0;      // date, timestamp: since 1970; time: since midnight; interval: the part below months
  bool instant = false;  // timestamp: has an offset (nanos are UTC); else a wall clock
  int64_t months = 0;    // interval
  std::vector<Literal> items;
  // Of a value computed at bind (a folded expression): its exact type. Null for what was written or bound.
  std::shared_ptr<arrow::DataType> type;

  std::string ToString() const;
};

const char* KindName(Literal::Kind kind);

// Where a literal lies among the values of a type: on one, strictly between one and the next, or outside them all.
struct Place {
  enum class Where { kBelow, kAt, kAbove } where = Where::kAt;
  std::optional<Value> floor;  // kAt: the greatest value <= the literal
  bool exact = false;          // kAt: the literal is `floor` itself
};

// kQuery "at N: …" if the literal cannot stand beside this type. The literal must not be NULL.
Result<Place> PlaceOf(const Literal& literal, const std::shared_ptr<arrow::DataType>& type);
// The values v of the type with `v op literal`; op: = <> < <= > >=.
Result<ValueSet> CompareSet(const std::string& op, const Literal& literal,
                            const std::shared_ptr<arrow::DataType>& type);

// Values that parameters and folded expressions give. `computed`: doubles are taken by their exact value and the type is
// kept; else a double is what it prints as (whole numbers exactly).
Result<Literal> LiteralOf(const arrow::Scalar& scalar, size_t pos, bool computed);
Result<Literal> LiteralOfValue(const Value& value, const std::shared_ptr<arrow::DataType>& type, size_t pos,
                               bool computed);

// The type a literal has where nothing beside it says otherwise.
std::shared_ptr<arrow::DataType> DefaultType(const Literal& literal);
// CAST of a literal: its value in the type, nullopt where that is impossible. Type must be normalizable.
Result<std::optional<Value>> CastLiteral(const Literal& literal, const std::shared_ptr<arrow::DataType>& type);

bool IsUuid(const arrow::DataType& type);
// The field's type; the uuid type where it is one that a file keeps as 16 bytes and says so in the field's metadata.
std::shared_ptr<arrow::DataType> TypeOf(const arrow::Field& field);

}  // namespace pilum
