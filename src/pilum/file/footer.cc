#include "pilum/file/footer.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>
#include <google/protobuf/io/coded_stream.h>

#include "lance_file.pb.h"
#include "pilum/base/bytes.h"
#include "pilum/encoding/v2_0/descriptor.h"
#include "pilum/file/quiet_protobuf.h"

namespace pilum {
namespace {

constexpr uint64_t kFooterSize = 40;
constexpr uint64_t kTailSize = 64 * 1024;
constexpr uint64_t kTableEntry = 16;                  // u64 position, u64 size
constexpr uint64_t kAlignment = 64;                   // of every buffer, from 2.1 on
constexpr uint64_t kMaxMetadata = uint64_t{1} << 30;  // bytes of all column metadata, and of the schema
constexpr uint64_t kMaxRows = uint64_t{1} << 48;      // of one column; far above any file, and sums stay exact

struct Footer {
  uint64_t column_metadata = 0, column_table = 0, buffer_table = 0;  // absolute positions
  uint32_t num_buffers = 0, num_columns = 0;
  FileVersion version = FileVersion::kV2_2;
};

// The bytes of a file that have been fetched so far: the tail and, where needed, pieces before it.
class Fetched {
 public:
  Fetched(const ByteSource& source, ReadContext& ctx) : source_(source), ctx_(ctx) {}

  Status Fetch(std::vector<ByteRange> ranges) {
    std::erase_if(ranges, [&](const ByteRange& r) { return r.size == 0 || Find(r) != nullptr; });
    if (ranges.empty()) return Status::OK();
    PILUM_ASSIGN_OR_RETURN(auto buffers, source_.ReadRanges(ranges, ctx_));
    for (size_t i = 0; i < ranges.size(); ++i) pieces_.push_back({ranges[i], std::move(buffers[i])});
    return Status::OK();
  }

  // Of a range that Fetch was asked for.
  std::string_view Bytes(ByteRange range) const {
    const Piece* p = Find(range);
    if (p == nullptr) return {};
    return {reinterpret_cast<const char*>(p->buffer->data()) + (range.offset - p->range.offset), range.size};
  }

 private:
  struct Piece {
    ByteRange range;
    BufferPtr buffer;
  };
  const Piece* Find(ByteRange r) const {
    for (const Piece& p : pieces_) {
      if (p.range.offset <= r.offset && r.end() <= p.range.end()) return &p;
    }
    return nullptr;
  }

