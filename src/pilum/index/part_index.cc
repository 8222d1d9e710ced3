#include "pilum/index/part_index.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/type.h>

#include "pilum/index/postings.h"
#include "pilum/index/trigram_builder.h"

namespace pilum {

bool StopsARead(const Status& status) {
  const ErrorKind kind = KindOf(status);
  return kind == ErrorKind::kDeadline || kind == ErrorKind::kCancelled || kind == ErrorKind::kMemory;
}

Result<std::shared_ptr<PartIndex>> PartIndex::Open(std::shared_ptr<const ByteSource> source, SidecarKind kind,
                                                   ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto reader, SidecarReader::Open(std::move(source), kind, ctx));
  return Of(std::move(reader), kind);
}

std::shared_ptr<PartIndex> PartIndex::Of(std::shared_ptr<const SidecarReader> reader, SidecarKind kind) {
  return std::shared_ptr<PartIndex>(new PartIndex(std::move(reader), kind));
}

Result<std::shared_ptr<arrow::Schema>> PartIndex::ReadSchema(ReadContext& ctx) const {
  const SectionEntry* entry = reader_->Find(SectionFamily::kSchema, nullptr);
  if (!entry) return NotFoundError("{} holds no schema", reader_->name());
  PILUM_ASSIGN_OR_RETURN(std::string bytes, reader_->ReadSection(*entry, ctx));
  arrow::io::BufferReader in(arrow::Buffer::FromString(std::move(bytes)));
  arrow::ipc::DictionaryMemo memo;
  auto schema = arrow::ipc::ReadSchema(&in, &memo);
  if (!schema.ok()) return Corrupt(reader_->name(), "schema", schema.status().message());
  if (SchemaDescriptorHash(**schema) != reader_->identity().schema_hash) {
    return Corrupt(reader_->name(), "schema", "it is not the schema that the header names");
  }
  return schema;
}

// Notes a damaged section and goes on without it.
Status PartIndex::Forgive(const Status& status) const {
  if (StopsARead(status)) return status;
  if (note_.empty()) note_ = status.message();
  return Status::OK();
}

std::map<std::string, uint64_t> PartIndex::sections_read() const {
  std::lock_guard lock(mutex_);
  return sections_read_;
}

std::string PartIndex::note() const {
  std::lock_guard lock(mutex_);
  return note_;
}

template <typename T>
auto PartIndex::Whole(ReadContext& ctx) const {
  return [this, &ctx](const SectionEntry& entry) -> Result<T> {
    PILUM_ASSIGN_OR_RETURN(const std::string bytes, reader_->ReadSection(entry, ctx));
    return T::FromBytes(bytes, reader_->name());
  };
}

template <typename T, typename Read>
Result<std::shared_ptr<const T>> PartIndex::Cached(Cache<T>* cache, SectionFamily family, const FieldPath& column,
                                                   Read read) const {
  return CachedAs(cache, column, reader_->Find(family, &column), read);
}

template <typename T, typename Read>
Result<std::shared_ptr<const T>> PartIndex::CachedPair(PairCache<T>* cache, SectionFamily family, const FieldPath& a,
                                                       const FieldPath& b, bool* swapped, Read read) const {
  const SectionEntry* entry = reader_->FindPair(family, a, b);
  *swapped = entry && entry->columns[0] != a;
  return CachedAs(cache, *swapped ? std::pair(b, a) : std::pair(a, b), entry, read);
}

template <typename Place, typename T, typename Read>
Result<std::shared_ptr<const T>> PartIndex::CachedAs(std::map<Place, std::shared_ptr<const T>>* cache, const Place& key,
                                                     const SectionEntry* entry, Read read) const {
  std::lock_guard lock(mutex_);
  if (auto it = cache->find(key); it != cache->end()) return it->second;
  std::shared_ptr<const T> out;
  if (entry) {
    Result<T> made = read(*entry);
    if (!made.ok() && reader_->is_share() && KindOf(made.status()) == ErrorKind::kNotFound) {
      return (*cache)[key] = out;
    }
    ++sections_read_[std::string(FamilyName(entry->family))];
    if (made.ok()) {
      out = std::make_shared<const T>(std::move(*made));
    } else {
      PILUM_RETURN_NOT_OK(Forgive(made.status()));
    }
  }
  (*cache)[key] = out;
  return out;
}

Result<std::shared_ptr<const ZoneMap>> PartIndex::Zones(const FieldPath& column, ReadContext& ctx) const {
  const auto family = kind_ == SidecarKind::kHeader ? SectionFamily::kBounds : SectionFamily::kZones;
  return Cached(&zones_, family, column, [&](const SectionEntry& entry) -> Result<ZoneMap> {
    PILUM_ASSIGN_OR_RETURN(const std::string bytes, reader_->ReadSection(entry, ctx));
    return ZoneMap::FromBytes(bytes, num_rows(), reader_->name());
  });
}

Result<std::shared_ptr<const BloomFilter>> PartIndex::Bloom(const FieldPath& column, ReadContext& ctx) const {
  return Cached(&blooms_, SectionFamily::kBloom, column, Whole<BloomFilter>(ctx));
}

Result<std::shared_ptr<const BloomFilter>> PartIndex::MemberBloom(const FieldPath& column, ReadContext& ctx) const {
  return Cached(&member_blooms_, SectionFamily::kMemberBloom, column, Whole<BloomFilter>(ctx));
}

