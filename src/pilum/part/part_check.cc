#include "pilum/part/part_check.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/base/hash.h"
#include "pilum/index/part_index.h"
#include "pilum/index/sidecar_builder.h"
#include "pilum/part/part_unit.h"

namespace pilum {
namespace {

class Checker {
 public:
  Checker(const DatasetFiles& files, const PartFile& part, ReadContext& ctx, std::vector<Status>* faults)
      : files_(files), part_(part), ctx_(ctx), faults_(faults) {}

  Status Run() {
    auto source = files_.store->OpenSource(part_.path, ctx_);
    if (!source.ok()) return Note(source.status());
    if (!part_.content_hash().empty()) PILUM_RETURN_NOT_OK(CheckName(**source));
    auto reader = FileReader::Open(*source, ctx_);
    if (!reader.ok()) return Note(reader.status());
    PILUM_ASSIGN_OR_RETURN(auto found, (*reader)->Check(ctx_));
    const bool sound = found.empty();
    for (Status& st : found) faults_->push_back(std::move(st));
    auto identity = PartIdentity(files_, part_, ctx_);
    if (!identity.ok()) return Note(identity.status());
    std::unique_ptr<SidecarBuilder> truth;
    if (sound) {
      auto built = Rebuild(**reader, *identity);
      if (!built.ok()) return Note(built.status());
      truth = std::move(*built);
    }
    const SidecarIdentity wanted{SchemaDescriptorHash(*(*reader)->schema()), *identity, (*reader)->num_rows()};
    PILUM_RETURN_NOT_OK(CheckSidecar(files_.IndexPath(part_.name), SidecarKind::kIndex, wanted, truth.get()));
    PILUM_RETURN_NOT_OK(CheckSidecar(files_.HeaderPath(part_.name), SidecarKind::kHeader, wanted, truth.get()));
    return CheckSidecar(files_.StatsPath(part_.name), SidecarKind::kStats, wanted, truth.get());
  }

 private:
  Status Note(const Status& st) {
    if (StopsARead(st)) return st;
    faults_->push_back(st);
    return Status::OK();
  }

  Status CheckName(const ByteSource& source) {
    constexpr uint64_t kStep = 4 << 20;
    Blake3 hash;
    for (uint64_t at = 0; at < source.size(); at += kStep) {
      auto bytes = source.ReadRange({at, std::min(kStep, source.size() - at)}, ctx_);
      if (!bytes.ok()) return Note(bytes.status());
      hash.Update((*bytes)->data(), static_cast<size_t>((*bytes)->size()));
    }
    const std::string name = Hex(hash.Finish());
    if (name != part_.content_hash())
      faults_->push_back(Corrupt(part_.path, "", "its bytes hash to " + name + ", not to its name"));
    return Status::OK();
  }

  // What the sidecars must say, from the rows.
  Result<std::unique_ptr<SidecarBuilder>> Rebuild(const FileReader& reader, const Hash128& identity) {
    auto builder = std::make_unique<SidecarBuilder>(*reader.schema());
    PILUM_ASSIGN_OR_RETURN(auto stream, reader.Read(std::nullopt, RowSet::All(reader.num_rows()), {}, ctx_));
    while (true) {
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      PILUM_RETURN_NOT_OK(builder->Append(*batch));
    }
    PILUM_RETURN_NOT_OK(builder->Finish(*reader.schema(), identity).status());
    return builder;
  }

  Status CheckSidecar(const std::string& path, SidecarKind kind, const SidecarIdentity& wanted,
                      const SidecarBuilder* truth) {
    auto index = OpenPartIndex(files_, path, kind, wanted.part_hash, ctx_);
    if (!index.ok()) {
      if (KindOf(index.status()) == ErrorKind::kNotFound) {
        if (part_.content_hash().empty()) return Status::OK();  // nobody built one for a part that was dropped in
        return Note(NotFoundError("{}: missing; queries scan part {}", path, part_.name));
      }
      return Note(index.status());
    }
    if ((*index)->sidecar().identity() != wanted)
      return Note(Corrupt(path, "header", "it is of another schema or row count"));
    for (const SectionEntry& entry : (*index)->sidecar().entries()) {
      if (entry.state != SectionState::kPresent) continue;
      auto bytes = (*index)->sidecar().ReadSection(entry, ctx_);
      if (!bytes.ok()) PILUM_RETURN_NOT_OK(Note(bytes.status()));
    }
    if (kind == SidecarKind::kHeader) {
      const Status schema = (*index)->ReadSchema(ctx_).status();
      if (!schema.ok() && KindOf(schema) != ErrorKind::kNotFound) PILUM_RETURN_NOT_OK(Note(schema));
    }
    if (!truth) return Status::OK();
    if (kind == SidecarKind::kStats) return CheckStats(path, **index, *truth);
    for (const auto& column : truth->columns()) PILUM_RETURN_NOT_OK(CheckColumn(path, kind, **index, column));
    return (*index)->note().empty() ? Status::OK() : Note(Corrupt(path, "", (*index)->note()));
  }

