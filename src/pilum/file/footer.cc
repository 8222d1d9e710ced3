#include "pilum/file/footer.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/buffer.h>

#include "pilum/base/bytes.h"
#include "pilum/file/column_wire.h"
#include "pilum/file/known_shapes.h"
#include "pilum/file/quiet_protobuf.h"
#include "pilum/file/wire_fields.h"

namespace pilum {
namespace {

constexpr uint64_t kFooterSize = 40;
constexpr uint64_t kTableEntry = 16;                  // u64 position, u64 size
constexpr uint64_t kMaxMetadata = uint64_t{1} << 30;  // bytes of all column metadata, and of the schema

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

Result<FileVersion> VersionOf(const std::string& name, uint16_t major, uint16_t minor, bool allow_unstable) {
  if ((major == 0 && minor == 3) || (major == 2 && minor == 0)) return FileVersion::kV2_0;
  if (major == 2 && minor == 1) return FileVersion::kV2_1;
  if (major == 2 && minor == 2) return FileVersion::kV2_2;
  std::string_view advice = "rewrite it with pylance and data_storage_version='2.2'";
  if (major == 2 && minor == 3) {
    if (allow_unstable) return FileVersion::kV2_3;
    return Unsupported(
        "{}: Lance file version 2.3 is unstable: what is written today may not be readable tomorrow; allow it "
        "(--allow-unstable, allow_unstable=True), or {}",
        name, advice);
  }
  if (major == 0 && minor <= 2) {
    return Unsupported("{}: legacy Lance file version {}.{} is not read, only 2.0 to 2.2; {}", name, major, minor,
                       advice);
  }
  return Unsupported(
      "{}: Lance file version {}.{} is not known to this Pilum, which reads 2.0 to 2.2; a newer Pilum may", name, major,
      minor);
}

Result<Footer> ParseFooter(const std::string& name, std::string_view tail, uint64_t file_size, bool allow_unstable) {
  constexpr std::string_view kMagic = "LANC";
  if (tail.size() < 8 || !tail.ends_with(kMagic)) {
    return Corrupt(name, "",
                   fmt::format("not a Lance file, or a cut one: its {} bytes do not end with LANC", file_size));
  }
  PILUM_ASSIGN_OR_RETURN(FileVersion version,
                         VersionOf(name, LoadLE<uint16_t>(tail.data() + tail.size() - 8),
                                   LoadLE<uint16_t>(tail.data() + tail.size() - 6), allow_unstable));
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

std::vector<ByteRange> TableAt(std::string_view bytes) {
  std::vector<ByteRange> out(bytes.size() / kTableEntry);
  for (size_t i = 0; i < out.size(); ++i) {
    const char* p = bytes.data() + i * kTableEntry;
    out[i] = {LoadLE<uint64_t>(p), LoadLE<uint64_t>(p + 8)};
  }
  return out;
}

// `bytes`: the region of all column metadata; the pages keep a copy.
Status ParseColumns(std::string_view bytes, const Footer& f, std::string_view table, uint64_t file_size,
                    std::vector<std::vector<StoredPage>>* out) {
  const auto kept = std::make_shared<const std::string>(bytes);
  const std::string_view region = *kept;
  uint64_t room = region.size();  // entries may lie in any order but may not share bytes, so that parsing is linear
  const std::vector<ByteRange> entries = TableAt(table);
  for (size_t i = 0; i < entries.size(); ++i) {
    const ByteRange& r = entries[i];
    if (r.offset < f.column_metadata || r.offset > f.column_table || r.size > f.column_table - r.offset ||
        r.size > room) {
      return Bad(fmt::format("column {}: its metadata at {} of {} bytes is outside of the metadata at [{}, {})", i,
                             r.offset, r.size, f.column_metadata, f.column_table));
    }
    room -= r.size;
    auto pages = ParseColumnMessage(region.substr(r.offset - f.column_metadata, r.size), {f.version, file_size}, kept);
    if (!pages.ok()) return WithContext(fmt::format("column {}", i), pages.status());
    out->push_back(*std::move(pages));
  }
  return Status::OK();
}

// Of the schema's message (length, field 2) no more than that.
Result<FileSchema> RowsOfFileDescriptor(std::string_view bytes) {
  FileSchema out;
  WireFields f(bytes);
  while (f.Next()) {
    if (f.Is(2, WireFields::kVarint)) out.num_rows = f.value();
  }
  if (!f.ok()) return Bad("the schema is not a valid message");
  return out;
}

// The schema's own message (field 1), where there is just one: parsers merge several.
std::string_view SchemaMessage(std::string_view descriptor) {
  std::string_view out;
  int seen = 0;
  WireFields f(descriptor);
  while (f.Next()) {
    if (f.number() != 1) continue;
    out = f.bytes();
    seen += f.Is(1, WireFields::kBytes) ? 1 : 2;
  }
  return f.ok() && seen == 1 ? out : std::string_view();
}

Result<FileSchema> ParseSchema(std::string_view descriptor, FileMetadata* out) {
  const std::string_view message = SchemaMessage(descriptor);
  if (!message.empty()) out->known_shape = KnownShapes::OfProcess().Find(message);
  if (out->known_shape) return RowsOfFileDescriptor(descriptor);
  out->schema_message = message;
  return ParseFileDescriptor(descriptor);
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
    PILUM_RETURN_NOT_OK(CheckBuffer(buffers[i], file, "global buffer", i));
  }
  if (buffers[0].size > kMaxMetadata)
    return Bad(fmt::format("a schema of {} bytes is over the limit", buffers[0].size));
  return Status::OK();
}

}  // namespace

Result<FileMetadata> ReadFileMetadata(const ByteSource& source, SchemaWanted wanted, ReadContext& ctx) {
  const std::string& name = source.name();
  const uint64_t size = source.size();
  QuietProtobuf();
  PILUM_RETURN_NOT_OK(ctx.Check());
  Fetched fetched(source, ctx);
  const uint64_t tail_size = std::min(size, source.cost().tail);
  ByteRange tail{size - tail_size, tail_size};
  PILUM_RETURN_NOT_OK(fetched.Fetch({tail}));
  PILUM_ASSIGN_OR_RETURN(Footer f, ParseFooter(name, fetched.Bytes(tail), size, ctx.allow_unstable));
  PILUM_RETURN_NOT_OK(CheckFooter(name, f, size));

  ByteRange columns{f.column_metadata, f.column_table - f.column_metadata};
  ByteRange column_table{f.column_table, f.num_columns * kTableEntry};
  ByteRange buffer_table{f.buffer_table, f.num_buffers * kTableEntry};
  std::vector<ByteRange> ranges = {columns, column_table, buffer_table};
  if (f.buffer_table < tail.offset) PILUM_RETURN_NOT_OK(fetched.Fetch(std::exchange(ranges, {})));
  FileMetadata out;
  out.version = f.version;
  out.column_metadata_bytes = columns.size;
  out.global_buffers = TableAt(fetched.Bytes(buffer_table));
  Status st = CheckGlobalBuffers(out.global_buffers, {f.version, size});
  if (!st.ok()) return WithContext(name, st);
  ranges.push_back(out.global_buffers[0]);
  const uint64_t reach = std::min(kTrailerReach, out.global_buffers[0].offset);
  ranges.push_back({out.global_buffers[0].offset - reach, reach});
  PILUM_RETURN_NOT_OK(fetched.Fetch(std::move(ranges)));
  if (ctx.verify != Verify::kOff) {
    st = FindChecksums(out.global_buffers, size, &fetched, &out.checksums);
    if (!st.ok()) return WithContext(name, st);
  }
  HideChecksums(ctx.verify, &out.global_buffers,
                fetched.Bytes({out.global_buffers[0].offset - std::min(reach, Checksums::kTrailerSize),
                               std::min(reach, Checksums::kTrailerSize)}),
                &out.checksums);

  const std::string_view descriptor = fetched.Bytes(out.global_buffers[0]);
  auto schema = wanted == SchemaWanted::kYes ? ParseSchema(descriptor, &out) : RowsOfFileDescriptor(descriptor);
  if (!schema.ok()) return WithContext(name, schema.status());
  out.schema = *std::move(schema);
  st = ParseColumns(fetched.Bytes(columns), f, fetched.Bytes(column_table), size, &out.columns);
  if (!st.ok()) return WithContext(name, st);
  return out;
}

}  // namespace pilum
