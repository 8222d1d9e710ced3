#include "pilum/io/disk_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <arrow/buffer.h>

#include "pilum/base/bytes.h"
#include "pilum/base/hash.h"

namespace pilum {
namespace {

namespace fs = std::filesystem;

// A file: magic, length of the key, key, hash of all of these and of the bytes, bytes.
constexpr std::string_view kMagic = "PILUMCA1";
constexpr std::string_view kTemporary = ".tmp-";
constexpr size_t kDigits = 40;  // of a file's name
constexpr auto kAbandoned = std::chrono::hours(1);

std::string Head(std::string_view key) {
  std::string head(kMagic);
  AppendLE<uint32_t>(&head, static_cast<uint32_t>(key.size()));
  head += key;
  return head;
}

std::string HashOf(std::string_view head, std::string_view bytes) {
  Blake3 hash;
  hash.Update(head);
  hash.Update(bytes);
  const Hash256 full = hash.Finish();
  return {reinterpret_cast<const char*>(full.data()), full.size()};
}

// All of a file; empty: it cannot be read.
std::string ReadFile(int fd) {
  struct stat st;
  std::string out;
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > (int64_t{1} << 31)) return out;
  out.resize(static_cast<size_t>(st.st_size));
  size_t at = 0;
  while (at < out.size()) {
    const ssize_t n = ::read(fd, out.data() + at, out.size() - at);
    if (n <= 0) return {};
    at += static_cast<size_t>(n);
  }
  return out;
}

bool WriteFile(const std::string& path, std::initializer_list<std::string_view> pieces) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  bool ok = true;
  for (std::string_view piece : pieces) {
    while (ok && !piece.empty()) {
      const ssize_t n = ::write(fd, piece.data(), piece.size());
      ok = n > 0;
      if (ok) piece.remove_prefix(static_cast<size_t>(n));
    }
  }
  return (::close(fd) == 0) && ok;
}

// "…/ab/abcdef…" of 40 digits, or a temporary of it: nothing else in the folder is ever removed.
bool IsOurs(std::string_view path) {
  path = path.substr(0, path.find(kTemporary));
  const size_t slash = path.rfind('/');
  if (slash == path.npos || path.size() - slash - 1 != kDigits || slash < 3 || path[slash - 3] != '/') return false;
  const std::string_view name = path.substr(slash + 1);
  return path.substr(slash - 2, 2) == name.substr(0, 2) &&
         std::all_of(name.begin(), name.end(), [](char c) { return HexDigit(c) >= 0; });
}

class CachedSource final : public ByteSource {
 public:
  CachedSource(std::string name, uint64_t size, std::string key, const ReadCost& cost, OpenSourceFn open,
               std::shared_ptr<DiskCache> cache)
      : name_(std::move(name)),
        size_(size),
        key_(std::move(key)),
        cost_(cost),
        open_(std::move(open)),
        cache_(std::move(cache)) {}
  uint64_t size() const override { return size_; }
  const std::string& name() const override { return name_; }
  const ReadCost& cost() const override { return cost_; }

 protected:
  Status ReadAt(ByteRange range, uint8_t* out, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto inner, Inner(ctx));
    PILUM_ASSIGN_OR_RETURN(const BufferPtr bytes, inner->ReadRange(range, ctx));  // counts
    std::copy_n(bytes->data(), range.size, out);
    return Status::OK();
  }

  Status CountedRead(ByteRange range, uint8_t* out, ReadContext& ctx) const override {
    const std::string key = fmt::format("{}?{}-{}", key_, range.offset, range.end());
    if (const auto held = cache_->Get(key); held && held->size() == range.size) {
      std::copy_n(held->data(), range.size, out);
      return Status::OK();
    }
    PILUM_RETURN_NOT_OK(ReadAt(range, out, ctx));
    cache_->Put(key, std::string_view(reinterpret_cast<const char*>(out), range.size));
    return Status::OK();
  }

 private:
  Result<std::shared_ptr<const ByteSource>> Inner(ReadContext& ctx) const {
    std::unique_lock lock(mutex_, std::defer_lock);
    while (!lock.try_lock_for(std::chrono::milliseconds(10))) PILUM_RETURN_NOT_OK(ctx.Check());
    if (!inner_) {
      PILUM_ASSIGN_OR_RETURN(auto inner, open_(ctx));
      if (inner->size() != size_) {
        return Corrupt(name_, "", fmt::format("it has {} bytes, and was listed with {}", inner->size(), size_));
      }
      inner_ = std::move(inner);
    }
    return inner_;
  }

  const std::string name_;
  const uint64_t size_;
  const std::string key_;
  const ReadCost cost_;
  const OpenSourceFn open_;
  const std::shared_ptr<DiskCache> cache_;
  mutable std::timed_mutex mutex_;
  mutable std::shared_ptr<const ByteSource> inner_;
};

}  // namespace

