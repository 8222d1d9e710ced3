#include "pilum/index/bundle.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

constexpr uint64_t kReadWhole = 1 << 20;  // a lane of so many bytes is fetched with its root

Hash128 ReadHash(ByteCursor* in) {
  Hash128 out{};
  const std::string_view bytes = in->ReadBytes(out.size());
  if (bytes.size() == out.size()) std::memcpy(out.data(), bytes.data(), out.size());
  return out;
}

std::string_view ReadText(ByteCursor* in) { return in->ReadBytes(in->Read<uint32_t>()); }

}  // namespace

struct Bundle::Lane {
  struct Block {
    BlockRef ref;
    uint64_t begin = 0;  // of its raw bytes, in those of all blocks
    BufferPtr stored;    // null: not fetched
    std::string raw;     // once it was asked for
    bool is_decoded = false;
    Status failed;
  };
  const SectionEntry* entry = nullptr;
  bool is_open = false;
  Status failed;                // why nothing of it is to be had
  std::vector<uint64_t> begin;  // of each part's piece, and an end
  std::vector<bool> has;
  std::vector<Block> blocks;

  Status Open(std::string_view bytes, size_t parts, const std::string& name) {
    is_open = true;
    return failed = Parse(bytes, parts, name);
  }
  // The block that holds a part's piece whole.
  Block* BlockOf(size_t part) {
    auto it = std::upper_bound(blocks.begin(), blocks.end(), begin[part],
                               [](uint64_t at, const Block& b) { return at < b.begin; });
    if (it == blocks.begin()) return nullptr;
    Block* block = &*--it;
    return begin[part + 1] <= block->begin + block->ref.raw ? block : nullptr;
  }

 private:
  Status Parse(std::string_view bytes, size_t parts, const std::string& name) {
    PILUM_ASSIGN_OR_RETURN(const BlockRoot root, SidecarReader::ParseRoot(*entry, bytes, name));
    auto corrupt = [&](std::string_view what) { return Corrupt(name, fmt::format("offset {}", entry->offset), what); };
    if (root.family.size() != parts * sizeof(uint32_t)) return corrupt("a root that is about other parts");
    ByteCursor in(root.family);
    uint64_t at = 0;
    for (size_t i = 0; i < parts; ++i) {
      const auto length = in.Read<uint32_t>();
      begin.push_back(at);
      has.push_back(length > 0);
      at += length > 0 ? length - 1 : 0;
    }
    begin.push_back(at);
    uint64_t raw = 0;
    for (const BlockRef& ref : root.blocks) {
      Block& block = blocks.emplace_back();
      block.ref = ref;
      block.begin = raw;
      raw += ref.raw;
    }
    return raw == at ? Status::OK() : corrupt("blocks that do not hold what the root says");
  }
};

// One part's share of a bundle, as the reader of a header.
class Bundle::Share final : public SidecarReader {
 public:
  Share(std::shared_ptr<const Bundle> bundle, size_t part, const SidecarIdentity& identity)
      : SidecarReader(identity), bundle_(std::move(bundle)), part_(part) {}
  const std::string& name() const override { return bundle_->name(); }
  bool is_share() const override { return true; }
  const SectionEntry* Find(SectionFamily family, const FieldPath* column) const override {
    return column ? bundle_->reader_->Find(family, column) : nullptr;
  }
  const SectionEntry* FindPair(SectionFamily family, const FieldPath& a, const FieldPath& b) const override {
    return bundle_->reader_->FindPair(family, a, b);
  }
  Result<std::string> ReadSection(const SectionEntry& entry, ReadContext& ctx) const override {
    return bundle_->Piece(entry, part_, ctx);
  }

 private:
  const std::shared_ptr<const Bundle> bundle_;
  const size_t part_;
};

Bundle::Bundle(std::shared_ptr<const ByteSource> source) : source_(std::move(source)) {}
Bundle::~Bundle() = default;

Result<std::shared_ptr<const Bundle>> Bundle::Open(std::shared_ptr<const ByteSource> source, const SchemaForm& form,
                                                   ReadContext& ctx) {
  std::shared_ptr<Bundle> bundle(new Bundle(source));
  PILUM_ASSIGN_OR_RETURN(bundle->reader_, SidecarReader::Open(std::move(source), SidecarKind::kBundle, ctx));
  PILUM_RETURN_NOT_OK(bundle->ReadParts(form, ctx));
  return bundle;
}

Status Bundle::ReadParts(const SchemaForm& form, ReadContext& ctx) {
  const SectionEntry* entry = reader_->Find(SectionFamily::kBundledParts, nullptr);
  if (!entry) return Corrupt(name(), "directory", "it has no table of parts");
  PILUM_ASSIGN_OR_RETURN(const std::string bytes, reader_->ReadSection(*entry, ctx));
  return ParseParts(bytes, form);
}

