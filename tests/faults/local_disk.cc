#include "tests/faults/local_disk.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <set>
#include <thread>

namespace pilum::testing {
namespace fs = std::filesystem;
namespace {

// A file or folder, told from those that had its number before.
using Node = std::pair<uint64_t, uint64_t>;
struct Entry {
  Node node;
  bool is_folder = false;
  bool operator==(const Entry&) const = default;
};
using Entries = std::map<std::string, Entry>;

std::string BytesOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

struct LocalDisk::State {
  std::string root;
  std::thread::id owner = std::this_thread::get_id();
  std::function<void(const std::string&)> look;
  bool looking = false;  // calls made by `look` are not looked at
  uint64_t syncs = 0, own_syncs = 0;
  std::map<uint64_t, uint64_t> reused;  // number -> how many had it before
  std::map<Node, std::string> bytes;    // of files, when they were synced
  std::map<Node, Entries> entries;      // of folders

  Node NodeOf(const std::string& path) {
    struct stat st {};
    return ::lstat(path.c_str(), &st) == 0 ? Node{st.st_ino, reused[st.st_ino]} : Node{};
  }
  Entries Live(const std::string& folder) {
    Entries out;
    std::error_code ec;
    for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec)) {
      out[it->path().filename()] = {NodeOf(it->path()), it->is_directory()};
    }
    return out;
  }
  bool IsBelow(const std::string& path) const { return path == root || path.starts_with(root + "/"); }

  void Synced(const std::string& path) {
    ++syncs;
    own_syncs += std::this_thread::get_id() == owner;
    if (fs::is_directory(path)) {
      entries[NodeOf(path)] = Live(path);
    } else {
      bytes[NodeOf(path)] = BytesOf(path);
    }
  }
  void AllIsDurable(const std::string& folder) {
    entries[NodeOf(folder)] = Live(folder);
    for (const auto& [name, entry] : Live(folder)) {
      const std::string path = folder + "/" + name;
      if (entry.is_folder) AllIsDurable(path);
      if (!entry.is_folder) bytes[entry.node] = BytesOf(path);
    }
  }
  // Nothing may be found under its number any more.
  void Gone(const std::string& path) {
    struct stat st {};
    if (::lstat(path.c_str(), &st) == 0 && st.st_nlink == 1) ++reused[st.st_ino];
  }

  // Folders whose entries are not all durable.
  void AddUncertain(const std::string& folder, std::vector<Node>* out) {
    const Entries live = Live(folder);
    if (live != entries[NodeOf(folder)]) out->push_back(NodeOf(folder));
    for (const auto& [name, entry] : live) {
      if (entry.is_folder) AddUncertain(folder + "/" + name, out);
    }
  }
  void AddLeft(const std::string& folder, Node node, const std::string& prefix, const std::set<Node>& written,
               Files* out) {
    for (const auto& [name, entry] : written.contains(node) ? Live(folder) : entries[node]) {
      const std::string path = folder + "/" + name;
      if (entry.is_folder) {
        AddLeft(path, entry.node, prefix + name + "/", written, out);
      } else {
        const auto at = bytes.find(entry.node);
        (*out)[prefix + name] = at == bytes.end() ? "" : at->second;
      }
    }
  }
};

namespace {

std::mutex mutex;
LocalDisk::State* disk = nullptr;  // under it
thread_local bool inside = false;  // calls that the disk itself makes

// `path` as an absolute one where it is below the disk's root; else nothing is done.
template <typename Before, typename Call, typename After>
int Watched(const std::string& what, const std::string& path, Before before, Call call, After after) {
  if (inside) return call();
  std::lock_guard lock(mutex);
  if (disk == nullptr || !disk->IsBelow(path) || disk->looking) return call();
  inside = true;
  if (disk->look) disk->look(what + " " + path);
  before(*disk);
  const int done = call();
  const int error = errno;
  if (done == 0) after(*disk);
  inside = false;
  errno = error;
  return done;
}

void Nothing(LocalDisk::State&) {}

int WatchedSync(int fd, long number) {
  std::error_code ec;
  const std::string path =
      inside ? std::string() : fs::read_symlink("/proc/self/fd/" + std::to_string(fd), ec).string();
  return Watched(
      "sync", path, Nothing, [&] { return static_cast<int>(::syscall(number, fd)); },
      [&](LocalDisk::State& d) { d.Synced(path); });
}

}  // namespace

LocalDisk::LocalDisk(std::string root) : state_(std::make_unique<State>()) {
  state_->root = fs::canonical(root);
  state_->AllIsDurable(state_->root);
  std::lock_guard lock(mutex);
  disk = state_.get();
}

LocalDisk::~LocalDisk() {
  std::lock_guard lock(mutex);
  disk = nullptr;
}

std::vector<LocalDisk::Files> LocalDisk::Left() {
  State& s = *state_;
  std::vector<Node> uncertain;
  s.AddUncertain(s.root, &uncertain);
  std::set<Files> out;
  for (uint64_t choice = 0; choice < uint64_t{1} << uncertain.size(); ++choice) {
    std::set<Node> written;
    for (size_t i = 0; i < uncertain.size(); ++i) {
      if (choice >> i & 1) written.insert(uncertain[i]);
    }
    Files left;
    s.AddLeft(s.root, s.NodeOf(s.root), "", written, &left);
    out.insert(std::move(left));
  }
  return {out.begin(), out.end()};
}

void LocalDisk::OnCall(std::function<void(const std::string&)> look) { state_->look = std::move(look); }
uint64_t LocalDisk::syncs() const { return state_->syncs; }
uint64_t LocalDisk::own_syncs() const { return state_->own_syncs; }

}  // namespace pilum::testing

// In place of the C library's.
extern "C" {

int fsync(int fd) { return pilum::testing::WatchedSync(fd, SYS_fsync); }
int fdatasync(int fd) { return pilum::testing::WatchedSync(fd, SYS_fdatasync); }

int link(const char* from, const char* to) noexcept {
  return pilum::testing::Watched(
      "link", to, pilum::testing::Nothing,
      [&] { return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0)); },
      pilum::testing::Nothing);
}

int rename(const char* from, const char* to) noexcept {
  return pilum::testing::Watched(
      "rename", to, [&](pilum::testing::LocalDisk::State& d) { d.Gone(to); },
      [&] { return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0)); },
      pilum::testing::Nothing);
}

int unlink(const char* path) noexcept {
  return pilum::testing::Watched(
      "unlink", path, [&](pilum::testing::LocalDisk::State& d) { d.Gone(path); },
      [&] { return static_cast<int>(::syscall(SYS_unlinkat, AT_FDCWD, path, 0)); }, pilum::testing::Nothing);
}

int mkdir(const char* path, mode_t mode) noexcept {
  return pilum::testing::Watched(
      "mkdir", path, pilum::testing::Nothing,
      [&] { return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode)); }, pilum::testing::Nothing);
}
}
