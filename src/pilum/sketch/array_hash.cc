#include "pilum/sketch/array_hash.h"

#include <vector>

#include <arrow/api.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/float16.h>

#include "pilum/sketch/hash_kernels.h"
#include "pilum/sketch/value_hash.h"

namespace pilum {
namespace {

using arrow::Array;
using arrow::Type;

uint64_t Mix(uint64_t h) {
  h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD;
  h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53;
  return h ^ (h >> 33);
}

// Hashes rows [begin, begin + n) of an array into out, those of null slots too (their hash is dropped by the caller).
using RowHasher = std::function<Status(int64_t begin, size_t n, uint64_t* out)>;

template <typename ArrayType>
RowHasher IntHasher(const Array& given) {
  return [&array = static_cast<const ArrayType&>(given)](int64_t begin, size_t n, uint64_t* out) {
    using T = decltype(array.Value(0));
    if constexpr (sizeof(T) == 8) {
      HashInts(reinterpret_cast<const int64_t*>(array.raw_values() + begin), n, std::is_unsigned_v<T>, out);
    } else {
      int64_t wide[HashBlock::kMaxRows];
      for (size_t i = 0; i < n; ++i) wide[i] = static_cast<int64_t>(array.Value(begin + static_cast<int64_t>(i)));
      HashInts(wide, n, false, out);
    }
    return Status::OK();
  };
}

template <typename ArrayType>
RowHasher FloatHasher(const Array& given) {
  return [&array = static_cast<const ArrayType&>(given)](int64_t begin, size_t n, uint64_t* out) {
    if constexpr (std::is_same_v<ArrayType, arrow::DoubleArray>) {
      HashFloats(array.raw_values() + begin, n, out);
    } else {
      double wide[HashBlock::kMaxRows];
      for (size_t i = 0; i < n; ++i) {
        const auto v = array.Value(begin + static_cast<int64_t>(i));
        if constexpr (std::is_same_v<ArrayType, arrow::HalfFloatArray>) {
          wide[i] = arrow::util::Float16::FromBits(v).ToDouble();
        } else {
          wide[i] = v;
        }
      }
      HashFloats(wide, n, out);
    }
    return Status::OK();
  };
}

template <typename ArrayType, uint64_t (*kHash)(std::string_view)>
RowHasher BytesHasher(const Array& given) {
  const bool nulls = given.null_count() > 0;
  return [&array = static_cast<const ArrayType&>(given), nulls](int64_t begin, size_t n, uint64_t* out) {
    for (size_t i = 0; i < n; ++i) {
      const int64_t row = begin + static_cast<int64_t>(i);
      out[i] = nulls && array.IsNull(row) ? 0 : kHash(array.GetView(row));
    }
    return Status::OK();
  };
}

// Decimals, and whatever else has a normal form.
RowHasher ValueHasher(const Array& array) {
  const int32_t scale =
      arrow::is_decimal(array.type_id()) ? static_cast<const arrow::DecimalType&>(*array.type()).scale() : 0;
  return [&array, scale](int64_t begin, size_t n, uint64_t* out) {
    for (size_t i = 0; i < n; ++i) {
      PILUM_ASSIGN_OR_RETURN(const auto value, ValueAt(array, begin + static_cast<int64_t>(i)));
      out[i] = value ? HashValue(*value, scale) : 0;
    }
    return Status::OK();
  };
}

Result<RowHasher> HasherFor(const Array& array);

// Each dictionary entry is hashed once where that is less work than hashing each row.
Result<RowHasher> DictionaryHasher(const arrow::DictionaryArray& array) {
  const Array& values = *array.dictionary();
  const int64_t entries = values.length();
  PILUM_ASSIGN_OR_RETURN(const RowHasher of_values, HasherFor(values));
  std::vector<uint64_t> table;
  if (entries <= array.length()) {
    table.resize(static_cast<size_t>(entries));
    for (int64_t at = 0; at < entries; at += HashBlock::kMaxRows) {
      const size_t n = static_cast<size_t>(std::min<int64_t>(entries - at, HashBlock::kMaxRows));
      PILUM_RETURN_NOT_OK(of_values(at, n, table.data() + at));
    }
  }
  return [&array, entries, of_values, table = std::move(table)](int64_t begin, size_t n, uint64_t* out) -> Status {
    for (size_t i = 0; i < n; ++i) {
      const int64_t row = begin + static_cast<int64_t>(i);
      out[i] = 0;
      if (array.IsNull(row)) continue;
      const int64_t index = array.GetValueIndex(row);
      if (index < 0 || index >= entries) {
        return Corrupt("dictionary array", fmt::format("row {}", row), fmt::format("index {} of {}", index, entries));
      }
      if (table.empty()) {
        PILUM_RETURN_NOT_OK(of_values(index, 1, out + i));
      } else {
        out[i] = table[static_cast<size_t>(index)];
      }
    }
    return Status::OK();
  };
}

Result<RowHasher> HasherFor(const Array& array) {
  switch (array.type_id()) {
    case Type::BOOL: return IntHasher<arrow::BooleanArray>(array);
    case Type::INT8: return IntHasher<arrow::Int8Array>(array);
    case Type::INT16: return IntHasher<arrow::Int16Array>(array);
    case Type::INT32: return IntHasher<arrow::Int32Array>(array);
    case Type::UINT8: return IntHasher<arrow::UInt8Array>(array);
    case Type::UINT16: return IntHasher<arrow::UInt16Array>(array);
    case Type::UINT32: return IntHasher<arrow::UInt32Array>(array);
    case Type::UINT64: return IntHasher<arrow::UInt64Array>(array);
    case Type::INT64: return IntHasher<arrow::Int64Array>(array);
    case Type::DATE32: return IntHasher<arrow::Date32Array>(array);
    case Type::DATE64: return IntHasher<arrow::Date64Array>(array);
    case Type::TIME32: return IntHasher<arrow::Time32Array>(array);
    case Type::TIME64: return IntHasher<arrow::Time64Array>(array);
    case Type::TIMESTAMP: return IntHasher<arrow::TimestampArray>(array);
    case Type::DURATION: return IntHasher<arrow::DurationArray>(array);
    case Type::HALF_FLOAT: return FloatHasher<arrow::HalfFloatArray>(array);
    case Type::FLOAT: return FloatHasher<arrow::FloatArray>(array);
    case Type::DOUBLE: return FloatHasher<arrow::DoubleArray>(array);
    case Type::STRING: return BytesHasher<arrow::StringArray, HashText>(array);
    case Type::LARGE_STRING: return BytesHasher<arrow::LargeStringArray, HashText>(array);
    case Type::STRING_VIEW: return BytesHasher<arrow::StringViewArray, HashText>(array);
    case Type::BINARY: return BytesHasher<arrow::BinaryArray, HashBinary>(array);
    case Type::LARGE_BINARY: return BytesHasher<arrow::LargeBinaryArray, HashBinary>(array);
    case Type::BINARY_VIEW: return BytesHasher<arrow::BinaryViewArray, HashBinary>(array);
    case Type::FIXED_SIZE_BINARY: return BytesHasher<arrow::FixedSizeBinaryArray, HashBinary>(array);
    case Type::EXTENSION: return HasherFor(*static_cast<const arrow::ExtensionArray&>(array).storage());
    case Type::DICTIONARY: return DictionaryHasher(static_cast<const arrow::DictionaryArray&>(array));
    default: break;
  }
  if (IsNormalizable(*array.type())) return ValueHasher(array);
  return UsageError("values of type {} cannot be sketched; give a column of numbers, text, binary or times",
                    array.type()->ToString());
}

// Is the value of this row null, in the array or in its dictionary?
bool IsNullAt(const Array& array, int64_t row, const Array* dictionary) {
  if (array.IsNull(row)) return true;
  return dictionary != nullptr &&
         dictionary->IsNull(static_cast<const arrow::DictionaryArray&>(array).GetValueIndex(row));
}

}  // namespace

uint64_t WithSeed(uint64_t hash, uint64_t seed) { return seed == 0 ? hash : Mix(hash ^ Mix(seed)); }

Status VisitHashes(const Array& given, uint64_t seed, const std::function<void(const HashBlock&)>& f) {
  if (given.type_id() == Type::NA) return Status::OK();
  if (given.type_id() == Type::EXTENSION) {
    return VisitHashes(*static_cast<const arrow::ExtensionArray&>(given).storage(), seed, f);
  }
  PILUM_ASSIGN_OR_RETURN(const RowHasher hasher, HasherFor(given));
  const Array* dictionary = nullptr;
  if (given.type_id() == Type::DICTIONARY) {
    dictionary = static_cast<const arrow::DictionaryArray&>(given).dictionary().get();
    if (dictionary->null_count() == 0) dictionary = nullptr;
  }
  const bool nulls = given.null_count() > 0 || dictionary != nullptr;
  uint64_t hashes[HashBlock::kMaxRows];
  uint16_t rows[HashBlock::kMaxRows];
  for (int64_t first = 0; first < given.length(); first += HashBlock::kMaxRows) {
    size_t n = static_cast<size_t>(std::min<int64_t>(given.length() - first, HashBlock::kMaxRows));
    PILUM_RETURN_NOT_OK(hasher(first, n, hashes));
    if (nulls) {
      size_t kept = 0;
      for (size_t i = 0; i < n; ++i) {
        hashes[kept] = hashes[i];
        rows[kept] = static_cast<uint16_t>(i);
        kept += !IsNullAt(given, first + static_cast<int64_t>(i), dictionary);
      }
      n = kept;
    }
    if (seed != 0) {
      for (size_t i = 0; i < n; ++i) hashes[i] = WithSeed(hashes[i], seed);
    }
    if (n > 0) f(HashBlock{{hashes, n}, nulls ? rows : nullptr, first});
  }
  return Status::OK();
}

}  // namespace pilum
