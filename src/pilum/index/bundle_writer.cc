#include <tuple>

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
bool IsAskedLater(uint16_t family) {
  return family != static_cast<uint16_t>(SectionFamily::kBounds) &&
         family != static_cast<uint16_t>(SectionFamily::kRanges);
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
      // The schema stands in the table of parts; a codec that is not known cannot be carried over.
      const bool whole = e.codec == SectionCodec::kRaw || e.codec == SectionCodec::kZstd;
      if (e.state != SectionState::kPresent || e.columns.empty() || !whole) continue;
      PILUM_ASSIGN_OR_RETURN(std::string raw, reader.ReadSection(e, ctx));
      out.pieces.push_back({e.columns, e.family, e.family_version, std::move(raw)});
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
  // What has the same columns lies together.
  using Place = std::tuple<std::vector<FieldPath>, bool, uint16_t, uint16_t>;  // last the family and its version
  std::map<Place, std::vector<const std::string*>> lanes;
  size_t number = 0;
  for (const auto& [identity, header] : headers_) {
    PILUM_RETURN_NOT_OK(table.Add(header.part));
    for (const BundledHeader::Piece& piece : header.pieces) {
      auto& lane = lanes[{piece.columns, IsAskedLater(piece.family), piece.family, piece.family_version}];
      lane.resize(headers_.size());
      lane[number] = &piece.raw;
    }
    ++number;
  }
  SidecarWriter out;
  out.Add({}, SectionFamily::kBundledParts, table.Bytes());
  for (const auto& [place, pieces] : lanes) {
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
    const auto& [columns, later, family, version] = place;
    auto lane = SidecarWriter::PackBlocks(columns, static_cast<SectionFamily>(family), blocks, lengths);
    lane.entry.family_version = version;
    out.Add(std::move(lane));
  }
  return out.Finish(SidecarKind::kBundle, {{}, {}, headers_.size()});
}

}  // namespace pilum
