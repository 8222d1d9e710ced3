#include "pilum/part/part_cache.h"

#include <algorithm>

namespace pilum {

std::optional<LoadedPart> PartCache::Find(const PartFile& file) const {
  std::lock_guard lock(mutex_);
  const auto it = parts_.find(file.name);
  // A file of a foreign name may have been replaced.
  if (it == parts_.end() || it->second.file.path != file.path || file.content_hash().empty()) return std::nullopt;
  LoadedPart part = it->second;
  part.file = file;
  return part;
}

void PartCache::Keep(const LoadedPart& part) {
  if (!part.header || part.file.content_hash().empty()) return;
  std::lock_guard lock(mutex_);
  parts_.insert_or_assign(part.file.name, part);
}

std::shared_ptr<const Bundle> PartCache::FindBundle(const std::string& path) const {
  std::lock_guard lock(mutex_);
  const auto it = bundles_.find(path);
  return it == bundles_.end() ? nullptr : it->second;
}

void PartCache::Keep(const std::string& path, std::shared_ptr<const Bundle> bundle) {
  std::lock_guard lock(mutex_);
  bundles_.insert_or_assign(path, std::move(bundle));
}

size_t PartCache::CountUnknown(const std::vector<PartFile>& files) const {
  std::lock_guard lock(mutex_);
  return static_cast<size_t>(
      std::count_if(files.begin(), files.end(), [&](const PartFile& f) { return !parts_.contains(f.name); }));
}

void PartCache::Retain(const std::vector<PartFile>& files) {
  std::lock_guard lock(mutex_);
  std::map<std::string, LoadedPart> kept;
  std::set<const Bundle*> used;
  for (const PartFile& file : files) {
    auto node = parts_.extract(file.name);
    if (!node) continue;
    used.insert(node.mapped().bundle.get());
    kept.insert(std::move(node));
  }
  parts_ = std::move(kept);
  std::erase_if(bundles_, [&](const auto& b) { return !used.contains(b.second.get()); });
}

void PartCache::Clear() {
  std::lock_guard lock(mutex_);
  parts_.clear();
  bundles_.clear();
}

}  // namespace pilum
