#include "pilum/part/word_segments.h"

#include "pilum/base/hash.h"
#include "pilum/part/list_caches.h"
#include "pilum/part/part_spool.h"
#include "pilum/part/part_unit.h"

namespace pilum {
namespace {

constexpr std::string_view kSuffix = ".seg";

// Columns whose words a .terms holds.
std::vector<FieldPath> WordColumns(const PartIndex& terms) {
  std::vector<FieldPath> out;
  for (const SectionEntry& e : terms.sidecar().entries()) {
    if (e.family == static_cast<uint16_t>(SectionFamily::kWords) && e.columns.size() == 1 &&
        terms.sidecar().Find(SectionFamily::kWords, &e.columns[0]) == &e)
      out.push_back(e.columns[0]);
  }
  return out;
}

}  // namespace

Result<std::vector<ListedSegment>> ListSegments(const DatasetFiles& files, ReadContext& ctx) {
  const auto open = [&](const ObjectInfo& info) -> Result<std::shared_ptr<const WordSegment>> {
    PILUM_ASSIGN_OR_RETURN(auto source, files.OpenContent(info.path, info.size, ctx));
    return WordSegment::Open(std::move(source), ctx);
  };
  const auto wanted = [](const std::string& path) { return path.ends_with(kSuffix); };
  return ListCaches(files, "segments/", &ListedSegment::segment, wanted, open, ctx);
}

Status WordSegments::Open(ReadContext& ctx) {
  auto listed = ListSegments(files_, ctx);
  if (!listed.ok() && StopsARead(listed.status())) return listed.status();
  open_ = true;
  if (!listed.ok()) return Status::OK();
  segments_ = std::move(*listed);
  for (size_t s = 0; s < segments_.size(); ++s) {
    if (!segments_[s].segment) continue;
    const auto& parts = segments_[s].segment->parts();
    for (uint64_t p = 0; p < parts.size(); ++p) places_.emplace(parts[p], Place{s, p});
  }
  return Status::OK();
}

Result<bool> WordSegments::MayHold(const Hash128& part, const FieldPath& column, const std::vector<std::string>& words,
                                   ReadContext& ctx) {
  std::lock_guard lock(mutex_);
  if (!open_) PILUM_RETURN_NOT_OK(Open(ctx));
  const auto place = places_.find(part);
  if (place == places_.end()) return true;
  auto& answers = answers_[{column, words}];
  answers.resize(segments_.size());
  auto& answer = answers[place->second.segment];
  if (!answer) {
    PILUM_ASSIGN_OR_RETURN(RowSet may, segments_[place->second.segment].segment->MayHold(column, words, ctx));
    answer = std::make_shared<const RowSet>(std::move(may));
  }
  return answer->Contains(place->second.part);
}

Result<ObjectInfo> WriteSegment(const DatasetFiles& files, const std::vector<const PartFile*>& parts,
                                std::vector<std::string>* notes, ReadContext& ctx) {
  WordSegmentBuilder builder;
  for (const PartFile* file : parts) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    const Hash128 identity = IdentityOf(file->content_hash());
    auto terms = OpenPartIndex(files, files.TermsPath(file->name), SidecarKind::kTerms, identity, ctx);
    // Read whole first: a part is in the segment with all of its words or not at all.
    std::vector<std::pair<FieldPath, std::shared_ptr<const InvertedIndex>>> columns;
    auto read = [&]() -> Status {
      PILUM_RETURN_NOT_OK(terms.status());
      for (const FieldPath& column : WordColumns(**terms)) {
        const SectionEntry* entry = (*terms)->sidecar().Find(SectionFamily::kWords, &column);
        PILUM_RETURN_NOT_OK((*terms)->sidecar().VerifySection(*entry, ctx));
        PILUM_ASSIGN_OR_RETURN(auto words, (*terms)->Words(column, ctx));
        if (!words) return Corrupt(files.TermsPath(file->name), column.ToString(), (*terms)->note());
        columns.emplace_back(column, std::move(words));
      }
      return Status::OK();
    };
    if (const Status st = read(); !st.ok()) {
      if (StopsARead(st)) return st;
      notes->push_back(fmt::format("part {}: {}", file->name, st.message()));
      continue;
    }
    builder.AddPart(identity);
    for (const auto& [column, words] : columns) PILUM_RETURN_NOT_OK(builder.AddColumn(column, *words, ctx));
  }
  if (builder.parts() == 0) return ObjectInfo();
  const std::string bytes = builder.Finish();
  ObjectInfo info;
  info.path = fmt::format("{}segments/{}{}", files.prefix, Hex(Blake3Of(bytes)), kSuffix);
  info.size = bytes.size();
  PILUM_RETURN_NOT_OK(files.store->PutIfAbsent(info.path, bytes).status());
  return info;
}

Status CheckSegment(const DatasetFiles& files, const ListedSegment& listed, const PartFile& file, uint64_t part,
                    ReadContext& ctx, std::vector<Status>* faults) {
  const Hash128 identity = IdentityOf(file.content_hash());
  auto terms = OpenPartIndex(files, files.TermsPath(file.name), SidecarKind::kTerms, identity, ctx);
  if (!terms.ok()) return StopsARead(terms.status()) ? terms.status() : Status::OK();
  for (const FieldPath& column : WordColumns(**terms)) {
    PILUM_ASSIGN_OR_RETURN(const auto words, (*terms)->Words(column, ctx));
    if (!words) continue;
    std::string lost;
    Status asked;
    const Status st = words->ForEachValue(
        [&](const Value& word) {
          if (!lost.empty() || !asked.ok()) return;
          auto may = listed.segment->MayHold(column, {word.as_bytes()}, ctx);
          if (!may.ok())
            asked = may.status();
          else if (!may->Contains(part))
            lost = word.as_bytes();
        },
        ctx);
    PILUM_RETURN_NOT_OK(asked);
    if (!st.ok()) return StopsARead(st) ? st : Status::OK();  // the part's own fault
    if (!lost.empty())
      faults->push_back(Corrupt(listed.info.path, fmt::format("part {}, column '{}'", file.name, column.ToString()),
                                fmt::format("it loses the word '{}'", lost)));
  }
  return Status::OK();
}

}  // namespace pilum
