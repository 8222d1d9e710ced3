#include "pilum/change/merge_keys.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/type.h>

#include "pilum/query/evaluate.h"
#include "pilum/query/select/row_key.h"

namespace pilum {
namespace {

// One key a row, and which rows have a NULL in theirs.
struct Encoded {
  RowKeys keys;
  std::vector<bool> has_null;  // empty: none has
};

Result<Encoded> Encode(const arrow::ArrayVector& columns, int64_t rows) {
  Encoded out;
  arrow::ArrayVector plain;
  for (const auto& column : columns) {
    PILUM_ASSIGN_OR_RETURN(auto array, Plain(column));
    if (array->null_count() > 0) {
      out.has_null.resize(static_cast<size_t>(rows));
      for (int64_t i = 0; i < rows; ++i) {
        if (array->IsNull(i)) out.has_null[static_cast<size_t>(i)] = true;
      }
    }
    plain.push_back(std::move(array));
  }
  PILUM_ASSIGN_OR_RETURN(out.keys, RowKeys::Encode(plain, {}, rows));
  return out;
}

// Keys of one column of whole numbers, dates or times need no encoding.
bool IsNumbers(const arrow::ArrayVector& columns) {
  if (columns.size() != 1) return false;
  const auto id = columns[0]->type_id();
  return arrow::is_integer(id) || id == arrow::Type::DATE32 || id == arrow::Type::DATE64 || id == arrow::Type::TIME32 ||
         id == arrow::Type::TIME64 || id == arrow::Type::TIMESTAMP || id == arrow::Type::DURATION;
}

template <typename T, typename Take>
void EachNumber(const arrow::Array& array, const Take& take) {
  const T* values = array.data()->GetValues<T>(1);
  const bool all = array.null_count() == 0;
  for (int64_t i = 0; i < array.length(); ++i) take(i, all || array.IsValid(i), static_cast<int64_t>(values[i]));
}

// take(row, is there one, the number): its bits, where a type has larger ones than int64.
template <typename Take>
void EachNumberOf(const arrow::Array& array, const Take& take) {
  switch (array.type_id()) {
    case arrow::Type::INT8: return EachNumber<int8_t>(array, take);
    case arrow::Type::UINT8: return EachNumber<uint8_t>(array, take);
    case arrow::Type::INT16: return EachNumber<int16_t>(array, take);
    case arrow::Type::UINT16: return EachNumber<uint16_t>(array, take);
    case arrow::Type::INT32:
    case arrow::Type::DATE32:
    case arrow::Type::TIME32: return EachNumber<int32_t>(array, take);
    case arrow::Type::UINT32: return EachNumber<uint32_t>(array, take);
    case arrow::Type::UINT64: return EachNumber<uint64_t>(array, take);
    default: return EachNumber<int64_t>(array, take);
  }
}

}  // namespace

Status MergeKeys::CheckType(const std::string& column, const arrow::DataType& type) {
  const arrow::DataType* plain = &type;
  while (plain->id() == arrow::Type::EXTENSION || plain->id() == arrow::Type::DICTIONARY) {
    plain = plain->id() == arrow::Type::EXTENSION
                ? static_cast<const arrow::ExtensionType&>(*plain).storage_type().get()
                : static_cast<const arrow::DictionaryType&>(*plain).value_type().get();
  }
  if (RowKeys::CanEncode(*plain)) return Status::OK();
  return Unsupported("column '{}' of type {} cannot be a key", column, type.ToString());
}

Status MergeKeys::Add(const arrow::ArrayVector& columns, int64_t rows) {
  if (key_of_row_.size() + static_cast<size_t>(rows) >= GroupTable::kMost) {
    return MakeError(ErrorKind::kMemory, "over 2^32 rows are to be merged at once");
  }
  if (IsNumbers(columns)) {
    EachNumberOf(*columns[0], [&](int64_t, bool is_key, int64_t value) {
      bool fresh = false;
      const uint32_t key = is_key ? numbers_.Find(value, &fresh) : kNone;
      AddRow(key, fresh);
    });
    return Status::OK();
  }
  PILUM_ASSIGN_OR_RETURN(const Encoded encoded, Encode(columns, rows));
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
    bool fresh = false;
    const bool is_key = encoded.has_null.empty() || !encoded.has_null[i];
    const uint32_t key = is_key ? table_.Find(encoded.keys[i], &fresh) : kNone;
    AddRow(key, fresh);
  }
  return Status::OK();
}

void MergeKeys::AddRow(uint32_t key, bool fresh) {
  const auto row = static_cast<uint32_t>(key_of_row_.size());
  key_of_row_.push_back(key);
  if (key == kNone) return;
  if (fresh) {
    first_row_.push_back(row);
  } else {
    more_rows_[key].push_back(row);
  }
}

std::vector<uint32_t> MergeKeys::rows_of(uint32_t key) const {
  std::vector<uint32_t> out{first_row_[key]};
  const auto more = more_rows_.find(key);
  if (more != more_rows_.end()) out.insert(out.end(), more->second.begin(), more->second.end());
  return out;
}

Status MergeKeys::Find(const arrow::ArrayVector& columns, int64_t rows, std::vector<uint32_t>* keys) const {
  keys->assign(static_cast<size_t>(rows), kNone);
  if (IsNumbers(columns)) {
    EachNumberOf(*columns[0], [&](int64_t i, bool is_key, int64_t value) {
      if (is_key) (*keys)[static_cast<size_t>(i)] = numbers_.Lookup(value);
    });
    return Status::OK();
  }
  PILUM_ASSIGN_OR_RETURN(const Encoded encoded, Encode(columns, rows));
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
    if (encoded.has_null.empty() || !encoded.has_null[i]) (*keys)[i] = table_.Lookup(encoded.keys[i]);
  }
  return Status::OK();
}

}  // namespace pilum
