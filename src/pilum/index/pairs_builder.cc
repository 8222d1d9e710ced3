// Pairs of values of two columns, out of what was collected of each alone: no further look at the rows.
#include "pilum/index/inverted_builder.h"
#include "pilum/index/pair_key.h"
#include "pilum/sketch/value_hash.h"

namespace pilum {

// Of each row its entry + 1; 0: NULL.
std::vector<uint32_t> InvertedBuilder::EntriesOfRows() {
  std::vector<uint32_t> out(rows_, 0);
  std::vector<RowRange> runs;
  for (uint32_t id = 0; id < entries_.size(); ++id) {
    runs.clear();
    if (!ReadPostings(entries_[id].rows.Finish(), rows_, &runs)) continue;
    for (const RowRange& r : runs)
      std::fill(out.begin() + static_cast<std::ptrdiff_t>(r.begin), out.begin() + static_cast<std::ptrdiff_t>(r.end),
                id + 1);
  }
  return out;
}

Value InvertedBuilder::ValueOf(uint32_t id) const {
  return shape_.is_word() ? shape_.OfWord(words_[id]) : shape_.OfBytes(values_[id]);
}

uint64_t InvertedBuilder::RowsLeftOut() const {
  uint64_t rows = 0;
  for (const Entry& e : entries_) rows += IsKept(e.rows) ? 0 : e.rows.rows();
  return rows;
}

std::unique_ptr<InvertedBuilder> InvertedBuilder::OfPairs(InvertedBuilder& a, InvertedBuilder& b, uint64_t max_pairs) {
  const std::vector<uint32_t> first = a.EntriesOfRows(), second = b.EntriesOfRows();
  auto ids = OfWords(max_pairs);
  for (uint64_t row = 0; row < first.size() && row < second.size(); ++row) {
    if (first[row] != 0 && second[row] != 0) ids->AddPoint(uint64_t{first[row] - 1} << 32 | (second[row] - 1), row);
  }
  auto out = OfBytes(Domain::kBinary, max_pairs, kMaxDictionaryBytes);
  out->rows_ = first.size();
  if (ids->gave_up_) {
    out->GiveUp(ids->why_);
    return out;
  }
  for (uint32_t id = 0; id < ids->entries_.size(); ++id) {
    const uint64_t word = ids->words_[id];
    std::string key = PairKey(a.ValueOf(static_cast<uint32_t>(word >> 32)), a.shape_.scale,
                              b.ValueOf(static_cast<uint32_t>(word)), b.shape_.scale);
    out->dictionary_bytes_ += key.size() + 8;
    if (key.size() > kMaxValueBytes) {
      out->GiveUp("a pair over 1,024 bytes");
      return out;
    }
    out->entries_.push_back({HashBinary(key), std::move(ids->entries_[id].rows)});
    out->values_.push_back(std::move(key));
  }
  out->CheckLimits();
  return out;
}

}  // namespace pilum
