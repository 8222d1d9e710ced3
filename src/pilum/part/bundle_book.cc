#include "pilum/part/bundle_book.h"

#include "pilum/file/schema_wire.h"
#include "pilum/part/list_caches.h"
#include "pilum/part/part_cache.h"

namespace pilum {
namespace {

Result<std::shared_ptr<const Bundle>> OpenOne(const DatasetFiles& files, const ObjectInfo& info, ReadContext& ctx) {
  const std::string& path = info.path;
  if (files.cache) {
    if (auto known = files.cache->FindBundle(path)) return known;
  }
  PILUM_ASSIGN_OR_RETURN(auto source, files.OpenContent(path, info.size, ctx));
  PILUM_ASSIGN_OR_RETURN(auto bundle, Bundle::Open(std::move(source), StoredSchema, ctx));
  if (files.cache) files.cache->Keep(path, bundle);
  return bundle;
}

}  // namespace

// Named by its content, as a part is.
bool IsBundle(std::string_view path) {
  constexpr std::string_view kSuffix = ".bundle";
  if (!path.ends_with(kSuffix)) return false;
  path.remove_suffix(kSuffix.size());
  return IsContentName(path.substr(path.rfind('/') + 1));
}

Result<BundleBook> BundleBook::Open(const DatasetFiles& files, ReadContext& ctx) {
  BundleBook book;
  book.is_open_ = true;
  auto listed = ListCaches(
      files, "bundles/", &ListedBundle::bundle, IsBundle,
      [&](const ObjectInfo& info) { return OpenOne(files, info, ctx); }, ctx);
  if (!listed.ok() && StopsARead(listed.status())) return listed.status();
  if (listed.ok()) book.bundles_ = std::move(*listed);
  return book;
}

const ListedBundle* BundleBook::BundleOf(const PartFile& file, size_t* part) const {
  const std::string_view digits = file.content_hash();
  if (digits.empty()) return nullptr;
  const Hash128 identity = IdentityOf(digits);
  for (const ListedBundle& one : bundles_) {
    const auto at = one.bundle ? one.bundle->Find(identity) : std::nullopt;
    if (!at) continue;
    *part = *at;
    return &one;
  }
  return nullptr;
}

std::optional<LoadedPart> BundleBook::Find(const PartFile& file) const {
  size_t at = 0;
  const ListedBundle* one = BundleOf(file, &at);
  if (!one) return std::nullopt;
  const BundledPart& known = one->bundle->parts()[at];
  LoadedPart part;
  part.file = file;
  part.identity = known.identity;
  part.schema = known.schema;
  part.num_rows = known.num_rows;
  part.header = one->bundle->Header(at);
  part.bundle = one->bundle;
  part.bundle_part = at;
  return part;
}

}  // namespace pilum
