// Objects as files under a folder. Put-if-absent is link() of a finished, synced temporary: exclusive, and never half visible.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "pilum/io/local_file.h"
#include "pilum/io/local_folder.h"
#include "pilum/io/local_sync.h"
#include "pilum/io/object_store.h"
#include "pilum/io/store_impl.h"

namespace pilum {
namespace {

namespace fs = std::filesystem;

class LocalStore : public ObjectStore {
 public:
  explicit LocalStore(std::string root) : root_(std::move(root)) {
    while (root_.size() > 1 && root_.back() == '/') root_.pop_back();
  }
  const std::string& uri() const override { return root_; }

  Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(std::string full, Full(path));
    return OpenLocalFile(full, ctx);
  }

  Result<std::unique_ptr<ByteSink>> Create(const std::string& path) override {
    PILUM_ASSIGN_OR_RETURN(std::string full, Full(path));
    return CreateStoredFile(full, /*sync=*/true);
  }

  Result<std::unique_ptr<ByteSink>> CreateUnsynced(const std::string& path) override {
    PILUM_ASSIGN_OR_RETURN(std::string full, Full(path));
    return CreateStoredFile(full, /*sync=*/false);
  }

  Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) override {
    return Put(path, bytes, /*sync=*/true);
  }
  Result<bool> PutIfAbsentUnsynced(const std::string& path, std::string_view bytes) override {
    return Put(path, bytes, /*sync=*/false);
  }

  Result<bool> PutIfAbsentAfter(const std::string& path, std::string_view bytes,
                                const std::vector<std::string>& others) override {
    return Put(path, bytes, /*sync=*/true, others);
  }

