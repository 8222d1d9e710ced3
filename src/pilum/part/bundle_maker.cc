#include "pilum/part/bundle_maker.h"

#include <algorithm>
#include <map>

#include "pilum/base/hash.h"
#include "pilum/base/for_each.h"
#include "pilum/part/list_uniform.h"
#include "pilum/part/part_spool.h"

namespace pilum {
namespace {

constexpr size_t kAtOnce = 256;  // headers in memory beside those of the bundle that is made

class Maker {
 public:
  Maker(const DatasetFiles& files, const MaintainOptions& options, ReadContext& ctx)
      : files_(files), options_(options), ctx_(ctx) {}

  Result<CacheRefresh> Run(const ListedView& view) {
    wanted_ = BundledFiles(view);
    result_.parts = wanted_.size();
    if (wanted_.size() < BundleBook::kFewParts) return result_;  // readers do not look for them
    PILUM_ASSIGN_OR_RETURN(book_, BundleBook::Open(files_, ctx_));
    for (const ListedBundle& one : book_.bundles()) {
      if (!one.note.empty()) result_.notes.push_back(fmt::format("{}: {}", one.info.path, one.note));
    }
    PILUM_RETURN_NOT_OK(Sort());
    Dissolve();
    PILUM_RETURN_NOT_OK(Write());
    return result_;
  }

 private:
  // A part to bundle: where its header comes from.
  struct Item {
    Hash128 identity{};
    const PartFile* file = nullptr;
    const ListedBundle* from = nullptr;  // null: its own object
    size_t part = 0;
  };

  // Which parts each bundle holds for readers, and which have none.
  Status Sort() {
    PILUM_ASSIGN_OR_RETURN(const auto changed, HeaderTimes());
    for (const PartFile* file : wanted_) {
      Item item{IdentityOf(file->content_hash()), file};
      item.from = book_.BundleOf(*file, &item.part);
      const auto when = changed.find(files_.HeaderPath(file->name));
      if (when == changed.end()) {
        if (!item.from) result_.notes.push_back(fmt::format("part {}: it has no prune header", file->name));
        if (item.from) held_[item.from].push_back(item);
        continue;
      }
      if (item.from && !options_.all) {
        PILUM_ASSIGN_OR_RETURN(const bool current, IsCurrent(item, when->second));
        if (current) {
          held_[item.from].push_back(item);
          continue;
        }
      }
      item.from = nullptr;
      items_.push_back(item);
    }
    return Status::OK();
  }

  Result<std::map<std::string, StoreTime>> HeaderTimes() {
    PILUM_ASSIGN_OR_RETURN(auto listed, ListUniform(*files_.store, files_.prefix + "side/", ctx_));
    std::map<std::string, StoreTime> out;
    for (ObjectInfo& info : listed) {
      if (info.path.ends_with(".idxh")) out.emplace(std::move(info.path), info.modified);
    }
    return out;
  }

  // Does the bundle have the header as it is now? One that was not written since is the same.
  Result<bool> IsCurrent(const Item& item, StoreTime header_changed) {
    if (header_changed < item.from->info.modified) return true;
    auto header = OpenPartIndex(files_, files_.HeaderPath(item.file->name), SidecarKind::kHeader, item.identity, ctx_);
    if (!header.ok()) return StopsARead(header.status()) ? Result<bool>(header.status()) : true;
    PILUM_ASSIGN_OR_RETURN(const Hash128 hash, (*header)->sidecar().ContentHash(ctx_));
    return hash == item.from->bundle->parts()[item.part].header_hash;
  }

  // Bundles that are mostly of no use are made anew, and small ones become larger as there is more to add: a header is
  // written again log2 of a bundle's size times at most.
  void Dissolve() {
    std::vector<std::pair<size_t, const ListedBundle*>> by_size;
    for (const auto& [bundle, items] : held_) by_size.push_back({items.size(), bundle});
    std::sort(by_size.begin(), by_size.end(), [](const auto& a, const auto& b) {
      return std::pair(a.first, a.second->info.path) < std::pair(b.first, b.second->info.path);
    });
    for (const auto& [size, bundle] : by_size) {
      const bool mostly_dead = size * 2 < bundle->bundle->parts().size();
      const bool small = !items_.empty() && size <= 2 * items_.size() && size < BundleWriter::kMostParts / 2;
      if (!mostly_dead && !small) continue;
      const auto& held = held_.at(bundle);
      items_.insert(items_.end(), held.begin(), held.end());
    }
  }

  Status Write() {
    std::sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) { return a.identity < b.identity; });
    BundleWriter writer;
    for (size_t at = 0; at < items_.size(); at += kAtOnce) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      const size_t n = std::min(kAtOnce, items_.size() - at);
      std::vector<std::optional<BundledHeader>> headers(n);
      PILUM_RETURN_NOT_OK(ForEach(
          n, files_.parallel(ctx_),
          [&](size_t i) -> Status {
            PILUM_ASSIGN_OR_RETURN(headers[i], Header(items_[at + i]));
            return Status::OK();
          },
          files_.store->cost().remote ? 1 : 4));
      for (size_t i = 0; i < n; ++i) {
        if (!headers[i]) {
          result_.notes.push_back(fmt::format("part {}: its prune header cannot be used; rebuild it with backfill",
                                              items_[at + i].file->name));
          continue;
        }
        if (!writer.Fits(*headers[i])) PILUM_RETURN_NOT_OK(Close(&writer));
        if (writer.Fits(*headers[i])) writer.Add(std::move(*headers[i]));  // else too large for any
      }
    }
    return Close(&writer);
  }

  Result<std::optional<BundledHeader>> Header(const Item& item) {
    if (item.from) {
      auto taken = item.from->bundle->Take(item.part, ctx_);
      if (!taken.ok() && StopsARead(taken.status())) return taken;
      if (taken.ok() && *taken) return taken;  // else it is damaged, or was swept meanwhile
    }
    auto header = OpenPartIndex(files_, files_.HeaderPath(item.file->name), SidecarKind::kHeader, item.identity, ctx_);
    if (header.ok()) return BundledHeader::Of(**header, ctx_);
    if (StopsARead(header.status())) return header.status();
    return std::nullopt;
  }

  Status Close(BundleWriter* writer) {
    if (writer->size() == 0) return Status::OK();
    PILUM_ASSIGN_OR_RETURN(const std::string bytes, writer->Finish());
    const std::string path = files_.BundlePath(Hex(Blake3Of(bytes)));
    PILUM_RETURN_NOT_OK(WriteObject(*files_.store, path, bytes));
    result_.written += 1;
    result_.bytes += bytes.size();
    result_.fresh += writer->size();
    *writer = BundleWriter();
    return Status::OK();
  }

  const DatasetFiles& files_;
  const MaintainOptions options_;
  ReadContext& ctx_;
  BundleBook book_;
  std::vector<const PartFile*> wanted_;
  std::map<const ListedBundle*, std::vector<Item>> held_;
  std::vector<Item> items_;
  CacheRefresh result_;
};

}  // namespace

std::vector<const PartFile*> BundledFiles(const ListedView& view) {
  std::vector<const PartFile*> out;
  for (const PartFile& file : view.parts.visible) {
    if (!file.content_hash().empty()) out.push_back(&file);
  }
  for (const HiddenPart& hidden : view.parts.hidden) {
    if (hidden.file.plan()) out.push_back(&hidden.file);
  }
  return out;
}

Result<CacheRefresh> MakeBundles(const DatasetFiles& files, const ListedView& view, const MaintainOptions& options,
                                 ReadContext& ctx) {
  return Maker(files, options, ctx).Run(view);
}

}  // namespace pilum
