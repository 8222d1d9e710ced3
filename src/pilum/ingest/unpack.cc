// Standard input, .zip, .gz and .zst as plain local files in a spool folder.
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include <arrow/buffer.h>
#include <arrow/io/compressed.h>
#include <arrow/io/file.h>
#include <arrow/util/compression.h>
#include <arrow/util/crc32.h>

#include "pilum/ingest/inputs.h"

namespace pilum::ingest {
namespace {

constexpr int64_t kChunk = 1 << 20;

// What lies before the first byte of each member's name in a zip's central directory.
constexpr size_t kCentralHeader = 46, kLocalHeader = 30, kEndRecord = 22;

uint16_t U16(const uint8_t* p) { return static_cast<uint16_t>(p[0] | p[1] << 8); }
uint32_t U32(const uint8_t* p) { return U16(p) | static_cast<uint32_t>(U16(p + 2)) << 16; }
uint64_t U64(const uint8_t* p) { return U32(p) | static_cast<uint64_t>(U32(p + 4)) << 32; }

struct ZipMember {
  std::string name;
  uint16_t method = 0, flags = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, size = 0, header_offset = 0;
};

// Sizes and offset of a member that needs zip64 are in its extra field, in this order, only those that are all ones.
Status ReadZip64(const std::string& file, std::span<const uint8_t> extra, ZipMember* m) {
  while (extra.size() >= 4) {
    uint16_t id = U16(extra.data()), size = U16(extra.data() + 2);
    if (size > extra.size() - 4) break;
    std::span<const uint8_t> body = extra.subspan(4, size);
    if (id == 1) {
      for (uint64_t* v : {&m->size, &m->packed, &m->header_offset}) {
        if (*v != 0xffffffffu) continue;
        if (body.size() < 8) return Corrupt(file, "zip64 field", "it is too short");
        *v = U64(body.data());
        body = body.subspan(8);
      }
    }
    extra = extra.subspan(4 + size);
  }
  return Status::OK();
}

Result<std::vector<ZipMember>> ParseCentral(const std::string& file, std::span<const uint8_t> dir) {
  std::vector<ZipMember> members;
  while (dir.size() >= kCentralHeader && U32(dir.data()) == 0x02014b50) {
    const uint8_t* p = dir.data();
    size_t name = U16(p + 28), extra = U16(p + 30), comment = U16(p + 32);
    if (kCentralHeader + name + extra + comment > dir.size())
      return Corrupt(file, "zip directory", "an entry is cut off");
    ZipMember m;
    m.flags = U16(p + 8);
    m.method = U16(p + 10);
    m.crc = U32(p + 16);
    m.packed = U32(p + 20);
    m.size = U32(p + 24);
    m.header_offset = U32(p + 42);
    m.name.assign(reinterpret_cast<const char*>(p + kCentralHeader), name);
    PILUM_RETURN_NOT_OK(ReadZip64(file, dir.subspan(kCentralHeader + name, extra), &m));
    dir = dir.subspan(kCentralHeader + name + extra + comment);
    bool folder = m.name.empty() || m.name.back() == '/';
    if (!folder && m.name.rfind("__MACOSX/", 0) != 0) members.push_back(std::move(m));
  }
  return members;
}

Result<std::vector<ZipMember>> ReadZipDirectory(const std::string& name, arrow::io::RandomAccessFile& file) {
  PILUM_ASSIGN_OR_RETURN(int64_t size, file.GetSize());
  int64_t tail_size = std::min<int64_t>(size, 65535 + static_cast<int64_t>(kEndRecord));
  PILUM_ASSIGN_OR_RETURN(auto tail, file.ReadAt(size - tail_size, tail_size));
  const uint8_t* t = tail->data();
  int64_t at = tail->size() - static_cast<int64_t>(kEndRecord);
  while (at >= 0 && U32(t + at) != 0x06054b50) --at;
  if (at < 0) return Corrupt(name, "end", "a zip file without its end record (is it cut off?)");
  uint64_t dir_size = U32(t + at + 12), dir_offset = U32(t + at + 16);
  if ((dir_size == 0xffffffffu || dir_offset == 0xffffffffu) && at >= 20 && U32(t + at - 20) == 0x07064b50) {
    uint64_t record = U64(t + at - 20 + 8);
    if (record > static_cast<uint64_t>(size) || static_cast<uint64_t>(size) - record < 56) {
      return Corrupt(name, "zip64 end record", "it lies outside the file");
    }
    PILUM_ASSIGN_OR_RETURN(auto end64, file.ReadAt(static_cast<int64_t>(record), 56));
    dir_size = U64(end64->data() + 40);
    dir_offset = U64(end64->data() + 48);
  }
  if (dir_offset > static_cast<uint64_t>(size) || dir_size > static_cast<uint64_t>(size) - dir_offset) {
    return Corrupt(name, "zip directory", "it lies outside the file");
  }
  PILUM_ASSIGN_OR_RETURN(auto dir, file.ReadAt(static_cast<int64_t>(dir_offset), static_cast<int64_t>(dir_size)));
  return ParseCentral(name, {dir->data(), static_cast<size_t>(dir->size())});
}

// Copies a stream into spool/<leaf>; counts bytes and their CRC.
class Spool {
 public:
  static Result<std::unique_ptr<Spool>> Make(std::string name, std::string_view leaf) {
    auto spool = std::unique_ptr<Spool>(new Spool);
    PILUM_ASSIGN_OR_RETURN(auto dir, TempDir::Make());
    std::string file(leaf.substr(leaf.find_last_of('/') == std::string_view::npos ? 0 : leaf.find_last_of('/') + 1));
    if (file.empty() || file == "." || file == "..") file = "input";
    spool->input_ = {dir->path() + "/" + file, std::move(name), std::move(dir)};
    PILUM_ASSIGN_OR_RETURN(spool->out_, arrow::io::FileOutputStream::Open(spool->input_.path));
    return spool;
  }
  Status Write(const void* data, int64_t size) {
    crc_ = arrow::internal::crc32(crc_, data, static_cast<size_t>(size));
    size_ += static_cast<uint64_t>(size);
    return out_->Write(data, size);
  }
  uint32_t crc() const { return crc_; }
  uint64_t size() const { return size_; }
  Result<LocalInput> Finish() {
    PILUM_RETURN_NOT_OK(out_->Close());
    return std::move(input_);
  }

