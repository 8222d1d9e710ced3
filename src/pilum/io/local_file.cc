#include "pilum/io/local_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <mutex>

#include "pilum/io/mapping.h"
#include "pilum/io/object_store.h"

namespace pilum {
namespace fs = std::filesystem;

Status ErrnoStatus(const std::string& path, std::string_view what, int error) {
  std::string text = fmt::format("{}: {}: {}", path, what, std::strerror(error));
  if (error == ENOENT) return MakeError(ErrorKind::kNotFound, text);
  return Status::IOError(text);
}

Status SyncFile(int fd, const std::string& path) {
  if (::fsync(fd) != 0) return ErrnoStatus(path, "cannot be made durable", errno);
  return Status::OK();
}

Status SyncFolderOf(const std::string& path) {
  std::string folder = fs::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(folder, "cannot be opened", errno);
  Status st = SyncFile(fd, folder);
  ::close(fd);
  return st;
}

Status MakeParentFolders(const std::string& path) {
  fs::path folder = fs::path(path).parent_path();
  std::error_code ec;
  if (folder.empty() || fs::is_directory(folder, ec)) return Status::OK();
  PILUM_RETURN_NOT_OK(MakeParentFolders(folder.string()));
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return ErrnoStatus(folder.string(), "cannot be made", errno);
  }
  return SyncFolderOf(folder.string());
}

std::string TemporaryName(const std::string& path) {
  static std::atomic<uint64_t> counter{0};
  // The clock part keeps two containers that share a folder and a process id apart.
  auto now = std::chrono::system_clock::now().time_since_epoch().count();
  fs::path p(path);
  return (p.parent_path() / fmt::format(".{}.tmp-{}-{}-{}", p.filename().string(), ::getpid(), now, counter++))
      .string();
}

bool IsTemporaryName(std::string_view name) {
  return name.starts_with('.') && name.find(".tmp-") != std::string_view::npos;
}

bool RefreshFile(const std::string& path, std::string_view bytes) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return false;
  struct stat st;
  bool done = ::fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
              ::pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  if (done && static_cast<uint64_t>(st.st_size) > bytes.size()) {
    done = ::ftruncate(fd, static_cast<off_t>(bytes.size())) == 0;
  }
  ::close(fd);
  return done;
}

namespace {

// -1: errno says why.
int OpenNew(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd >= 0) (void)HoldFile(fd);
  return fd;
}

}  // namespace

Result<int> CreateTemporary(const std::string& path, std::string* temporary) {
  *temporary = TemporaryName(path);
  int fd = OpenNew(*temporary);
  if (fd < 0 && errno == ENOENT) {  // seldom: looking first would cost each file a look
    PILUM_RETURN_NOT_OK(MakeParentFolders(path));
    fd = OpenNew(*temporary);
  }
  if (fd < 0) return ErrnoStatus(path, "cannot be created", errno);
  return fd;
}

bool HoldFile(int fd) { return ::flock(fd, LOCK_EX | LOCK_NB) == 0; }

bool IsHeld(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool held = ::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(fd);
  return held;
}

namespace {

class LocalSource : public ByteSource {
 public:
  LocalSource(std::string path, int fd, uint64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}
  ~LocalSource() override { ::close(fd_); }
  uint64_t size() const override { return size_; }
  const std::string& name() const override { return path_; }

  std::span<const uint8_t> Mapped() const override {
    std::call_once(map_once_, [this] { mapping_ = FileMapping::Make(fd_, size_); });
    return mapping_ ? mapping_->bytes() : std::span<const uint8_t>();
  }
  // The mark alone does not tell of bytes lost from the last page that is still there.
  Status CheckMapped() const override {
    if (!mapping_) return Status::OK();
    struct stat st;
    if (!mapping_->broken() && ::fstat(fd_, &st) == 0 && static_cast<uint64_t>(st.st_size) >= size_) {
      return Status::OK();
    }
    return Corrupt(path_, "", fmt::format("the file, of {} bytes when it was opened, shrank while being read", size_));
  }

