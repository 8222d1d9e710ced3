#include "pilum/io/local_sync.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>

#include "pilum/io/local_file.h"

namespace pilum {
namespace {

constexpr size_t kMostThreads = 8;
constexpr size_t kStripe = 3;     // so many waits are cheaper than one more thread
constexpr size_t kMostOpen = 64;  // files whose writing is begun ahead

int Open(const ToSync& one) {
  return ::open(one.path.c_str(), (one.is_folder ? O_RDONLY | O_DIRECTORY : O_RDONLY) | O_CLOEXEC);
}

// The system begins to write what lies in its memory, and finds the blocks for it: the first sync then takes all of that
// along in its turn of the file system's journal. The file is then open.
int BeginWriting(const ToSync& one) {
  const int fd = one.fd >= 0 ? one.fd : Open(one);
  if (fd >= 0) (void)::sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
  return fd;  // where there is none, its sync says why
}

// `begun`: of BeginWriting.
Status SyncOne(const ToSync& one, int begun) {
  if (one.fd >= 0) return SyncFile(one.fd, one.path);
  const int fd = begun >= 0 ? begun : Open(one);
  if (fd < 0) return ErrnoStatus(one.path, "cannot be opened", errno);
  Status st = SyncFile(fd, one.path);
  ::close(fd);
  return st;
}

}  // namespace

Status SyncTogether(const std::vector<ToSync>& all) {
  std::vector<int> begun(all.size(), -1);
  for (size_t i = 0; i < all.size() && all.size() <= kMostOpen; ++i) {
    if (!all[i].is_folder) begun[i] = BeginWriting(all[i]);
  }
  const size_t stripes = std::clamp<size_t>((all.size() + kStripe - 1) / kStripe, 1, kMostThreads);
  std::vector<Status> done(stripes);
  const auto work = [&](size_t stripe) {
    for (size_t i = stripe; i < all.size(); i += stripes) {
      if (done[stripe].ok()) {
        done[stripe] = SyncOne(all[i], begun[i]);
      } else if (all[i].fd < 0 && begun[i] >= 0) {
        ::close(begun[i]);
      }
    }
  };
  {
    std::vector<std::jthread> helpers;
    size_t stripe = 1;
    try {
      for (; stripe < stripes; ++stripe) helpers.emplace_back(work, stripe);
    } catch (const std::system_error&) {  // no more threads: this one does it
      for (; stripe < stripes; ++stripe) work(stripe);
    }
    work(0);
  }
  for (const Status& st : done) PILUM_RETURN_NOT_OK(st);
  return Status::OK();
}

std::vector<ToSync> WithFolders(const std::vector<std::string>& files) {
  std::set<std::string> folders;
  std::vector<ToSync> out;
  for (const std::string& path : files) {
    out.push_back({path});
    folders.insert(std::filesystem::path(path).parent_path().string());
  }
  for (const std::string& folder : folders) out.push_back({folder, /*is_folder=*/true});
  return out;
}

}  // namespace pilum
