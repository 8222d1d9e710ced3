#include "pilum/io/memory_names.h"

#include <atomic>
#include <map>
#include <mutex>

#include "pilum/io/folder_store.h"
#include "pilum/io/store_impl.h"

namespace pilum {
namespace {

constexpr std::string_view kScheme = "memory://";

std::atomic<bool> refused = false;

// All stores of this process by the URI that leads to them.
class MemoryNames {
 public:
  MemoryPlace Find(const std::string& uri) {
    const std::lock_guard lock(mutex_);
    return FindLocked(uri);
  }

  MemoryPlace Renew(const std::string& uri) {
    const std::lock_guard lock(mutex_);
    return NewLocked(uri);
  }

 private:
  // The longest name or store that the URI lies below. What lies below none becomes a name.
  MemoryPlace FindLocked(const std::string& uri) {
    for (std::string head = uri;;) {
      const MemoryPlace at = ExactLocked(head);
      if (at.store && head == uri) return at;
      if (at.store) {
        const std::string folder = uri.substr(head.size() + 1);
        return {at.uri + "/" + folder, FolderOf(at.store, folder)};
      }
      const size_t slash = head.rfind('/');
      if (slash < kScheme.size()) return NewLocked(uri);
      head.resize(slash);
    }
  }

  MemoryPlace ExactLocked(const std::string& uri) const {
    if (const auto named = names_.find(uri); named != names_.end()) return named->second;
    const auto store = stores_.find(uri);
    return store == stores_.end() ? MemoryPlace{} : MemoryPlace{uri, store->second.lock()};
  }

  MemoryPlace NewLocked(const std::string& uri) {
    std::erase_if(stores_, [](const auto& entry) { return entry.second.expired(); });
    const std::string own = fmt::format("{}#{}", uri, ++last_);
    const MemoryPlace place{own, ObjectStore::Memory(own)};
    stores_[own] = place.store;
    if (uri != kScheme) names_[uri] = place;
    return place;
  }

  std::mutex mutex_;
  std::map<std::string, MemoryPlace> names_;                  // by what users call them; these are kept
  std::map<std::string, std::weak_ptr<ObjectStore>> stores_;  // by their own URIs
  uint64_t last_ = 0;
};

MemoryNames& Names() {
  static auto* const names = new MemoryNames;  // outlives whoever may still read at exit
  return *names;
}

Result<std::string> Checked(std::string_view uri) {
  std::string_view path = uri.substr(kScheme.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  if (refused) {
    return Unsupported("{}: what is in memory ends with the process that made it; give a folder, or s3://BUCKET/PREFIX",
                       uri);
  }
  if (!path.empty()) PILUM_RETURN_NOT_OK(CheckObjectPath(path));
  return std::string(kScheme).append(path);
}

}  // namespace

bool IsMemoryUri(std::string_view uri) { return uri.starts_with(kScheme); }

Result<MemoryPlace> FindMemoryPlace(std::string_view uri) {
  PILUM_ASSIGN_OR_RETURN(const std::string checked, Checked(uri));
  return Names().Find(checked);
}

Result<MemoryPlace> EmptyMemoryPlace(std::string_view uri) {
  PILUM_ASSIGN_OR_RETURN(const std::string checked, Checked(uri));
  if (checked == kScheme) return Names().Renew(checked);
  MemoryPlace at = Names().Find(checked);
  PILUM_ASSIGN_OR_RETURN(const auto there, at.store->List(""));
  return there.empty() ? at : Names().Renew(checked);
}

void RefuseMemoryStores() { refused = true; }

}  // namespace pilum