  const ByteSource& source_;
  ReadContext& ctx_;
  std::vector<Piece> pieces_;
};

Result<FileVersion> VersionOf(const std::string& name, uint16_t major, uint16_t minor) {
  if ((major == 0 && minor == 3) || (major == 2 && minor == 0)) return FileVersion::kV2_0;
  if (major == 2 && minor == 1) return FileVersion::kV2_1;
  if (major == 2 && minor == 2) return FileVersion::kV2_2;
  std::string_view advice = "rewrite it with pylance and data_storage_version='2.2'";
  if (major == 2 && minor == 3) {
    return Unsupported("{}: Lance file version 2.3 (unstable) is not read yet, only 2.0 to 2.2; {}", name, advice);
  }
  if (major == 0 && minor <= 2) {
    return Unsupported("{}: legacy Lance file version {}.{} is not read, only 2.0 to 2.2; {}", name, major, minor,
                       advice);
  }
  return Unsupported(
      "{}: Lance file version {}.{} is not known to this Pilum, which reads 2.0 to 2.2; a newer Pilum may", name, major,
      minor);
}

Result<Footer> ParseFooter(const std::string& name, std::string_view tail, uint64_t file_size) {
  constexpr std::string_view kMagic = "LANC";
  if (tail.size() < 8 || !tail.ends_with(kMagic)) {
    return Corrupt(name, "",
                   fmt::format("not a Lance file, or a cut one: its {} bytes do not end with LANC", file_size));
  }
  PILUM_ASSIGN_OR_RETURN(FileVersion version, VersionOf(name, LoadLE<uint16_t>(tail.data() + tail.size() - 8),
                                                        LoadLE<uint16_t>(tail.data() + tail.size() - 6)));
  if (tail.size() < kFooterSize) {
    return Corrupt(name, "", fmt::format("{} bytes are too few for a footer of {}", file_size, kFooterSize));
  }
  ByteCursor c(tail.substr(tail.size() - kFooterSize));
  Footer f;
  f.version = version;
  f.column_metadata = c.Read<uint64_t>();
  f.column_table = c.Read<uint64_t>();
  f.buffer_table = c.Read<uint64_t>();
  f.num_buffers = c.Read<uint32_t>();
  f.num_columns = c.Read<uint32_t>();
  return f;
}

Status CheckFooter(const std::string& name, const Footer& f, uint64_t file_size) {
  const uint64_t end = file_size - kFooterSize;
  const std::string place = fmt::format("footer at offset {}", end);
  auto table = [&](std::string_view what, uint64_t position, uint64_t count) {
    if (position > end || count * kTableEntry > end - position) {
      return Corrupt(name, place,
                     fmt::format("the table of {} {} at {} does not fit before {}", count, what, position, end));
    }
    return Status::OK();
  };
  PILUM_RETURN_NOT_OK(table("columns", f.column_table, f.num_columns));
  PILUM_RETURN_NOT_OK(table("global buffers", f.buffer_table, f.num_buffers));
  if (f.column_metadata > f.column_table) {
    return Corrupt(name, place,
                   fmt::format("column metadata at {} is behind its table at {}", f.column_metadata, f.column_table));
  }
  if (f.column_table - f.column_metadata > kMaxMetadata) {
    return Corrupt(name, place,
                   fmt::format("{} bytes of column metadata are over the limit of {}",
                               f.column_table - f.column_metadata, kMaxMetadata));
  }
  if (f.num_buffers == 0) return Corrupt(name, place, "no global buffers, and so no schema");
  return Status::OK();
}

// The messages. What reads them knows no file name; ReadFileMetadata adds it.

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

struct FileBounds {
  FileVersion version;
  uint64_t size;
};

Status CheckBuffer(ByteRange r, const FileBounds& file, std::string_view what) {
  const uint64_t file_size = file.size;
  if (r.offset > file_size || r.size > file_size - r.offset) {
    return Bad(fmt::format("{} at {} of {} bytes ends past the file's {} bytes", what, r.offset, r.size, file_size));
  }
  if (file.version != FileVersion::kV2_0 && r.size > 0 && r.offset % kAlignment != 0) {
    return Bad(fmt::format("{} at {} is not aligned to {} bytes", what, r.offset, kAlignment));
  }
  return Status::OK();
}

template <typename M>
Result<std::vector<ByteRange>> BuffersOf(const M& message, const FileBounds& file) {
  if (message.buffer_offsets_size() != message.buffer_sizes_size()) {
    return Bad(
        fmt::format("{} buffer offsets but {} sizes", message.buffer_offsets_size(), message.buffer_sizes_size()));
  }
  std::vector<ByteRange> out(static_cast<size_t>(message.buffer_offsets_size()));
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = {message.buffer_offsets(static_cast<int>(i)), message.buffer_sizes(static_cast<int>(i))};
    PILUM_RETURN_NOT_OK(CheckBuffer(out[i], file, fmt::format("buffer {}", i)));
  }
  return out;
}

// The value of the Any that an Encoding holds, whose message must be `type` (any prefix before it is fine).
Result<std::string> Direct(const wire::Encoding& encoding, std::string_view type) {
  if (encoding.location_case() == wire::Encoding::kIndirect) {
    return Unsupported("an indirect encoding (stored elsewhere in the file) is not read");
  }
  if (encoding.location_case() != wire::Encoding::kDirect) return Bad("its encoding is missing");
  wire::AnyBytes any;
  if (!any.ParseFromString(encoding.direct().encoding())) return Bad("its encoding does not parse");
  std::string_view url = any.type_url();
  if (url.substr(url.rfind('/') + 1) != type) {
    return Bad(fmt::format("its encoding is a '{}', not a {}", url.substr(0, 100), type));
  }
  return std::move(*any.mutable_value());
}

Result<PageInfo> ParsePage(std::string_view bytes, const FileBounds& file) {
  wire::ColumnMetadata::Page page;
  if (!page.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return Bad("its message does not parse");
  PageInfo info;
  PILUM_ASSIGN_OR_RETURN(info.buffers, BuffersOf(page, file));
  info.length = page.length();
  info.priority = page.priority();
  if (file.version == FileVersion::kV2_0) {
    PILUM_ASSIGN_OR_RETURN(auto array, Direct(page.encoding(), "lance.encodings.ArrayEncoding"));
    PILUM_ASSIGN_OR_RETURN(info.array, v2_0::ParseArrayEncoding(array));
    return info;
  }
  PILUM_ASSIGN_OR_RETURN(auto layout, Direct(page.encoding(), "lance.encodings21.PageLayout"));
  PILUM_ASSIGN_OR_RETURN(info.layout, ParsePageLayout(layout, file.version));
  return info;
}

Status CheckColumnEncoding(const wire::ColumnMetadata& column, const FileBounds& file) {
  PILUM_RETURN_NOT_OK(BuffersOf(column, file).status());
  PILUM_ASSIGN_OR_RETURN(auto bytes, Direct(column.encoding(), "lance.encodings.ColumnEncoding"));
  wire::ColumnEncoding encoding;
  if (!encoding.ParseFromString(bytes)) return Bad("its column encoding does not parse");
  const bool blob = file.version == FileVersion::kV2_0 && encoding.has_blob() && encoding.blob().inner().has_values();
  if (!encoding.has_values() && !blob) {
    return Unsupported("its column encoding (case {}) is not one of version {}",
                       static_cast<int>(encoding.column_encoding_case()), VersionName(file.version));
  }
  return Status::OK();
}

// Page by page, so that a damaged column is refused at its first bad page and never costs many times its bytes.
Result<std::vector<PageInfo>> ParseColumn(std::string_view bytes, const FileBounds& file) {
  constexpr uint32_t kPagesTag = 2 << 3 | 2, kEndGroup = 4;
  std::vector<PageInfo> pages;
  std::string rest;  // the column's own fields
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  uint64_t rows = 0;
  while (true) {
    int begin = in.CurrentPosition();
    uint32_t tag = in.ReadTag(), wire_type = tag & 7;
    if (tag == 0) break;
    uint32_t size = 0;
    uint64_t varint = 0;
    bool ok = wire_type == 2
                  ? in.ReadVarint32(&size) && size <= bytes.size() - static_cast<size_t>(in.CurrentPosition())
              : wire_type == 0 ? in.ReadVarint64(&varint)
              : wire_type == 1 ? in.Skip(8)
              : wire_type == 5 ? in.Skip(4)
                               : false;
    if (!ok)
      return Bad(wire_type == 3 || wire_type == kEndGroup ? "its metadata holds a group" : "its metadata is cut short");
    auto at = static_cast<size_t>(in.CurrentPosition());
    if (!in.Skip(static_cast<int>(size))) return Bad("its metadata is cut short");
    if (tag != kPagesTag) {
      rest.append(bytes.substr(static_cast<size_t>(begin), at + size - static_cast<size_t>(begin)));
      continue;
    }
    auto page = ParsePage(bytes.substr(at, size), file);
    if (!page.ok()) return WithContext(fmt::format("page {}", pages.size()), page.status());
    if (page->length > kMaxRows - rows)
      return Bad(fmt::format("page {} brings it over {} rows", pages.size(), kMaxRows));
    rows += page->length;
    pages.push_back(*std::move(page));
  }
  if (static_cast<size_t>(in.CurrentPosition()) != bytes.size()) return Bad("its metadata does not parse");
  wire::ColumnMetadata column;
  if (!column.ParseFromString(rest)) return Bad("its metadata does not parse");
  PILUM_RETURN_NOT_OK(CheckColumnEncoding(column, file));
  return pages;
}

std::vector<ByteRange> TableAt(std::string_view bytes) {
  std::vector<ByteRange> out(bytes.size() / kTableEntry);
  for (size_t i = 0; i < out.size(); ++i) {
    const char* p = bytes.data() + i * kTableEntry;
    out[i] = {LoadLE<uint64_t>(p), LoadLE<uint64_t>(p + 8)};
  }
  return out;
}

Status ParseColumns(std::string_view region, const Footer& f, std::string_view table, uint64_t file_size,
                    std::vector<std::vector<PageInfo>>* out) {
  uint64_t room = region.size();  // entries may lie in any order but may not share bytes, so that parsing is linear
  int number = 0;
  for (const ByteRange& r : TableAt(table)) {
    std::string place = fmt::format("column {}", number++);
    if (r.offset < f.column_metadata || r.offset > f.column_table || r.size > f.column_table - r.offset ||
        r.size > room) {
      return Bad(fmt::format("{}: its metadata at {} of {} bytes is outside of the metadata at [{}, {})", place,
                             r.offset, r.size, f.column_metadata, f.column_table));
    }
    room -= r.size;
    auto pages = ParseColumn(region.substr(r.offset - f.column_metadata, r.size), {f.version, file_size});
    if (!pages.ok()) return WithContext(place, pages.status());
    out->push_back(*std::move(pages));
  }
  return Status::OK();
}

constexpr uint64_t kTrailerReach = 4096;  // the checksums' trailer, and room for their segments

// The checksums of the file, their own bytes and the metadata checked. Their trailer stands before the schema; damage
// to the schema's entry may hide it there, so the end of the last buffer is looked at as well.
Status FindChecksums(const std::vector<ByteRange>& buffers, uint64_t file_size, Fetched* fetched,
                     std::unique_ptr<Checksums>* out) {
  for (uint64_t end : {buffers[0].offset, buffers.back().end()}) {
    if (*out || end < Checksums::kTrailerSize) continue;
    const ByteRange at{end - Checksums::kTrailerSize, Checksums::kTrailerSize};
    PILUM_ASSIGN_OR_RETURN(*out, Checksums::Parse(fetched->Bytes(at), end));
  }
  if (!*out) return Status::OK();
  const ByteRange segments = (*out)->segments(), checksums = (*out)->buffer();
  const ByteRange metadata{checksums.end(), file_size - checksums.end()};
  PILUM_RETURN_NOT_OK(fetched->Fetch({segments, metadata}));
  PILUM_RETURN_NOT_OK((*out)->Load(fetched->Bytes(segments)));
  PILUM_RETURN_NOT_OK((*out)->CheckMetadata(fetched->Bytes(metadata)));
  return (*out)->LoadBlocks([&](ByteRange range) { return fetched->Bytes(range); });
}

// They are no buffer of the user's: out of the list. Without verifying that is all that they are looked at for.
void HideChecksums(Verify verify, std::vector<ByteRange>* buffers, std::string_view trailer,
                   std::unique_ptr<Checksums>* checksums) {
  if (verify == Verify::kOff) {
    if (auto parsed = Checksums::Parse(trailer, (*buffers)[0].offset); parsed.ok()) *checksums = *std::move(parsed);
  }
  if (*checksums && buffers->size() > 1 && buffers->back() == (*checksums)->buffer()) buffers->pop_back();
  if (verify == Verify::kOff) checksums->reset();
}

Status CheckGlobalBuffers(const std::vector<ByteRange>& buffers, const FileBounds& file) {
  for (size_t i = 0; i < buffers.size(); ++i) {
    PILUM_RETURN_NOT_OK(CheckBuffer(buffers[i], file, fmt::format("global buffer {}", i)));
  }
  if (buffers[0].size > kMaxMetadata)
    return Bad(fmt::format("a schema of {} bytes is over the limit", buffers[0].size));
  return Status::OK();
}

}  // namespace

Result<FileMetadata> ReadFileMetadata(const ByteSource& source, ReadContext& ctx) {
  const std::string& name = source.name();
  const uint64_t size = source.size();
  QuietProtobuf();
  PILUM_RETURN_NOT_OK(ctx.Check());
  Fetched fetched(source, ctx);
  ByteRange tail{size - std::min(size, kTailSize), std::min(size, kTailSize)};
  PILUM_RETURN_NOT_OK(fetched.Fetch({tail}));
  PILUM_ASSIGN_OR_RETURN(Footer f, ParseFooter(name, fetched.Bytes(tail), size));
  PILUM_RETURN_NOT_OK(CheckFooter(name, f, size));

  ByteRange columns{f.column_metadata, f.column_table - f.column_metadata};
  ByteRange column_table{f.column_table, f.num_columns * kTableEntry};
  ByteRange buffer_table{f.buffer_table, f.num_buffers * kTableEntry};
  std::vector<ByteRange> wanted = {columns, column_table, buffer_table};
  if (f.buffer_table < tail.offset) PILUM_RETURN_NOT_OK(fetched.Fetch(std::exchange(wanted, {})));
  FileMetadata out;
  out.version = f.version;
  out.column_metadata_bytes = columns.size;
  out.global_buffers = TableAt(fetched.Bytes(buffer_table));
  Status st = CheckGlobalBuffers(out.global_buffers, {f.version, size});
  if (!st.ok()) return WithContext(name, st);
  wanted.push_back(out.global_buffers[0]);
  const uint64_t reach = std::min(kTrailerReach, out.global_buffers[0].offset);
  wanted.push_back({out.global_buffers[0].offset - reach, reach});
  PILUM_RETURN_NOT_OK(fetched.Fetch(std::move(wanted)));
  if (ctx.verify != Verify::kOff) {
    st = FindChecksums(out.global_buffers, size, &fetched, &out.checksums);
    if (!st.ok()) return WithContext(name, st);
  }
  HideChecksums(ctx.verify, &out.global_buffers,
                fetched.Bytes({out.global_buffers[0].offset - std::min(reach, Checksums::kTrailerSize),
                               std::min(reach, Checksums::kTrailerSize)}),
                &out.checksums);

  auto schema = ParseFileDescriptor(fetched.Bytes(out.global_buffers[0]));
  if (!schema.ok()) return WithContext(name, schema.status());
  out.schema = *std::move(schema);
  st = ParseColumns(fetched.Bytes(columns), f, fetched.Bytes(column_table), size, &out.columns);
  if (!st.ok()) return WithContext(name, st);
  return out;
}

}  // namespace pilum
