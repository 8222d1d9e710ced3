// Which indexes over pairs of columns SidecarBuilder makes (docs/formats/sidecar.md, "Which are built").
#include <algorithm>

#include <fmt/ranges.h>

#include "pilum/index/sidecar_builder.h"
#include "pilum/sketch/bloom.h"

namespace pilum {
namespace {

constexpr uint64_t kMaxPairs = 100'000;
// Where nobody asks: one pair, of two columns whose values alone are too frequent to be listed, which together are rare.
constexpr uint64_t kFewRows = 16 * 1024;
constexpr uint64_t kLeastProduct = 64;

}  // namespace

std::string Dotted(const FieldPath& path) { return fmt::format("{}", fmt::join(path.steps, ".")); }

SidecarBuilder::Column* SidecarBuilder::ColumnNamed(const std::string& dotted) {
  const auto at =
      std::find_if(columns_.begin(), columns_.end(), [&](const Column& c) { return Dotted(c.path) == dotted; });
  return at == columns_.end() ? nullptr : &*at;
}

void SidecarBuilder::AddPairs(SidecarWriter* header, SidecarWriter* index) {
  if (num_rows_ == 0) return;
  for (const auto& [first, second] : pairs_) {
    Column *a = ColumnNamed(first), *b = ColumnNamed(second);
    if (!a || !b || a == b) continue;  // a column that the part lacks
    AddPair(a, b, true, header, index);
  }
  if (annotated_) return;
  if (const auto pays = PairThatPays()) AddPair(&columns_[pays->first], &columns_[pays->second], false, header, index);
}

// The pair of most values among columns of which at least half of the rows lie under values that are not listed.
std::optional<std::pair<size_t, size_t>> SidecarBuilder::PairThatPays() const {
  if (num_rows_ < kFewRows) return std::nullopt;
  std::vector<std::pair<uint64_t, size_t>> frequent;  // distinct values, column
  for (size_t i = 0; i < columns_.size(); ++i) {
    const InvertedBuilder* c = columns_[i].inverted.get();
    if (c && !c->gave_up() && c->distinct() > 1 && c->RowsLeftOut() * 2 >= num_rows_)
      frequent.emplace_back(c->distinct(), i);
  }
  std::stable_sort(frequent.begin(), frequent.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  if (frequent.size() < 2) return std::nullopt;
  const uint64_t product = frequent[0].first * frequent[1].first;
  if (product < kLeastProduct || product > kMaxPairs) return std::nullopt;
  return std::minmax(frequent[0].second, frequent[1].second);
}

void SidecarBuilder::AddPair(Column* a, Column* b, bool asked, SidecarWriter* header, SidecarWriter* index) {
  const std::vector<FieldPath> both = {a->path, b->path};
  const std::string name = a->path.ToString() + ", " + b->path.ToString();
  const auto leave_out = [&](SectionState state, std::string reason) {
    if (asked) index->AddAbsent(both, SectionFamily::kPairs, state);
    Decide(name, SectionFamily::kPairs, false, std::move(reason));
  };
  for (const Column* c : {a, b}) {
    if (!c->inverted)
      return leave_out(SectionState::kTooManyValues, fmt::format("values of {} have no order", c->path.ToString()));
    if (c->inverted->gave_up())
      return leave_out(SectionState::kTooManyValues, fmt::format("{}: {}", c->path.ToString(), c->inverted->why()));
  }
  auto pairs = InvertedBuilder::OfPairs(*a->inverted, *b->inverted, kMaxPairs);
  if (pairs->gave_up()) return leave_out(SectionState::kTooManyValues, pairs->why());
  if (pairs->distinct() == 0) return leave_out(SectionState::kBoundsSuffice, "no row has values in both");
  if (!asked && pairs->RowsLeftOut() * 10 > num_rows_)
    return leave_out(SectionState::kTooManyValues, "pairs are as frequent as the values alone");
  const uint64_t distinct = pairs->distinct();
  const std::vector<uint64_t> hashes = pairs->Hashes();
  auto section = pairs->Finish(a->path, SectionFamily::kPairs);
  section.entry.columns = both;
  if (!asked && section.size > num_rows_ * 2)
    return leave_out(SectionState::kOverBudget, fmt::format("{} bytes, more than two a row", section.size));
  // An entry of two columns is longer than one of one.
  section.size += SidecarWriter::Pack(both, SectionFamily::kPairs, "").size -
                  SidecarWriter::Pack({a->path}, SectionFamily::kPairs, "").size;
  const bool present = section.entry.state == SectionState::kPresent;
  Decide(name, SectionFamily::kPairs, present, fmt::format("{} distinct pairs, {} bytes", distinct, section.size));
  index->Add(std::move(section));
  if (!present) return;
  BloomFilter filter = BloomFilter::ForItems(hashes.size());
  for (uint64_t hash : hashes) filter.Insert(hash);
  auto bloom = SidecarWriter::Pack(both, SectionFamily::kPairBloom, filter.ToBytes());
  const bool fits = header->size() + bloom.size <= kHeaderFloor;
  Decide(name, SectionFamily::kPairBloom, fits,
         fmt::format("{} bytes{}", bloom.size, fits ? "" : ", too many for the prune header"));
  if (fits) header->Add(std::move(bloom));
}

}  // namespace pilum
