// Answers from one sidecar. Whatever is wrong with it (or with one section) makes it know less, never answer wrongly.
// Made by part/part_unit. Thread-safe; sections are read when first needed and kept.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/index/column_stats.h"
#include "pilum/index/inverted_index.h"
#include "pilum/index/key_index.h"
#include "pilum/index/sidecar.h"
#include "pilum/index/value_ranges.h"
#include "pilum/index/zone_map.h"
#include "pilum/sketch/bloom.h"
#include "pilum/sketch/cuckoo.h"
#include "pilum/sketch/fuse.h"

namespace pilum {

class PartIndex {
 public:
  static Result<std::shared_ptr<PartIndex>> Open(std::shared_ptr<const ByteSource> source, SidecarKind kind,
                                                 ReadContext& ctx);
  // Over a reader that is open already.
  static std::shared_ptr<PartIndex> Of(std::shared_ptr<const SidecarReader> reader, SidecarKind kind);
  const SidecarReader& sidecar() const { return *reader_; }
  uint64_t num_rows() const { return reader_->identity().num_rows; }

  // The part's schema, from a header. kNotFound: it was left out. kCorrupt: it does not hash to the header's schema
  // hash.
  Result<std::shared_ptr<arrow::Schema>> ReadSchema(ReadContext& ctx) const;

  // Column and set in the part's own terms (its path, its type's normal form). From bounds and filter of a header (one
  // chunk: the whole part), from zones and filter of an index. Errors only for deadline, stop and memory.
  Result<Candidates> Answer(const Probe& probe, ReadContext& ctx) const;
  // Of a header: what its bounds and ranges alone say, the smallest of its sections. false: no row can match.
  Result<bool> MayMatchByBounds(const Probe& probe, ReadContext& ctx) const;

  // Null: there is none to be had (and note() says so where that is a fault).
  Result<std::shared_ptr<const ZoneMap>> Zones(const FieldPath& column, ReadContext& ctx) const;
  Result<std::shared_ptr<const BloomFilter>> Bloom(const FieldPath& column, ReadContext& ctx) const;
  Result<std::shared_ptr<const BloomFilter>> MemberBloom(const FieldPath& column, ReadContext& ctx) const;
  // `family`: kInverted or kMembers.
  Result<std::shared_ptr<const InvertedIndex>> Inverted(SectionFamily family, const FieldPath& column,
                                                        ReadContext& ctx) const;
  Result<std::shared_ptr<const KeyIndex>> Key(const FieldPath& column, ReadContext& ctx) const;
  Result<std::shared_ptr<const FuseFilter>> Fuse(const FieldPath& column, ReadContext& ctx) const;
  Result<std::shared_ptr<const CuckooFilter>> Cuckoo(const FieldPath& column, ReadContext& ctx) const;
  Result<std::shared_ptr<const ValueRanges>> Ranges(const FieldPath& column, ReadContext& ctx) const;
  Result<std::shared_ptr<const InvertedIndex>> Trigrams(const FieldPath& column, ReadContext& ctx) const;
  Result<std::shared_ptr<const InvertedIndex>> Words(const FieldPath& column, ReadContext& ctx) const;  // of a .terms
  // Of the pair section of these columns, in either order; `swapped`: it has them the other way round.
  Result<std::shared_ptr<const InvertedIndex>> Pairs(const FieldPath& a, const FieldPath& b, bool* swapped,
                                                     ReadContext& ctx) const;
  Result<std::shared_ptr<const BloomFilter>> PairBloom(const FieldPath& a, const FieldPath& b, bool* swapped,
                                                       ReadContext& ctx) const;
  Result<std::shared_ptr<const RowSet>> NullRows(const FieldPath& column, ReadContext& ctx) const;

  // From a .stats; `type`: of the column in the part. Null: unknown.
  Result<std::shared_ptr<const ColumnStats>> Stats(const FieldPath& column, const arrow::DataType& type,
                                                   ReadContext& ctx) const;
  // From a .stats: what was built and why. Empty: unknown.
  Result<std::vector<BuildDecision>> Decisions(ReadContext& ctx) const;

  // By family: how many sections were read so far (each once).
  std::map<std::string, uint64_t> sections_read() const;
  std::string note() const;  // the first damaged section met so far; empty if none

 private:
  PartIndex(std::shared_ptr<const SidecarReader> reader, SidecarKind kind) : reader_(std::move(reader)), kind_(kind) {}
  Status Forgive(const Status& status) const;
  // What a section answered; nullopt where it is damaged, which is noted.
  template <typename T>
  Result<std::optional<T>> OrUnknown(Result<std::optional<T>> answer) const;
  // How a section is read that T is made of whole.
  template <typename T>
  auto Whole(ReadContext& ctx) const;
  template <typename T>
  using Cache = std::map<FieldPath, std::shared_ptr<const T>>;
  template <typename T, typename Read>
  Result<std::shared_ptr<const T>> Cached(Cache<T>* cache, SectionFamily family, const FieldPath& column,
                                          Read read) const;
  template <typename T>
  using PairCache = std::map<std::pair<FieldPath, FieldPath>, std::shared_ptr<const T>>;
  template <typename T, typename Read>
  Result<std::shared_ptr<const T>> CachedPair(PairCache<T>* cache, SectionFamily family, const FieldPath& a,
                                              const FieldPath& b, bool* swapped, Read read) const;
  template <typename Place, typename T, typename Read>
  Result<std::shared_ptr<const T>> CachedAs(std::map<Place, std::shared_ptr<const T>>* cache, const Place& key,
                                            const SectionEntry* entry, Read read) const;
  Result<bool> BoundsOverlap(const FieldPath& column, const ValueSet& set, ReadContext& ctx) const;
  Result<Candidates> ApplyNulls(const Probe& probe, Candidates found, ReadContext& ctx) const;
  Result<Candidates> ApplyInverted(const Probe& probe, Candidates found, bool* applied, ReadContext& ctx) const;
  Result<Candidates> ApplyMemberFilter(const Probe& probe, Candidates found, ReadContext& ctx) const;
  Result<Candidates> ApplyTrigrams(const Probe& probe, Candidates found, ReadContext& ctx) const;
  Result<Candidates> ApplyPairs(const Probe& probe, Candidates found, ReadContext& ctx) const;
  Result<Candidates> ApplyWords(const Probe& probe, Candidates found, ReadContext& ctx) const;
  Result<Candidates> ApplyKey(const Probe& probe, const ZoneMap& zones, Candidates found, bool* applied,
                              ReadContext& ctx) const;
  Result<Candidates> ApplyFilter(const Probe& probe, const ZoneMap& zones, Candidates found, ReadContext& ctx) const;

  std::shared_ptr<const SidecarReader> reader_;
  SidecarKind kind_;
  mutable std::mutex mutex_;
  mutable Cache<ZoneMap> zones_;
  mutable Cache<BloomFilter> blooms_, member_blooms_;
  mutable Cache<InvertedIndex> inverted_, members_;
  mutable Cache<RowSet> nulls_;
  mutable Cache<KeyIndex> keys_;
  mutable Cache<FuseFilter> fuses_;
  mutable Cache<ValueRanges> ranges_;
  mutable Cache<CuckooFilter> cuckoos_;
  mutable Cache<InvertedIndex> trigrams_, words_;
  mutable PairCache<InvertedIndex> pairs_;
  mutable PairCache<BloomFilter> pair_blooms_;
  mutable std::map<std::string, uint64_t> sections_read_;
  mutable std::string note_;
};

// Errors that must stop a read even where only an index was being asked.
bool StopsARead(const Status& status);

}  // namespace pilum
