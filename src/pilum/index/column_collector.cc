#include "pilum/index/column_collector.h"

#include <bit>
#include <cmath>

#include <arrow/util/bit_run_reader.h>
#include <arrow/util/float16.h>

namespace pilum {

Status ColumnCollector::Append(const arrow::Array& given) {
  const arrow::Array& array =
      given.type_id() == arrow::Type::EXTENSION ? *static_cast<const arrow::ExtensionArray&>(given).storage() : given;
  if (&array != &given && array.type_id() == arrow::Type::EXTENSION) return Append(array);
  const bool all_null = array.type_id() == arrow::Type::NA;
  const uint8_t* validity = all_null ? nullptr : array.null_bitmap_data();
  for (int64_t at = 0; at < array.length();) {
    const int64_t n = std::min<int64_t>(array.length() - at, ZoneMap::kChunkRows - open_rows_);
    int64_t valid = 0;
    if (!all_null) {
      PILUM_RETURN_NOT_OK(
          arrow::internal::VisitSetBitRuns(validity, array.offset() + at, n, [&](int64_t begin, int64_t len) {
            valid += len;
            return AddRun(array, at + begin, len);
          }));
    }
    open_nulls_ += n - valid;
    open_rows_ += n;
    at += n;
    if (open_rows_ == ZoneMap::kChunkRows) CloseChunk();
  }
  return Status::OK();
}

void ColumnCollector::AddHashes(std::span<const uint64_t> hashes) {
  if (distinct_.overflowed()) return;
  for (uint64_t hash : hashes) {
    uint64_t& recent = recent_[hash >> 56];
    if (recent == hash) continue;
    recent = hash;
    distinct_.Insert(hash);
  }
}

void ColumnCollector::CloseChunk() {
  zones_.nulls.push_back(open_nulls_);
  zones_.num_rows += open_rows_;
  total_nulls_ += open_nulls_;
  CloseBounds();
  open_rows_ = open_nulls_ = 0;
}

void ColumnCollector::Finish() {
  if (open_rows_ > 0) CloseChunk();
  distinct_.Flush();
  bounds_.domain = zones_.domain;
  bounds_.is_unsigned = zones_.is_unsigned;
  bounds_.scale = zones_.scale;
  bounds_.num_rows = zones_.num_rows;
  bounds_.chunk_rows = std::max<uint64_t>(1, zones_.num_rows);
  if (zones_.num_rows == 0) return;
  bounds_.nulls.push_back(total_nulls_);
  FinishBounds();
}

namespace {

class NullCollector final : public ColumnCollector {
 public:
  NullCollector() : ColumnCollector(0) {}

 protected:
  Status AddRun(const arrow::Array&, int64_t, int64_t) override { return Status::OK(); }
  void CloseBounds() override { zones_.flags.push_back(0); }
  void FinishBounds() override { bounds_.flags.push_back(0); }
};

struct BytesBounds {
  bool any = false;
  std::string low, high;
  void Add(std::string_view lo, std::string_view hi) {
    if (!any || lo < low) low = lo;
    if (!any || hi > high) high = hi;
    any = true;
  }
  void Widen(const BytesBounds& by) {
    if (by.any) Add(by.low, by.high);
  }
  void PutTo(ZoneMap* z) const {
    uint8_t flags = any ? ZoneMap::kHasBounds : 0;
    std::string upper = high.substr(0, ZoneMap::kTextCut);
    if (any && low.size() <= ZoneMap::kTextCut) flags |= ZoneMap::kLowExact;
    if (any && high.size() <= ZoneMap::kTextCut) flags |= ZoneMap::kHighExact;
    if (high.size() > ZoneMap::kTextCut) {  // round up: the next prefix after this one
      while (!upper.empty() && static_cast<uint8_t>(upper.back()) == 0xFF) upper.pop_back();
      if (upper.empty()) {
        flags |= ZoneMap::kNoUpper;
      } else {
        upper.back() = static_cast<char>(static_cast<uint8_t>(upper.back()) + 1);
      }
    }
    z->flags.push_back(flags);
    z->text_lows.push_back(low.substr(0, ZoneMap::kTextCut));
    z->text_highs.push_back(std::move(upper));
  }
};

// What collectors of ordered types share. A Range is the bounds of some values: Widen by another one, PutTo a zone map.
template <typename Range>
class BoundsCollector : public ColumnCollector {
 protected:
  explicit BoundsCollector(uint64_t cap) : ColumnCollector(cap) {}
  void CloseBounds() final {
    open_.PutTo(&zones_);
    total_.Widen(open_);
    open_ = {};
  }
  void FinishBounds() final { total_.PutTo(&bounds_); }
  std::optional<std::pair<std::string_view, std::string_view>> extreme_bytes() const final {
    if constexpr (std::is_same_v<Range, BytesBounds>) {
      if (total_.any) return std::pair<std::string_view, std::string_view>(total_.low, total_.high);
    }
    return std::nullopt;
  }

