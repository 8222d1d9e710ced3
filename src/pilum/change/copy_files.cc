#include "pilum/change/copy_files.h"

#include <algorithm>
#include <map>

#include <arrow/buffer.h>

namespace pilum {
namespace {

constexpr uint64_t kChunk = 4 << 20;

class Copier {
 public:
  Copier(const Table& table, const std::shared_ptr<ObjectStore>& target, std::vector<std::string>* written,
         ReadContext& ctx)
      : table_(table), target_(target), written_(written), ctx_(ctx) {}

  Status Copy(const Fragment& fragment) {
    for (const DataFile& file : fragment.files) {
      PILUM_ASSIGN_OR_RETURN(const Place place, PlaceOf(file.base_id));
      PILUM_RETURN_NOT_OK(CopyOne(place, place.Below("data/") + file.path, "data/" + file.path, file.size));
      const std::string stem = file.path.substr(0, file.path.rfind('.'));
      PILUM_RETURN_NOT_OK(CopyFolder(place, place.Below("data/") + stem + "/", "data/" + stem + "/"));
    }
    if (!fragment.deletions) return Status::OK();
    PILUM_ASSIGN_OR_RETURN(const Place place, PlaceOf(fragment.deletions->base_id));
    const std::string path = fragment.deletions->Path(fragment.id);
    const std::string name = path.substr(path.find('/') + 1);
    return CopyOne(place, place.Below("_deletions/") + name, path, 0);
  }

  Status Copy(const TableIndex& index) {
    PILUM_ASSIGN_OR_RETURN(const Place place, PlaceOf(index.base_id));
    const std::string folder = "_indices/" + index.uuid + "/";
    PILUM_RETURN_NOT_OK(CopyFolder(place, place.Below(folder), folder));
    for (const IndexFile& file : index.files) {
      if (!copied_.contains(folder + file.path)) {
        return NotFoundError("{}/{}{}: a file of index '{}' is not there", place.store->uri(), place.Below(folder),
                             file.path, index.name);
      }
    }
    return Status::OK();
  }

 private:
  struct Place {
    std::shared_ptr<const ReadOnlyStore> owned;
    const ReadOnlyStore* store = nullptr;
    bool is_root = true;
    std::string Below(const std::string& folder) const { return is_root ? folder : ""; }
  };

  Result<Place> PlaceOf(const std::optional<uint32_t>& base_id) {
    if (!base_id) return Place{nullptr, &table_.store()};
    if (const auto at = places_.find(*base_id); at != places_.end()) return at->second;
    for (const BasePath& base : table_.manifest().base_paths) {
      if (base.id != *base_id) continue;
      PILUM_ASSIGN_OR_RETURN(
          auto store, ReadOnlyStore::Open(base.path, IsRemoteUri(base.path) ? table_.options() : StoreOptions()));
      const ReadOnlyStore* raw = store.get();
      return places_[*base_id] = Place{std::move(store), raw, base.is_dataset_root};
    }
    return Corrupt(table_.uri(), "manifest", fmt::format("there is no base path {}", *base_id));
  }

  Status CopyFolder(const Place& place, const std::string& from, const std::string& to) {
    PILUM_ASSIGN_OR_RETURN(const auto paths, place.store->ListPaths(from, ctx_));
    for (const std::string& path : paths) {
      PILUM_RETURN_NOT_OK(CopyOne(place, path, to + path.substr(from.size()), 0));
    }
    return Status::OK();
  }

  // `size`: what the manifest says; 0: nothing.
  Status CopyOne(const Place& place, const std::string& from, const std::string& to, uint64_t size) {
    const std::string whole = place.store->uri() + "/" + from;
    const auto [at, is_new] = copied_.emplace(to, whole);
    if (!is_new && at->second == whole) return Status::OK();
    if (!is_new) return UsageError("{} and {} would both be {}", at->second, whole, to);
    PILUM_ASSIGN_OR_RETURN(auto source, place.store->OpenSource(from, ctx_));
    if (size != 0 && source->size() != size) {
      return Corrupt(whole, "", fmt::format("it has {} bytes, and the manifest says {}", source->size(), size));
    }
    PILUM_ASSIGN_OR_RETURN(auto sink, target_->CreateUnsynced(to));
    written_->push_back(to);
    for (uint64_t at_byte = 0; at_byte < source->size();) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      const uint64_t n = std::min(kChunk, source->size() - at_byte);
      PILUM_ASSIGN_OR_RETURN(const auto bytes, source->ReadRange({at_byte, n}, ctx_));
      PILUM_RETURN_NOT_OK(sink->Write(bytes->data(), n));
      at_byte += n;
    }
    return sink->Close();
  }

  const Table& table_;
  const std::shared_ptr<ObjectStore> target_;
  std::vector<std::string>* const written_;
  ReadContext& ctx_;
  std::map<uint32_t, Place> places_;
  std::map<std::string, std::string> copied_;  // path in the target -> where it came from
};

}  // namespace

Status CopyFiles(const Table& table, const StoredVersion& version, const std::shared_ptr<ObjectStore>& target,
                 std::vector<std::string>* written, ReadContext& ctx) {
  Copier copier(table, target, written, ctx);
  for (const Fragment& f : version.read->fragments) PILUM_RETURN_NOT_OK(copier.Copy(f));
  PILUM_ASSIGN_OR_RETURN(const auto indices, table.Indices(ctx));
  for (const TableIndex& index : indices) PILUM_RETURN_NOT_OK(copier.Copy(index));
  return Status::OK();
}

}  // namespace pilum
