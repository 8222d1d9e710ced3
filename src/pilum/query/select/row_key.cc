#include "pilum/query/select/row_key.h"

#include <bit>
#include <cmath>

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include "pilum/query/evaluate.h"
#include "pilum/values/value.h"

namespace pilum {
namespace {

constexpr char kValue = 1, kNullFirst = 0, kNullLast = 2;

uint64_t OrderedBits(double v) {
  if (std::isnan(v)) return UINT64_MAX;  // the greatest
  const auto bits = std::bit_cast<uint64_t>(v == 0 ? 0.0 : v);
  return bits >> 63 ? ~bits : bits | uint64_t{1} << 63;
}

// One column's payloads: `size` bytes of row i, written big-endian by Put.
class Part {
 public:
  explicit Part(const arrow::Array& array) : array_(array) {}
  virtual ~Part() = default;
  const arrow::Array& array() const { return array_; }
  virtual size_t size(int64_t i) const = 0;
  virtual void Put(int64_t i, char* out) const = 0;

 private:
  const arrow::Array& array_;
};

void PutBig(uint64_t v, char* out) {
  v = __builtin_bswap64(v);
  std::memcpy(out, &v, 8);
}

class Words : public Part {
 public:
  Words(const arrow::Array& array, std::vector<uint64_t> words) : Part(array), words_(std::move(words)) {}
  size_t size(int64_t) const override { return 8; }
  void Put(int64_t i, char* out) const override { PutBig(words_[static_cast<size_t>(i)], out); }

 private:
  std::vector<uint64_t> words_;
};

class Decimals : public Part {
 public:
  Decimals(const arrow::Array& array, std::vector<arrow::Decimal256> values)
      : Part(array), values_(std::move(values)) {}
  size_t size(int64_t) const override { return 32; }
  void Put(int64_t i, char* out) const override {
    const auto& words = values_[static_cast<size_t>(i)].little_endian_array();
    PutBig(words[3] ^ (uint64_t{1} << 63), out);
    for (int w = 2; w >= 0; --w) PutBig(words[static_cast<size_t>(w)], out + 8 * (3 - w));
  }

 private:
  std::vector<arrow::Decimal256> values_;
};

// 00 becomes 00 FF; the end is 00 00: so a text comes before what goes on from it.
class Texts : public Part {
 public:
  Texts(const arrow::Array& array, std::vector<std::string_view> values) : Part(array), values_(std::move(values)) {}
  size_t size(int64_t i) const override {
    const auto& v = values_[static_cast<size_t>(i)];
    return v.size() + 2 + static_cast<size_t>(std::count(v.begin(), v.end(), '\0'));
  }
  void Put(int64_t i, char* out) const override {
    for (char c : values_[static_cast<size_t>(i)]) {
      *out++ = c;
      if (c == 0) *out++ = '\xff';
    }
    out[0] = out[1] = 0;
  }

 private:
  std::vector<std::string_view> values_;
};

class Nothing : public Part {
 public:
  using Part::Part;
  size_t size(int64_t) const override { return 0; }
  void Put(int64_t, char*) const override {}
};

Result<std::unique_ptr<Part>> MakePart(const arrow::Array& a) {
  if (a.type_id() == arrow::Type::NA) return std::make_unique<Nothing>(a);
  switch (DomainOf(*a.type())) {
    case Domain::kInt: {
      PILUM_ASSIGN_OR_RETURN(auto ints, IntsOf(a));
      std::vector<uint64_t> words(ints.size());
      const uint64_t flip = a.type_id() == arrow::Type::UINT64 ? 0 : uint64_t{1} << 63;
      for (size_t i = 0; i < ints.size(); ++i) words[i] = static_cast<uint64_t>(ints[i]) ^ flip;
      return std::make_unique<Words>(a, std::move(words));
    }
    case Domain::kFloat: {
      PILUM_ASSIGN_OR_RETURN(auto floats, FloatsOf(a));
      std::vector<uint64_t> words(floats.size());
      for (size_t i = 0; i < floats.size(); ++i) words[i] = OrderedBits(floats[i]);
      return std::make_unique<Words>(a, std::move(words));
    }
    case Domain::kDecimal: {
      PILUM_ASSIGN_OR_RETURN(auto values, DecimalsOf(a));
      return std::make_unique<Decimals>(a, std::move(values));
    }
    case Domain::kText:
    case Domain::kBinary: {
      PILUM_ASSIGN_OR_RETURN(auto values, BytesOf(a));
      return std::make_unique<Texts>(a, std::move(values));
    }
    case Domain::kNone: break;
  }
  return Status::TypeError("no order is defined for ", a.type()->ToString());
}

}  // namespace

bool RowKeys::CanEncode(const arrow::DataType& type) { return type.id() == arrow::Type::NA || IsNormalizable(type); }

Result<RowKeys> RowKeys::Encode(const arrow::ArrayVector& columns, std::span<const KeyOrder> orders, int64_t rows) {
  std::vector<std::unique_ptr<Part>> parts;
  for (const auto& c : columns) {
    PILUM_ASSIGN_OR_RETURN(auto part, MakePart(*c));
    parts.push_back(std::move(part));
  }
  RowKeys keys;
  keys.ends_.assign(static_cast<size_t>(rows) + 1, 0);
  for (const auto& part : parts) {
    for (int64_t i = 0; i < rows; ++i)
      keys.ends_[static_cast<size_t>(i) + 1] += 1 + (part->array().IsNull(i) ? 0 : part->size(i));
  }
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i) keys.ends_[i + 1] += keys.ends_[i];
  keys.bytes_.resize(keys.ends_.back());
  std::vector<size_t> at(keys.ends_.begin(), keys.ends_.end() - 1);
  for (size_t c = 0; c < parts.size(); ++c) {
    const KeyOrder order = orders.empty() ? KeyOrder{} : orders[c];
    for (int64_t i = 0; i < rows; ++i) {
      char* out = keys.bytes_.data() + at[static_cast<size_t>(i)];
      if (parts[c]->array().IsNull(i)) {
        *out = order.nulls_first ? kNullFirst : kNullLast;
        at[static_cast<size_t>(i)] += 1;
        continue;
      }
      const size_t size = parts[c]->size(i);
      *out++ = kValue;
      parts[c]->Put(i, out);
      if (order.descending) {
        for (size_t k = 0; k < size; ++k) out[k] = static_cast<char>(~out[k]);
      }
      at[static_cast<size_t>(i)] += 1 + size;
    }
  }
  return keys;
}

RowKeys RowKeys::Of(std::span<const std::string_view> from) {
  RowKeys keys;
  for (std::string_view k : from) {
    keys.bytes_.append(k);
    keys.ends_.push_back(keys.bytes_.size());
  }
  return keys;
}

}  // namespace pilum
