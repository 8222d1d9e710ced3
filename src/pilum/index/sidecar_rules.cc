// Which indexes SidecarBuilder makes of what it collected, and why (docs/formats/sidecar.md, "Which are built").
#include <algorithm>

#include <arrow/type.h>

#include "pilum/index/sidecar_builder.h"
#include "pilum/sketch/bloom.h"
#include "pilum/sketch/cuckoo.h"
#include "pilum/sketch/fuse.h"

namespace pilum {
namespace {

// Would a filter say more than the bounds do? Not for one value, nor for integers that fill their range.
bool BoundsSuffice(const ColumnCollector& c) {
  if (c.distinct().size() <= 1) return true;
  const ZoneMap& b = c.bounds();
  if (b.domain != Domain::kInt || !(b.flags[0] & ZoneMap::kHasBounds)) return false;
  return b.High(0).as_int() - b.Low(0).as_int() + 1 == Int128(c.distinct().size());
}

constexpr uint64_t kManyValues = 1024;
constexpr uint64_t kFewChunks = 4;
constexpr uint64_t kSmallPart = 16 * 1024;  // rows; reading a whole column of it costs little
constexpr int kMostKeys = 2;                // where nobody asks
// Rows of a part that is one of many: of ten thousand, filters of 8 bits would keep forty that lack the value, and each costs
// three requests; those of 16 bits keep none.
constexpr uint64_t kManyParts = 8 * 1024;

bool ZonesSuffice(const ZoneMap& zones) {
  return zones.num_chunks() >= kFewChunks && zones.Overlap() * static_cast<double>(zones.num_chunks()) <= 2;
}

std::string BloomBytes(const DistinctSet& distinct) {
  BloomFilter filter = BloomFilter::ForItems(distinct.size());
  distinct.ForEach([&](uint64_t hash) { filter.Insert(hash); });
  return filter.ToBytes();
}

Result<std::string> FilterBytes(const DistinctSet& distinct, SectionFamily family) {
  Status st;
  auto fill = [&](auto filter) {
    distinct.ForEach([&](uint64_t hash) {
      if (st.ok()) st = filter.Insert(hash);
    });
    return filter;
  };
  if (family == SectionFamily::kCuckoo) {
    const auto items = static_cast<uint32_t>(std::max<uint64_t>(1024, distinct.size()));
    PILUM_ASSIGN_OR_RETURN(CuckooFilter empty, CuckooFilter::Empty({items}));
    const CuckooFilter filter = fill(std::move(empty));
    PILUM_RETURN_NOT_OK(st);
    return filter.ToBytes();
  }
  PILUM_ASSIGN_OR_RETURN(FuseFilter empty, FuseFilter::Empty({8}));
  FuseFilter filter = fill(std::move(empty));
  PILUM_RETURN_NOT_OK(st);
  PILUM_RETURN_NOT_OK(filter.Seal());
  return filter.ToBytes();
}

}  // namespace

uint64_t SidecarBuilder::HeaderBudget(const SidecarWriter& index) {
  return std::min(kHeaderLimit, std::max(kHeaderFloor, index.size() / 10));
}

// Which rows hold each value, which lists hold it. Zones alone say as much where rows lie in the column's order.
void SidecarBuilder::AddInverted(Column* c, SidecarWriter* index) {
  for (const bool members : {false, true}) {
    InvertedBuilder* builder = members ? c->members.get() : c->inverted.get();
    if (!builder || num_rows_ == 0) continue;
    if (!members && c->paired && !c->spec.MayHave(IndexKind::kInverted)) {
      c->inverted.reset();  // it was for its pairs
      continue;
    }
    const auto family = members ? SectionFamily::kMembers : SectionFamily::kInverted;
    const uint64_t distinct = builder->distinct();
    const bool asked = c->spec.Asks(members ? IndexKind::kMembers : IndexKind::kInverted);
    auto leave_out = [&](SectionState state, std::string reason) {
      index->AddAbsent({c->path}, family, state);
      Decide(*c, family, false, std::move(reason));
    };
    if (builder->gave_up()) {
      leave_out(SectionState::kTooManyValues, builder->why());
    } else if (!asked && distinct <= (members ? 0 : 1)) {
      leave_out(SectionState::kBoundsSuffice, "one value, or none: the bounds say as much");
    } else if (!asked && distinct * 2 > num_rows_) {
      leave_out(SectionState::kTooManyValues, "more than half of its values are distinct");
    } else if (!asked && !members && distinct > kManyValues && ZonesSuffice(c->collector->zones())) {
      leave_out(SectionState::kBoundsSuffice, "its rows lie in its order: zones say nearly as much");
    } else {
      if (members) c->member_hashes = builder->Hashes();
      auto section = builder->Finish(c->path, family);
      const uint64_t most = 1024 + (num_rows_ < kSmallPart ? num_rows_ / 2 : num_rows_ * 4);
      if (!asked && section.size > most) {
        leave_out(SectionState::kOverBudget,
                  fmt::format("{} bytes: more than reading the column is worth in {} rows", section.size, num_rows_));
        (members ? c->members : c->inverted).reset();
        continue;
      }
      Decide(*c, family, section.entry.state == SectionState::kPresent,
             fmt::format("{} distinct values, {} bytes", distinct, section.size));
      index->Add(std::move(section));
    }
    (members ? c->members : c->inverted).reset();
  }
}

void SidecarBuilder::AddNulls(Column* c, SidecarWriter* index) {
  const uint64_t rows = c->nulls.rows(), runs = c->nulls.runs();
  if (rows == 0 || rows == num_rows_) return;  // zones say as much
  if (!c->spec.Asks(IndexKind::kNulls) && runs * InvertedBuilder::kRunShare > num_rows_ && runs > 16) {
    index->AddAbsent({c->path}, SectionFamily::kNulls, SectionState::kTooManyValues);
    return Decide(*c, SectionFamily::kNulls, false,
                  fmt::format("{} NULLs lie scattered: the column itself is read sooner", rows));
  }
  auto section = SidecarWriter::Pack({c->path}, SectionFamily::kNulls, c->nulls.Finish());
  Decide(*c, SectionFamily::kNulls, true, fmt::format("{} NULLs, {} bytes", rows, section.size));
  index->Add(std::move(section));
}

void SidecarBuilder::AddTrigrams(Column* c, SidecarWriter* index) {
  if (!c->trigrams || num_rows_ == 0) return;
  if (c->trigrams->gave_up()) {
    index->AddAbsent({c->path}, SectionFamily::kTrigrams, SectionState::kTooManyValues);
    Decide(*c, SectionFamily::kTrigrams, false, "more than 2,000,000 distinct trigrams");
  } else {
    const uint64_t distinct = c->trigrams->distinct();
    auto section = c->trigrams->Finish(c->path);
    Decide(*c, SectionFamily::kTrigrams, section.entry.state == SectionState::kPresent,
           fmt::format("{} trigrams over blocks of 128 rows, {} bytes", distinct, section.size));
    index->Add(std::move(section));
  }
  c->trigrams.reset();
}

// The dictionary of words is an object of its own, which queries without words never open; the index says that it is there.
void SidecarBuilder::AddWords(Column* c, SidecarWriter* index, SidecarWriter* terms) {
  if (!c->words || num_rows_ == 0) return;
  if (c->words->gave_up()) {
    index->AddAbsent({c->path}, SectionFamily::kWords, SectionState::kTooManyValues);
    Decide(*c, SectionFamily::kWords, false, c->words->why());
  } else {
    const uint64_t distinct = c->words->distinct();
    auto section = c->words->Finish(c->path);
    const bool present = section.entry.state == SectionState::kPresent;
    index->AddAbsent({c->path}, SectionFamily::kWords, present ? SectionState::kInTerms : section.entry.state);
    Decide(*c, SectionFamily::kWords, present,
           fmt::format("{} distinct words, {} bytes, in .terms", distinct, section.size));
    if (present) terms->Add(std::move(section));
  }
  c->words.reset();
}

// One range is what the bounds say.
void SidecarBuilder::AddRanges(Column* c, SidecarWriter* header) {
  if (!c->ranges) return;
  const ValueRanges ranges = c->ranges->Finish();
  if (ranges.ranges().size() <= 1) return;
  auto section = SidecarWriter::Pack({c->path}, SectionFamily::kRanges, ranges.ToBytes());
  if (header->size() + section.size > kHeaderLimit) return;
  Decide(*c, SectionFamily::kRanges, true, fmt::format("{} disjoint ranges", ranges.ranges().size()));
  header->Add(std::move(section));
}

// Keys of near-unique columns, and their filters in the header where they fit; elsewhere the key's own blocks serve.
Status SidecarBuilder::AddKeys(SidecarWriter* header, SidecarWriter* index) {
  int unasked = 0;
  for (Column& c : columns_) {
    if (!c.key) continue;
    const bool asked = c.spec.Asks(IndexKind::kKey);
    const auto& distinct = c.stats.distinct();
    std::string why_not;
    if (c.key->gave_up() || !distinct || (!asked && distinct->Count().value * 2 <= static_cast<double>(num_rows_)))
      why_not = "-";  // no key, and nothing to explain
    else if (!asked && c.collector->zones().num_chunks() < kFewChunks)
      why_not = "few rows: reading them costs no more";
    else if (!asked && ZonesSuffice(c.collector->zones()))
      why_not = "its rows lie in its order: zones say nearly as much";
    else if (!asked && unasked == kMostKeys)
      why_not = "two columns before it have one";
    if (c.key->entries() == 0 && why_not.empty()) why_not = "-";
    if (!why_not.empty()) {
      if (why_not != "-") Decide(c, SectionFamily::kKey, false, why_not);
      c.key.reset();
      continue;
    }
    unasked += !asked;
    auto section = c.key->Finish(c.path, num_rows_);
    const bool present = section.entry.state == SectionState::kPresent;
    Decide(c, SectionFamily::kKey, present, fmt::format("{} values, {} bytes", c.key->entries(), section.size));
    index->Add(std::move(section));
    if (!present) c.key.reset();
  }
  const uint64_t budget = HeaderBudget(*index);
  for (Column& c : columns_) {
    if (!c.key) continue;
    const auto filter = [&](uint32_t bits) -> Result<SidecarWriter::Section> {
      PILUM_ASSIGN_OR_RETURN(const std::string bytes, c.key->FilterBytes(bits));
      return SidecarWriter::Pack({c.path}, SectionFamily::kFuse, bytes);
    };
    uint32_t bits = num_rows_ <= kManyParts ? 16 : 8;
    PILUM_ASSIGN_OR_RETURN(auto section, filter(bits));
    if (bits == 16 && header->size() + section.size > kHeaderFloor) {
      bits = 8;
      PILUM_ASSIGN_OR_RETURN(section, filter(bits));
    }
    const bool fits = header->size() + section.size <= budget;
    Decide(c, SectionFamily::kFuse, fits,
           fits ? fmt::format("{} bits a value, {} bytes, in the prune header", bits, section.size)
                : fmt::format("{} bytes, too many for the prune header: the key itself is asked", section.size));
    if (fits)
      header->Add(std::move(section));
    else
      header->AddAbsent({c.path}, SectionFamily::kFuse, SectionState::kOverBudget);
  }
  return Status::OK();
}

// Filters, smallest first, in the header while they fit, else in the index.
void SidecarBuilder::AddFilters(SidecarWriter* header, SidecarWriter* index) {
  const uint64_t budget = HeaderBudget(*index);
  std::vector<std::pair<uint64_t, size_t>> order;  // distinct values, column
  for (size_t i = 0; i < columns_.size(); ++i) {
    const ColumnCollector& c = *columns_[i].collector;
    if (columns_[i].key && !columns_[i].spec.Asks(IndexKind::kBloom)) continue;  // its own filter serves
    if (!c.is_ordered() || num_rows_ == 0 || !columns_[i].spec.MayHave(IndexKind::kBloom)) continue;
    if (c.distinct().overflowed()) {
      index->AddAbsent({columns_[i].path}, SectionFamily::kBloom, SectionState::kTooManyValues);
      Decide(columns_[i], SectionFamily::kBloom, false,
             "too many distinct values to be counted exactly while rows stream by");
    } else if (BoundsSuffice(c)) {
      index->AddAbsent({columns_[i].path}, SectionFamily::kBloom, SectionState::kBoundsSuffice);
      Decide(columns_[i], SectionFamily::kBloom, false,
             c.distinct().size() <= 1 ? "one value: the bounds say as much"
                                      : "integers that fill their range: the bounds say as much");
    } else {
      order.emplace_back(c.distinct().size(), i);
    }
  }
  std::sort(order.begin(), order.end());
  for (const auto& [distinct, i] : order) {
    auto section =
        SidecarWriter::Pack({columns_[i].path}, SectionFamily::kBloom, BloomBytes(columns_[i].collector->distinct()));
    const bool fits = header->size() + section.size <= budget;
    Decide(columns_[i], SectionFamily::kBloom, true,
           fmt::format("{} distinct values, {} bytes, in the {}", distinct, section.size,
                       fits ? "prune header" : "index, since the prune header is full"));
    (fits ? header : index)->Add(std::move(section));
  }
}

// Which elements are in no list of the part: in the header where it fits, or not at all.
void SidecarBuilder::AddMemberFilters(SidecarWriter* header, const SidecarWriter& index) {
  const uint64_t budget = HeaderBudget(index);
  for (Column& c : columns_) {
    if (c.member_hashes.empty()) continue;
    BloomFilter filter = BloomFilter::ForItems(c.member_hashes.size());
    for (uint64_t hash : c.member_hashes) filter.Insert(hash);
    auto section = SidecarWriter::Pack({c.path}, SectionFamily::kMemberBloom, filter.ToBytes());
    const bool fits = header->size() + section.size <= budget;
    Decide(c, SectionFamily::kMemberBloom, fits,
           fmt::format("{} distinct elements, {} bytes{}", c.member_hashes.size(), section.size,
                       fits ? "" : ", too many for the prune header"));
    if (fits) header->Add(std::move(section));
  }
}

// Filters that are built only where somebody asks.
Status SidecarBuilder::AddAskedFilters(SidecarWriter* header, SidecarWriter* index) {
  const uint64_t budget = HeaderBudget(*index);
  for (Column& c : columns_) {
    const DistinctSet& distinct = c.collector->distinct();
    for (const auto [kind, family] :
         {std::pair(IndexKind::kCuckoo, SectionFamily::kCuckoo), std::pair(IndexKind::kFuse, SectionFamily::kFuse)}) {
      if (!c.spec.Asks(kind) || !c.collector->is_ordered() || num_rows_ == 0) continue;
      if (family == SectionFamily::kFuse && c.key) continue;  // it has one
      if (distinct.overflowed()) {
        index->AddAbsent({c.path}, family, SectionState::kTooManyValues);
        Decide(c, family, false, "too many distinct values to be counted exactly while rows stream by");
        continue;
      }
      PILUM_ASSIGN_OR_RETURN(const std::string bytes, FilterBytes(distinct, family));
      auto section = SidecarWriter::Pack({c.path}, family, bytes);
      const bool fits = header->size() + section.size <= budget;
      Decide(c, family, true,
             fmt::format("{} distinct values, {} bytes, in the {}", distinct.size(), section.size,
                         fits ? "prune header" : "index, since the prune header is full"));
      (fits ? header : index)->Add(std::move(section));
    }
  }
  return Status::OK();
}

void SidecarBuilder::Decide(const Column& column, SectionFamily family, bool built, std::string reason) {
  Decide(column.path.ToString(), family, built, std::move(reason));
}

void SidecarBuilder::Decide(std::string column, SectionFamily family, bool built, std::string reason) {
  decisions_.push_back(
      {std::move(column), std::string(FamilyName(static_cast<uint16_t>(family))), built, std::move(reason)});
}

}  // namespace pilum
