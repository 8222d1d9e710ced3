// Was a local folder changed since it was listed? One look at the folder says so, instead of one at each of its names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pilum/io/read_only_store.h"

namespace pilum {

// Two equal ones of a folder, of which the second was asked for later: nothing was put there, renamed or removed between.
struct FolderStamp {
  uint64_t device = 0, inode = 0;
  int64_t modified_ns = 0, changed_ns = 0;  // the second cannot be set, but by changing the folder
  bool operator==(const FolderStamp&) const = default;
};

// Would a change at `now` or later, by the same clock, give a folder that last changed then another time? Not sooner than
// file systems tell times apart, nor where they tell seconds only.
bool IsSettled(int64_t changed_ns, int64_t now_ns);

// Of `folder` ("a/b") below the store's root. nullopt: the store is not local, the folder is not there or not settled.
std::optional<FolderStamp> StampOf(const ReadOnlyStore& store, const std::string& folder);

// As ListPaths of "FOLDER/". `stamp`: that of the folder before it was listed. nullopt, too, where what is listed can
// change without the folder (it holds folders or links), and on file systems whose times others than this machine keep
// or that may show old ones (network, FUSE, overlays).
Result<std::vector<std::string>> ListStamped(const ReadOnlyStore& store, const std::string& folder,
                                             std::optional<FolderStamp>* stamp, ReadContext& ctx);

}  // namespace pilum
