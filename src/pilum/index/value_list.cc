#include "pilum/index/value_list.h"

#include <bit>

#include <arrow/type.h>

namespace pilum {

ValueShape ValueShape::Of(const arrow::DataType& type) {
  using arrow::Type;
  if (type.id() == Type::DICTIONARY) return Of(*static_cast<const arrow::DictionaryType&>(type).value_type());
  if (type.id() == Type::EXTENSION) return Of(*static_cast<const arrow::ExtensionType&>(type).storage_type());
  ValueShape shape;
  shape.domain = DomainOf(type);
  shape.is_unsigned = type.id() == Type::UINT64;
  if (shape.domain == Domain::kDecimal) shape.scale = static_cast<const arrow::DecimalType&>(type).scale();
  return shape;
}

Value ValueShape::OfWord(uint64_t word) const {
  if (domain == Domain::kFloat) return Value::Float(std::bit_cast<double>(word));
  return Value::Int(is_unsigned ? Int128(word) : Int128(static_cast<int64_t>(word)));
}

Value ValueShape::OfBytes(std::string_view bytes) const {
  if (domain == Domain::kText) return Value::Text(std::string(bytes));
  if (domain == Domain::kBinary) return Value::Binary(std::string(bytes));
  return Value::Decimal(arrow::Decimal256(reinterpret_cast<const uint8_t*>(bytes.data())));
}

bool ValueListView::Read(const ValueShape& shape, uint64_t n, ByteCursor* in) {
  shape_ = shape;
  n_ = n;
  ends_.clear();
  const uint64_t width = shape.is_word() ? 8 : shape.is_bytes() ? 4 : 32;
  if (n > in->remaining() / width) return false;
  fixed_ = in->ReadBytes(n * width);
  if (!shape.is_bytes()) return in->ok();
  ends_.reserve(n);
  uint64_t at = 0;
  for (uint64_t i = 0; i < n; ++i) {
    at += LoadLE<uint32_t>(fixed_.data() + 4 * i);
    ends_.push_back(at);
  }
  rest_ = in->ReadBytes(at);
  return in->ok();
}

Value ValueListView::At(uint64_t i) const {
  if (shape_.is_word()) return shape_.OfWord(LoadLE<uint64_t>(fixed_.data() + 8 * i));
  if (!shape_.is_bytes()) return shape_.OfBytes(fixed_.substr(32 * i, 32));
  const uint64_t begin = i == 0 ? 0 : ends_[i - 1];
  return shape_.OfBytes(rest_.substr(begin, ends_[i] - begin));
}

uint64_t ValueListView::LowerBound(const Value& v, bool after) const {
  uint64_t low = 0, high = n_;
  while (low < high) {
    const uint64_t mid = low + (high - low) / 2;
    const int c = Compare(At(mid), v);
    if (c < 0 || (after && c == 0))
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

bool ValueListView::Ascends() const {
  for (uint64_t i = 1; i < n_; ++i) {
    if (Compare(At(i - 1), At(i)) >= 0) return false;
  }
  return true;
}

}  // namespace pilum
