#include "pilum/index/words_builder.h"

#include "pilum/index/each_text.h"
#include "pilum/values/value.h"
#include "pilum/values/words.h"

namespace pilum {

std::unique_ptr<WordsBuilder> WordsBuilder::Make(const arrow::DataType& type) {
  if (DomainOf(type) != Domain::kText) return nullptr;
  return std::unique_ptr<WordsBuilder>(new WordsBuilder());
}

Status WordsBuilder::Append(const arrow::Array& array) {
  if (gave_up()) return Status::OK();
  return ForEachText(array, [&](const std::optional<std::string_view>& text) {
    if (text) {
      for (WordScanner words(*text); words.Next();) index_->AddText(words.folded().substr(0, kWordCut), rows_);
    }
    ++rows_;
  });
}

SidecarWriter::Section WordsBuilder::Finish(const FieldPath& path) {
  index_->SetRows(rows_);
  return index_->Finish(path, SectionFamily::kWords);
}

}  // namespace pilum
