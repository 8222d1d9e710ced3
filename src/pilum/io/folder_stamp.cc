#include "pilum/io/folder_stamp.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <ctime>

#include "pilum/io/local_folder.h"

namespace pilum {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kSettledAfter = 2 * kSecond;
constexpr long kXfs = 0x58465342;  // not in magic.h

int64_t Nanoseconds(const timespec& t) { return int64_t{t.tv_sec} * kSecond + t.tv_nsec; }

bool KeepsItsOwnTimes(const std::string& folder) {
  struct statfs fs;
  if (::statfs(folder.c_str(), &fs) != 0) return false;
  const auto type = static_cast<long>(fs.f_type);
  return type == EXT4_SUPER_MAGIC || type == kXfs || type == BTRFS_SUPER_MAGIC || type == TMPFS_MAGIC;
}

}  // namespace

bool IsSettled(int64_t changed_ns, int64_t now_ns) {
  return changed_ns % kSecond != 0 && now_ns > kSettledAfter && changed_ns < now_ns - kSettledAfter;
}

std::optional<FolderStamp> StampOf(const ReadOnlyStore& store, const std::string& folder) {
  const auto full = LocalFolder(store, folder);
  struct stat st;
  timespec now;
  if (!full || ::clock_gettime(CLOCK_REALTIME, &now) != 0 || ::stat(full->c_str(), &st) != 0) return std::nullopt;
  const FolderStamp stamp{st.st_dev, st.st_ino, Nanoseconds(st.st_mtim), Nanoseconds(st.st_ctim)};
  return IsSettled(stamp.changed_ns, Nanoseconds(now)) ? std::optional(stamp) : std::nullopt;
}

Result<std::vector<std::string>> ListStamped(const ReadOnlyStore& store, const std::string& folder,
                                             std::optional<FolderStamp>* stamp, ReadContext& ctx) {
  *stamp = StampOf(store, folder);
  const auto full = LocalFolder(store, folder);
  if (!full) return store.ListPaths(folder + "/", ctx);
  if (*stamp && !KeepsItsOwnTimes(*full)) stamp->reset();
  bool plain = true;
  PILUM_ASSIGN_OR_RETURN(auto paths, ListLocalFolder(store, folder, &plain, ctx));
  if (!plain) stamp->reset();
  return paths;
}

}  // namespace pilum
