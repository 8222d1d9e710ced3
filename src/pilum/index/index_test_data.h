// Random columns of every type with an order, with the values that break indexes. For tests of index and part.
#pragma once

#include <arrow/api.h>
#include <arrow/util/float16.h>

#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace pilum::testdata {

using Rng = std::mt19937_64;

inline std::vector<std::shared_ptr<arrow::DataType>> OrderedTypes() {
  using arrow::TimeUnit;
  return {arrow::boolean(),
          arrow::int8(),
          arrow::int16(),
          arrow::int32(),
          arrow::int64(),
          arrow::uint8(),
          arrow::uint16(),
          arrow::uint32(),
          arrow::uint64(),
          arrow::date32(),
          arrow::date64(),
          arrow::time32(TimeUnit::MILLI),
          arrow::time64(TimeUnit::NANO),
          arrow::timestamp(TimeUnit::MICRO),
          arrow::timestamp(TimeUnit::NANO, "UTC"),
          arrow::duration(TimeUnit::SECOND),
          arrow::float16(),
          arrow::float32(),
          arrow::float64(),
          arrow::decimal128(20, 3),
          arrow::decimal256(50, 7),
          arrow::utf8(),
          arrow::large_utf8(),
          arrow::binary(),
          arrow::large_binary(),
          arrow::fixed_size_binary(5),
          arrow::dictionary(arrow::int16(), arrow::utf8()),
          arrow::dictionary(arrow::int8(), arrow::int64())};
}

// How a column's values spread: few, many, ascending, all the same.
enum class Spread { kFew, kMany, kAscending, kConstant };

inline int64_t RandomInt(Rng& rng, Spread spread, int64_t row) {
  switch (spread) {
    case Spread::kFew: return static_cast<int64_t>(rng() % 7) - 3;
    case Spread::kMany: return static_cast<int64_t>(rng()) >> (rng() % 40);
    case Spread::kAscending: return row * 3 - 5000;
    default: return 42;
  }
}

// Text ends in the greatest code point where binary ends in the greatest byte: both cannot simply be rounded up.
inline std::string RandomText(Rng& rng, Spread spread, int64_t row, bool is_text) {
  static const std::string kLong(70, 'p');
  const int64_t v = RandomInt(rng, spread, row);
  switch (rng() % 4) {
    case 0: return kLong + std::to_string(v);  // differs only after the cut
    case 1: {
      std::string s;
      for (uint64_t i = rng() % 3 * 20; i > 0; --i) s += is_text ? "\xF4\x8F\xBF\xBF" : "\xFF\xFF\xFF\xFF";
      return s + std::to_string(v);
    }
    case 2: return spread == Spread::kConstant ? "same" : std::string();
    default: return std::to_string(v);
  }
}

template <typename Builder>
void AppendFloat(Builder& b, double v) {
  if constexpr (std::is_same_v<Builder, arrow::HalfFloatBuilder>) {
    (void)b.Append(arrow::util::Float16(static_cast<float>(v)).bits());
  } else {
    (void)b.Append(static_cast<typename Builder::value_type>(v));
  }
}

template <typename Builder>
std::shared_ptr<arrow::Array> Floats(Rng& rng, Spread spread, int64_t n, int null_percent) {
  Builder b(arrow::default_memory_pool());
  for (int64_t i = 0; i < n; ++i) {
    if (static_cast<int>(rng() % 100) < null_percent) {
      (void)b.AppendNull();
      continue;
    }
    const uint64_t special = rng() % (spread == Spread::kConstant ? 1000000 : 60);
    AppendFloat(b, special == 0   ? std::numeric_limits<double>::quiet_NaN()
                   : special == 1 ? -0.0
                   : special == 2 ? std::numeric_limits<double>::infinity()
                   : special == 3 ? 0.0
                                  : static_cast<double>(RandomInt(rng, spread, i) % 1000) / 4);
  }
  return b.Finish().ValueOrDie();
}

