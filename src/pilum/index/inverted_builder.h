// Collects, while rows stream by, which rows hold each value of a column (or, of a column of lists, in which rows each
// value is an element), and writes the `inverted` section of a sidecar. Used by SidecarBuilder, one a column. Not
// thread-safe. The bytes depend on the rows, not on their batching.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/index/postings.h"
#include "pilum/index/sidecar.h"
#include "pilum/index/value_list.h"

namespace pilum {

class InvertedBuilder {
 public:
  static constexpr uint64_t kMaxDistinct = 100'000;
  static constexpr uint64_t kMaxValueBytes = 1024;  // a longer value ends the index
  static constexpr uint64_t kMaxDictionaryBytes = 16 << 20;
  static constexpr uint64_t kBlockBytes = 16 << 10;  // a block is closed once it holds as much
  // Postings of a value in more runs than this share of the rows (a tenth) are left out: reading the column is cheaper.
  static constexpr uint64_t kRunShare = 10;

  // `asked`: built whatever its size, but for the limits above; else given up where values hardly repeat.
  // Null: a type without values in normal form.
  static std::unique_ptr<InvertedBuilder> Make(const arrow::DataType& type, bool asked);

  // Of texts (or binary) that are given one by one; SetRows as below.
  static std::unique_ptr<InvertedBuilder> OfBytes(Domain domain, uint64_t max_distinct, uint64_t max_bytes);
  void AddText(std::string_view text, uint64_t row) {  // rows ascend
    if (!gave_up_) AddValue(text, row);
  }
  // Of integers that are given one by one, not in arrays; SetRows then says how many rows there are.
  static std::unique_ptr<InvertedBuilder> OfWords(uint64_t max_distinct);
  void AddPoint(uint64_t word, uint64_t row) {  // rows ascend, by word
    if (!gave_up_) AddWord(word, row);
  }
  void SetRows(uint64_t rows) { rows_ = rows; }

  // Rows of the type it was made for.
  Status Append(const arrow::Array& array);
  // Lists whose items are of the type it was made for: which rows have an element of a value.
  Status AppendLists(const arrow::Array& lists);

  // Which rows hold each pair of values of two columns, whose builders were given all rows and did not give up. As if it had
  // been given every pair's key (pair_key.h) as binary. (index/pairs_builder.cc)
  static std::unique_ptr<InvertedBuilder> OfPairs(InvertedBuilder& a, InvertedBuilder& b, uint64_t max_pairs);
  uint64_t RowsLeftOut() const;  // rows of the values whose postings Finish will leave out

  bool gave_up() const { return gave_up_; }
  const std::string& why() const { return why_; }  // it gave up
  uint64_t distinct() const { return entries_.size(); }
  // Of each distinct value, as filters hash it (sketch/value_hash.h).
  std::vector<uint64_t> Hashes() const;
  // No more rows.
  SidecarWriter::Section Finish(const FieldPath& path, SectionFamily family);

 private:
  InvertedBuilder(ValueShape shape, bool asked) : shape_(shape), asked_(asked) {}
  struct Entry {
    uint64_t hash;
    PostingsBuilder rows;
  };
  template <typename RowOf>
  Status AddSlots(const arrow::Array& array, int64_t begin, int64_t end, const RowOf& row_of);
  template <typename ArrayType, typename RowOf>
  void AddWords(const arrow::Array& array, int64_t begin, int64_t end, const RowOf& row_of);
  template <typename ArrayType, typename RowOf>
  void AddBytes(const arrow::Array& array, int64_t begin, int64_t end, const RowOf& row_of);
  template <typename ArrayType, typename DecimalType, typename RowOf>
  void AddDecimals(const arrow::Array& array, int64_t begin, int64_t end, const RowOf& row_of);
  template <typename RowOf>
  Status AddCodes(const arrow::Array& array, int64_t begin, int64_t end, const RowOf& row_of);
  template <typename ListType>
  Status AddItems(const arrow::Array& array);
  void AddWord(uint64_t word, uint64_t row);
  void AddValue(std::string_view bytes, uint64_t row);
  template <typename Same, typename Insert>
  uint32_t IdOf(uint64_t hash, const Same& same, const Insert& insert);
  void CheckLimits();
  void GiveUp(std::string why);
  // Are these postings worth their bytes?
  bool IsKept(const PostingsBuilder& rows) const { return rows.runs() * kRunShare <= rows_ || rows.runs() <= 16; }
  Value ValueOf(uint32_t id) const;
  std::vector<uint32_t> EntriesOfRows();
  bool Below(uint32_t a, uint32_t b) const;
  std::vector<uint32_t> Sorted() const;

  const ValueShape shape_;
  const bool asked_;
  uint64_t max_distinct_ = kMaxDistinct, max_dictionary_bytes_ = kMaxDictionaryBytes;
  bool gave_up_ = false;
  std::string why_;
  uint64_t rows_ = 0;  // before the array that is being added
  std::vector<Entry> entries_;
  std::vector<uint64_t> words_;  // of the entries, by shape
  std::vector<std::string> values_;
  uint64_t dictionary_bytes_ = 0;
  std::vector<uint32_t> slots_;  // id + 1, 0 = free; a power of two
  uint32_t last_ = 0;            // the entry that came last
  // Codes of the dictionary at hand, as entries + 1; 0: not met yet.
  std::shared_ptr<arrow::Array> dictionary_;
  std::vector<uint32_t> codes_;
};

}  // namespace pilum