Status Bundle::ParseParts(std::string_view bytes, const SchemaForm& form) {
  ByteCursor in(bytes);
  std::vector<std::shared_ptr<arrow::Schema>> schemas;
  std::vector<Hash128> hashes;
  for (auto left = in.Read<uint32_t>(); left > 0 && in.ok(); --left) {
    const std::string_view message = ReadText(&in);
    if (!in.ok()) break;
    arrow::io::BufferReader reader(arrow::Buffer::FromString(std::string(message)));
    arrow::ipc::DictionaryMemo memo;
    auto schema = arrow::ipc::ReadSchema(&reader, &memo);
    if (!schema.ok()) return Corrupt(name(), "table of parts", schema.status().message());
    hashes.push_back(SchemaDescriptorHash(**schema));
    PILUM_ASSIGN_OR_RETURN(auto formed, form(**schema));
    schemas.push_back(std::move(formed));
  }
  constexpr uint64_t kPartBytes = 16 + 16 + 8 + 4 + 4;
  const uint64_t count = reader_->identity().num_rows;
  if (!in.ok() || count > in.remaining() / kPartBytes) return Corrupt(name(), "table of parts", "it is cut short");
  parts_.reserve(count);
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    BundledPart part;
    part.identity = ReadHash(&in);
    part.header_hash = ReadHash(&in);
    part.num_rows = in.Read<uint64_t>();
    const auto schema = in.Read<uint32_t>();
    std::vector<std::string> keys, values;
    for (auto pairs = in.Read<uint32_t>(); pairs > 0 && in.ok(); --pairs) {
      keys.emplace_back(ReadText(&in));
      values.emplace_back(ReadText(&in));
    }
    if (!in.ok()) break;
    if (schema >= schemas.size() || (i > 0 && part.identity <= parts_.back().identity))
      return Corrupt(name(), "table of parts", fmt::format("part {} has no schema, or comes out of order", i));
    part.schema = schemas[schema];
    if (!keys.empty())
      part.schema = part.schema->WithMetadata(arrow::key_value_metadata(std::move(keys), std::move(values)));
    schema_hashes_.push_back(hashes[schema]);
    parts_.push_back(std::move(part));
  }
  if (!in.ok() || in.remaining() != 0) return Corrupt(name(), "table of parts", "its entries do not fit it");
  return Status::OK();
}

std::optional<size_t> Bundle::Find(const Hash128& identity) const {
  const auto it = std::lower_bound(parts_.begin(), parts_.end(), identity,
                                   [](const BundledPart& p, const Hash128& wanted) { return p.identity < wanted; });
  if (it == parts_.end() || it->identity != identity) return std::nullopt;
  return static_cast<size_t>(it - parts_.begin());
}

std::shared_ptr<PartIndex> Bundle::Header(size_t part) const {
  const SidecarIdentity identity{schema_hashes_[part], parts_[part].identity, parts_[part].num_rows};
  return PartIndex::Of(std::make_shared<Share>(shared_from_this(), part, identity), SidecarKind::kHeader);
}

// One who waits for another's requests still stops in time.
Result<std::unique_lock<std::timed_mutex>> Bundle::Lock(ReadContext& ctx) const {
  std::unique_lock lock(mutex_, std::defer_lock);
  while (!lock.try_lock_for(std::chrono::milliseconds(10))) PILUM_RETURN_NOT_OK(ctx.Check());
  return lock;
}

Bundle::Lane* Bundle::LaneOf(const SectionEntry& entry) const {
  auto& lane = lanes_[&entry];
  if (!lane) {
    lane = std::make_unique<Lane>();
    lane->entry = &entry;
    if (!entry.in_blocks() || entry.raw_length > entry.length || entry.raw_length > SidecarWriter::kMaxSection) {
      lane->is_open = true;
      lane->failed = Corrupt(name(), fmt::format("offset {}", entry.offset), "a section that is not in blocks");
    }
  }
  return lane.get();
}

Status Bundle::Fetch(std::span<const FieldPath> columns, std::span<const SectionFamily> families,
                     std::span<const size_t> parts, ReadContext& ctx) const {
  std::vector<const SectionEntry*> entries;
  for (const FieldPath& column : columns) {
    for (const SectionFamily family : families) entries.push_back(reader_->Find(family, &column));
  }
  return Fetch(entries, parts, ctx);
}

Status Bundle::FetchPair(const FieldPath& a, const FieldPath& b, std::span<const size_t> parts,
                         ReadContext& ctx) const {
  return Fetch({reader_->FindPair(SectionFamily::kPairBloom, a, b)}, parts, ctx);
}

bool Bundle::HasPair(const FieldPath& a, const FieldPath& b) const {
  return reader_->FindPair(SectionFamily::kPairBloom, a, b) != nullptr;
}