  Range open_, total_;
};

constexpr uint8_t kExactBounds = ZoneMap::kHasBounds | ZoneMap::kLowExact | ZoneMap::kHighExact;

template <typename T>
struct IntBounds {
  bool any = false;
  T low = 0, high = 0;
  void Widen(const IntBounds& by) {
    if (!by.any) return;
    *this = any ? IntBounds{true, std::min(low, by.low), std::max(high, by.high)} : by;
  }
  void PutTo(ZoneMap* z) const {
    z->flags.push_back(any ? kExactBounds : 0);
    z->lows.push_back(static_cast<uint64_t>(low));
    z->highs.push_back(static_cast<uint64_t>(high));
  }
};

// Everything whose normal form is one integer of at most 64 bits. T is what the bounds are kept in: int64_t or
// uint64_t.
template <typename ArrayType, typename T>
class IntCollector final : public BoundsCollector<IntBounds<T>> {
 public:
  explicit IntCollector(uint64_t cap) : BoundsCollector<IntBounds<T>>(cap) {
    this->zones_.domain = Domain::kInt;
    this->zones_.is_unsigned = std::is_same_v<T, uint64_t>;
  }

 protected:
  Status AddRun(const arrow::Array& given, int64_t begin, int64_t n) override {
    const auto& array = static_cast<const ArrayType&>(given);
    T low = static_cast<T>(array.Value(begin)), high = low;
    for (int64_t i = begin; i < begin + n; ++i) {
      const T v = static_cast<T>(array.Value(i));
      low = std::min(low, v);
      high = std::max(high, v);
    }
    this->open_.Widen({true, low, high});
    return Status::OK();
  }
};

struct FloatBounds {
  bool any = false, nan = false;
  double low = 0, high = 0;  // of the values that are not NaN
  void Widen(const FloatBounds& by) {
    nan |= by.nan;
    if (!by.any) return;
    low = any ? std::min(low, by.low) : by.low;
    high = any ? std::max(high, by.high) : by.high;
    any = true;
  }
  void PutTo(ZoneMap* z) const {
    z->flags.push_back(static_cast<uint8_t>((any ? kExactBounds : 0) | (nan ? ZoneMap::kHasNaN : 0)));
    z->lows.push_back(std::bit_cast<uint64_t>(any ? low : 0.0));
    z->highs.push_back(std::bit_cast<uint64_t>(any ? high : 0.0));
  }
};

template <typename ArrayType>
class FloatCollector final : public BoundsCollector<FloatBounds> {
 public:
  explicit FloatCollector(uint64_t cap) : BoundsCollector(cap) { zones_.domain = Domain::kFloat; }

 protected:
  static double ValueOf(const ArrayType& array, int64_t i) {
    if constexpr (std::is_same_v<ArrayType, arrow::HalfFloatArray>) {
      return arrow::util::Float16::FromBits(array.Value(i)).ToDouble();
    } else {
      return array.Value(i);
    }
  }
  Status AddRun(const arrow::Array& given, int64_t begin, int64_t n) override {
    const auto& array = static_cast<const ArrayType&>(given);
    constexpr double kInf = std::numeric_limits<double>::infinity();
    double low = kInf, high = -kInf;
    int64_t nans = 0;
    for (int64_t i = begin; i < begin + n; ++i) {
      const double v = ValueOf(array, i);
      nans += v != v;
      low = v < low ? v : low;
      high = v > high ? v : high;
    }
    const bool any = nans<n, nan = nans> 0;
    open_.Widen({any, nan, low + 0.0, high + 0.0});  // + 0.0: -0.0 is 0.0
    return Status::OK();
  }
};

template <typename DecimalType>
arrow::Decimal256 WideOf(const DecimalType& v) {
  if constexpr (std::is_same_v<DecimalType, arrow::Decimal256>) {
    return v;
  } else if constexpr (std::is_same_v<DecimalType, arrow::Decimal128>) {
    return arrow::Decimal256(v);
  } else {
    return arrow::Decimal256(static_cast<int64_t>(v.value()));
  }
}

template <typename DecimalType>
struct DecimalBounds {
  bool any = false;
  DecimalType low, high;
  void Widen(const DecimalBounds& by) {
    if (!by.any) return;
    if (!any || by.low < low) low = by.low;
    if (!any || high < by.high) high = by.high;
    any = true;
  }
  void PutTo(ZoneMap* z) const {
    z->flags.push_back(any ? kExactBounds : 0);
    z->decimal_lows.push_back(any ? WideOf(low) : arrow::Decimal256());
    z->decimal_highs.push_back(any ? WideOf(high) : arrow::Decimal256());
  }
};

template <typename ArrayType, typename DecimalType>
class DecimalCollector final : public BoundsCollector<DecimalBounds<DecimalType>> {
 public:
  DecimalCollector(uint64_t cap, int32_t scale) : BoundsCollector<DecimalBounds<DecimalType>>(cap) {
    this->zones_.domain = Domain::kDecimal;
    this->zones_.scale = scale;
  }

