#include "pilum/index/part_index.h"

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/dictionary.h>
#include <arrow/ipc/reader.h>
#include <arrow/type.h>

#include "pilum/sketch/value_hash.h"

namespace pilum {

bool StopsARead(const Status& status) {
  const ErrorKind kind = KindOf(status);
  return kind == ErrorKind::kDeadline || kind == ErrorKind::kCancelled || kind == ErrorKind::kMemory;
}

Result<std::shared_ptr<PartIndex>> PartIndex::Open(std::shared_ptr<const ByteSource> source, SidecarKind kind,
                                                   ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto reader, SidecarReader::Open(std::move(source), kind, ctx));
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

std::string PartIndex::note() const {
  std::lock_guard lock(mutex_);
  return note_;
}

template <typename T, typename Parse>
Result<std::shared_ptr<const T>> PartIndex::Cached(std::map<FieldPath, std::shared_ptr<const T>>* cache,
                                                   SectionFamily family, const FieldPath& column, ReadContext& ctx,
                                                   Parse parse) const {
  std::lock_guard lock(mutex_);
  if (auto it = cache->find(column); it != cache->end()) return it->second;
  std::shared_ptr<const T> out;
  if (const SectionEntry* entry = reader_->Find(family, &column)) {
    auto read = [&]() -> Result<T> {
      PILUM_ASSIGN_OR_RETURN(std::string bytes, reader_->ReadSection(*entry, ctx));
      return parse(bytes);
    };
    auto made = read();
    if (made.ok()) {
      out = std::make_shared<const T>(std::move(*made));
    } else {
      PILUM_RETURN_NOT_OK(Forgive(made.status()));
    }
  }
  (*cache)[column] = out;
  return out;
}

Result<std::shared_ptr<const ZoneMap>> PartIndex::Zones(const FieldPath& column, ReadContext& ctx) const {
  const auto family = kind_ == SidecarKind::kHeader ? SectionFamily::kBounds : SectionFamily::kZones;
  return Cached(&zones_, family, column, ctx,
                [&](std::string_view bytes) { return ZoneMap::FromBytes(bytes, num_rows(), reader_->name()); });
}

Result<std::shared_ptr<const BloomFilter>> PartIndex::Bloom(const FieldPath& column, ReadContext& ctx) const {
  return Cached(&blooms_, SectionFamily::kBloom, column, ctx,
                [&](std::string_view bytes) { return BloomFilter::FromBytes(bytes, reader_->name()); });
}

Result<Candidates> PartIndex::Answer(const Probe& probe, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto zones, Zones(probe.column, ctx));
  if (!zones) return Candidates::Unknown(num_rows());
  if (probe.kind == Probe::Kind::kIsNull) return zones->IsNull();
  return ApplyFilter(probe, *zones, zones->InSet(probe.set, probe.exact), ctx);
}

// A filter knows which of the asked points are nowhere in the part.
Result<Candidates> PartIndex::ApplyFilter(const Probe& probe, const ZoneMap& zones, Candidates found,
                                          ReadContext& ctx) const {
  if (found.possible.empty()) return found;
  const SectionEntry* entry = reader_->Find(SectionFamily::kBloom, &probe.column);
  if (!entry) return found;
  // Fetching a filter must not cost more than reading the rows that it could save.
  if (kind_ == SidecarKind::kIndex && entry->length > found.possible.size() * 8) return found;
  const auto points = probe.set.AsPoints();
  if (!points) return found;
  for (const Value& v : *points) {
    if (v.domain() != zones.domain) return found;
  }
  PILUM_ASSIGN_OR_RETURN(auto filter, Bloom(probe.column, ctx));
  if (!filter) return found;
  std::vector<Value> left;
  for (const Value& v : *points) {
    if (filter->MayContain(HashValue(v, zones.scale))) left.push_back(v);
  }
  if (left.size() == points->size()) return found;
  const Candidates with_left = zones.InSet(ValueSet::Points(std::move(left)), probe.exact);
  found.possible = found.possible.Intersect(with_left.possible.Union(found.certain));
  return found;
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
