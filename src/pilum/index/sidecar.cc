#include "pilum/index/sidecar.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <zstd.h>

#include "pilum/base/bytes.h"
#include "pilum/index/sidecar_wire.h"

namespace pilum {

using namespace sidecar_wire;  // NOLINT: of this file

namespace {

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
  AppendLE<uint8_t>(out, static_cast<uint8_t>(e.codec));
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
    out.entry.codec = out.stored.empty() ? SectionCodec::kRaw : SectionCodec::kZstd;
    if (out.stored.empty()) out.stored = raw;
    out.entry.length = out.stored.size();
    out.entry.raw_length = raw.size();
    out.entry.hash = HalfHash({out.stored});
  }
  out.size = EntrySize(out.entry) + out.stored.size();
  return out;
}

void BlockSection::AddBlock(std::string_view raw) {
  const std::string packed = Compress(raw);
  const std::string_view stored = packed.empty() ? raw : packed;
  AppendLE<uint32_t>(&table_, static_cast<uint32_t>(stored.size()));
  AppendLE<uint32_t>(&table_, static_cast<uint32_t>(raw.size()));
  table_ += View(HalfHash({stored}));
  blocks_ += stored;
  ++num_blocks_;
}

SidecarWriter::Section SidecarWriter::PackBlocks(std::vector<FieldPath> columns, SectionFamily family,
                                                 const BlockSection& blocks, std::string_view root) {
  Section out;
  out.entry = {std::move(columns), static_cast<uint16_t>(family), kFamilyVersion};
  std::string whole_root;
  AppendLE<uint32_t>(&whole_root, blocks.num_blocks_);
  whole_root += blocks.table_;
  whole_root += root;
  if (whole_root.size() > kMaxSection || whole_root.size() + blocks.blocks_.size() > kMaxBlockSection) {
    out.entry.state = SectionState::kOverBudget;
  } else {
    out.entry.codec = SectionCodec::kBlocks;
    out.entry.raw_length = whole_root.size();
    out.entry.hash = HalfHash({whole_root});
    out.stored = std::move(whole_root);
    out.stored += blocks.blocks_;
    out.entry.length = out.stored.size();
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
  SectionEntry e{std::move(columns), static_cast<uint16_t>(family), kFamilyVersion, SectionCodec::kRaw, why};
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

std::string_view FamilyName(uint16_t family) {
  switch (static_cast<SectionFamily>(family)) {
    case SectionFamily::kSchema: return "schema";
    case SectionFamily::kBundledParts: return "bundled parts";
    case SectionFamily::kBounds: return "bounds";
    case SectionFamily::kBloom: return "bloom";
    case SectionFamily::kZones: return "zones";
    case SectionFamily::kCounts: return "counts";
    case SectionFamily::kMoments: return "moments";
    case SectionFamily::kDistinct: return "distinct";
    case SectionFamily::kQuantiles: return "quantiles";
    case SectionFamily::kTopValues: return "top values";
    case SectionFamily::kDecisions: return "decisions";
    case SectionFamily::kInverted: return "inverted";
    case SectionFamily::kNulls: return "nulls";
    case SectionFamily::kMembers: return "members";
    case SectionFamily::kKey: return "key";
    case SectionFamily::kFuse: return "fuse";
    case SectionFamily::kRanges: return "ranges";
    case SectionFamily::kTrigrams: return "trigrams";
    case SectionFamily::kCuckoo: return "cuckoo";
    case SectionFamily::kMemberBloom: return "member bloom";
    case SectionFamily::kWords: return "words";
    case SectionFamily::kPairs: return "pairs";
    case SectionFamily::kPairBloom: return "pair bloom";
    case SectionFamily::kSegmentParts: return "segment parts";
    case SectionFamily::kSegmentCovers: return "segment covers";
  }
  return "";
}

}  // namespace pilum
