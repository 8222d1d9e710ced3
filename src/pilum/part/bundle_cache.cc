#include "pilum/part/bundle_cache.h"

#include <algorithm>
#include <set>
#include <tuple>

#include <arrow/type.h>

#include "pilum/file/schema_wire.h"
#include "pilum/part/bundle_maker.h"

namespace pilum {
namespace {

bool SamePieces(BundledHeader a, BundledHeader b) {
  const auto key = [](const BundledHeader::Piece& p) { return std::tie(p.columns, p.family, p.family_version, p.raw); };
  const auto less = [&](const auto& x, const auto& y) { return key(x) < key(y); };
  std::sort(a.pieces.begin(), a.pieces.end(), less);
  std::sort(b.pieces.begin(), b.pieces.end(), less);
  return a.part.num_rows == b.part.num_rows &&
         std::equal(a.pieces.begin(), a.pieces.end(), b.pieces.begin(), b.pieces.end(),
                    [&](const auto& x, const auto& y) { return key(x) == key(y); });
}

class BundleCache final : public MaintainedCache {
 public:
  std::string_view name() const override { return "bundles"; }

  Result<CacheRefresh> Refresh(const DatasetFiles& files, const ListedView& view, const MaintainOptions& options,
                               ReadContext& ctx) const override {
    return MakeBundles(files, view, options, ctx);
  }

  // Those that give no part's header: since the newest bundle appeared, or they themselves.
  Result<std::vector<ObsoleteObject>> Obsolete(const DatasetFiles& files, const ListedView& view,
                                               ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(const BundleBook book, BundleBook::Open(files, ctx));
    std::set<const ListedBundle*> used;
    for (const PartFile* file : BundledFiles(view)) {
      size_t part = 0;
      used.insert(book.BundleOf(*file, &part));
    }
    StoreTime newest{};
    for (const ListedBundle& one : book.bundles()) newest = std::max(newest, one.info.modified);
    std::vector<ObsoleteObject> out;
    for (const ListedBundle& one : book.bundles()) {
      if (!used.contains(&one)) out.push_back({one.info, newest});
    }
    return out;
  }

  Status Check(const DatasetFiles& files, const ListedView& view, ReadContext& ctx,
               std::vector<Status>* faults) const override {
    PILUM_ASSIGN_OR_RETURN(const BundleBook book, BundleBook::Open(files, ctx));
    for (const ListedBundle& one : book.bundles()) {
      if (!one.bundle) faults->push_back(Corrupt(one.info.path, "", one.note));
    }
    for (const PartFile* file : BundledFiles(view)) {
      size_t part = 0;
      const ListedBundle* one = book.BundleOf(*file, &part);
      if (!one) continue;
      PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_RETURN_NOT_OK(CheckPart(files, *file, *one, part, ctx, faults));
    }
    return Status::OK();
  }

 private:
  // A bundle may have a header of before.
  static Status CheckPart(const DatasetFiles& files, const PartFile& file, const ListedBundle& one, size_t part,
                          ReadContext& ctx, std::vector<Status>* faults) {
    const auto fault = [&](std::string_view what) {
      faults->push_back(Corrupt(one.info.path, fmt::format("part {}", file.name), what));
      return Status::OK();
    };
    PILUM_ASSIGN_OR_RETURN(const auto held, one.bundle->Take(part, ctx));
    if (!held) return fault("its header there is damaged; make it anew with maintain --all");
    auto header = OpenPartIndex(files, files.HeaderPath(file.name), SidecarKind::kHeader, held->part.identity, ctx);
    if (!header.ok()) return StopsARead(header.status()) ? header.status() : Status::OK();
    PILUM_ASSIGN_OR_RETURN(auto own, BundledHeader::Of(**header, ctx));
    if (!own || own->part.header_hash != held->part.header_hash) return Status::OK();
    PILUM_ASSIGN_OR_RETURN(own->part.schema, StoredSchema(*own->part.schema));
    if (own->part.schema->Equals(*held->part.schema, true) && SamePieces(*own, *held)) return Status::OK();
    return fault("it says other than the part's prune header; make it anew with maintain --all");
  }
};

}  // namespace

std::unique_ptr<MaintainedCache> MakeBundleCache() { return std::make_unique<BundleCache>(); }

}  // namespace pilum
