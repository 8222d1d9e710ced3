// Values of one column in normal form, one after another, as plain bytes: what dictionaries of an index hold
// (docs/formats/sidecar.md, "Value lists").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/bytes.h"
#include "pilum/values/value.h"

namespace pilum {

// How a column's values are written.
struct ValueShape {
  Domain domain = Domain::kNone;
  bool is_unsigned = false;  // integers: uint64
  int32_t scale = 0;         // decimals
  bool operator==(const ValueShape&) const = default;
  static ValueShape Of(const arrow::DataType& type);  // dictionary and extension are looked through
  bool is_word() const { return domain == Domain::kInt || domain == Domain::kFloat; }
  bool is_bytes() const { return domain == Domain::kText || domain == Domain::kBinary; }
  Value OfWord(uint64_t word) const;            // integers and floats
  Value OfBytes(std::string_view bytes) const;  // the others; decimals are 32 bytes
};

// Writes lists: all values of one shape, each a word or bytes as the shape says.
class ValueListWriter {
 public:
  void AddWord(uint64_t word) { AppendLE<uint64_t>(&fixed_, word); }
  void AddBytes(const ValueShape& shape, std::string_view bytes) {
    if (shape.is_bytes()) AppendLE<uint32_t>(&fixed_, static_cast<uint32_t>(bytes.size()));
    (shape.is_bytes() ? rest_ : fixed_) += bytes;
  }
  uint64_t size() const { return fixed_.size() + rest_.size(); }
  void Clear() {
    fixed_.clear();
    rest_.clear();
  }
  std::string bytes() const { return fixed_ + rest_; }

 private:
  std::string fixed_, rest_;
};

// Reads one; a view, which keeps nothing alive.
class ValueListView {
 public:
  // Takes `n` values from the cursor; false: they are not there.
  bool Read(const ValueShape& shape, uint64_t n, ByteCursor* in);
  uint64_t size() const { return n_; }
  Value At(uint64_t i) const;
  // First i whose value is not below v (or, with `after`, above it); the list must ascend. Values of another domain than
  // the shape's must not be asked for.
  uint64_t LowerBound(const Value& v, bool after = false) const;
  bool Ascends() const;  // strictly

 private:
  ValueShape shape_;
  uint64_t n_ = 0;
  std::string_view fixed_, rest_;
  std::vector<uint64_t> ends_;  // of texts
};

}  // namespace pilum
