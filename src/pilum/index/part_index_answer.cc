// What one sidecar answers to a probe: zones first, then whatever index knows more and costs less than the rows it could save.
#include <algorithm>

#include "pilum/index/pair_key.h"
#include "pilum/index/part_index.h"
#include "pilum/index/told.h"
#include "pilum/index/trigram_builder.h"
#include "pilum/index/words_builder.h"
#include "pilum/sketch/value_hash.h"

namespace pilum {
namespace {

constexpr uint64_t kBytesPerRow = 8;  // what reading a row costs, in bytes of an index: more is not fetched for it

// Rows of a column that are read in the time of looking one value up (measured): where lookups share blocks, and where each
// takes a block of its own.
constexpr uint64_t kRowsPerValue = 128, kRowsPerKey = 16 * 1024;

// Is a list worth looking up in place of reading `rows` rows? So few as cost a thousand rows always are.
bool LookupsPay(uint64_t values, uint64_t rows_each, uint64_t rows) {
  return values * rows_each <= rows + std::max<uint64_t>(rows_each, 1024);
}

// The value of an interval that is a point of the domain; else null.
const Value* PointOf(const Interval& i, Domain domain) {
  const bool point = i.lower && i.upper && i.lower->value.domain() == domain && i.lower->value == i.upper->value;
  return point ? &i.lower->value : nullptr;
}

}  // namespace

template <typename T>
Result<std::optional<T>> PartIndex::OrUnknown(Result<std::optional<T>> answer) const {
  if (answer.ok()) return answer;
  std::lock_guard lock(mutex_);
  PILUM_RETURN_NOT_OK(Forgive(answer.status()));
  return std::optional<T>();
}

Result<Candidates> PartIndex::Answer(const Probe& probe, ReadContext& ctx) const {
  Candidates found = Candidates::Unknown(num_rows());
  if (probe.kind == Probe::Kind::kInPair) return ApplyPairs(probe, std::move(found), ctx);
  PILUM_ASSIGN_OR_RETURN(auto zones, Zones(probe.column, ctx));
  switch (probe.kind) {
    case Probe::Kind::kIsNull: return zones ? ApplyNulls(probe, zones->IsNull(), ctx) : found;
    case Probe::Kind::kInSet:
      if (!zones) return found;
      found = zones->InSet(probe.set, probe.exact);
      if (kind_ == SidecarKind::kHeader && !found.possible.empty() && found.certain.empty()) {
        PILUM_ASSIGN_OR_RETURN(auto ranges, Ranges(probe.column, ctx));
        if (ranges && !Told("ranges", ranges->MayOverlap(probe.set))) found.possible = RowSet();
      }
      break;
    case Probe::Kind::kContains:
      if (zones) found = zones->InSet(ValueSet::All(), false);
      return ApplyTrigrams(probe, std::move(found), ctx);
    case Probe::Kind::kHasWords:
      if (kind_ == SidecarKind::kTerms) return ApplyWords(probe, std::move(found), ctx);
      if (zones) found = zones->InSet(ValueSet::All(), true);
      found.certain = RowSet();
      return found;
    case Probe::Kind::kInPair: return found;  // above
    case Probe::Kind::kHasElement:
      if (!zones) break;
      found.maybe_null = zones->IsNull().possible;
      found.possible = zones->IsNull().certain.Complement(num_rows());
      if (kind_ == SidecarKind::kHeader) return ApplyMemberFilter(probe, std::move(found), ctx);
      break;
  }
  bool applied = false;
  PILUM_ASSIGN_OR_RETURN(found, ApplyInverted(probe, std::move(found), &applied, ctx));
  if (applied || probe.kind != Probe::Kind::kInSet) return found;
  PILUM_ASSIGN_OR_RETURN(found, ApplyKey(probe, *zones, std::move(found), &applied, ctx));
  if (applied) return found;
  return ApplyFilter(probe, *zones, std::move(found), ctx);
}

Result<bool> PartIndex::MayMatchByBounds(const Probe& probe, ReadContext& ctx) const {
  if (probe.kind == Probe::Kind::kInPair) {
    PILUM_ASSIGN_OR_RETURN(const bool first, BoundsOverlap(probe.column, probe.set, ctx));
    return first ? BoundsOverlap(probe.second, probe.second_set, ctx) : false;
  }
  PILUM_ASSIGN_OR_RETURN(auto zones, Zones(probe.column, ctx));
  if (!zones) return true;
  switch (probe.kind) {
    case Probe::Kind::kIsNull: return !zones->IsNull().possible.empty();
    case Probe::Kind::kHasElement: return !zones->IsNull().certain.Complement(num_rows()).empty();
    case Probe::Kind::kHasWords:
    case Probe::Kind::kContains: return !zones->InSet(ValueSet::All(), false).possible.empty();
    case Probe::Kind::kInPair: return true;  // above
    case Probe::Kind::kInSet: break;
  }
  return BoundsOverlap(probe.column, probe.set, ctx);
}

Result<bool> PartIndex::BoundsOverlap(const FieldPath& column, const ValueSet& set, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(const auto zones, Zones(column, ctx));
  if (!zones) return true;
  const Candidates found = zones->InSet(set, true);
  if (found.possible.empty() || !found.certain.empty()) return !found.possible.empty();
  PILUM_ASSIGN_OR_RETURN(const auto ranges, Ranges(column, ctx));
  return !ranges || Told("ranges", ranges->MayOverlap(set));
}

Result<Candidates> PartIndex::ApplyNulls(const Probe& probe, Candidates found, ReadContext& ctx) const {
  const SectionEntry* entry = reader_->Find(SectionFamily::kNulls, &probe.column);
  if (!entry || found.possible == found.certain) return found;
  if (reader_->FetchCost(entry->offset, entry->length) > found.possible.size() * kBytesPerRow) return found;
  PILUM_ASSIGN_OR_RETURN(auto nulls, NullRows(probe.column, ctx));
  if (nulls) found.possible = found.certain = Told("nulls", *nulls);
  return found;
}

// An element that the filter does not know is in no list of the part.
Result<Candidates> PartIndex::ApplyMemberFilter(const Probe& probe, Candidates found, ReadContext& ctx) const {
  const auto points = probe.set.AsPoints();
  if (!points || found.possible.empty()) return found;
  PILUM_ASSIGN_OR_RETURN(auto filter, MemberBloom(probe.column, ctx));
  if (!filter) return found;
  for (const Value& v : *points) {
    if (v.domain() == Domain::kDecimal || filter->MayContain(HashValue(v, 0))) return found;  // no scale is known here
  }
  found.possible = RowSet();
  return found;
}

// Blocks that lack a trigram of a needle hold no text that contains it.
Result<Candidates> PartIndex::ApplyTrigrams(const Probe& probe, Candidates found, ReadContext& ctx) const {
  const SectionEntry* entry = reader_->Find(SectionFamily::kTrigrams, &probe.column);
  if (!entry || found.possible.empty()) return found;
  const auto grams = TrigramsOf(probe.needles, probe.folded);
  if (grams.empty()) return found;
  // Texts are longer than other values: reading one costs more than `kBytesPerRow`.
  const uint64_t worth = found.possible.size() * 4;
  if (reader_->FetchCost(entry->offset, entry->raw_length) > worth * kBytesPerRow) return found;
  PILUM_ASSIGN_OR_RETURN(auto index, Trigrams(probe.column, ctx));
  if (!index) return found;
  std::vector<Value> values;
  for (uint32_t gram : grams) values.push_back(Value::Int(gram));
  PILUM_ASSIGN_OR_RETURN(const auto each, OrUnknown(index->Each(values, worth, ctx)));
  if (!each) return found;
  RowSet blocks = RowSet::All(TrigramBuilder::BlocksOf(num_rows()));
  for (const auto& rows : *each) {
    if (rows) blocks = blocks.Intersect(*rows);
  }
  RowSet rows;
  for (const RowRange& r : blocks.ranges())
    rows.Append(r.begin * TrigramBuilder::kBlockRows, std::min(num_rows(), r.end * TrigramBuilder::kBlockRows));
  found.possible = found.possible.Intersect(Told("trigrams", std::move(rows)));
  return found;
}

// Rows whose text has all the words. Of a word that was cut only the beginning is known.
Result<Candidates> PartIndex::ApplyWords(const Probe& probe, Candidates found, ReadContext& ctx) const {
  const SectionEntry* entry = reader_->Find(SectionFamily::kWords, &probe.column);
  if (!entry || probe.needles.empty()) return found;
  const uint64_t worth = num_rows() * 4;  // as of trigrams
  if (reader_->FetchCost(entry->offset, entry->raw_length) > worth * kBytesPerRow) return found;
  bool exact = probe.exact;
  std::vector<std::string> cut;
  for (const std::string& word : probe.needles) {
    exact &= word.size() < WordsBuilder::kWordCut;
    cut.push_back(word.substr(0, WordsBuilder::kWordCut));
  }
  std::sort(cut.begin(), cut.end());
  cut.erase(std::unique(cut.begin(), cut.end()), cut.end());
  std::vector<Value> values;
  for (std::string& word : cut) values.push_back(Value::Text(std::move(word)));
  PILUM_ASSIGN_OR_RETURN(auto index, Words(probe.column, ctx));
  if (!index) return found;
  PILUM_ASSIGN_OR_RETURN(const auto each, OrUnknown(index->Each(values, worth, ctx)));
  if (!each) return found;
  RowSet rows = RowSet::All(num_rows());
  for (const auto& of_word : *each) {
    exact &= of_word.has_value();
    if (of_word) rows = rows.Intersect(*of_word);
  }
  found.possible = Told("words", std::move(rows));
  if (exact) found.certain = found.possible;
  return found;
}

Result<Candidates> PartIndex::ApplyInverted(const Probe& probe, Candidates found, bool* applied,
                                            ReadContext& ctx) const {
  const bool elements = probe.kind == Probe::Kind::kHasElement;
  const auto family = elements ? SectionFamily::kMembers : SectionFamily::kInverted;
  const SectionEntry* entry = reader_->Find(family, &probe.column);
  const uint64_t unsure = found.possible.size() - found.certain.size();
  if (!entry || unsure == 0 || !LookupsPay(probe.set.intervals().size(), kRowsPerValue, unsure)) return found;
  // Fetching the root must not cost more than reading the rows that it could save.
  if (reader_->FetchCost(entry->offset, entry->raw_length) > unsure * kBytesPerRow) return found;
  PILUM_ASSIGN_OR_RETURN(auto index, Inverted(family, probe.column, ctx));
  if (!index) return found;
  PILUM_ASSIGN_OR_RETURN(auto answer, OrUnknown(index->Rows(probe.set, unsure, !elements, ctx)));
  if (!answer) return found;
  *applied = true;
  const RowSet rows = Told(FamilyName(static_cast<uint16_t>(family)), std::move(answer->rows));
  // Rows that must be read either way, and lie far apart, are better read with those between them.
  if (!probe.exact && !answer->outside && rows.size() * 4 > unsure) return found;
  if (!answer->outside) {
    found.possible = found.possible.Intersect(rows.Union(found.certain));
    if (probe.exact) found.certain = found.certain.Union(found.possible);
    return found;
  }
  // All but these and NULLs lie in the set.
  found.possible = found.possible.Minus(rows.Minus(found.certain));
  if (probe.exact) found.certain = found.certain.Union(found.possible.Minus(found.maybe_null));
  return found;
}

namespace {

// The set as points of the column's domain; nullopt where it is not that.
std::optional<std::vector<Value>> PointsOf(const ValueSet& set, Domain domain) {
  if (!AllOfDomain(set, domain)) return std::nullopt;
  return set.AsPoints();
}

}  // namespace

// Rows of the asked pairs. The zones of the two columns are read for what their values are, no more.
Result<Candidates> PartIndex::ApplyPairs(const Probe& probe, Candidates found, ReadContext& ctx) const {
  const bool header = kind_ == SidecarKind::kHeader;
  const auto family = header ? SectionFamily::kPairBloom : SectionFamily::kPairs;
  const SectionEntry* entry = reader_->FindPair(family, probe.column, probe.second);
  if (!entry || (!header && reader_->FetchCost(entry->offset, entry->raw_length) > num_rows() * kBytesPerRow))
    return found;
  PILUM_ASSIGN_OR_RETURN(const auto zones_a, Zones(probe.column, ctx));
  PILUM_ASSIGN_OR_RETURN(const auto zones_b, Zones(probe.second, ctx));
  if (!zones_a || !zones_b) return found;
  const auto as = PointsOf(probe.set, zones_a->domain), bs = PointsOf(probe.second_set, zones_b->domain);
  if (!as || !bs || !LookupsPay(as->size() * bs->size(), kRowsPerValue, num_rows())) return found;
  const bool swapped = entry->columns[0] != probe.column;
  std::vector<Value> keys;
  for (const Value& a : *as) {
    for (const Value& b : *bs)
      keys.push_back(Value::Binary(swapped ? PairKey(b, zones_b->scale, a, zones_a->scale)
                                           : PairKey(a, zones_a->scale, b, zones_b->scale)));
  }
  bool unused = false;
  if (header) {
    PILUM_ASSIGN_OR_RETURN(const auto filter, PairBloom(probe.column, probe.second, &unused, ctx));
    if (!filter) return found;
    const bool may =
        std::any_of(keys.begin(), keys.end(), [&](const Value& key) { return filter->MayContain(HashValue(key, 0)); });
    if (!Told("pairs", may)) found.possible = RowSet();
    return found;
  }
  PILUM_ASSIGN_OR_RETURN(const auto index, Pairs(probe.column, probe.second, &unused, ctx));
  if (!index) return found;
  PILUM_ASSIGN_OR_RETURN(auto answer,
                         OrUnknown(index->Rows(ValueSet::Points(std::move(keys)), num_rows(), false, ctx)));
  if (answer) found.possible = found.certain = Told("pairs", std::move(answer->rows));
  return found;
}

// Rows whose value has the hash of a point: no others hold one.
Result<Candidates> PartIndex::ApplyKey(const Probe& probe, const ZoneMap& zones, Candidates found, bool* applied,
                                       ReadContext& ctx) const {
  const SectionEntry* entry = reader_->Find(SectionFamily::kKey, &probe.column);
  const uint64_t unsure = found.possible.size() - found.certain.size();
  if (!entry || unsure == 0) return found;
  if (reader_->FetchCost(entry->offset, entry->raw_length) > unsure * kBytesPerRow) return found;
  if (!LookupsPay(probe.set.intervals().size(), kRowsPerKey, unsure)) return found;
  std::vector<uint64_t> hashes;
  for (const Interval& i : probe.set.intervals()) {
    const Value* v = PointOf(i, zones.domain);
    if (!v) return found;
    hashes.push_back(HashValue(*v, zones.scale));
  }
  PILUM_ASSIGN_OR_RETURN(auto key, Key(probe.column, ctx));
  if (!key) return found;
  PILUM_ASSIGN_OR_RETURN(auto rows, OrUnknown(key->Rows(std::move(hashes), unsure, ctx)));
  if (!rows) return found;
  *applied = true;
  found.possible = found.possible.Intersect(Told("key", std::move(*rows)).Union(found.certain));
  return found;
}

// A filter knows which of the asked points are nowhere in the part.
Result<Candidates> PartIndex::ApplyFilter(const Probe& probe, const ZoneMap& zones, Candidates found,
                                          ReadContext& ctx) const {
  if (found.possible.empty()) return found;
  const auto& intervals = probe.set.intervals();
  if (!std::all_of(intervals.begin(), intervals.end(), [&](const Interval& i) { return PointOf(i, zones.domain); }))
    return found;
  // A header is asked whether any value may be in the part: up to the first that may. In an index zones say where those are
  // that may, if a list is not long.
  const bool any_will_do = kind_ == SidecarKind::kHeader;
  if (!any_will_do && !LookupsPay(intervals.size(), kRowsPerValue, found.possible.size())) return found;
  std::vector<Value> left;
  // false: there is no such filter.
  auto keep_all_in = [&](const auto& filter) -> Result<bool> {
    PILUM_RETURN_NOT_OK(filter.status());
    if (!*filter) return false;
    for (const Interval& i : intervals) {
      const Value& v = i.lower->value;
      if (!(*filter)->MayContain(HashValue(v, zones.scale))) continue;
      if (any_will_do && zones.InSet(ValueSet::Point(v), probe.exact).possible.empty()) continue;
      left.push_back(v);
      if (any_will_do) break;
    }
    return true;
  };
  // One filter is enough: the smallest kind first.
  bool asked = false;
  for (const auto family : {SectionFamily::kFuse, SectionFamily::kBloom, SectionFamily::kCuckoo}) {
    const SectionEntry* entry = reader_->Find(family, &probe.column);
    if (!entry) continue;
    // Fetching a filter must not cost more than reading the rows that it could save.
    if (kind_ == SidecarKind::kIndex && entry->length > found.possible.size() * kBytesPerRow) return found;
    if (family == SectionFamily::kFuse) {
      PILUM_ASSIGN_OR_RETURN(asked, keep_all_in(Fuse(probe.column, ctx)));
    } else if (family == SectionFamily::kBloom) {
      PILUM_ASSIGN_OR_RETURN(asked, keep_all_in(Bloom(probe.column, ctx)));
    } else {
      PILUM_ASSIGN_OR_RETURN(asked, keep_all_in(Cuckoo(probe.column, ctx)));
    }
    if (asked) break;
  }
  if (!asked || left.size() == intervals.size() || (any_will_do && !left.empty())) return found;
  const Candidates with_left = zones.InSet(ValueSet::Points(std::move(left)), probe.exact);
  found.possible = found.possible.Intersect(with_left.possible.Union(found.certain));
  return found;
}

}  // namespace pilum