 protected:
  Status AddRun(const arrow::Array& given, int64_t begin, int64_t n) override {
    const auto& array = static_cast<const ArrayType&>(given);
    for (int64_t i = begin; i < begin + n; ++i) {
      const DecimalType v(array.GetValue(i));
      this->open_.Widen({true, v, v});
    }
    return Status::OK();
  }
};

template <typename ArrayType>
class BytesCollector final : public BoundsCollector<BytesBounds> {
 public:
  BytesCollector(uint64_t cap, bool is_text) : BoundsCollector(cap) {
    zones_.domain = is_text ? Domain::kText : Domain::kBinary;
  }

 protected:
  Status AddRun(const arrow::Array& given, int64_t begin, int64_t n) override {
    const auto& array = static_cast<const ArrayType&>(given);
    std::string_view low = array.GetView(begin), high = low;
    for (int64_t i = begin; i < begin + n; ++i) {
      const std::string_view v = array.GetView(i);
      if (v < low) low = v;
      if (v > high) high = v;
    }
    open_.Add(low, high);
    return Status::OK();
  }
};

}  // namespace

// Feeds each dictionary entry that a chunk uses to its value type's collector, once a chunk.
class DictionaryCollector final : public ColumnCollector {
 public:
  DictionaryCollector(std::unique_ptr<ColumnCollector> values, uint64_t cap)
      : ColumnCollector(cap), values_(std::move(values)) {
    zones_ = values_->zones_;
  }

 protected:
  Status AddRun(const arrow::Array& given, int64_t begin, int64_t n) override {
    const auto& array = static_cast<const arrow::DictionaryArray&>(given);
    const std::shared_ptr<arrow::Array>& dictionary = array.dictionary();
    if (dictionary != dictionary_) {
      dictionary_ = dictionary;
      seen_in_.assign(static_cast<size_t>(dictionary->length()), 0);
    }
    const uint64_t chunk = zones_.flags.size() + 1;
    for (int64_t i = begin; i < begin + n; ++i) {
      const int64_t code = array.GetValueIndex(i);
      if (code < 0 || code >= dictionary->length()) {
        return Status::Invalid("dictionary index ", code, " of ", dictionary->length(), " entries");
      }
      if (dictionary->IsNull(code)) {
        ++open_nulls_;
      } else if (seen_in_[code] != chunk) {
        seen_in_[code] = chunk;
        PILUM_RETURN_NOT_OK(values_->AddRun(*dictionary, code, 1));
      }
    }
    return Status::OK();
  }
  void CloseBounds() override {
    values_->CloseBounds();
    zones_.flags.push_back(values_->zones_.flags.back());
  }
  std::optional<std::pair<std::string_view, std::string_view>> extreme_bytes() const override {
    return values_->extreme_bytes();
  }
  void FinishBounds() override {
    const auto nulls = std::move(zones_.nulls);
    const uint64_t rows = zones_.num_rows;
    zones_ = std::move(values_->zones_);
    zones_.nulls = nulls;
    zones_.num_rows = rows;
    const ZoneMap shape = bounds_;
    values_->FinishBounds();
    bounds_ = std::move(values_->bounds_);
    bounds_.domain = shape.domain;
    bounds_.is_unsigned = shape.is_unsigned;
    bounds_.scale = shape.scale;
    bounds_.num_rows = shape.num_rows;
    bounds_.chunk_rows = shape.chunk_rows;
    bounds_.nulls = shape.nulls;
  }

