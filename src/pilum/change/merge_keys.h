// The keys of the rows that are merged into a table, held in memory: which of the table's rows have one of them. Called by
// merge_rows.cc. Once filled it is thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/change/number_table.h"
#include "pilum/query/select/group_table.h"

namespace pilum {

class MergeKeys {
 public:
  static constexpr uint32_t kNone = GroupTable::kNone;

  // kUnsupported names a type whose values are not compared.
  static Status CheckType(const std::string& column, const arrow::DataType& type);

  // The key columns of the next rows of the source. A key with a NULL in it is no key: it equals none.
  Status Add(const arrow::ArrayVector& columns, int64_t rows);

  size_t num_rows() const { return key_of_row_.size(); }
  size_t num_keys() const { return first_row_.size(); }
  // By row of the source; kNone: it has none.
  const std::vector<uint32_t>& key_of_row() const { return key_of_row_; }
  uint32_t first_row(uint32_t key) const { return first_row_[key]; }
  // All rows that have it, ascending.
  std::vector<uint32_t> rows_of(uint32_t key) const;
  // Of rows of the table: the number of the key that each has, or kNone.
  Status Find(const arrow::ArrayVector& columns, int64_t rows, std::vector<uint32_t>* keys) const;

 private:
  void AddRow(uint32_t key, bool fresh);

  GroupTable table_;
  NumberTable numbers_;  // instead, where the key is one column of whole numbers
  std::vector<uint32_t> key_of_row_;
  std::vector<uint32_t> first_row_;  // by key
  std::unordered_map<uint32_t, std::vector<uint32_t>>
      more_rows_;  // by key, where several rows have it: those after the first
};

}  // namespace pilum
