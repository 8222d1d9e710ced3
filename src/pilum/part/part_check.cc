#include "pilum/part/part_check.h"

#include <algorithm>

#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/base/hash.h"
#include "pilum/index/part_index.h"
#include "pilum/index/sidecar_builder.h"
#include "pilum/part/dataset_file.h"
#include "pilum/part/part_spool.h"
#include "pilum/part/part_unit.h"
#include "pilum/sketch/value_hash.h"

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
    std::optional<Truth> truth;
    if (sound) {
      auto built = Rebuild(**reader, *identity);
      if (!built.ok()) return Note(built.status());
      truth = std::move(*built);
    }
    const SidecarIdentity wanted{SchemaDescriptorHash(*(*reader)->schema()), *identity, (*reader)->num_rows()};
    for (const auto& [path, kind] : files_.Sidecars(part_.name)) {
      PILUM_RETURN_NOT_OK(CheckSidecar(path, kind, wanted, truth));
    }
    return Status::OK();
  }

 private:
  Status Note(const Status& st) {
    if (st.ok() || StopsARead(st)) return st;
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
  struct Truth {
    std::unique_ptr<SidecarBuilder> builder;
    std::shared_ptr<PartIndex> index, header, terms;  // terms: null where no column asks for words
  };
  Result<Truth> Rebuild(const FileReader& reader, const Hash128& identity) {
    PILUM_ASSIGN_OR_RETURN(const auto spec, ReadDatasetSpec(files_, ctx_));
    PILUM_ASSIGN_OR_RETURN(const auto asked, SidecarSchema(spec, reader.schema()));
    auto builder = std::make_unique<SidecarBuilder>(*asked);
    PILUM_ASSIGN_OR_RETURN(auto stream, reader.Read(std::nullopt, RowSet::All(reader.num_rows()), {}, ctx_));
    while (true) {
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      PILUM_RETURN_NOT_OK(builder->Append(*batch));
    }
    PILUM_ASSIGN_OR_RETURN(auto files, builder->Finish(*reader.schema(), identity));
    auto open = [&](std::string bytes, SidecarKind kind) {
      return PartIndex::Open(MakeMemorySource("rebuilt sidecar", arrow::Buffer::FromString(std::move(bytes))), kind,
                             ctx_);
    };
    PILUM_ASSIGN_OR_RETURN(auto index, open(std::move(files.index), SidecarKind::kIndex));
    PILUM_ASSIGN_OR_RETURN(auto header, open(std::move(files.header), SidecarKind::kHeader));
    std::shared_ptr<PartIndex> terms;
    if (!files.terms.empty()) {
      PILUM_ASSIGN_OR_RETURN(terms, open(std::move(files.terms), SidecarKind::kTerms));
    }
    return Truth{std::move(builder), std::move(index), std::move(header), std::move(terms)};
  }

  Status CheckSidecar(const std::string& path, SidecarKind kind, const SidecarIdentity& wanted,
                      const std::optional<Truth>& truth) {
    auto index = OpenPartIndex(files_, path, kind, wanted.part_hash, ctx_);
    if (!index.ok()) {
      if (KindOf(index.status()) == ErrorKind::kNotFound) {
        if (part_.content_hash().empty()) return Status::OK();  // nobody built one for a part that was dropped in
        if (kind == SidecarKind::kTerms) {
          PILUM_ASSIGN_OR_RETURN(const bool wants, WantsTerms(files_, part_.name, wanted.part_hash, ctx_));
          if (!wants) return Status::OK();
        }
        return Note(NotFoundError("{}: missing; queries scan part {}", path, part_.name));
      }
      return Note(index.status());
    }
    if ((*index)->sidecar().identity() != wanted)
      return Note(Corrupt(path, "header", "it is of another schema or row count"));
    for (const SectionEntry& entry : (*index)->sidecar().entries()) {
      if (entry.state != SectionState::kPresent) continue;
      PILUM_RETURN_NOT_OK(Note((*index)->sidecar().VerifySection(entry, ctx_)));
    }
    if (kind == SidecarKind::kHeader) {
      const Status schema = (*index)->ReadSchema(ctx_).status();
      if (!schema.ok() && KindOf(schema) != ErrorKind::kNotFound) PILUM_RETURN_NOT_OK(Note(schema));
    }
    if (!truth) return Status::OK();
    if (kind == SidecarKind::kStats) return CheckStats(path, **index, *truth->builder);
    for (const auto& column : truth->builder->columns()) {
      if (kind == SidecarKind::kTerms) {
        if (truth->terms) PILUM_RETURN_NOT_OK(CheckRows(path, **index, *truth->terms, *truth->builder, column.path));
        continue;
      }
      PILUM_RETURN_NOT_OK(CheckColumn(path, kind, **index, column, *truth->header));
      if (kind == SidecarKind::kIndex)
        PILUM_RETURN_NOT_OK(CheckRows(path, **index, *truth->index, *truth->builder, column.path));
    }
    if (kind == SidecarKind::kIndex) PILUM_RETURN_NOT_OK(CheckPairs(path, **index, *truth->index));
    if (kind == SidecarKind::kHeader) PILUM_RETURN_NOT_OK(CheckPairFilters(path, **index, *truth->index));
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
                     const SidecarBuilder::Column& column, const PartIndex& truth) {
    PILUM_ASSIGN_OR_RETURN(auto zones, index.Zones(column.path, ctx_));
    if (zones) {
      const ZoneMap& exact = kind == SidecarKind::kHeader ? column.collector->bounds() : column.collector->zones();
      const std::string what = FirstLie(*zones, exact);
      if (!what.empty()) faults_->push_back(Corrupt(path, fmt::format("column '{}'", column.path.ToString()), what));
    }
    PILUM_ASSIGN_OR_RETURN(auto filter, index.Bloom(column.path, ctx_));
    PILUM_ASSIGN_OR_RETURN(auto fuse, index.Fuse(column.path, ctx_));
    if (kind == SidecarKind::kHeader) {
      PILUM_ASSIGN_OR_RETURN(auto ranges, index.Ranges(column.path, ctx_));
      PILUM_ASSIGN_OR_RETURN(auto wanted, truth.Ranges(column.path, ctx_));
      PILUM_ASSIGN_OR_RETURN(auto elements, index.MemberBloom(column.path, ctx_));
      if (elements && !std::all_of(column.member_hashes.begin(), column.member_hashes.end(),
                                   [&](uint64_t hash) { return elements->MayContain(hash); })) {
        faults_->push_back(
            Corrupt(path, fmt::format("column '{}'", column.path.ToString()), "its filter loses elements of lists"));
      }
      if (ranges && wanted && !ranges->Covers(*wanted))
        faults_->push_back(Corrupt(path, fmt::format("column '{}'", column.path.ToString()), "its ranges lose values"));
    }
    PILUM_ASSIGN_OR_RETURN(auto cuckoo, index.Cuckoo(column.path, ctx_));
    if ((filter || fuse || cuckoo) && !column.collector->distinct().overflowed()) {
      uint64_t lost = 0;
      column.collector->distinct().ForEach([&](uint64_t hash) {
        lost += (filter && !filter->MayContain(hash)) || (fuse && !fuse->MayContain(hash)) ||
                (cuckoo && !cuckoo->MayContain(hash));
      });
      if (lost > 0) {
        faults_->push_back(Corrupt(path, fmt::format("column '{}'", column.path.ToString()),
                                   fmt::format("its filter loses {} of the part's values", lost)));
      }
    }
    return Status::OK();
  }

  // Indexes that name rows: those of each value, those of NULL. Equal sections need no second look.
  Status CheckRows(const std::string& path, const PartIndex& stored, const PartIndex& truth,
                   const SidecarBuilder& rebuilt, const FieldPath& column) {
    auto fault = [&](std::string what) {
      faults_->push_back(Corrupt(path, fmt::format("column '{}'", column.ToString()), what));
    };
    auto differs = [&](SectionFamily family) {
      const SectionEntry* a = stored.sidecar().Find(family, &column);
      const SectionEntry* b = truth.sidecar().Find(family, &column);
      return a && b && a->hash != b->hash;
    };
    for (const auto family :
         {SectionFamily::kInverted, SectionFamily::kMembers, SectionFamily::kTrigrams, SectionFamily::kWords}) {
      if (!differs(family)) continue;
      auto open = [&](const PartIndex& index) {
        return family == SectionFamily::kTrigrams ? index.Trigrams(column, ctx_)
               : family == SectionFamily::kWords  ? index.Words(column, ctx_)
                                                  : index.Inverted(family, column, ctx_);
      };
      PILUM_ASSIGN_OR_RETURN(auto found, open(stored));
      PILUM_ASSIGN_OR_RETURN(auto wanted, open(truth));
      if (!found || !wanted) continue;
      std::string what;
      PILUM_RETURN_NOT_OK(Note(Compare(*found, *wanted, &what)));
      if (!what.empty()) fault(what);
    }
    if (differs(SectionFamily::kKey)) PILUM_RETURN_NOT_OK(CheckKey(path, stored, rebuilt, column));
    if (differs(SectionFamily::kNulls)) {
      PILUM_ASSIGN_OR_RETURN(auto found, stored.NullRows(column, ctx_));
      PILUM_ASSIGN_OR_RETURN(auto wanted, truth.NullRows(column, ctx_));
      if (found && wanted && *found != *wanted) fault("its NULL rows are not those of the part");
    }
    return Status::OK();
  }

  // `what`: the first value whose rows are not those that they should be.
  Status Compare(const InvertedIndex& found, const InvertedIndex& wanted, std::string* what) {
    Status asked;
    PILUM_RETURN_NOT_OK(wanted.ForEach(
        [&](const Value& value, const RowSet& rows) {
          if (!what->empty() || !asked.ok()) return;
          auto answer = found.Rows(ValueSet::Point(value), ~uint64_t{0} >> 8, false, ctx_);
          if (!answer.ok()) asked = answer.status();
          if (!answer.ok() || !*answer || (*answer)->rows == rows) return;
          *what = fmt::format("value {}: its rows are not those that hold it", value.ToString());
        },
        ctx_));
    return asked;
  }

  // Indexes over pairs of columns, and their filters.
  Status CheckPairs(const std::string& path, const PartIndex& stored, const PartIndex& truth) {
    for (const SectionEntry& entry : truth.sidecar().entries()) {
      if (entry.columns.size() != 2 || entry.state != SectionState::kPresent) continue;
      const FieldPath &a = entry.columns[0], &b = entry.columns[1];
      const SectionEntry* own = stored.sidecar().FindPair(SectionFamily::kPairs, a, b);
      if (!own || own->hash == entry.hash || own->columns[0] != a) continue;
      bool swapped = false;
      PILUM_ASSIGN_OR_RETURN(const auto found, stored.Pairs(a, b, &swapped, ctx_));
      PILUM_ASSIGN_OR_RETURN(const auto wanted, truth.Pairs(a, b, &swapped, ctx_));
      if (!found || !wanted) continue;
      std::string what;
      PILUM_RETURN_NOT_OK(Note(Compare(*found, *wanted, &what)));
      if (!what.empty())
        faults_->push_back(Corrupt(path, fmt::format("columns '{}' and '{}'", a.ToString(), b.ToString()), what));
    }
    return Status::OK();
  }

  Status CheckPairFilters(const std::string& path, const PartIndex& stored, const PartIndex& truth) {
    for (const SectionEntry& entry : truth.sidecar().entries()) {
      if (entry.columns.size() != 2 || entry.state != SectionState::kPresent) continue;
      const FieldPath &a = entry.columns[0], &b = entry.columns[1];
      bool swapped = false;
      PILUM_ASSIGN_OR_RETURN(const auto filter, stored.PairBloom(a, b, &swapped, ctx_));
      if (!filter || swapped) continue;
      PILUM_ASSIGN_OR_RETURN(const auto wanted, truth.Pairs(a, b, &swapped, ctx_));
      if (!wanted) continue;
      uint64_t lost = 0;
      PILUM_RETURN_NOT_OK(wanted->ForEach(
          [&](const Value& key, const RowSet&) { lost += !filter->MayContain(HashValue(key, 0)); }, ctx_));
      if (lost > 0)
        faults_->push_back(Corrupt(path, fmt::format("columns '{}' and '{}'", a.ToString(), b.ToString()),
                                   fmt::format("its filter loses {} of the part's pairs", lost)));
    }
    return Status::OK();
  }

  // Every hash of the rows leads to them.
  Status CheckKey(const std::string& path, const PartIndex& stored, const SidecarBuilder& truth_builder,
                  const FieldPath& column) {
    PILUM_ASSIGN_OR_RETURN(auto key, stored.Key(column, ctx_));
    if (!key) return Status::OK();
    const KeyBuilder* truth = nullptr;
    for (const auto& c : truth_builder.columns()) {
      if (c.path == column) truth = c.key.get();
    }
    if (!truth) return Status::OK();
    uint64_t lost = 0;
    const auto& all = truth->sorted();
    constexpr size_t kAtOnce = 8192;
    for (size_t at = 0; at < all.size(); at += kAtOnce) {
      std::vector<uint64_t> hashes, rows;
      for (size_t i = at; i < std::min(all.size(), at + kAtOnce); ++i) {
        hashes.push_back(all[i].hash);
        rows.push_back(all[i].row);
      }
      std::sort(rows.begin(), rows.end());
      auto found = key->Rows(std::move(hashes), ~uint64_t{0} >> 8, ctx_);
      if (!found.ok()) return Note(found.status());
      lost += RowSet::FromSorted(rows).Minus(**found).size();
    }
    if (lost > 0) {
      faults_->push_back(Corrupt(path, fmt::format("column '{}'", column.ToString()),
                                 fmt::format("its key loses {} of the part's rows", lost)));
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
