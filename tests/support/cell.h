// Plain values for tests: what a cell of a table is and how two compare, written without Pilum's own values, so that it
// can judge them. Rules: docs/formats/sql.md.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/api.h>

namespace pilum::testing {

struct Cell {
  enum class Kind { kNull, kExact, kFloat, kBytes, kBool, kList, kStruct };
  Kind kind = Kind::kNull;
  __int128 units = 0;  // kExact: units / 10^scale. Dates, times and durations: nanoseconds, scale 0
  int scale = 0;
  double real = 0;          // kFloat
  std::string bytes;        // kBytes: text and binary
  bool truth = false;       // kBool
  std::vector<Cell> items;  // kList: elements; kStruct: children in order

  static Cell Null() { return {}; }
  static Cell Exact(__int128 units, int scale = 0) {
    Cell c;
    c.kind = Kind::kExact;
    c.units = units;
    c.scale = scale;
    return c;
  }
  static Cell Float(double v) {
    Cell c;
    c.kind = Kind::kFloat;
    c.real = v;
    return c;
  }
  static Cell Bytes(std::string v) {
    Cell c;
    c.kind = Kind::kBytes;
    c.bytes = std::move(v);
    return c;
  }
  static Cell Bool(bool v) {
    Cell c;
    c.kind = Kind::kBool;
    c.truth = v;
    return c;
  }
  bool is_null() const { return kind == Kind::kNull; }
};

// Mathematical order of numbers; NaN greatest and equal to itself; text and binary by bytes; false < true. Not for
// nulls, lists, structs.
int CompareCells(const Cell& a, const Cell& b);

// The very same value: floats by sign of zero too, lists and structs element by element, nulls equal.
bool Identical(const Cell& a, const Cell& b);

std::string ToString(const Cell& c);

// Cells <-> Arrow, for every type of random_table.h. AppendCell throws std::runtime_error on a type it does not know.
void AppendCell(const Cell& cell, const arrow::DataType& type, arrow::ArrayBuilder* builder);
Cell ReadCell(const arrow::Array& array, int64_t i);

// Nanoseconds of one tick of a date, time, timestamp or duration type; 0 for others.
int64_t TickNanos(const arrow::DataType& type);

}  // namespace pilum::testing