Status Bundle::Fetch(const std::vector<const SectionEntry*>& entries, std::span<const size_t> parts,
                     ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(const auto lock, Lock(ctx));
  std::vector<Lane*> lanes;
  for (const SectionEntry* entry : entries) {
    if (entry) lanes.push_back(LaneOf(*entry));
  }
  PILUM_RETURN_NOT_OK(FetchLanes(lanes, parts, ctx));
  return FetchBlocks(lanes, parts, ctx);
}

// Roots, and small lanes whole.
Status Bundle::FetchLanes(std::span<Lane* const> lanes, std::span<const size_t> parts, ReadContext& ctx) const {
  std::vector<Lane*> wanted;
  std::vector<ByteRange> ranges;
  for (Lane* lane : lanes) {
    if (lane->is_open || parts.empty() || std::find(wanted.begin(), wanted.end(), lane) != wanted.end()) continue;
    const SectionEntry& e = *lane->entry;
    wanted.push_back(lane);
    ranges.push_back({e.offset, e.length <= kReadWhole ? e.length : e.raw_length});
  }
  PILUM_ASSIGN_OR_RETURN(const auto fetched, source_->ReadRanges(ranges, ctx));
  for (size_t i = 0; i < wanted.size(); ++i) {
    Lane& lane = *wanted[i];
    const std::string_view bytes(*fetched[i]);
    if (!lane.Open(bytes.substr(0, lane.entry->raw_length), parts_.size(), name()).ok()) continue;
    for (Lane::Block& block : lane.blocks) {
      const uint64_t at = block.ref.offset - lane.entry->offset;
      if (at + block.ref.stored > bytes.size()) break;
      block.stored = arrow::SliceBuffer(fetched[i], static_cast<int64_t>(at), block.ref.stored);
    }
  }
  return Status::OK();
}

Status Bundle::FetchBlocks(std::span<Lane* const> lanes, std::span<const size_t> parts, ReadContext& ctx) const {
  std::vector<Lane::Block*> wanted;
  std::vector<ByteRange> ranges;
  for (Lane* lane : lanes) {
    if (!lane->failed.ok()) continue;
    for (const size_t part : parts) {
      Lane::Block* block = lane->has[part] ? lane->BlockOf(part) : nullptr;
      if (!block || block->stored || block->is_decoded || (!wanted.empty() && wanted.back() == block)) continue;
      wanted.push_back(block);
      ranges.push_back({block->ref.offset, block->ref.stored});
    }
  }
  PILUM_ASSIGN_OR_RETURN(const auto fetched, source_->ReadRanges(ranges, ctx));
  for (size_t i = 0; i < wanted.size(); ++i) wanted[i]->stored = fetched[i];
  return Status::OK();
}

Result<std::string> Bundle::Piece(const SectionEntry& entry, size_t part, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(const auto lock, Lock(ctx));
  Lane* lane = LaneOf(entry);
  PILUM_RETURN_NOT_OK(FetchLanes(std::span(&lane, 1), std::span(&part, 1), ctx));
  PILUM_RETURN_NOT_OK(lane->failed);
  if (!lane->has[part]) return NotFoundError("{}: nothing of this kind", name());
  const uint64_t begin = lane->begin[part], size = lane->begin[part + 1] - begin;
  if (size == 0) return std::string();
  Lane::Block* block = lane->BlockOf(part);
  if (!block) return Corrupt(name(), fmt::format("offset {}", entry.offset), "a piece in more than one block");
  PILUM_RETURN_NOT_OK(FetchBlocks(std::span(&lane, 1), std::span(&part, 1), ctx));
  if (!block->is_decoded) {
    block->is_decoded = true;
    auto raw = SidecarReader::DecodeBlock(block->ref, std::string_view(*block->stored), name());
    block->failed = raw.status();
    if (raw.ok()) block->raw = std::move(*raw);
    block->stored = nullptr;
  }
  PILUM_RETURN_NOT_OK(block->failed);
  return block->raw.substr(begin - block->begin, size);
}

Result<std::optional<BundledHeader>> Bundle::Take(size_t part, ReadContext& ctx) const {
  BundledHeader out;
  out.part = parts_[part];
  for (const SectionEntry& e : reader_->entries()) {
    if (e.columns.empty() || e.state != SectionState::kPresent || !e.in_blocks()) continue;  // no lane
    auto raw = Piece(e, part, ctx);
    if (!raw.ok() && KindOf(raw.status()) == ErrorKind::kNotFound) continue;
    if (!raw.ok() && KindOf(raw.status()) == ErrorKind::kCorrupt) return std::nullopt;
    PILUM_RETURN_NOT_OK(raw.status());
    out.pieces.push_back({e.columns, e.family, e.family_version, std::move(*raw)});
  }
  return std::optional(std::move(out));
}

}  // namespace pilum
