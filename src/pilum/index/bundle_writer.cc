#include <arrow/buffer.h>
#include <arrow/ipc/writer.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/base/bytes.h"
#include "pilum/index/bundle.h"

namespace pilum {
namespace {

constexpr uint64_t kBlockBytes = 256 << 10;  // a block is closed once it holds as many

void AppendText(std::string_view text, std::string* out) {
  AppendLE<uint32_t>(out, static_cast<uint32_t>(text.size()));
  *out += text;
}

void AppendHash(const Hash128& hash, std::string* out) {
  out->append(reinterpret_cast<const char*>(hash.data()), hash.size());
}

// Bounds and ranges, which are asked first, lie next to each other.
std::pair<int, SectionFamily> LaneOrder(SectionFamily family) {
  const bool small = family == SectionFamily::kBounds || family == SectionFamily::kRanges;
  return {small ? 0 : 1, family};
}

uint64_t MetadataBytes(const arrow::Schema& schema) {
  uint64_t bytes = 0;
  for (int64_t i = 0; schema.metadata() && i < schema.metadata()->size(); ++i)
    bytes += schema.metadata()->key(i).size() + schema.metadata()->value(i).size();
  return bytes;
}

// The table of parts: schemas without what differs from part to part, then the parts.
class PartsTable {
 public:
  Status Add(const BundledPart& part) {
    PILUM_ASSIGN_OR_RETURN(auto bytes, arrow::ipc::SerializeSchema(*part.schema->RemoveMetadata()));
    const auto [it, is_new] = numbers_.emplace(bytes->ToString(), static_cast<uint32_t>(numbers_.size()));
    if (is_new) AppendText(it->first, &schemas_);
    AppendHash(part.identity, &parts_);
    AppendHash(part.header_hash, &parts_);
    AppendLE<uint64_t>(&parts_, part.num_rows);
    AppendLE<uint32_t>(&parts_, it->second);
    const auto& metadata = part.schema->metadata();
    const int64_t pairs = metadata ? metadata->size() : 0;
    AppendLE<uint32_t>(&parts_, static_cast<uint32_t>(pairs));
    for (int64_t i = 0; i < pairs; ++i) {
      AppendText(metadata->key(i), &parts_);
      AppendText(metadata->value(i), &parts_);
    }
    return Status::OK();
  }
  std::string Bytes() const {
    std::string out;
    AppendLE<uint32_t>(&out, static_cast<uint32_t>(numbers_.size()));
    return out + schemas_ + parts_;
  }

 private:
  std::map<std::string, uint32_t> numbers_;
  std::string schemas_, parts_;
};

}  // namespace

uint64_t BundledHeader::bytes() const {
  uint64_t bytes = 64 + MetadataBytes(*part.schema);
  for (const Piece& piece : pieces) bytes += 4 + piece.raw.size();
  return bytes;
}

Result<std::optional<BundledHeader>> BundledHeader::Of(const PartIndex& header, ReadContext& ctx) {
  const SidecarReader& reader = header.sidecar();
  BundledHeader out;
  const auto take = [&]() -> Status {
    PILUM_ASSIGN_OR_RETURN(out.part.schema, header.ReadSchema(ctx));
    PILUM_ASSIGN_OR_RETURN(out.part.header_hash, reader.ContentHash(ctx));
    out.part.identity = reader.identity().part_hash;
    out.part.num_rows = reader.identity().num_rows;
    for (const SectionEntry& e : reader.entries()) {
      const bool known = e.family_version == kFamilyVersion && !FamilyName(e.family).empty();
      if (!known || e.state != SectionState::kPresent || e.columns.size() != 1 || e.in_blocks()) continue;
      PILUM_ASSIGN_OR_RETURN(std::string raw, reader.ReadSection(e, ctx));
      out.pieces.push_back({e.columns[0], static_cast<SectionFamily>(e.family), std::move(raw)});
    }
    return Status::OK();
  };
  const Status st = take();
  if (StopsARead(st)) return st;
  if (!st.ok()) return std::nullopt;
  return std::optional(std::move(out));
}

bool BundleWriter::Fits(const BundledHeader& header) const {
  return headers_.size() < kMostParts && bytes_ + header.bytes() <= kMostBytes;
}

void BundleWriter::Add(BundledHeader header) {
  const uint64_t bytes = header.bytes();
  if (headers_.emplace(header.part.identity, std::move(header)).second) bytes_ += bytes;
}

Result<std::string> BundleWriter::Finish() const {
  PartsTable table;
  // What has the same column lies together.
  std::map<std::pair<FieldPath, std::pair<int, SectionFamily>>, std::vector<const std::string*>> lanes;
  size_t number = 0;
  for (const auto& [identity, header] : headers_) {
    PILUM_RETURN_NOT_OK(table.Add(header.part));
    for (const BundledHeader::Piece& piece : header.pieces) {
      auto& lane = lanes[{piece.column, LaneOrder(piece.family)}];
      lane.resize(headers_.size());
      lane[number] = &piece.raw;
    }
    ++number;
  }
  SidecarWriter out;
  out.Add({}, SectionFamily::kBundledParts, table.Bytes());
  for (const auto& [key, pieces] : lanes) {
    BlockSection blocks;
    std::string lengths, block;
    for (const std::string* piece : pieces) {
      AppendLE<uint32_t>(&lengths, piece ? static_cast<uint32_t>(piece->size() + 1) : 0);
      if (piece) block += *piece;
      if (block.size() >= kBlockBytes) {
        blocks.AddBlock(block);
        block.clear();
      }
    }
    if (!block.empty()) blocks.AddBlock(block);
    out.Add(SidecarWriter::PackBlocks({key.first}, key.second.second, blocks, lengths));
  }
  return out.Finish(SidecarKind::kBundle, {{}, {}, headers_.size()});
}

}  // namespace pilum
