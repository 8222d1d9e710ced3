#include "pilum/index/word_segment.h"

#include <algorithm>

#include "pilum/base/hash.h"
#include "pilum/index/part_index.h"
#include "pilum/index/sidecar_wire.h"
#include "pilum/index/told.h"
#include "pilum/index/words_builder.h"

namespace pilum {

Status WordSegmentBuilder::AddColumn(const FieldPath& column, const InvertedIndex& words, ReadContext& ctx) {
  Column& to = columns_[column];
  if (!to.words) to.words = InvertedBuilder::OfBytes(Domain::kText, kMaxWords, kMaxBytes);
  const uint64_t part = parts_.size() - 1;
  PILUM_RETURN_NOT_OK(words.ForEachValue([&](const Value& word) { to.words->AddText(word.as_bytes(), part); }, ctx));
  to.covers.Add(part);
  return Status::OK();
}

std::string WordSegmentBuilder::Finish() {
  SidecarWriter out;
  std::string list;
  for (const Hash128& part : parts_) list += sidecar_wire::View(part);
  out.Add({}, SectionFamily::kSegmentParts, list);
  for (auto& [path, column] : columns_) {
    if (column.words->gave_up()) {
      out.AddAbsent({path}, SectionFamily::kWords, SectionState::kTooManyValues);
      continue;
    }
    column.words->SetRows(parts_.size());
    auto section = column.words->Finish(path, SectionFamily::kWords);
    const bool present = section.entry.state == SectionState::kPresent;
    out.Add(std::move(section));
    if (present) out.Add({path}, SectionFamily::kSegmentCovers, column.covers.Finish());
  }
  return out.Finish(SidecarKind::kSegment, {Hash128{}, sidecar_wire::HalfHash({list}), parts_.size()});
}

Result<std::shared_ptr<const WordSegment>> WordSegment::Open(std::shared_ptr<const ByteSource> source,
                                                             ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto reader, SidecarReader::Open(std::move(source), SidecarKind::kSegment, ctx));
  std::shared_ptr<WordSegment> out(new WordSegment(std::move(reader)));
  const SectionEntry* entry = out->reader_->Find(SectionFamily::kSegmentParts, nullptr);
  if (!entry) return Corrupt(out->reader_->name(), "parts", "it lists none");
  PILUM_ASSIGN_OR_RETURN(const std::string list, out->reader_->ReadSection(*entry, ctx));
  const SidecarIdentity& identity = out->reader_->identity();
  if (list.size() % sizeof(Hash128) != 0 || list.size() / sizeof(Hash128) != identity.num_rows ||
      sidecar_wire::HalfHash({list}) != identity.part_hash)
    return Corrupt(out->reader_->name(), "parts", "they are not those that its header names");
  out->parts_.resize(list.size() / sizeof(Hash128));
  for (size_t i = 0; i < out->parts_.size(); ++i)
    std::copy_n(list.data() + i * sizeof(Hash128), sizeof(Hash128), reinterpret_cast<char*>(out->parts_[i].data()));
  return out;
}

Result<RowSet> WordSegment::Covers(const FieldPath& column, ReadContext& ctx) const {
  const SectionEntry* entry = reader_->Find(SectionFamily::kSegmentCovers, &column);
  if (!entry) return RowSet();
  PILUM_ASSIGN_OR_RETURN(const std::string bytes, reader_->ReadSection(*entry, ctx));
  std::vector<RowRange> runs;
  if (!ReadPostings(bytes, parts_.size(), &runs)) return Corrupt(reader_->name(), "covers", "they are no parts of it");
  return RowSet::FromRanges(std::move(runs));
}

Result<RowSet> WordSegment::Ask(const FieldPath& column, const std::vector<std::string>& words,
                                ReadContext& ctx) const {
  const RowSet all = RowSet::All(parts_.size());
  const SectionEntry* entry = reader_->Find(SectionFamily::kWords, &column);
  if (!entry) return all;
  std::shared_ptr<const InvertedIndex> index;
  {
    std::lock_guard lock(mutex_);
    auto& known = words_[column];
    if (!known) {
      PILUM_ASSIGN_OR_RETURN(InvertedIndex opened, InvertedIndex::Open(reader_, *entry, parts_.size(), ctx));
      known = std::make_shared<const InvertedIndex>(std::move(opened));
    }
    index = known;
  }
  PILUM_ASSIGN_OR_RETURN(const RowSet covers, Covers(column, ctx));
  std::vector<std::string> cut;
  for (const std::string& word : words) cut.push_back(word.substr(0, WordsBuilder::kWordCut));
  std::sort(cut.begin(), cut.end());
  cut.erase(std::unique(cut.begin(), cut.end()), cut.end());
  std::vector<Value> values;
  for (std::string& word : cut) values.push_back(Value::Text(std::move(word)));
  // Opening a part costs more than any block of this.
  PILUM_ASSIGN_OR_RETURN(const auto each, index->Each(values, uint64_t{1} << 40, ctx));
  if (!each) return all;
  RowSet may = all;
  for (const auto& parts : *each) {
    if (parts) may = may.Intersect(*parts);
  }
  return Told("segments", std::move(may)).Union(covers.Complement(parts_.size()));
}

Result<RowSet> WordSegment::MayHold(const FieldPath& column, const std::vector<std::string>& words,
                                    ReadContext& ctx) const {
  auto may = Ask(column, words, ctx);
  if (may.ok() || StopsARead(may.status())) return may;
  return RowSet::All(parts_.size());
}

}  // namespace pilum