Result<std::shared_ptr<const InvertedIndex>> PartIndex::Inverted(SectionFamily family, const FieldPath& column,
                                                                 ReadContext& ctx) const {
  return Cached(family == SectionFamily::kMembers ? &members_ : &inverted_, family, column,
                [&](const SectionEntry& entry) { return InvertedIndex::Open(reader_, entry, num_rows(), ctx); });
}

Result<std::shared_ptr<const KeyIndex>> PartIndex::Key(const FieldPath& column, ReadContext& ctx) const {
  return Cached(&keys_, SectionFamily::kKey, column,
                [&](const SectionEntry& entry) { return KeyIndex::Open(reader_, entry, num_rows(), ctx); });
}

Result<std::shared_ptr<const FuseFilter>> PartIndex::Fuse(const FieldPath& column, ReadContext& ctx) const {
  return Cached(&fuses_, SectionFamily::kFuse, column, Whole<FuseFilter>(ctx));
}

Result<std::shared_ptr<const CuckooFilter>> PartIndex::Cuckoo(const FieldPath& column, ReadContext& ctx) const {
  return Cached(&cuckoos_, SectionFamily::kCuckoo, column, Whole<CuckooFilter>(ctx));
}

Result<std::shared_ptr<const ValueRanges>> PartIndex::Ranges(const FieldPath& column, ReadContext& ctx) const {
  return Cached(&ranges_, SectionFamily::kRanges, column, Whole<ValueRanges>(ctx));
}

Result<std::shared_ptr<const InvertedIndex>> PartIndex::Trigrams(const FieldPath& column, ReadContext& ctx) const {
  return Cached(&trigrams_, SectionFamily::kTrigrams, column, [&](const SectionEntry& entry) {
    return InvertedIndex::Open(reader_, entry, TrigramBuilder::BlocksOf(num_rows()), ctx);
  });
}

Result<std::shared_ptr<const InvertedIndex>> PartIndex::Words(const FieldPath& column, ReadContext& ctx) const {
  return Cached(&words_, SectionFamily::kWords, column,
                [&](const SectionEntry& entry) { return InvertedIndex::Open(reader_, entry, num_rows(), ctx); });
}

Result<std::shared_ptr<const InvertedIndex>> PartIndex::Pairs(const FieldPath& a, const FieldPath& b, bool* swapped,
                                                              ReadContext& ctx) const {
  return CachedPair(&pairs_, SectionFamily::kPairs, a, b, swapped,
                    [&](const SectionEntry& entry) { return InvertedIndex::Open(reader_, entry, num_rows(), ctx); });
}

Result<std::shared_ptr<const BloomFilter>> PartIndex::PairBloom(const FieldPath& a, const FieldPath& b, bool* swapped,
                                                                ReadContext& ctx) const {
  return CachedPair(&pair_blooms_, SectionFamily::kPairBloom, a, b, swapped, Whole<BloomFilter>(ctx));
}

Result<std::shared_ptr<const RowSet>> PartIndex::NullRows(const FieldPath& column, ReadContext& ctx) const {
  return Cached(&nulls_, SectionFamily::kNulls, column, [&](const SectionEntry& entry) -> Result<RowSet> {
    PILUM_ASSIGN_OR_RETURN(const std::string bytes, reader_->ReadSection(entry, ctx));
    std::vector<RowRange> runs;
    if (!ReadPostings(bytes, num_rows(), &runs))
      return Corrupt(reader_->name(), "nulls", "they are no rows of the part");
    return RowSet::FromRanges(std::move(runs));
  });
}

Result<std::shared_ptr<const ColumnStats>> PartIndex::Stats(const FieldPath& column, const arrow::DataType& type,
                                                            ReadContext& ctx) const {
  auto read = [&]() -> Result<std::shared_ptr<const ColumnStats>> {
    std::map<SectionFamily, std::string> sections;
    for (auto family : {SectionFamily::kCounts, SectionFamily::kMoments, SectionFamily::kDistinct,
                        SectionFamily::kQuantiles, SectionFamily::kTopValues}) {
      const SectionEntry* entry = reader_->Find(family, &column);
      if (!entry) continue;
      PILUM_ASSIGN_OR_RETURN(sections[family], reader_->ReadSection(*entry, ctx));
    }
    if (!sections.count(SectionFamily::kCounts)) return nullptr;
    PILUM_ASSIGN_OR_RETURN(ColumnStats stats, ColumnStats::FromSections(type, sections, reader_->name()));
    if (stats.rows() != num_rows()) return Corrupt(reader_->name(), "statistics", "they are of another number of rows");
    return std::make_shared<const ColumnStats>(std::move(stats));
  };
  auto stats = read();
  if (stats.ok()) return stats;
  std::lock_guard lock(mutex_);
  PILUM_RETURN_NOT_OK(Forgive(stats.status()));
  return nullptr;
}

Result<std::vector<BuildDecision>> PartIndex::Decisions(ReadContext& ctx) const {
  const SectionEntry* entry = reader_->Find(SectionFamily::kDecisions, nullptr);
  if (!entry) return std::vector<BuildDecision>();
  PILUM_ASSIGN_OR_RETURN(std::string bytes, reader_->ReadSection(*entry, ctx));
  return DecisionsFromBytes(bytes, reader_->name());
}

}  // namespace pilum
