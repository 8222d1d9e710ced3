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
  PILUM_ASSIGN_OR_RETURN(const Encoded encoded, Encode(columns, rows));
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
    const auto row = static_cast<uint32_t>(key_of_row_.size());
    if (!encoded.has_null.empty() && encoded.has_null[i]) {
      key_of_row_.push_back(kNone);
      continue;
    }
    bool fresh = false;
    const uint32_t key = table_.Find(encoded.keys[i], &fresh);
    key_of_row_.push_back(key);
    if (fresh) {
      first_row_.push_back(row);
    } else {
      more_rows_[key].push_back(row);
    }
  }
  return Status::OK();
}

std::vector<uint32_t> MergeKeys::rows_of(uint32_t key) const {
  std::vector<uint32_t> out{first_row_[key]};
  const auto more = more_rows_.find(key);
  if (more != more_rows_.end()) out.insert(out.end(), more->second.begin(), more->second.end());
  return out;
}

Status MergeKeys::Find(const arrow::ArrayVector& columns, int64_t rows, std::vector<uint32_t>* keys) const {
  PILUM_ASSIGN_OR_RETURN(const Encoded encoded, Encode(columns, rows));
  keys->assign(static_cast<size_t>(rows), kNone);
  for (size_t i = 0; i < static_cast<size_t>(rows); ++i) {
    if (encoded.has_null.empty() || !encoded.has_null[i]) (*keys)[i] = table_.Lookup(encoded.keys[i]);
  }
  return Status::OK();
}

}  // namespace pilum
