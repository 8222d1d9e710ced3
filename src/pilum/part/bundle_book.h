// The bundles of a dataset, found by listing, and the prune headers of parts in them (docs/formats/bundle.md). A cache: whatever
// is missing or damaged is not in the book, and its parts' own headers are read. Used inside part/ only.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pilum/part/part_unit.h"

namespace pilum {

struct ListedBundle {
  ObjectInfo info;
  std::shared_ptr<const Bundle> bundle;  // null: it cannot be used
  std::string note;                      // why not
};

class BundleBook {
 public:
  // From this many parts on that are not known yet, bundles are worth a listing.
  static constexpr size_t kFewParts = 16;

  // Lists and opens. Errors only for what stops a read.
  static Result<BundleBook> Open(const DatasetFiles& files, ReadContext& ctx);
  bool is_open() const { return is_open_; }
  const std::vector<ListedBundle>& bundles() const { return bundles_; }  // the newest first
  // Which of them has a part's header: the newest that has it.
  const ListedBundle* BundleOf(const PartFile& file, size_t* part) const;
  // The part as its bundled header tells it; nullopt: read its own. Parts with a foreign name have no place in bundles.
  std::optional<LoadedPart> Find(const PartFile& file) const;

 private:
  std::vector<ListedBundle> bundles_;
  bool is_open_ = false;
};

bool IsBundle(std::string_view path);

}  // namespace pilum
