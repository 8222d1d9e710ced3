// What a folder of the real file system would hold if the power were cut: this program's calls of fsync, link, rename,
// unlink and mkdir are its own (local_disk.cc), and are looked at while a LocalDisk lives. One at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace pilum::testing {

class LocalDisk {
 public:
  using Files = std::map<std::string, std::string>;  // path below the root -> bytes
  // All that is below `root` now is durable.
  explicit LocalDisk(std::string root);
  ~LocalDisk();
  LocalDisk(const LocalDisk&) = delete;

  // What may be left. A folder's entries are as they were when it was synced, or as they are; a file's bytes as they were
  // when it was synced, else it is empty. So it is told for each choice of folders whose entries were written in time.
  std::vector<Files> Left();
  // Before each of those calls.
  void OnCall(std::function<void(const std::string& call)> look);

  uint64_t syncs() const;      // so far
  uint64_t own_syncs() const;  // those of the thread that made this object: so often it waited

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace pilum::testing
