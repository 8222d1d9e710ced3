// Reads a sidecar: its head at once, its sections when they are asked for.
#include <algorithm>

#include <arrow/buffer.h>
#include <zstd.h>

#include "pilum/base/bytes.h"
#include "pilum/index/sidecar_wire.h"

namespace pilum {

using namespace sidecar_wire;  // NOLINT: of this file

Result<std::shared_ptr<const SidecarReader>> SidecarReader::Open(std::shared_ptr<const ByteSource> source,
                                                                 SidecarKind kind, ReadContext& ctx) {
  std::shared_ptr<SidecarReader> reader(new SidecarReader(std::move(source)));
  PILUM_RETURN_NOT_OK(reader->ParseHead(kind, ctx));
  return reader;
}

Status SidecarReader::ParseHead(SidecarKind kind, ReadContext& ctx) {
  auto corrupt = [&](std::string_view what) { return Corrupt(name(), "header", what); };
  const uint64_t first = std::min(source_->size(), FirstRead(kind));
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
    e.codec = static_cast<SectionCodec>(in.Read<uint8_t>());
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

const SectionEntry* SidecarReader::FindPair(SectionFamily family, const FieldPath& a, const FieldPath& b) const {
  for (const SectionEntry& e : entries_) {
    if (e.columns.size() != 2 || e.family != static_cast<uint16_t>(family) || e.family_version != kFamilyVersion)
      continue;
    if (e.state != SectionState::kPresent) continue;
    if ((e.columns[0] == a && e.columns[1] == b) || (e.columns[0] == b && e.columns[1] == a)) return &e;
  }
  return nullptr;
}

bool SidecarReader::SaysInTerms(const FieldPath* column) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const SectionEntry& e) {
    return e.state == SectionState::kInTerms && (!column || (e.columns.size() == 1 && e.columns[0] == *column));
  });
}

Result<BufferPtr> SidecarReader::Fetch(uint64_t offset, uint64_t length, ReadContext& ctx) const {
  if (FetchCost(offset, length) > 0) return source_->ReadRange({offset, length}, ctx);
  return arrow::SliceBuffer(head_, static_cast<int64_t>(offset), static_cast<int64_t>(length));
}

Result<Hash128> SidecarReader::ContentHash(ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(const BufferPtr all, Whole(ctx));
  return HalfHash({std::string_view(*all)});
}

uint64_t SidecarReader::FetchCost(uint64_t offset, uint64_t length) const {
  return offset + length <= static_cast<uint64_t>(head_->size()) ? 0 : length;
}

namespace {

// A frame that must state its length. What is wrong with it; "" if nothing is.
std::string_view Inflate(std::string_view bytes, uint64_t raw_length, std::string* out) {
  if (ZSTD_getFrameContentSize(bytes.data(), bytes.size()) != raw_length)
    return "compressed bytes state another length";
  out->resize(raw_length);
  const size_t n = ZSTD_decompress(out->data(), out->size(), bytes.data(), bytes.size());
  return ZSTD_isError(n) || n != raw_length ? "compressed bytes cannot be decompressed" : "";
}

}  // namespace

Result<std::string> SidecarReader::ReadSection(const SectionEntry& e, ReadContext& ctx) const {
  const std::string place = fmt::format("offset {}", e.offset);
  if (e.codec != SectionCodec::kRaw && e.codec != SectionCodec::kZstd)
    return Unsupported("{}: {}: section codec {} is not known here", name(), place, static_cast<int>(e.codec));
  if (e.raw_length > SidecarWriter::kMaxSection) return Corrupt(name(), place, "a section larger than any may be");
  PILUM_ASSIGN_OR_RETURN(const BufferPtr stored, Fetch(e.offset, e.length, ctx));
  const std::string_view bytes(*stored);
  if (HalfHash({bytes}) != e.hash) return Corrupt(name(), place, "a section's hash is wrong");
  if (e.codec == SectionCodec::kRaw) {
    if (e.length != e.raw_length) return Corrupt(name(), place, "a raw section of two lengths");
    return std::string(bytes);
  }
  std::string raw;
  if (auto wrong = Inflate(bytes, e.raw_length, &raw); !wrong.empty()) return Corrupt(name(), place, wrong);
  return raw;
}

