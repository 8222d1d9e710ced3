// Collects which words lie in which rows of a text column (values/words.h), and writes the `words` section of a part's
// .terms. Used by SidecarBuilder, one a column. Not thread-safe. The bytes depend on the rows, not on their batching.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <arrow/type_fwd.h>

#include "pilum/index/inverted_builder.h"

namespace pilum {

class WordsBuilder {
 public:
  static constexpr uint64_t kMaxDistinct = 1'000'000;
  static constexpr uint64_t kMaxBytes = 64 << 20;  // of all words together
  static constexpr size_t kWordCut = 64;           // longer words are told apart by so many bytes alone

  // Null: no text.
  static std::unique_ptr<WordsBuilder> Make(const arrow::DataType& type);
  Status Append(const arrow::Array& array);
  bool gave_up() const { return index_->gave_up(); }
  const std::string& why() const { return index_->why(); }
  uint64_t distinct() const { return index_->distinct(); }
  SidecarWriter::Section Finish(const FieldPath& path);  // no more rows

 private:
  WordsBuilder() : index_(InvertedBuilder::OfBytes(Domain::kText, kMaxDistinct, kMaxBytes)) {}
  std::unique_ptr<InvertedBuilder> index_;
  uint64_t rows_ = 0;
};

}  // namespace pilum
