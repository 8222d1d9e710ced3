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

enum class SidecarKind { kIndex, kHeader, kStats };  // .idx, .idxh, .stats
enum class SectionFamily : uint16_t {
  kSchema = 1,
  kBounds = 3,
  kBloom = 4,
  kZones = 5,
  kCounts = 7,
  kMoments = 8,
  kDistinct = 9,
  kQuantiles = 10,
  kTopValues = 11,
  kDecisions = 12,
};
enum class SectionState : uint8_t { kPresent = 0, kTooManyValues = 1, kOverBudget = 2, kBoundsSuffice = 3 };
inline constexpr uint16_t kFamilyVersion = 1;  // of every family so far

// What a sidecar says it is about; one of another identity is not used.
struct SidecarIdentity {
  Hash128 schema_hash{}, part_hash{};
  uint64_t num_rows = 0;
  bool operator==(const SidecarIdentity&) const = default;
};

struct SectionEntry {
  std::vector<FieldPath> columns;  // empty: the whole part
  uint16_t family = 0, family_version = 0;
  uint8_t codec = 0;
  SectionState state = SectionState::kPresent;
  uint64_t offset = 0, length = 0, raw_length = 0;
  Hash128 hash{};
};

class SidecarWriter {
 public:
  static constexpr uint64_t kMaxSection = 64ull << 20;

  // One section, compressed where that is smaller. Longer than kMaxSection: recorded as kOverBudget instead.
  struct Section {
    SectionEntry entry;
    std::string stored;
    uint64_t size = 0;  // what it adds to a file
  };
  static Section Pack(std::vector<FieldPath> columns, SectionFamily family, std::string_view raw);
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

class SidecarReader {
 public:
  // Reads the head: one request, two where the directory is long. kCorrupt: damaged; kUnsupported: a newer format.
  static Result<std::shared_ptr<const SidecarReader>> Open(std::shared_ptr<const ByteSource> source, SidecarKind kind,
                                                           ReadContext& ctx);
  const std::string& name() const { return source_->name(); }
  const SidecarIdentity& identity() const { return identity_; }
  const std::vector<SectionEntry>& entries() const { return entries_; }
  // The present section of this family, at the version this Pilum knows, about exactly this column; null if there is
  // none.
  const SectionEntry* Find(SectionFamily family, const FieldPath* column) const;
  // Checked against its hash and decompressed.
  Result<std::string> ReadSection(const SectionEntry& entry, ReadContext& ctx) const;

 private:
  explicit SidecarReader(std::shared_ptr<const ByteSource> source) : source_(std::move(source)) {}
  Status ParseHead(SidecarKind kind, ReadContext& ctx);
  Status ParseDirectory(std::string_view bytes, uint32_t entries);

  std::shared_ptr<const ByteSource> source_;
  SidecarIdentity identity_;
  std::vector<SectionEntry> entries_;
  BufferPtr head_;  // the first bytes of the file; sections inside need no further request
};

}  // namespace pilum