  // Statistics are the same bytes for the same rows.
  Status CheckStats(const std::string& path, const PartIndex& index, const SidecarBuilder& truth) {
    for (const auto& column : truth.columns()) {
      SidecarWriter sections;
      column.stats.AddTo(column.path, &sections);
      for (const SectionEntry& wanted : sections.entries()) {
        if (wanted.state != SectionState::kPresent) continue;
        const SectionEntry* found = index.sidecar().Find(static_cast<SectionFamily>(wanted.family), &column.path);
        if (found && found->hash == wanted.hash) continue;
        faults_->push_back(Corrupt(
            path, fmt::format("column '{}'", column.path.ToString()),
            fmt::format("its section of family {} is {}", wanted.family, found ? "not what the rows say" : "missing")));
      }
    }
    return Status::OK();
  }

  Status CheckColumn(const std::string& path, SidecarKind kind, const PartIndex& index,
                     const SidecarBuilder::Column& column) {
    PILUM_ASSIGN_OR_RETURN(auto zones, index.Zones(column.path, ctx_));
    if (zones) {
      const ZoneMap& truth = kind == SidecarKind::kHeader ? column.collector->bounds() : column.collector->zones();
      const std::string what = FirstLie(*zones, truth);
      if (!what.empty()) faults_->push_back(Corrupt(path, fmt::format("column '{}'", column.path.ToString()), what));
    }
    PILUM_ASSIGN_OR_RETURN(auto filter, index.Bloom(column.path, ctx_));
    if (filter && !column.collector->distinct().overflowed()) {
      uint64_t lost = 0;
      column.collector->distinct().ForEach([&](uint64_t hash) { lost += !filter->MayContain(hash); });
      if (lost > 0) {
        faults_->push_back(Corrupt(path, fmt::format("column '{}'", column.path.ToString()),
                                   fmt::format("its filter loses {} of the part's values", lost)));
      }
    }
    return Status::OK();
  }

  // The first chunk of which `stored` says less than the rows hold; empty if there is none.
  static std::string FirstLie(const ZoneMap& stored, const ZoneMap& truth) {
    if (stored.num_chunks() != truth.num_chunks() || stored.chunk_rows != truth.chunk_rows ||
        stored.domain != truth.domain) {
      return "zones of another shape than the rows";
    }
    for (size_t c = 0; c < truth.num_chunks(); ++c) {
      if (stored.nulls[c] != truth.nulls[c]) {
        return fmt::format("chunk {}: {} NULLs, the rows have {}", c, stored.nulls[c], truth.nulls[c]);
      }
      const uint8_t f = truth.flags[c], g = stored.flags[c];
      if ((f & ZoneMap::kHasNaN) != (g & ZoneMap::kHasNaN)) return fmt::format("chunk {}: wrong about NaN", c);
      if ((f & ZoneMap::kHasBounds) != (g & ZoneMap::kHasBounds))
        return fmt::format("chunk {}: wrong about having values", c);
      if (!(f & ZoneMap::kHasBounds)) continue;
      if (truth.Low(c) < stored.Low(c))
        return fmt::format("chunk {}: lower bound {} is above a value", c, stored.Low(c).ToString());
      if (g & ZoneMap::kNoUpper) continue;
      if ((f & ZoneMap::kNoUpper) || stored.High(c) < truth.High(c)) {
        return fmt::format("chunk {}: upper bound {} is below a value", c, stored.High(c).ToString());
      }
    }
    return {};
  }

  const DatasetFiles& files_;
  const PartFile& part_;
  ReadContext& ctx_;
  std::vector<Status>* faults_;
};

}  // namespace

Status CheckPart(const DatasetFiles& files, const PartFile& part, ReadContext& ctx, std::vector<Status>* faults) {
  return Checker(files, part, ctx, faults).Run();
}

}  // namespace pilum
