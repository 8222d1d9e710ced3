#include "pilum/part/segment_cache.h"

#include <algorithm>
#include <map>
#include <set>

#include "pilum/part/list_uniform.h"
#include "pilum/part/word_segments.h"

namespace pilum {
namespace {

constexpr size_t kMostParts = 1024;  // of one segment
constexpr size_t kMostSegments = 8;  // beside those that are full; with more, all is written anew

struct Place {
  const ListedSegment* segment = nullptr;
  uint64_t part = 0;
};

// Where each part is: the newest segment that has it.
std::map<Hash128, Place> PlacesOf(const std::vector<ListedSegment>& segments) {
  std::map<Hash128, Place> out;
  for (const ListedSegment& one : segments) {
    for (uint64_t p = 0; one.segment && p < one.segment->parts().size(); ++p)
      out.emplace(one.segment->parts()[p], Place{&one, p});
  }
  return out;
}

class SegmentCache final : public MaintainedCache {
 public:
  std::string_view name() const override { return "segments"; }

  Result<CacheRefresh> Refresh(const DatasetFiles& files, const ListedView& view, const MaintainOptions& options,
                               ReadContext& ctx) const override {
    CacheRefresh result;
    PILUM_ASSIGN_OR_RETURN(const auto terms, TermsTimes(files, ctx));
    std::vector<const PartFile*> wanted;
    for (const PartFile& file : view.parts.visible) {
      if (!file.content_hash().empty() && terms.contains(files.TermsPath(file.name))) wanted.push_back(&file);
    }
    result.parts = wanted.size();
    if (wanted.size() < WordSegments::kFewParts) return result;  // readers do not look for them
    PILUM_ASSIGN_OR_RETURN(const auto segments, ListSegments(files, ctx));
    for (const ListedSegment& one : segments) {
      if (!one.segment) result.notes.push_back(fmt::format("{}: {}", one.info.path, one.note));
    }
    const auto places = PlacesOf(segments);
    std::vector<const PartFile*> missing;
    for (const PartFile* file : wanted) {
      const auto place = places.find(IdentityOf(file->content_hash()));
      const bool current =
          place != places.end() && terms.at(files.TermsPath(file->name)) <= place->second.segment->info.modified;
      if (!current || options.all) missing.push_back(file);
    }
    if (missing.empty()) return result;
    const size_t small = static_cast<size_t>(std::count_if(segments.begin(), segments.end(), [](const auto& one) {
      return one.segment && one.segment->parts().size() < kMostParts;
    }));
    if (small >= kMostSegments) missing = wanted;
    for (size_t at = 0; at < missing.size(); at += kMostParts) {
      const size_t n = std::min(kMostParts, missing.size() - at);
      const auto begin = missing.begin() + static_cast<std::ptrdiff_t>(at);
      PILUM_ASSIGN_OR_RETURN(const ObjectInfo made,
                             WriteSegment(files, {begin, begin + static_cast<std::ptrdiff_t>(n)}, &result.notes, ctx));
      if (made.path.empty()) continue;
      result.fresh += n;
      ++result.written;
      result.bytes += made.size;
    }
    return result;
  }

  // Those that are asked about no part: since the newest segment appeared.
  Result<std::vector<ObsoleteObject>> Obsolete(const DatasetFiles& files, const ListedView& view,
                                               ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(const auto segments, ListSegments(files, ctx));
    const auto places = PlacesOf(segments);
    std::set<const ListedSegment*> used;
    const auto use = [&](const PartFile& file) {
      if (file.content_hash().empty()) return;
      const auto place = places.find(IdentityOf(file.content_hash()));
      if (place != places.end()) used.insert(place->second.segment);
    };
    for (const PartFile& file : view.parts.visible) use(file);
    for (const HiddenPart& hidden : view.parts.hidden) use(hidden.file);
    StoreTime newest{};
    for (const ListedSegment& one : segments) newest = std::max(newest, one.info.modified);
    std::vector<ObsoleteObject> out;
    for (const ListedSegment& one : segments) {
      if (!used.contains(&one)) out.push_back({one.info, newest});
    }
    return out;
  }

  Status Check(const DatasetFiles& files, const ListedView& view, ReadContext& ctx,
               std::vector<Status>* faults) const override {
    PILUM_ASSIGN_OR_RETURN(const auto segments, ListSegments(files, ctx));
    for (const ListedSegment& one : segments) {
      if (!one.segment) faults->push_back(Corrupt(one.info.path, "", one.note));
    }
    const auto places = PlacesOf(segments);
    for (const PartFile& file : view.parts.visible) {
      if (file.content_hash().empty()) continue;
      const auto place = places.find(IdentityOf(file.content_hash()));
      if (place == places.end()) continue;
      PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_RETURN_NOT_OK(CheckSegment(files, *place->second.segment, file, place->second.part, ctx, faults));
    }
    return Status::OK();
  }

 private:
  static Result<std::map<std::string, StoreTime>> TermsTimes(const DatasetFiles& files, ReadContext& ctx) {
    PILUM_ASSIGN_OR_RETURN(auto listed, ListUniform(*files.store, files.prefix + "side/", ctx));
    std::map<std::string, StoreTime> out;
    for (ObjectInfo& info : listed) {
      if (info.path.ends_with(SidecarSuffix::kTerms)) out.emplace(std::move(info.path), info.modified);
    }
    return out;
  }
};

}  // namespace

std::unique_ptr<MaintainedCache> MakeSegmentCache() { return std::make_unique<SegmentCache>(); }

}  // namespace pilum