inline std::shared_ptr<arrow::Array> RandomArray(Rng& rng, const std::shared_ptr<arrow::DataType>& type, int64_t n,
                                                 Spread spread, int null_percent) {
  using arrow::Type;
  if (type->id() == Type::HALF_FLOAT) return Floats<arrow::HalfFloatBuilder>(rng, spread, n, null_percent);
  if (type->id() == Type::FLOAT) return Floats<arrow::FloatBuilder>(rng, spread, n, null_percent);
  if (type->id() == Type::DOUBLE) return Floats<arrow::DoubleBuilder>(rng, spread, n, null_percent);
  if (type->id() == Type::DICTIONARY) {
    const auto& dict = static_cast<const arrow::DictionaryType&>(*type);
    auto values = RandomArray(rng, dict.value_type(), 50, Spread::kMany, 5);  // a NULL entry is a NULL too
    auto indices = RandomArray(rng, dict.index_type(), n, Spread::kFew, null_percent);
    auto data = indices->data()->Copy();
    auto fixed = arrow::MakeBuilder(dict.index_type()).ValueOrDie();
    for (int64_t i = 0; i < n; ++i) {
      if (indices->IsNull(i)) {
        (void)fixed->AppendNull();
      } else {
        (void)fixed->AppendScalar(*arrow::MakeScalar(dict.index_type(), static_cast<int8_t>(rng() % 50)).ValueOrDie());
      }
    }
    return arrow::DictionaryArray::FromArrays(type, fixed->Finish().ValueOrDie(), values).ValueOrDie();
  }
  auto builder = arrow::MakeBuilder(type).ValueOrDie();
  for (int64_t i = 0; i < n; ++i) {
    if (static_cast<int>(rng() % 100) < null_percent) {
      (void)builder->AppendNull();
      continue;
    }
    const int64_t v = RandomInt(rng, spread, i);
    switch (type->id()) {
      case Type::BOOL: (void)static_cast<arrow::BooleanBuilder&>(*builder).Append((v & 1) != 0); break;
      case Type::DECIMAL128:
        (void)static_cast<arrow::Decimal128Builder&>(*builder).Append(arrow::Decimal128(v / 10));
        break;
      case Type::DECIMAL256:
        (void)static_cast<arrow::Decimal256Builder&>(*builder).Append(arrow::Decimal256(v) *
                                                                      arrow::Decimal256(1000000007));
        break;
      case Type::STRING:
        (void)static_cast<arrow::StringBuilder&>(*builder).Append(RandomText(rng, spread, i, true));
        break;
      case Type::LARGE_STRING:
        (void)static_cast<arrow::LargeStringBuilder&>(*builder).Append(RandomText(rng, spread, i, true));
        break;
      case Type::BINARY:
        (void)static_cast<arrow::BinaryBuilder&>(*builder).Append(RandomText(rng, spread, i, false));
        break;
      case Type::LARGE_BINARY:
        (void)static_cast<arrow::LargeBinaryBuilder&>(*builder).Append(RandomText(rng, spread, i, false));
        break;
      case Type::FIXED_SIZE_BINARY: {
        std::string s = std::to_string(v);
        s.resize(5, 'x');
        (void)static_cast<arrow::FixedSizeBinaryBuilder&>(*builder).Append(s);
        break;
      }
      default: {
        // Integers and times: the bits of v cut to the width, so uint64 goes above 2^63 and times before 1970.
        const int width = type->bit_width();
        auto append = [&](auto tag) {
          using T = decltype(tag);
          const T cut = static_cast<T>(v);
          (void)builder->AppendScalar(*arrow::MakeScalar(type, cut).ValueOrDie());
        };
        if (width == 8) append(int8_t{});
        if (width == 16) append(int16_t{});
        if (width == 32) append(int32_t{});
        if (width == 64) append(int64_t{});
      }
    }
  }
  return builder->Finish().ValueOrDie();
}

}  // namespace pilum::testdata