  Status Sync(const std::vector<std::string>& paths) override {
    PILUM_ASSIGN_OR_RETURN(const auto files, FullEach(paths));
    return SyncTogether(WithFolders(files));
  }

  Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) override {
    PILUM_ASSIGN_OR_RETURN(std::string full, Full(path));
    PILUM_RETURN_NOT_OK(MakeParentFolders(full));
    int fd = ::open(local_file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return ErrnoStatus(local_file, "cannot be opened", errno);
    Status synced = SyncFile(fd, local_file);
    ::close(fd);
    PILUM_RETURN_NOT_OK(synced);
    int error = 0;
    if (TryLink(local_file, full, &error)) {
      PILUM_RETURN_NOT_OK(SyncFolderOf(full));
      ::unlink(local_file.c_str());
      return true;
    }
    if (error == EEXIST) return false;
    if (error != EXDEV && error != EPERM) return ErrnoStatus(full, "cannot be put in place", error);
    return CopyIfAbsent(local_file, full);  // the spool is on another file system
  }

  Result<std::vector<ObjectInfo>> ListBetween(const std::string& prefix, const std::string& after,
                                              const std::string& up_to, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto listed, ListFiles(prefix, /*temporary=*/false, ctx));
    std::erase_if(listed, [&](const ObjectInfo& o) { return o.path <= after || (!up_to.empty() && o.path > up_to); });
    return listed;
  }

  Result<std::vector<std::string>> ListPaths(const std::string& prefix, ReadContext& ctx) const override {
    std::vector<std::string> out;
    const size_t slash = prefix.rfind('/');
    bool plain = true;
    PILUM_RETURN_NOT_OK(AddPaths(slash == std::string::npos ? "" : prefix.substr(0, slash + 1), &out, &plain, ctx));
    std::erase_if(out, [&](const std::string& path) { return !path.starts_with(prefix); });
    return out;
  }

  std::string FolderPath(const std::string& folder) const { return root_ + "/" + folder; }
  Result<std::vector<std::string>> ListFolder(const std::string& folder, bool* plain, ReadContext& ctx) const {
    std::vector<std::string> out;
    PILUM_RETURN_NOT_OK(AddPaths(folder + "/", &out, plain, ctx));
    return out;
  }

  Result<std::vector<ObjectInfo>> ListUnfinished(const std::string& prefix) const override {
    ReadContext ctx;
    return ListFiles(prefix, /*temporary=*/true, ctx);
  }
  Status RemoveUnfinished(const ObjectInfo& unfinished) override { return Remove(unfinished.path); }

  Result<StoreTime> Now() const override {
    const std::string path = TemporaryName(root_ + "/clock");
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return ErrnoStatus(root_, "its clock cannot be read: a file cannot be made there", errno);
    struct stat st;
    const int error = ::fstat(fd, &st) == 0 ? 0 : errno;
    ::close(fd);
    ::unlink(path.c_str());
    if (error != 0) return ErrnoStatus(path, "cannot be looked at", error);
    return ChangeTime(st);
  }

  Result<bool> Exists(const std::string& path) const override {
    PILUM_ASSIGN_OR_RETURN(std::string full, Full(path));
    std::error_code ec;
    bool there = fs::exists(full, ec);
    if (ec) return ErrnoStatus(full, "cannot be looked up", ec.value());
    return there;
  }

  Status Remove(const std::string& path) override {
    PILUM_ASSIGN_OR_RETURN(std::string full, Full(path));
    if (::unlink(full.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(full, "cannot be removed", errno);
    // Blobs have a folder for themselves, beside their data file: it goes with the last.
    if (path.ends_with(".blob")) (void)::rmdir(full.substr(0, full.rfind('/')).c_str());
    return Status::OK();
  }

 private:
  // Neither a link nor a rename changes a file's modification time; both change this one.
  static StoreTime ChangeTime(const struct stat& st) { return TimeOf(st.st_ctim); }
  static StoreTime TimeOf(const timespec& t) {
    using namespace std::chrono;
    return StoreTime(seconds(t.tv_sec) + duration_cast<microseconds>(nanoseconds(t.tv_nsec)));
  }

  Result<std::vector<ObjectInfo>> ListFiles(const std::string& prefix, bool temporary, ReadContext& ctx) const {
    // Walk only the deepest folder that the prefix names in full.
    size_t slash = prefix.rfind('/');
    std::string folder = slash == std::string::npos ? root_ : root_ + "/" + prefix.substr(0, slash);
    std::vector<ObjectInfo> out;
    std::error_code ec;
    fs::recursive_directory_iterator it(folder, ec), end;
    if (ec) {
      if (ec.value() == ENOENT || ec.value() == ENOTDIR) return out;
      return ErrnoStatus(folder, "cannot be listed", ec.value());
    }
    for (uint64_t seen = 0; it != end; ++seen) {
      if (seen % 256 == 0) PILUM_RETURN_NOT_OK(ctx.Check());
      const std::string& full = it->path().native();
      struct stat st;
      // A file that vanished since the folder was read is not there.
      if (IsTemporaryName(it->path().filename().native()) == temporary && ::stat(full.c_str(), &st) == 0 &&
          S_ISREG(st.st_mode) && !(temporary && IsHeld(full))) {
        std::string path = full.substr(root_.size() + 1);
        if (path.starts_with(prefix))
          out.push_back({std::move(path), static_cast<uint64_t>(st.st_size), ChangeTime(st), TimeOf(st.st_mtim)});
      }
      it.increment(ec);
      if (ec) return ErrnoStatus(folder, "cannot be listed", ec.value());
    }
    std::sort(out.begin(), out.end(), [](const ObjectInfo& a, const ObjectInfo& b) { return a.path < b.path; });
    return out;
  }

  // `others`: what `sync` makes durable together with it.
  static Result<bool> PutWhole(const std::string& full, std::string_view bytes, bool sync,
                               const std::vector<std::string>& others) {
    std::string temporary;
    PILUM_ASSIGN_OR_RETURN(const int fd, CreateTemporary(full, &temporary));  // held until it is in place
    Status st;
    for (uint64_t at = 0; at < bytes.size() && st.ok();) {
      const ssize_t n = ::write(fd, bytes.data() + at, bytes.size() - at);
      if (n < 0 && errno != EINTR) st = ErrnoStatus(full, "cannot be written", errno);
      if (n > 0) at += static_cast<uint64_t>(n);
    }
    if (st.ok() && sync) {
      std::vector<ToSync> all = WithFolders(others);
      all.insert(all.begin(), {temporary, /*is_folder=*/false, fd});
      st = SyncTogether(all);
    }
    const Result<bool> linked = st.ok() ? Link(temporary, full, sync) : Result<bool>(st);
    ::unlink(temporary.c_str());
    ::close(fd);
    return linked;
  }
  Result<bool> Put(const std::string& path, std::string_view bytes, bool sync,
                   const std::vector<std::string>& others = {}) {
    PILUM_ASSIGN_OR_RETURN(std::string full, Full(path));
    PILUM_ASSIGN_OR_RETURN(const auto full_others, FullEach(others));
    return PutWhole(full, bytes, sync, full_others);
  }

  // Those of the files below `folder` ("" or "a/b/"), told by what the folder says of their kinds. `plain` becomes false
  // where there is anything but files.
  Status AddPaths(const std::string& folder, std::vector<std::string>* out, bool* plain, ReadContext& ctx) const {
    PILUM_RETURN_NOT_OK(ctx.Check());
    const std::string full = root_ + "/" + folder;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(full.c_str()), ::closedir);
    if (!open) return errno == ENOENT || errno == ENOTDIR ? Status::OK() : ErrnoStatus(full, "cannot be listed", errno);
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(open.get());
      if (entry == nullptr) return errno == 0 ? Status::OK() : ErrnoStatus(full, "cannot be listed", errno);
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      auto kind = entry->d_type;
      *plain = *plain && kind == DT_REG;
      struct stat st;
      // As for List: links to files count as files, links to folders are not followed.
      if ((kind == DT_LNK || kind == DT_UNKNOWN) &&
          ::fstatat(::dirfd(open.get()), entry->d_name, &st, kind == DT_LNK ? 0 : AT_SYMLINK_NOFOLLOW) == 0) {
        kind = S_ISREG(st.st_mode) ? DT_REG : S_ISDIR(st.st_mode) && kind == DT_UNKNOWN ? DT_DIR : DT_UNKNOWN;
      }
      if (kind == DT_DIR) PILUM_RETURN_NOT_OK(AddPaths(fmt::format("{}{}/", folder, name), out, plain, ctx));
      if (kind == DT_REG && !IsTemporaryName(name)) out->emplace_back(folder).append(name);
    }
  }

  Result<std::string> Full(const std::string& path) const {
    PILUM_RETURN_NOT_OK(CheckObjectPath(path));
    return root_ + "/" + path;
  }
  Result<std::vector<std::string>> FullEach(const std::vector<std::string>& paths) const {
    std::vector<std::string> out;
    for (const std::string& path : paths) {
      PILUM_ASSIGN_OR_RETURN(out.emplace_back(), Full(path));
    }
    return out;
  }
  static bool TryLink(const std::string& from, const std::string& to, int* error) {
    if (::link(from.c_str(), to.c_str()) == 0) return true;
    *error = errno;
    return false;
  }
  static Result<bool> Link(const std::string& temporary, const std::string& full, bool sync = true) {
    int error = 0;
    if (!TryLink(temporary, full, &error)) {
      if (error == EEXIST) return false;
      return ErrnoStatus(full, "cannot be put in place", error);
    }
    if (sync) PILUM_RETURN_NOT_OK(SyncFolderOf(full));
    return true;
  }
  static Result<bool> CopyIfAbsent(const std::string& from, const std::string& full) {
    const std::string temporary = TemporaryName(full);
    const int out = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (out < 0) return ErrnoStatus(full, "cannot be created", errno);
    (void)HoldFile(out);  // until it is in place
    std::error_code ec;
    fs::copy_file(from, temporary, fs::copy_options::overwrite_existing, ec);
    const Status synced = ec ? ErrnoStatus(full, "cannot be written", ec.value()) : SyncFile(out, temporary);
    const Result<bool> linked = synced.ok() ? Link(temporary, full) : Result<bool>(synced);
    ::unlink(temporary.c_str());
    ::close(out);
    if (linked.ok() && *linked) ::unlink(from.c_str());
    return linked;
  }

  std::string root_;
};

}  // namespace

std::optional<std::string> LocalFolder(const ReadOnlyStore& store, const std::string& folder) {
  const auto* local = dynamic_cast<const LocalStore*>(&store);
  return local ? std::optional(local->FolderPath(folder)) : std::nullopt;
}

Result<std::vector<std::string>> ListLocalFolder(const ReadOnlyStore& store, const std::string& folder, bool* plain,
                                                 ReadContext& ctx) {
  return dynamic_cast<const LocalStore&>(store).ListFolder(folder, plain, ctx);
}

std::shared_ptr<ObjectStore> MakeLocalStore(std::string root) { return std::make_shared<LocalStore>(std::move(root)); }

}  // namespace pilum
