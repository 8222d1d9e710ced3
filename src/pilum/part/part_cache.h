// What one handle on a dataset keeps from listing to listing: prune headers by their part's name, and bundles by theirs. Both are
// about bytes that never change; what a listing no longer shows is forgotten. Thread-safe. Used inside part/ only.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "pilum/part/part_unit.h"

namespace pilum {

class PartCache {
 public:
  // As it was kept, of this listing.
  std::optional<LoadedPart> Find(const PartFile& file) const;
  void Keep(const LoadedPart& part);  // of use only with a header
  std::shared_ptr<const Bundle> FindBundle(const std::string& path) const;
  void Keep(const std::string& path, std::shared_ptr<const Bundle> bundle);

  // How many of these parts are not known.
  size_t CountUnknown(const std::vector<PartFile>& files) const;
  // Forgets all parts but these, and bundles of which none has its header.
  void Retain(const std::vector<PartFile>& files);
  void Clear();

 private:
  mutable std::mutex mutex_;
  std::map<std::string, LoadedPart> parts_;
  std::map<std::string, std::shared_ptr<const Bundle>> bundles_;
};

}  // namespace pilum
