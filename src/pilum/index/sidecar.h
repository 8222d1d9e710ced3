// The sidecar container: a 64-byte header, a checked directory, and sections that are compressed and hashed one by one
// (docs/formats/sidecar.md). Written by SidecarBuilder, read by PartIndex. A reader is immutable and thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/index/schema_key.h"
#include "pilum/io/byte_source.h"

namespace pilum {

// .idx, .idxh, .stats, .terms; segments/; bundle.h
enum class SidecarKind { kIndex, kHeader, kStats, kTerms, kSegment, kBundle };
enum class SectionFamily : uint16_t {
  kSchema = 1,
  kBundledParts = 2,  // of a bundle alone
  kBounds = 3,
  kBloom = 4,
  kZones = 5,
  kCounts = 7,
  kMoments = 8,
  kDistinct = 9,
  kQuantiles = 10,
  kTopValues = 11,
  kDecisions = 12,
  kInverted = 13,
  kNulls = 14,
  kMembers = 15,
  kKey = 16,
  kFuse = 17,
  kRanges = 18,
  kTrigrams = 19,
  kCuckoo = 20,
  kMemberBloom = 21,
  kWords = 22,
  kPairs = 23,
  kPairBloom = 24,
  kSegmentParts = 25,
  kSegmentCovers = 26,
};
std::string_view FamilyName(uint16_t family);  // "" for one that is not known
enum class SectionState : uint8_t {
  kPresent = 0,
  kTooManyValues = 1,
  kOverBudget = 2,
  kBoundsSuffice = 3,
  kInTerms = 4,  // it is in the part's .terms
};
enum class SectionCodec : uint8_t { kRaw = 0, kZstd = 1, kBlocks = 2 };  // kBlocks: read by range, see BlockSection
inline constexpr uint16_t kFamilyVersion = 1;                            // of every family so far

// What a sidecar says it is about; one of another identity is not used.
struct SidecarIdentity {
  Hash128 schema_hash{}, part_hash{};
  uint64_t num_rows = 0;
  bool operator==(const SidecarIdentity&) const = default;
};

struct SectionEntry {
  std::vector<FieldPath> columns;  // empty: the whole part
  uint16_t family = 0, family_version = 0;
  SectionCodec codec = SectionCodec::kRaw;
  SectionState state = SectionState::kPresent;
  uint64_t offset = 0, length = 0, raw_length = 0;
  Hash128 hash{};
  bool in_blocks() const { return codec == SectionCodec::kBlocks; }
};

// A section that is read by range: a root, and blocks, each compressed and hashed alone. The root begins with the table
// of the blocks; what follows it there belongs to the family.
class BlockSection {
 public:
  void AddBlock(std::string_view raw);
  uint64_t num_blocks() const { return num_blocks_; }
  uint64_t size() const { return blocks_.size() + table_.size(); }  // bytes so far, but for the family's part

 private:
  friend class SidecarWriter;
  std::string table_, blocks_;
  uint32_t num_blocks_ = 0;
};

// One block of such a section, as the root describes it.
struct BlockRef {
  uint64_t offset = 0;  // in the object
  uint32_t stored = 0, raw = 0;
  Hash128 hash{};
};
struct BlockRoot {
  std::vector<BlockRef> blocks;
  std::string family;  // the family's part of the root
};

class SidecarWriter {
 public:
  static constexpr uint64_t kMaxSection = 64ull << 20;
  static constexpr uint64_t kMaxBlockSection = 512ull << 20;

  // One section, compressed where that is smaller. Longer than kMaxSection: recorded as kOverBudget instead.
  struct Section {
    SectionEntry entry;
    std::string stored;
    uint64_t size = 0;  // what it adds to a file
  };
  static Section Pack(std::vector<FieldPath> columns, SectionFamily family, std::string_view raw);
  static Section PackBlocks(std::vector<FieldPath> columns, SectionFamily family, const BlockSection& blocks,
                            std::string_view root);
  void Add(Section section);
  void Add(std::vector<FieldPath> columns, SectionFamily family, std::string_view raw) {
    Add(Pack(std::move(columns), family, raw));
  }
  void AddAbsent(std::vector<FieldPath> columns, SectionFamily family, SectionState why);
  uint64_t size() const;  // of the file so far
  const std::vector<SectionEntry>& entries() const { return entries_; }
  std::string Finish(SidecarKind kind, const SidecarIdentity& identity) const;

