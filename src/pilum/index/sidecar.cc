#include "pilum/index/sidecar.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <zstd.h>

#include "pilum/base/bytes.h"
#include "pilum/base/hash.h"

namespace pilum {
namespace {

constexpr uint64_t kHeaderSize = 64, kFixedHead = 88;
constexpr uint16_t kFormatVersion = 1;
constexpr uint8_t kRaw = 0, kZstd = 1;
// A prune header is fetched whole, an index by its head and then by section.
constexpr uint64_t kFirstRead[] = {64 << 10, 2 << 20};

const char* MagicOf(SidecarKind kind) {
  switch (kind) {
    case SidecarKind::kIndex: return "PILUMIDX";
    case SidecarKind::kHeader: return "PILUMIDH";
    default: return "PILUMSTA";
  }
}

Hash128 HalfHash(std::initializer_list<std::string_view> pieces) {
  Blake3 h;
  for (std::string_view p : pieces) h.Update(p);
  const Hash256 full = h.Finish();
  Hash128 out;
  std::copy_n(full.begin(), 16, out.begin());
  return out;
}

std::string_view View(const Hash128& h) { return {reinterpret_cast<const char*>(h.data()), h.size()}; }

void AppendEntry(const SectionEntry& e, std::string* out) {
  AppendLE<uint16_t>(out, static_cast<uint16_t>(e.columns.size()));
  for (const FieldPath& path : e.columns) {
    AppendLE<uint16_t>(out, static_cast<uint16_t>(path.steps.size()));
    for (const std::string& step : path.steps) {
      AppendLE<uint32_t>(out, static_cast<uint32_t>(step.size()));
      *out += step;
    }
  }
  AppendLE<uint16_t>(out, e.family);
  AppendLE<uint16_t>(out, e.family_version);
  AppendLE<uint8_t>(out, e.codec);
  AppendLE<uint8_t>(out, static_cast<uint8_t>(e.state));
  AppendLE<uint16_t>(out, 0);
  AppendLE<uint64_t>(out, e.offset);
  AppendLE<uint64_t>(out, e.length);
  AppendLE<uint64_t>(out, e.raw_length);
  *out += View(e.hash);
}

uint64_t EntrySize(const SectionEntry& e) {
  std::string bytes;
  AppendEntry(e, &bytes);
  return bytes.size();
}

// Empty where compressing does not pay.
std::string Compress(std::string_view raw) {
  if (raw.size() < 48) return {};
  static thread_local std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx*)> context(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  std::string out(ZSTD_compressBound(raw.size()), 0);
  const size_t n = ZSTD_compressCCtx(context.get(), out.data(), out.size(), raw.data(), raw.size(), 3);
  if (ZSTD_isError(n) || n >= raw.size()) return {};
  out.resize(n);
  return out;
}

}  // namespace

SidecarWriter::Section SidecarWriter::Pack(std::vector<FieldPath> columns, SectionFamily family, std::string_view raw) {
  Section out;
  out.entry = {std::move(columns), static_cast<uint16_t>(family), kFamilyVersion};
  if (raw.size() > kMaxSection) {
    out.entry.state = SectionState::kOverBudget;
  } else {
    out.stored = Compress(raw);
    out.entry.codec = out.stored.empty() ? kRaw : kZstd;
    if (out.stored.empty()) out.stored = raw;
    out.entry.length = out.stored.size();
    out.entry.raw_length = raw.size();
    out.entry.hash = HalfHash({out.stored});
  }
  out.size = EntrySize(out.entry) + out.stored.size();
  return out;
}

void SidecarWriter::Add(Section section) {
  // The offset is from the start of the body; Finish moves it.
  section.entry.offset = section.entry.state == SectionState::kPresent ? body_.size() : 0;
  directory_size_ += section.size - section.stored.size();
  body_ += section.stored;
  entries_.push_back(std::move(section.entry));
}

void SidecarWriter::AddAbsent(std::vector<FieldPath> columns, SectionFamily family, SectionState why) {
  SectionEntry e{std::move(columns), static_cast<uint16_t>(family), kFamilyVersion, kRaw, why};
  directory_size_ += EntrySize(e);
  entries_.push_back(std::move(e));
}

uint64_t SidecarWriter::size() const { return kFixedHead + directory_size_ + body_.size(); }

std::string SidecarWriter::Finish(SidecarKind kind, const SidecarIdentity& identity) const {
  std::string directory;
  for (SectionEntry e : entries_) {
    if (e.state == SectionState::kPresent) e.offset += kFixedHead + directory_size_;
    AppendEntry(e, &directory);
  }
  std::string out(MagicOf(kind), 8);
  out.reserve(size());
  AppendLE<uint16_t>(&out, kFormatVersion);
  out.append(6, '\0');
  out += View(identity.schema_hash);
  out += View(identity.part_hash);
  AppendLE<uint64_t>(&out, identity.num_rows);
  AppendLE<uint64_t>(&out, size() - kHeaderSize);
  AppendLE<uint32_t>(&out, static_cast<uint32_t>(entries_.size()));
  AppendLE<uint32_t>(&out, static_cast<uint32_t>(directory.size()));
  out += View(HalfHash({out, directory}));
  out += directory;
  out += body_;
  return out;
}

Result<std::shared_ptr<const SidecarReader>> SidecarReader::Open(std::shared_ptr<const ByteSource> source,
                                                                 SidecarKind kind, ReadContext& ctx) {
  std::shared_ptr<SidecarReader> reader(new SidecarReader(std::move(source)));
  PILUM_RETURN_NOT_OK(reader->ParseHead(kind, ctx));
  return reader;
}

Status SidecarReader::ParseHead(SidecarKind kind, ReadContext& ctx) {
  auto corrupt = [&](std::string_view what) { return Corrupt(name(), "header", what); };
  const uint64_t first = std::min(source_->size(), kFirstRead[kind == SidecarKind::kHeader]);
  if (first < kFixedHead) return corrupt("cut short");
  PILUM_ASSIGN_OR_RETURN(head_, source_->ReadRange({0, first}, ctx));
  const std::string_view head(*head_);
  ByteCursor in(head);
  if (in.ReadBytes(8) != MagicOf(kind)) return corrupt("not a sidecar of this kind");
  const auto version = in.Read<uint16_t>();
  if (version != kFormatVersion) {
    return Unsupported("{}: sidecar format version {}; this Pilum reads version {}", name(), version, kFormatVersion);
  }
  if (in.ReadBytes(6) != std::string_view("\0\0\0\0\0\0", 6)) return corrupt("reserved bytes are not zero");
  auto read_hash = [&](Hash128* out) { std::memcpy(out->data(), in.ReadBytes(16).data(), 16); };
  read_hash(&identity_.schema_hash);
  read_hash(&identity_.part_hash);
  identity_.num_rows = in.Read<uint64_t>();
  if (in.Read<uint64_t>() != source_->size() - kHeaderSize) return corrupt("its length is not the one it states");
  const auto entries = in.Read<uint32_t>();
  const auto directory_len = in.Read<uint32_t>();
  Hash128 checksum;
  read_hash(&checksum);
  if (directory_len > source_->size() - kFixedHead) return corrupt("a directory longer than the file");
  if (first < kFixedHead + directory_len) {  // `in` is done with the old bytes
    PILUM_ASSIGN_OR_RETURN(head_, source_->ReadRange({0, kFixedHead + directory_len}, ctx));
  }
  const std::string_view bytes(*head_);
  const std::string_view directory = bytes.substr(kFixedHead, directory_len);
  if (HalfHash({bytes.substr(0, 72), directory}) != checksum) return corrupt("the directory's checksum is wrong");
  return ParseDirectory(directory, entries);
}

Status SidecarReader::ParseDirectory(std::string_view bytes, uint32_t entries) {
  ByteCursor in(bytes);
  for (uint32_t i = 0; i < entries && in.ok(); ++i) {
    SectionEntry e;
    const auto columns = in.Read<uint16_t>();
    for (int c = 0; c < columns && in.ok(); ++c) {
      FieldPath path;
      const auto steps = in.Read<uint16_t>();
      for (int s = 0; s < steps && in.ok(); ++s) path.steps.emplace_back(in.ReadBytes(in.Read<uint32_t>()));
      e.columns.push_back(std::move(path));
    }
    e.family = in.Read<uint16_t>();
    e.family_version = in.Read<uint16_t>();
    e.codec = in.Read<uint8_t>();
    e.state = static_cast<SectionState>(in.Read<uint8_t>());
    in.Read<uint16_t>();
    e.offset = in.Read<uint64_t>();
    e.length = in.Read<uint64_t>();
    e.raw_length = in.Read<uint64_t>();
    const std::string_view hash = in.ReadBytes(16);
    if (!in.ok()) break;
    std::memcpy(e.hash.data(), hash.data(), 16);
    if (e.offset > source_->size() || e.length > source_->size() - e.offset) {
      return Corrupt(name(), fmt::format("directory entry {}", i), "a section past the end of the file");
    }
    entries_.push_back(std::move(e));
  }
  if (!in.ok() || in.remaining() != 0) return Corrupt(name(), "directory", "its entries do not fit it");
  return Status::OK();
}

const SectionEntry* SidecarReader::Find(SectionFamily family, const FieldPath* column) const {
  for (const SectionEntry& e : entries_) {
    if (e.family != static_cast<uint16_t>(family) || e.family_version != kFamilyVersion) continue;
    if (e.state != SectionState::kPresent || e.columns.size() != (column ? 1u : 0u)) continue;
    if (!column || e.columns[0] == *column) return &e;
  }
  return nullptr;
}

Result<std::string> SidecarReader::ReadSection(const SectionEntry& e, ReadContext& ctx) const {
  const std::string place = fmt::format("offset {}", e.offset);
  if (e.raw_length > SidecarWriter::kMaxSection) return Corrupt(name(), place, "a section larger than any may be");
  BufferPtr stored;
  if (e.offset + e.length <= static_cast<uint64_t>(head_->size())) {
    stored = arrow::SliceBuffer(head_, static_cast<int64_t>(e.offset), static_cast<int64_t>(e.length));
  } else {
    PILUM_ASSIGN_OR_RETURN(stored, source_->ReadRange({e.offset, e.length}, ctx));
  }
  const std::string_view bytes(*stored);
  if (HalfHash({bytes}) != e.hash) return Corrupt(name(), place, "a section's hash is wrong");
  if (e.codec == kRaw) {
    if (e.length != e.raw_length) return Corrupt(name(), place, "a raw section of two lengths");
    return std::string(bytes);
  }
  if (e.codec != kZstd) return Unsupported("{}: {}: section codec {} is not known", name(), place, e.codec);
  if (ZSTD_getFrameContentSize(bytes.data(), bytes.size()) != e.raw_length) {
    return Corrupt(name(), place, "a compressed section does not state its length");
  }
  std::string raw(e.raw_length, 0);
  const size_t n = ZSTD_decompress(raw.data(), raw.size(), bytes.data(), bytes.size());
  if (ZSTD_isError(n) || n != e.raw_length) return Corrupt(name(), place, "a section cannot be decompressed");
  return raw;
}

}  // namespace pilum
