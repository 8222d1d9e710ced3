// Collects which trigrams of bytes lie in which blocks of 128 rows of a text column, and writes the `trigrams` section of a
// sidecar. Used by SidecarBuilder, one a column. Not thread-safe. The bytes depend on the rows, not on their batching.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/index/inverted_builder.h"

namespace pilum {

class TrigramBuilder {
 public:
  static constexpr uint64_t kBlockRows = 128;
  static constexpr uint64_t kMaxDistinct = 2'000'000;
  static uint64_t BlocksOf(uint64_t rows) { return rows / kBlockRows + (rows % kBlockRows != 0); }

  // Null: no text.
  static std::unique_ptr<TrigramBuilder> Make(const arrow::DataType& type);
  Status Append(const arrow::Array& array);
  bool gave_up() const { return index_->gave_up(); }
  uint64_t distinct() const { return index_->distinct(); }
  SidecarWriter::Section Finish(const FieldPath& path);  // no more rows

 private:
  TrigramBuilder() : index_(InvertedBuilder::OfWords(kMaxDistinct)), seen_((1 << 24) / 64, 0) {}
  void AddText(std::string_view text);
  void EndRow();
  void CloseBlock();

  std::unique_ptr<InvertedBuilder> index_;
  std::vector<uint64_t> seen_;   // one bit a trigram: is it in the open block?
  std::vector<uint32_t> found_;  // those of the open block
  uint64_t rows_ = 0;
};

// The trigrams that a text must have if it contains all needles; none where they are too short to tell. `folded`: the needles
// are in folded case, and texts match in any case. Ascending, at most kMostTrigrams.
inline constexpr size_t kMostTrigrams = 24;
std::vector<uint32_t> TrigramsOf(const std::vector<std::string>& needles, bool folded);

}  // namespace pilum