Result<BlockRoot> SidecarReader::ReadRoot(const SectionEntry& e, ReadContext& ctx) const {
  if (e.codec != SectionCodec::kBlocks)
    return Unsupported("{}: offset {}: section codec {} is not known here", name(), e.offset,
                       static_cast<int>(e.codec));
  if (e.raw_length > e.length || e.raw_length > SidecarWriter::kMaxSection)
    return Corrupt(name(), fmt::format("offset {}", e.offset), "a root of no such length");
  PILUM_ASSIGN_OR_RETURN(const BufferPtr stored, Fetch(e.offset, e.raw_length, ctx));
  return ParseRoot(e, std::string_view(*stored), name());
}

Result<BlockRoot> SidecarReader::ParseRoot(const SectionEntry& e, std::string_view bytes, std::string_view name) {
  auto corrupt = [&](std::string_view what) { return Corrupt(name, fmt::format("offset {}", e.offset), what); };
  if (HalfHash({bytes}) != e.hash) return corrupt("a root's hash is wrong");
  ByteCursor in(bytes);
  const auto count = in.Read<uint32_t>();
  if (!in.ok() || count > in.remaining() / kBlockEntry) return corrupt("a root is cut short");
  BlockRoot root;
  root.blocks.reserve(count);
  uint64_t at = e.raw_length;
  for (uint32_t i = 0; i < count; ++i) {
    BlockRef block;
    block.stored = in.Read<uint32_t>();
    block.raw = in.Read<uint32_t>();
    std::memcpy(block.hash.data(), in.ReadBytes(16).data(), 16);
    if (block.stored > e.length - at) return corrupt("blocks past the end of their section");
    block.offset = e.offset + at;
    at += block.stored;
    root.blocks.push_back(block);
  }
  if (at != e.length) return corrupt("blocks that do not fill their section");
  root.family = std::string(in.ReadBytes(in.remaining()));
  return root;
}

Result<BlockRoot> SidecarReader::ReadRootOfRows(const SectionEntry& e, uint64_t num_rows, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(BlockRoot root, ReadRoot(e, ctx));
  if (root.family.size() < 8 || LoadLE<uint64_t>(root.family.data()) != num_rows)
    return Corrupt(name(), FamilyName(e.family), "it is of another number of rows");
  root.family.erase(0, 8);
  return root;
}

Result<std::string> SidecarReader::DecodeBlock(const BlockRef& block, std::string_view stored, std::string_view name) {
  auto corrupt = [&](std::string_view what) { return Corrupt(name, fmt::format("offset {}", block.offset), what); };
  if (block.raw > SidecarWriter::kMaxSection) return corrupt("a block larger than any may be");
  if (stored.size() != block.stored || HalfHash({stored}) != block.hash) return corrupt("a block's hash is wrong");
  if (block.stored == block.raw) return std::string(stored);  // only a block that got smaller is stored compressed
  std::string raw;
  if (auto wrong = Inflate(stored, block.raw, &raw); !wrong.empty()) return corrupt(wrong);
  return raw;
}

Result<std::vector<std::string>> SidecarReader::ReadBlocks(const std::vector<BlockRef>& blocks,
                                                           ReadContext& ctx) const {
  std::vector<ByteRange> ranges;
  for (const BlockRef& b : blocks) {
    if (b.raw > SidecarWriter::kMaxSection)
      return Corrupt(name(), fmt::format("offset {}", b.offset), "a block larger than any may be");
    if (FetchCost(b.offset, b.stored) > 0) ranges.push_back({b.offset, b.stored});
  }
  PILUM_ASSIGN_OR_RETURN(const auto fetched, source_->ReadRanges(ranges, ctx));
  std::vector<std::string> out;
  out.reserve(blocks.size());
  size_t next = 0;
  for (const BlockRef& b : blocks) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    const BufferPtr stored = FetchCost(b.offset, b.stored) > 0
                                 ? fetched[next++]
                                 : arrow::SliceBuffer(head_, static_cast<int64_t>(b.offset), b.stored);
    PILUM_ASSIGN_OR_RETURN(std::string raw, DecodeBlock(b, std::string_view(*stored), name()));
    out.push_back(std::move(raw));
  }
  return out;
}

Status SidecarReader::VerifySection(const SectionEntry& e, ReadContext& ctx) const {
  if (!e.in_blocks()) return ReadSection(e, ctx).status();
  PILUM_ASSIGN_OR_RETURN(const BlockRoot root, ReadRoot(e, ctx));
  constexpr size_t kAtOnce = 64;
  for (size_t at = 0; at < root.blocks.size(); at += kAtOnce) {
    const auto begin = root.blocks.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kAtOnce, root.blocks.size() - at));
    PILUM_RETURN_NOT_OK(ReadBlocks({begin, end}, ctx).status());
  }
  return Status::OK();
}

}  // namespace pilum