 private:
  std::vector<SectionEntry> entries_;
  std::string body_;
  uint64_t directory_size_ = 0;
};

// A reader of what one object holds, or of one part's share of a bundle (bundle.h).
class SidecarReader {
 public:
  virtual ~SidecarReader() = default;
  // Reads the head: one request, two where the directory is long. kCorrupt: damaged; kUnsupported: a newer format.
  static Result<std::shared_ptr<const SidecarReader>> Open(std::shared_ptr<const ByteSource> source, SidecarKind kind,
                                                           ReadContext& ctx);
  virtual const std::string& name() const { return source_->name(); }
  const SidecarIdentity& identity() const { return identity_; }
  const std::vector<SectionEntry>& entries() const { return entries_; }
  // The present section of this family, at the version this Pilum knows, about exactly this column; null if there is
  // none.
  virtual const SectionEntry* Find(SectionFamily family, const FieldPath* column) const;
  // The same about two columns, in either order.
  virtual const SectionEntry* FindPair(SectionFamily family, const FieldPath& a, const FieldPath& b) const;
  // Is it a part's share of a bundle? There ReadSection says kNotFound where other parts have such a section and this one
  // has none.
  virtual bool is_share() const { return false; }
  // Does the directory say of some column (of this one) that its section is in the part's .terms?
  bool SaysInTerms(const FieldPath* column = nullptr) const;
  // Checked against its hash and decompressed. Of a section in blocks see below.
  virtual Result<std::string> ReadSection(const SectionEntry& entry, ReadContext& ctx) const;
  Result<BlockRoot> ReadRoot(const SectionEntry& entry, ReadContext& ctx) const;
  // Of a family whose part of the root begins with the part's number of rows: that is checked, and taken off.
  Result<BlockRoot> ReadRootOfRows(const SectionEntry& entry, uint64_t num_rows, ReadContext& ctx) const;
  // In the order asked, in one round of requests.
  Result<std::vector<std::string>> ReadBlocks(const std::vector<BlockRef>& blocks, ReadContext& ctx) const;
  // The whole object; of a prune header no request.
  Result<BufferPtr> Whole(ReadContext& ctx) const { return Fetch(0, source_->size(), ctx); }
  // First 16 bytes of BLAKE3 of that.
  Result<Hash128> ContentHash(ReadContext& ctx) const;
  // Reads all of a section, of any codec: for checks.
  Status VerifySection(const SectionEntry& entry, ReadContext& ctx) const;
  // Bytes that this range still costs: 0 where the head holds it.
  uint64_t FetchCost(uint64_t offset, uint64_t length) const;

  // The pieces of a section in blocks, from bytes that were fetched already; kCorrupt names `name`.
  static Result<BlockRoot> ParseRoot(const SectionEntry& entry, std::string_view bytes, std::string_view name);
  static Result<std::string> DecodeBlock(const BlockRef& block, std::string_view stored, std::string_view name);

 protected:
  explicit SidecarReader(SidecarIdentity identity) : identity_(identity) {}

 private:
  explicit SidecarReader(std::shared_ptr<const ByteSource> source) : source_(std::move(source)) {}
  Status ParseHead(SidecarKind kind, ReadContext& ctx);
  Status ParseDirectory(std::string_view bytes, uint32_t entries);
  Result<BufferPtr> Fetch(uint64_t offset, uint64_t length, ReadContext& ctx) const;

  std::shared_ptr<const ByteSource> source_;
  SidecarIdentity identity_;
  std::vector<SectionEntry> entries_;
  BufferPtr head_;  // the first bytes of the file; sections inside need no further request
};

}  // namespace pilum
