#include "pilum/table/manifest.h"

#include <arrow/buffer.h>

#include "lance_table.pb.h"
#include "pilum/base/bytes.h"
#include "pilum/file/quiet_protobuf.h"
#include "pilum/table/feature_flags.h"

namespace pilum {
namespace {

constexpr uint64_t kFooterSize = 16;                 // u64 position, u16 major, u16 minor, magic
constexpr uint64_t kMaxMessage = uint64_t{1} << 30;  // bytes
constexpr uint64_t kMaxRows = uint64_t{1} << 32;     // in a fragment: a row address has 32 bits for them
constexpr std::string_view kMagic = "LANC";

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

template <typename Message>
std::optional<uint32_t> BaseIdOf(const Message& m) {
  return m.has_base_id() ? std::optional<uint32_t>(m.base_id()) : std::nullopt;
}

SequenceBytes External(const wire::ExternalFile& file) {
  SequenceBytes out;
  out.where = SequenceBytes::Where::kExternal;
  out.path = file.path();
  out.range = {file.offset(), file.size()};
  return out;
}

SequenceBytes Inline(const std::string& bytes) { return {SequenceBytes::Where::kInline, bytes, {}, {}}; }
SequenceBytes Spilled() { return {SequenceBytes::Where::kSpilled, {}, {}, {}}; }

SequenceBytes RowIdsOf(const wire::DataFragment& f) {
  switch (f.row_id_sequence_case()) {
    case wire::DataFragment::kInlineRowIds: return Inline(f.inline_row_ids());
    case wire::DataFragment::kExternalRowIds: return External(f.external_row_ids());
    case wire::DataFragment::kSpilledRowIds: return Spilled();
    default: return {};
  }
}

SequenceBytes CreatedAtOf(const wire::DataFragment& f) {
  switch (f.created_at_version_sequence_case()) {
    case wire::DataFragment::kInlineCreatedAt: return Inline(f.inline_created_at());
    case wire::DataFragment::kExternalCreatedAt: return External(f.external_created_at());
    case wire::DataFragment::kSpilledCreatedAt: return Spilled();
    default: return {};
  }
}

SequenceBytes LastUpdatedAtOf(const wire::DataFragment& f) {
  switch (f.last_updated_at_version_sequence_case()) {
    case wire::DataFragment::kInlineLastUpdatedAt: return Inline(f.inline_last_updated_at());
    case wire::DataFragment::kExternalLastUpdatedAt: return External(f.external_last_updated_at());
    case wire::DataFragment::kSpilledLastUpdatedAt: return Spilled();
    default: return {};
  }
}

Result<DataFile> DataFileOf(const wire::DataFile& f) {
  DataFile out;
  out.path = f.path();
  out.fields.assign(f.fields().begin(), f.fields().end());
  out.column_indices.assign(f.column_indices().begin(), f.column_indices().end());
  out.major = f.file_major_version();
  out.minor = f.file_minor_version();
  out.size = f.file_size_bytes();
  out.base_id = BaseIdOf(f);
  if (out.path.empty()) return Bad("a data file has no path");
  if (!out.is_legacy() && out.fields.size() != out.column_indices.size()) {
    return Bad(fmt::format("data file {}: {} fields, but {} columns for them", out.path, out.fields.size(),
                           out.column_indices.size()));
  }
  return out;
}

Result<DeletionFile> DeletionFileOf(const wire::DeletionFile& f) {
  DeletionFile out;
  switch (f.file_type()) {
    case wire::DeletionFile::ARROW_ARRAY: out.kind = DeletionFile::Kind::kArrowArray; break;
    case wire::DeletionFile::BITMAP: out.kind = DeletionFile::Kind::kBitmap; break;
    default: return Unsupported("a deletion file of unknown kind {}", static_cast<int>(f.file_type()));
  }
  out.read_version = f.read_version();
  out.id = f.id();
  out.num_deleted = f.num_deleted_rows();
  out.base_id = BaseIdOf(f);
  return out;
}

Result<Fragment> FragmentOf(const wire::DataFragment& f) {
  Fragment out;
  out.id = f.id();
  out.physical_rows = f.physical_rows();
  if (f.overlays_size() > 0) return Unsupported("it has data overlay files, which this Pilum does not read");
  if (out.id > UINT32_MAX) return Bad("its id has more than 32 bits");
  if (out.physical_rows > kMaxRows) return Bad(fmt::format("{} rows are too many", out.physical_rows));
  for (const auto& file : f.files()) {
    PILUM_ASSIGN_OR_RETURN(DataFile data, DataFileOf(file));
    out.files.push_back(std::move(data));
  }
  if (f.has_deletion_file()) {
    PILUM_ASSIGN_OR_RETURN(out.deletions, DeletionFileOf(f.deletion_file()));
    if (out.physical_rows > 0 && out.deletions->num_deleted > out.physical_rows) {
      return Bad(
          fmt::format("{} of its {} rows are said to be deleted", out.deletions->num_deleted, out.physical_rows));
    }
  }
  out.row_ids = RowIdsOf(f);
  out.created_at = CreatedAtOf(f);
  out.last_updated_at = LastUpdatedAtOf(f);
  return out;
}

Result<FileSchema> SchemaOf(const wire::Manifest& m) {
  wire::Schema schema;
  *schema.mutable_fields() = m.fields();
  *schema.mutable_metadata() = m.schema_metadata();
  return ParseSchemaMessage(schema.SerializeAsString());
}

Status AddFragments(const wire::Manifest& m, Manifest* out) {
  out->fragments.reserve(static_cast<size_t>(m.fragments_size()));
  for (const auto& f : m.fragments()) {
    auto fragment = FragmentOf(f);
    if (!fragment.ok()) return WithContext(fmt::format("fragment {}", f.id()), fragment.status());
    if (out->has_stable_row_ids() && fragment->row_ids.where == SequenceBytes::Where::kNone) {
      return Bad(fmt::format("fragment {} has no row ids, though the table's are stable", f.id()));
    }
    out->fragments.push_back(std::move(*fragment));
  }
  return Status::OK();
}

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
Result<std::string> ReadBytes(const ByteSource& source, ByteRange range, std::string_view tail, ReadContext& ctx) {
  const uint64_t tail_begin = source.size() - tail.size();
  if (range.offset >= tail_begin) return std::string(tail.substr(range.offset - tail_begin, range.size));
  PILUM_ASSIGN_OR_RETURN(auto buffer, source.ReadRange(range, ctx));
  return buffer->ToString();
}

Result<Manifest> Read(const ByteSource& source, ReadContext& ctx) {
  const uint64_t size = source.size();
  if (size < kFooterSize + 4) return Bad(fmt::format("its {} bytes are too few for a manifest", size));
  const uint64_t tail_size = std::min(size, source.cost().tail);
  PILUM_ASSIGN_OR_RETURN(auto tail_buffer, source.ReadRange({size - tail_size, tail_size}, ctx));
  const std::string_view tail(reinterpret_cast<const char*>(tail_buffer->data()), tail_size);
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
  PILUM_ASSIGN_OR_RETURN(std::string section, ReadBytes(source, {position, end - position}, tail, ctx));
  const auto length = LoadLE<uint32_t>(section.data());
  if (length != section.size() - 4) {
    return Bad(fmt::format("offset {}: a manifest of {} bytes, where the footer leaves {}", position, length,
                           section.size() - 4));
  }
  PILUM_ASSIGN_OR_RETURN(Manifest out, ParseManifest(std::string_view(section).substr(4)));
  out.file_size = size;
  out.section = {position + 4, length};
  return out;
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

Result<Manifest> ParseManifest(std::string_view message) {
  QuietProtobuf();
  wire::Manifest m;
  if (message.size() > kMaxMessage || !m.ParseFromArray(message.data(), static_cast<int>(message.size()))) {
    return Bad("the manifest message does not parse");
  }
  Manifest out;
  out.version = m.version();
  out.reader_flags = m.reader_feature_flags();
  out.writer_flags = m.writer_feature_flags();
  PILUM_RETURN_NOT_OK(CheckReadable(out.reader_flags, out.writer_flags));
  if (!m.fragment_tree().empty()) {
    return Unsupported("its list of fragments lies outside of it (field 22), which this Pilum does not read");
  }
  PILUM_ASSIGN_OR_RETURN(out.schema, SchemaOf(m));
  PILUM_RETURN_NOT_OK(AddFragments(m, &out));
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
  out.message = message;
  return out;
}

Result<std::shared_ptr<const Manifest>> ReadManifest(const ByteSource& source, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(ctx.Check());
  auto manifest = Read(source, ctx);
  if (manifest.ok()) return std::make_shared<const Manifest>(std::move(*manifest));
  const Status& st = manifest.status();
  return st.message().starts_with(source.name()) ? st : WithContext(source.name(), st);
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
  if (out.ok() || out.status().message().starts_with(source.name())) return out;
  return WithContext(source.name(), out.status());
}

}  // namespace pilum