std::shared_ptr<DiskCache> DiskCache::FromEnvironment() {
  const char* folder = std::getenv("PILUM_CACHE");
  if (!folder || !*folder) return nullptr;
  uint64_t most = uint64_t{1} << 30;
  if (const char* text = std::getenv("PILUM_CACHE_BYTES")) {
    const std::string_view digits(text);
    uint64_t given = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), given);
    if (error == std::errc() && end == digits.data() + digits.size()) most = given;
  }
  return std::make_shared<DiskCache>(folder, most);
}

DiskCache::DiskCache(std::string folder, uint64_t most_bytes) : folder_(std::move(folder)), most_bytes_(most_bytes) {}

std::string DiskCache::PathOf(std::string_view key) const {
  const Hash256 hash = Blake3Of(key);
  const std::string digits = Hex(std::span(hash.data(), kDigits / 2));
  return folder_ + "/" + digits.substr(0, 2) + "/" + digits;
}

std::optional<std::string> DiskCache::Get(std::string_view key) const {
  const std::string path = PathOf(key);
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  std::string file = ReadFile(fd);
  ::futimens(fd, nullptr);  // it was of use now
  ::close(fd);
  const std::string head = Head(key);
  constexpr size_t kHash = 32;
  const std::string_view all(file);
  if (all.size() < head.size() + kHash || !all.starts_with(head)) return std::nullopt;
  const std::string_view bytes = all.substr(head.size() + kHash);
  if (all.substr(head.size(), kHash) != HashOf(head, bytes)) {
    ::unlink(path.c_str());
    return std::nullopt;
  }
  return std::string(bytes);
}

void DiskCache::Put(std::string_view key, std::string_view bytes) {
  if (bytes.size() > most_bytes_ / 4) return;  // it would push out everything else
  const std::string path = PathOf(key);
  std::error_code ignored;
  fs::create_directories(fs::path(path).parent_path(), ignored);
  static std::atomic<uint64_t> number{0};
  const std::string temporary = fmt::format("{}{}{}-{}", path, kTemporary, ::getpid(), number++);
  const std::string head = Head(key);
  if (!WriteFile(temporary, {head, HashOf(head, bytes), bytes}) || ::rename(temporary.c_str(), path.c_str()) != 0) {
    ::unlink(temporary.c_str());
    return;
  }
  uint64_t left = until_trim_;
  const uint64_t used = head.size() + 32 + bytes.size();
  while (!until_trim_.compare_exchange_weak(left, left > used ? left - used : most_bytes_ / 16)) {
  }
  if (left <= used) Trim();
}

void DiskCache::Remove(std::string_view key) { ::unlink(PathOf(key).c_str()); }

void DiskCache::Trim() {
  std::unique_lock lock(trimming_, std::try_to_lock);
  if (!lock) return;
  struct Entry {
    fs::file_time_type used;
    uint64_t size;
    std::string path;
  };
  std::vector<Entry> entries;
  uint64_t total = 0;
  std::error_code ec;
  const auto now = fs::file_time_type::clock::now();
  for (fs::recursive_directory_iterator it(folder_, ec), end; !ec && it != end; it.increment(ec)) {
    std::error_code gone;  // others trim too
    if (!it->is_regular_file(gone) || gone) continue;
    const auto used = it->last_write_time(gone);
    const uint64_t size = gone ? 0 : it->file_size(gone);
    if (gone) continue;
    const std::string& path = it->path().native();
    if (!IsOurs(path)) continue;
    if (path.find(kTemporary) != path.npos) {
      if (now - used > kAbandoned) ::unlink(path.c_str());
      continue;
    }
    total += size;
    entries.push_back({used, size, path});
  }
  if (total <= most_bytes_) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& entry : entries) {
    if (total <= most_bytes_ / 10 * 9) break;
    ::unlink(entry.path.c_str());
    total -= entry.size;
  }
}

std::shared_ptr<const ByteSource> MakeCachedSource(std::string name, uint64_t size, std::string key,
                                                   const ReadCost& cost, OpenSourceFn open,
                                                   std::shared_ptr<DiskCache> cache) {
  return std::make_shared<CachedSource>(std::move(name), size, std::move(key), cost, std::move(open), std::move(cache));
}

}  // namespace pilum