 private:
  LocalInput input_;
  std::shared_ptr<arrow::io::FileOutputStream> out_;
  uint32_t crc_ = 0;
  uint64_t size_ = 0;
};

Status CopyAll(arrow::io::InputStream& in, Spool* spool, uint64_t limit, const ReadContext& ctx) {
  for (;;) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    PILUM_ASSIGN_OR_RETURN(auto chunk, in.Read(kChunk));
    if (chunk->size() == 0) return Status::OK();
    if (static_cast<uint64_t>(chunk->size()) > limit - spool->size()) return Status::Invalid("more bytes than it says");
    PILUM_RETURN_NOT_OK(spool->Write(chunk->data(), chunk->size()));
  }
}

Result<LocalInput> Unzip(const LocalInput& input, const ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto file, arrow::io::ReadableFile::Open(input.path));
  PILUM_ASSIGN_OR_RETURN(auto members, ReadZipDirectory(input.name, *file));
  if (members.size() != 1) {
    std::string names;
    for (size_t i = 0; i < std::min<size_t>(members.size(), 5); ++i) names += (i ? ", " : "") + members[i].name;
    return UsageError("{}: a zip of {} files{}{}; unzip it and name the file that you mean", input.name, members.size(),
                      members.empty() ? "" : ": ", names);
  }
  const ZipMember& m = members[0];
  if (m.flags & 1) return Unsupported("{}: {} is encrypted; decrypt it first", input.name, m.name);
  if (m.method != 0 && m.method != 8) {
    return Unsupported("{}: {} is packed by zip method {}; only stored and deflate are read; unzip it first",
                       input.name, m.name, m.method);
  }
  PILUM_ASSIGN_OR_RETURN(int64_t file_size, file->GetSize());
  auto end = static_cast<uint64_t>(file_size);
  if (m.header_offset > end || end - m.header_offset < kLocalHeader) {
    return Corrupt(input.name, m.name, "its header lies outside the file");
  }
  PILUM_ASSIGN_OR_RETURN(auto local, file->ReadAt(static_cast<int64_t>(m.header_offset), kLocalHeader));
  if (U32(local->data()) != 0x04034b50) return Corrupt(input.name, m.name, "no member header where the directory says");
  uint64_t start = m.header_offset + kLocalHeader + U16(local->data() + 26) + U16(local->data() + 28);
  if (start > end || m.packed > end - start) return Corrupt(input.name, m.name, "its bytes lie outside the file");
  std::shared_ptr<arrow::io::InputStream> stream =
      arrow::io::RandomAccessFile::GetStream(file, static_cast<int64_t>(start), static_cast<int64_t>(m.packed))
          .ValueOrDie();
  std::unique_ptr<arrow::util::Codec> codec;
  if (m.method == 8) {
    arrow::util::GZipCodecOptions raw;
    raw.gzip_format = arrow::util::GZipFormat::DEFLATE;
    PILUM_ASSIGN_OR_RETURN(codec, arrow::util::Codec::Create(arrow::Compression::GZIP, raw));
    PILUM_ASSIGN_OR_RETURN(stream, arrow::io::CompressedInputStream::Make(codec.get(), stream));
  }
  PILUM_ASSIGN_OR_RETURN(auto spool, Spool::Make(input.name + ":" + m.name, m.name));
  Status copied = CopyAll(*stream, spool.get(), m.size, ctx);
  if (KindOf(copied) == ErrorKind::kCancelled || KindOf(copied) == ErrorKind::kDeadline) return copied;
  if (!copied.ok()) return Corrupt(input.name, m.name, copied.message());
  if (spool->size() != m.size || spool->crc() != m.crc) {
    return Corrupt(input.name, m.name, "its bytes do not match their checksum; fetch the file again");
  }
  return spool->Finish();
}

