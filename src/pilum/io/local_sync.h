// Making several files and folders of a local disk durable in few waits. Called by local_store.cc. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "pilum/base/status.h"

namespace pilum {

struct ToSync {
  std::string path;
  bool is_folder = false;
  int fd = -1;  // where it is open already; it stays so
};

// All of them, in no order that counts: what must be durable before something else happens is in one call. As many waits
// one after another as the longest of the stripes (ADR 0023). Any error: none of them is to be relied on.
Status SyncTogether(const std::vector<ToSync>& all);
// The files at these paths, and each of their folders once.
std::vector<ToSync> WithFolders(const std::vector<std::string>& files);

}  // namespace pilum