 private:
  std::unique_ptr<ColumnCollector> values_;
  std::shared_ptr<arrow::Array> dictionary_;
  std::vector<uint64_t> seen_in_;  // per code: the chunk (from 1) that last used it
};

namespace {

template <typename ArrayType, typename T = int64_t>
std::unique_ptr<ColumnCollector> Ints(uint64_t cap) {
  return std::make_unique<IntCollector<ArrayType, T>>(cap);
}

}  // namespace

std::unique_ptr<ColumnCollector> ColumnCollector::Make(const arrow::DataType& type, uint64_t cap) {
  using arrow::Type;
  const auto scale = [&] { return static_cast<const arrow::DecimalType&>(type).scale(); };
  switch (type.id()) {
    case Type::BOOL: return Ints<arrow::BooleanArray>(cap);
    case Type::INT8: return Ints<arrow::Int8Array>(cap);
    case Type::INT16: return Ints<arrow::Int16Array>(cap);
    case Type::INT32: return Ints<arrow::Int32Array>(cap);
    case Type::INT64: return Ints<arrow::Int64Array>(cap);
    case Type::UINT8: return Ints<arrow::UInt8Array>(cap);
    case Type::UINT16: return Ints<arrow::UInt16Array>(cap);
    case Type::UINT32: return Ints<arrow::UInt32Array>(cap);
    case Type::UINT64: return Ints<arrow::UInt64Array, uint64_t>(cap);
    case Type::DATE32: return Ints<arrow::Date32Array>(cap);
    case Type::DATE64: return Ints<arrow::Date64Array>(cap);
    case Type::TIME32: return Ints<arrow::Time32Array>(cap);
    case Type::TIME64: return Ints<arrow::Time64Array>(cap);
    case Type::TIMESTAMP: return Ints<arrow::TimestampArray>(cap);
    case Type::DURATION: return Ints<arrow::DurationArray>(cap);
    case Type::HALF_FLOAT: return std::make_unique<FloatCollector<arrow::HalfFloatArray>>(cap);
    case Type::FLOAT: return std::make_unique<FloatCollector<arrow::FloatArray>>(cap);
    case Type::DOUBLE: return std::make_unique<FloatCollector<arrow::DoubleArray>>(cap);
    case Type::DECIMAL32:
      return std::make_unique<DecimalCollector<arrow::Decimal32Array, arrow::Decimal32>>(cap, scale());
    case Type::DECIMAL64:
      return std::make_unique<DecimalCollector<arrow::Decimal64Array, arrow::Decimal64>>(cap, scale());
    case Type::DECIMAL128:
      return std::make_unique<DecimalCollector<arrow::Decimal128Array, arrow::Decimal128>>(cap, scale());
    case Type::DECIMAL256:
      return std::make_unique<DecimalCollector<arrow::Decimal256Array, arrow::Decimal256>>(cap, scale());
    case Type::STRING: return std::make_unique<BytesCollector<arrow::StringArray>>(cap, true);
    case Type::LARGE_STRING: return std::make_unique<BytesCollector<arrow::LargeStringArray>>(cap, true);
    case Type::STRING_VIEW: return std::make_unique<BytesCollector<arrow::StringViewArray>>(cap, true);
    case Type::BINARY: return std::make_unique<BytesCollector<arrow::BinaryArray>>(cap, false);
    case Type::LARGE_BINARY: return std::make_unique<BytesCollector<arrow::LargeBinaryArray>>(cap, false);
    case Type::BINARY_VIEW: return std::make_unique<BytesCollector<arrow::BinaryViewArray>>(cap, false);
    case Type::FIXED_SIZE_BINARY: return std::make_unique<BytesCollector<arrow::FixedSizeBinaryArray>>(cap, false);
    case Type::EXTENSION: return Make(*static_cast<const arrow::ExtensionType&>(type).storage_type(), cap);
    case Type::DICTIONARY: {
      const auto& value_type = *static_cast<const arrow::DictionaryType&>(type).value_type();
      // Values that are dictionaries or extensions again are not told apart; no file holds such.
      if (!IsNormalizable(value_type) || value_type.id() == Type::DICTIONARY || value_type.id() == Type::EXTENSION)
        break;
      return std::make_unique<DictionaryCollector>(Make(value_type, cap), cap);
    }
    default: break;
  }
  return std::make_unique<NullCollector>();
}

}  // namespace pilum