Result<LocalInput> Decompress(const LocalInput& input, arrow::Compression::type kind, const ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto file, arrow::io::ReadableFile::Open(input.path));
  PILUM_ASSIGN_OR_RETURN(auto codec, arrow::util::Codec::Create(kind));
  PILUM_ASSIGN_OR_RETURN(auto stream, arrow::io::CompressedInputStream::Make(codec.get(), file));
  std::string leaf = input.path.substr(input.path.find_last_of('/') + 1);
  if (size_t dot = leaf.find_last_of('.'); dot != std::string::npos && dot > 0) leaf.resize(dot);
  PILUM_ASSIGN_OR_RETURN(auto spool, Spool::Make(input.name, leaf));
  Status copied = CopyAll(*stream, spool.get(), UINT64_MAX, ctx);
  if (KindOf(copied) == ErrorKind::kCancelled || KindOf(copied) == ErrorKind::kDeadline) return copied;
  if (!copied.ok()) return Corrupt(input.name, "compressed data", copied.message());
  return spool->Finish();
}

Result<LocalInput> SpoolFd(int fd, const std::string& name, const ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto spool, Spool::Make(name, "stdin"));
  std::vector<char> chunk(kChunk);
  for (;;) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    pollfd wait{fd, POLLIN, 0};
    if (::poll(&wait, 1, 100) <= 0) continue;  // a stop is heard while nothing comes
    ssize_t n = ::read(fd, chunk.data(), chunk.size());
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (n < 0) return Status::IOError(name, ": ", std::strerror(errno));
    if (n == 0) return spool->Finish();
    PILUM_RETURN_NOT_OK(spool->Write(chunk.data(), n));
  }
}

// A remote object is fetched whole first: formats are read from files, some of them twice.
Result<LocalInput> SpoolObject(const std::string& uri, const ReadContext& ctx) {
  ReadContext reading = ctx;
  PILUM_ASSIGN_OR_RETURN(auto source, OpenFileOrObject(uri, reading));
  PILUM_ASSIGN_OR_RETURN(auto spool, Spool::Make(uri, uri.substr(uri.rfind('/') + 1)));
  constexpr uint64_t kPiece = 64 << 20;
  for (uint64_t at = 0; at < source->size(); at += kPiece) {
    PILUM_ASSIGN_OR_RETURN(auto bytes, source->ReadRange({at, std::min(kPiece, source->size() - at)}, reading));
    PILUM_RETURN_NOT_OK(spool->Write(bytes->data(), bytes->size()));
  }
  return spool->Finish();
}

struct FdCloser {
  int fd;
  ~FdCloser() {
    if (fd >= 0) ::close(fd);
  }
};

// A regular file stays where it is; a pipe (<(...), /dev/stdin) is spooled, since types are inferred before rows are
// read.
Result<LocalInput> LocalFile(const std::string& path, std::string* first, const ReadContext& ctx) {
  FdCloser file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  while (file.fd < 0 && errno == EINTR) {  // a named pipe that nobody writes to yet
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    PILUM_RETURN_NOT_OK(ctx.Check());
    file.fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  if (file.fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return NotFoundError("{}: no such file", path);
    return UsageError("{}: cannot be opened: {}", path, std::strerror(errno));
  }
  struct stat st;
  if (::fstat(file.fd, &st) != 0) return Status::IOError(path, ": ", std::strerror(errno));
  if (S_ISDIR(st.st_mode)) return UsageError("{}: a folder; name the files in it", path);
  if (!S_ISREG(st.st_mode)) {
    PILUM_ASSIGN_OR_RETURN(auto input, SpoolFd(file.fd, path, ctx));
    std::string spooled = input.path;
    std::shared_ptr<TempDir> keep = input.spool;
    PILUM_ASSIGN_OR_RETURN(auto local, LocalFile(spooled, first, ctx));
    return LocalInput{local.path, path, keep};
  }
  char bytes[4];
  ssize_t n = ::pread(file.fd, bytes, sizeof bytes, 0);
  first->assign(bytes, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  return LocalInput{path, path, nullptr};
}

}  // namespace

Result<LocalInput> Materialize(const std::string& path, const ReadContext& ctx) {
  std::string first;
  LocalInput input;
  if (IsRemoteUri(path)) {
    PILUM_ASSIGN_OR_RETURN(const LocalInput fetched, SpoolObject(path, ctx));
    PILUM_ASSIGN_OR_RETURN(input, LocalFile(fetched.path, &first, ctx));
    input.name = path;
    input.spool = fetched.spool;
  } else {
    PILUM_ASSIGN_OR_RETURN(input, LocalFile(path == "-" ? "/dev/stdin" : path, &first, ctx));
  }
  if (path == "-") input.name = "standard input";
  if (first.rfind("PK\x03\x04", 0) == 0 || first.rfind("PK\x05\x06", 0) == 0) return Unzip(input, ctx);
  if (first.rfind("\x1f\x8b", 0) == 0) return Decompress(input, arrow::Compression::GZIP, ctx);
  if (first.rfind("\x28\xb5\x2f\xfd", 0) == 0) return Decompress(input, arrow::Compression::ZSTD, ctx);
  return input;
}

}  // namespace pilum::ingest
