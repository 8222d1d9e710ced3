#include "pilum/table/manifest.h"

#include <algorithm>

#include <arrow/buffer.h>

#include "lance_table.pb.h"
#include "pilum/base/bytes.h"
#include "pilum/file/quiet_protobuf.h"
#include "pilum/file/wire_fields.h"
#include "pilum/table/feature_flags.h"
#include "pilum/table/manifest_fragment.h"
#include "pilum/table/manifest_pieces.h"

namespace pilum {
namespace {

constexpr uint64_t kFooterSize = 16;                 // u64 position, u16 major, u16 minor, magic
constexpr uint64_t kMaxMessage = uint64_t{1} << 30;  // bytes
constexpr uint64_t kTail = 256 << 10;                // bytes of the first request: most manifests whole
constexpr std::string_view kMagic = "LANC";

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

int64_t NanosecondsOf(const wire::Timestamp& t) {
  int64_t ns = 0;
  if (__builtin_mul_overflow(t.seconds(), int64_t{1000000000}, &ns) ||
      __builtin_add_overflow(ns, static_cast<int64_t>(t.nanos()), &ns)) {
    return 0;
  }
  return ns;
}

// Where a section may begin, the footer's word included: [0, end - 4).
Result<ByteRange> SectionAt(uint64_t position, uint32_t size, uint64_t end) {
  if (position > end || end - position < 4 || size > end - position - 4) {
    return Bad(fmt::format("a section of {} bytes at {} does not fit before the footer at {}", size, position, end));
  }
  return ByteRange{position + 4, size};
}

// Bytes [offset, offset + size) of the file, from its tail where they lie in it.
Result<BufferPtr> ReadBytes(const ByteSource& source, ByteRange range, const BufferPtr& tail, ReadContext& ctx) {
  const uint64_t tail_begin = source.size() - static_cast<uint64_t>(tail->size());
  if (range.offset < tail_begin) return source.ReadRange(range, ctx);
  return arrow::SliceBuffer(tail, static_cast<int64_t>(range.offset - tail_begin), static_cast<int64_t>(range.size));
}

Result<ManifestMessage> ReadMessage(const ByteSource& source, ReadContext& ctx) {
  const uint64_t size = source.size();
  if (size < kFooterSize + 4) return Bad(fmt::format("its {} bytes are too few for a manifest", size));
  const uint64_t tail_size = std::min(size, std::max(kTail, source.cost().tail));
  PILUM_ASSIGN_OR_RETURN(auto tail_buffer, source.ReadRange({size - tail_size, tail_size}, ctx));
  const std::string_view tail(*tail_buffer);
  if (!tail.ends_with(kMagic)) return Bad("not a manifest, or a cut one: it does not end with LANC");
  const char* footer = tail.data() + tail_size - kFooterSize;
  const auto position = LoadLE<uint64_t>(footer);
  const auto major = LoadLE<uint16_t>(footer + 8);
  if (major != 0)
    return Unsupported("a manifest of version {}.{}; this Pilum reads 0.x", major, LoadLE<uint16_t>(footer + 10));
  const uint64_t end = size - kFooterSize;
  if (position > end || end - position < 4) {
    return Bad(fmt::format("footer at offset {}: no manifest can begin at {}", end, position));
  }
  PILUM_ASSIGN_OR_RETURN(auto section, ReadBytes(source, {position, end - position}, tail_buffer, ctx));
  const std::string_view bytes(*section);
  const auto length = LoadLE<uint32_t>(bytes.data());
  if (length != bytes.size() - 4) {
    return Bad(fmt::format("offset {}: a manifest of {} bytes, where the footer leaves {}", position, length,
                           bytes.size() - 4));
  }
  return ManifestMessage{std::move(section), bytes.substr(4), {position + 4, length}};
}

Status Named(const ByteSource& source, const Status& st) {
  return st.message().starts_with(source.name()) ? st : WithContext(source.name(), st);
}

}  // namespace

std::string DataFile::version() const {
  if (is_legacy()) return "0.1";
  if (major == 0 && minor == 3) return "2.0";
  return fmt::format("{}.{}", major, minor);
}

std::string DeletionFile::Path(uint64_t fragment) const {
  return fmt::format("_deletions/{}-{}-{}.{}", fragment, read_version, id, kind == Kind::kArrowArray ? "arrow" : "bin");
}

bool Manifest::has_stable_row_ids() const { return (reader_flags & table_flags::kStableRowIds) != 0; }

const Fragment* Manifest::FindFragment(uint64_t id) const {
  const auto at = std::find_if(fragments.begin(), fragments.end(), [&](const Fragment& f) { return f.id == id; });
  return at == fragments.end() ? nullptr : &*at;
}

Result<ManifestMessage> ReadManifestMessage(const ByteSource& source, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(ctx.Check());
  auto message = ReadMessage(source, ctx);
  if (message.ok()) return message;
  return Named(source, message.status());
}

Result<ManifestPieces> SplitManifest(std::string_view message) {
  const Status bad = Bad("the manifest message does not parse");
  if (message.size() > kMaxMessage) return bad;
  ManifestPieces out;
  WireFields f(message);
  while (f.Next()) {
    if (f.Is(2, WireFields::kBytes)) {
      out.fragments.push_back(f.bytes());
    } else {
      const bool of_schema = f.type() == WireFields::kBytes && (f.number() == 1 || f.number() == 5);
      (of_schema ? out.schema : out.rest).append(f.whole());
    }
  }
  if (!f.ok()) return bad;
  return out;
}

Result<Manifest> ParseHead(const ManifestPieces& pieces) {
  QuietProtobuf();
  wire::Manifest m;
  if (!m.ParseFromString(pieces.rest)) return Bad("the manifest message does not parse");
  Manifest out;
  out.version = m.version();
  out.reader_flags = m.reader_feature_flags();
  out.writer_flags = m.writer_feature_flags();
  PILUM_RETURN_NOT_OK(CheckReadable(out.reader_flags, out.writer_flags));
  if (!m.fragment_tree().empty()) {
    return Unsupported("its list of fragments lies outside of it (field 22), which this Pilum does not read");
  }
  out.config.insert(m.config().begin(), m.config().end());
  out.table_metadata.insert(m.table_metadata().begin(), m.table_metadata().end());
  for (const auto& b : m.base_paths()) out.base_paths.push_back({b.id(), b.name(), b.path(), b.is_dataset_root()});
  if (m.has_branch()) out.branch = m.branch();
  if (m.has_max_fragment_id()) out.max_fragment_id = m.max_fragment_id();
  out.next_row_id = m.next_row_id();
  out.timestamp_ns = NanosecondsOf(m.timestamp());
  out.data_version = m.data_format().version();
  if (m.has_writer_version()) out.writer = m.writer_version().library() + " " + m.writer_version().version();
  out.transaction_file = m.transaction_file();
  if (m.has_index_section()) out.indices = m.index_section();
  if (m.has_transaction_section()) {
    out.transaction = m.transaction_section();
  } else if (m.has_transaction_section_before_14()) {
    out.transaction = m.transaction_section_before_14();
  }
  return out;
}

Result<Manifest> ParseManifest(std::string_view message) {
  PILUM_ASSIGN_OR_RETURN(const ManifestPieces pieces, SplitManifest(message));
  PILUM_ASSIGN_OR_RETURN(Manifest out, ParseHead(pieces));
  PILUM_ASSIGN_OR_RETURN(out.schema, ParseSchemaMessage(pieces.schema));
  out.fragments.reserve(pieces.fragments.size());
  for (const std::string_view bytes : pieces.fragments) {
    PILUM_RETURN_NOT_OK(ParseFragment(bytes, out.has_stable_row_ids(), &out.fragments.emplace_back()));
  }
  out.message = message;
  return out;
}

Result<std::shared_ptr<const Manifest>> ReadManifest(const ByteSource& source, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const ManifestMessage message, ReadManifestMessage(source, ctx));
  auto manifest = ParseManifest(message.bytes);
  if (!manifest.ok()) return Named(source, manifest.status());
  manifest->file_size = source.size();
  manifest->section = message.range;
  return std::make_shared<const Manifest>(std::move(*manifest));
}

Result<std::string> ReadManifestSection(const ByteSource& source, uint64_t position, ReadContext& ctx) {
  const uint64_t end = source.size() < kFooterSize ? 0 : source.size() - kFooterSize;
  auto read = [&]() -> Result<std::string> {
    PILUM_RETURN_NOT_OK(SectionAt(position, 0, end).status());
    PILUM_ASSIGN_OR_RETURN(auto word, source.ReadRange({position, 4}, ctx));
    PILUM_ASSIGN_OR_RETURN(ByteRange range, SectionAt(position, LoadLE<uint32_t>(word->data()), end));
    PILUM_ASSIGN_OR_RETURN(auto buffer, source.ReadRange(range, ctx));
    return buffer->ToString();
  };
  auto out = read();
  if (out.ok()) return out;
  return Named(source, out.status());
}

}  // namespace pilum
