#include "pilum/index/trigram_builder.h"

#include <algorithm>
#include <array>

#include "pilum/index/each_text.h"
#include "pilum/values/value.h"

namespace pilum {
namespace {

// ASCII letters count in lower case, so that one index serves LIKE and ILIKE.
constexpr std::array<uint8_t, 256> kLower = [] {
  std::array<uint8_t, 256> t{};
  for (int i = 0; i < 256; ++i) t[static_cast<size_t>(i)] = static_cast<uint8_t>(i >= 'A' && i <= 'Z' ? i + 32 : i);
  return t;
}();
uint8_t Lower(char c) { return kLower[static_cast<uint8_t>(c)]; }

// Does this byte of a folded needle stand for itself in every text that folds to it? Not beyond ASCII, and not k and s:
// the Kelvin sign and the long s fold to them.
bool IsItself(uint8_t c) { return c < 0x80 && c != 'k' && c != 's'; }

}  // namespace

std::unique_ptr<TrigramBuilder> TrigramBuilder::Make(const arrow::DataType& type) {
  if (DomainOf(type) != Domain::kText) return nullptr;
  return std::unique_ptr<TrigramBuilder>(new TrigramBuilder());
}

void TrigramBuilder::AddText(std::string_view text) {
  if (text.size() < 3) return;
  uint32_t gram = static_cast<uint32_t>(Lower(text[0])) << 8 | Lower(text[1]);
  for (size_t i = 2; i < text.size(); ++i) {
    gram = (gram << 8 | Lower(text[i])) & 0xFFFFFF;
    uint64_t& word = seen_[gram / 64];
    const uint64_t bit = uint64_t{1} << (gram % 64);
    if (word & bit) continue;
    word |= bit;
    found_.push_back(gram);
  }
}

void TrigramBuilder::EndRow() {
  if (++rows_ % kBlockRows == 0) CloseBlock();
}

void TrigramBuilder::CloseBlock() {
  const uint64_t block = (rows_ - 1) / kBlockRows;
  for (uint32_t gram : found_) {
    seen_[gram / 64] = 0;
    index_->AddPoint(gram, block);
  }
  found_.clear();
}

Status TrigramBuilder::Append(const arrow::Array& array) {
  if (gave_up()) return Status::OK();
  return ForEachText(array, [&](const std::optional<std::string_view>& text) {
    if (text) AddText(*text);
    EndRow();
  });
}

SidecarWriter::Section TrigramBuilder::Finish(const FieldPath& path) {
  if (!found_.empty()) CloseBlock();
  index_->SetRows(BlocksOf(rows_));
  return index_->Finish(path, SectionFamily::kTrigrams);
}

std::vector<uint32_t> TrigramsOf(const std::vector<std::string>& needles, bool folded) {
  std::vector<uint32_t> all;
  for (const std::string& n : needles) {
    for (size_t i = 2; i < n.size(); ++i) {
      const uint8_t a = Lower(n[i - 2]), b = Lower(n[i - 1]), c = Lower(n[i]);
      if (folded && !(IsItself(a) && IsItself(b) && IsItself(c))) continue;
      all.push_back(uint32_t{a} << 16 | uint32_t{b} << 8 | c);
    }
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() <= kMostTrigrams) return all;
  std::vector<uint32_t> out;
  for (size_t i = 0; i < kMostTrigrams; ++i) out.push_back(all[i * all.size() / kMostTrigrams]);
  return out;
}

}  // namespace pilum