 protected:
  Status ReadAt(ByteRange range, uint8_t* out, ReadContext& ctx) const override {
    constexpr uint64_t kPiece = 16 << 20;  // between two looks at the deadline
    uint64_t done = 0;
    while (done < range.size) {
      if (done > 0) PILUM_RETURN_NOT_OK(ctx.Check());
      ssize_t n =
          ::pread(fd_, out + done, std::min(kPiece, range.size - done), static_cast<off_t>(range.offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(path_, fmt::format("offset {}: cannot be read", range.offset + done), errno);
      if (n == 0)
        return Corrupt(path_, fmt::format("offset {}", range.offset + done), "the file shrank while it was read");
      done += static_cast<uint64_t>(n);
    }
    return Status::OK();
  }

 private:
  std::string path_;
  int fd_;
  uint64_t size_;
  mutable std::once_flag map_once_;
  mutable std::unique_ptr<const FileMapping> mapping_;  // before the file's descriptor goes
};

// Writes beside the final name; Close renames into place.
class LocalSink : public ByteSink {
 public:
  LocalSink(std::string path, std::string temporary, int fd, bool sync)
      : path_(std::move(path)), temporary_(std::move(temporary)), fd_(fd), sync_(sync) {}
  ~LocalSink() override {
    if (fd_ < 0) return;
    ::close(fd_);
    ::unlink(temporary_.c_str());
  }
  Status Write(const void* data, uint64_t size) override {
    position_ += size;
    if (buffer_.size() + size > kBuffer) PILUM_RETURN_NOT_OK(Flush());
    if (size >= kBuffer) return WriteAll(static_cast<const char*>(data), size);
    buffer_.append(static_cast<const char*>(data), size);
    return Status::OK();
  }
  uint64_t position() const override { return position_; }
  const std::string& name() const override { return path_; }
  Status Close() override {
    PILUM_RETURN_NOT_OK(Flush());
    if (sync_) PILUM_RETURN_NOT_OK(SyncFile(fd_, path_));
    // Held until it is in place. Once synced, closing can lose nothing.
    if (!sync_ && ::close(std::exchange(fd_, -1)) != 0) return Fail("cannot be closed");
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) return Fail("cannot be put in place");
    if (sync_) ::close(std::exchange(fd_, -1));
    return sync_ ? SyncFolderOf(path_) : Status::OK();
  }

 private:
  static constexpr size_t kBuffer = 256 * 1024;
  Status Fail(std::string_view what) {
    Status st = ErrnoStatus(path_, what, errno);
    ::unlink(temporary_.c_str());
    return st;
  }
  Status Flush() {
    Status st = WriteAll(buffer_.data(), buffer_.size());
    buffer_.clear();
    return st;
  }
  Status WriteAll(const char* p, uint64_t size) {
    while (size > 0) {
      ssize_t n = ::write(fd_, p, size);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return ErrnoStatus(path_, "cannot be written", errno);
      p += n;
      size -= static_cast<uint64_t>(n);
    }
    return Status::OK();
  }

  std::string path_, temporary_, buffer_;
  int fd_;
  bool sync_;
  uint64_t position_ = 0;
};

}  // namespace

Result<std::shared_ptr<const ByteSource>> OpenLocalFile(const std::string& path, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(ctx.Check());
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return ErrnoStatus(path, "cannot be opened", errno);
  struct stat st;
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
    ::close(fd);
    return UsageError("{}: is not a regular file; name a file", path);
  }
  if (ctx.stats) ctx.stats->opens += 1;
  return std::make_shared<LocalSource>(path, fd, static_cast<uint64_t>(st.st_size));
}

Result<std::unique_ptr<ByteSink>> CreateLocalFile(const std::string& path, bool sync) {
  std::error_code ec;
  if (fs::is_directory(path, ec)) return UsageError("{}: is a folder; name a file", path);
  const std::string temporary = TemporaryName(path);
  const int fd = OpenNew(temporary);
  if (fd < 0) return ErrnoStatus(path, "cannot be created", errno);
  return std::make_unique<LocalSink>(path, temporary, fd, sync);
}

Result<std::unique_ptr<ByteSink>> CreateStoredFile(const std::string& path, bool sync) {
  std::string temporary;
  PILUM_ASSIGN_OR_RETURN(const int fd, CreateTemporary(path, &temporary));
  return std::make_unique<LocalSink>(path, temporary, fd, sync);
}

namespace {

constexpr std::string_view kTempDirPrefix = ".pilum-spool-";  // nobody else's: RemoveAbandoned deletes by it

std::string TempBase() {
  for (const char* name : {"PILUM_TMPDIR", "TMPDIR"}) {
    if (const char* v = std::getenv(name); v && *v) return v;
  }
  return "/tmp";
}

}  // namespace

Result<std::unique_ptr<TempDir>> TempDir::Make() {
  const std::string base = TempBase();
  std::string pattern = fmt::format("{}/{}XXXXXX", base, kTempDirPrefix);
  if (!::mkdtemp(pattern.data())) return ErrnoStatus(base, "cannot hold spool files (set PILUM_TMPDIR)", errno);
  const int fd = ::open(pattern.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) (void)HoldFile(fd);
  return std::unique_ptr<TempDir>(new TempDir(pattern, fd));
}

TempDir::~TempDir() {
  std::error_code ec;
  fs::remove_all(path_, ec);
  if (fd_ >= 0) ::close(fd_);
}

Result<uint64_t> TempDir::RemoveAbandoned(std::chrono::microseconds age) {
  PILUM_ASSIGN_OR_RETURN(auto own, Make());
  struct stat now, st;
  if (::stat(own->path().c_str(), &now) != 0) return ErrnoStatus(own->path(), "cannot be looked at", errno);
  uint64_t removed = 0;
  std::error_code ec;
  for (fs::directory_iterator it(TempBase(), ec), end; !ec && it != end; it.increment(ec)) {
    const std::string name = it->path().filename().string();
    if (!name.starts_with(kTempDirPrefix) || name.size() != kTempDirPrefix.size() + 6) continue;
    const std::string& path = it->path().native();
    if (::lstat(path.c_str(), &st) != 0 || !S_ISDIR(st.st_mode) || st.st_uid != ::geteuid()) continue;
    if (std::chrono::seconds(now.st_ctime - st.st_ctime) < age + std::chrono::seconds(1) || IsHeld(path)) continue;
    std::error_code ignored;
    removed += fs::remove_all(path, ignored) > 0 && !ignored;
  }
  return removed;
}

}  // namespace pilum
