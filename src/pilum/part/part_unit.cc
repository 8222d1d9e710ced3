#include "pilum/part/part_unit.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/file/projection.h"
#include "pilum/file/schema_wire.h"
#include "pilum/part/part_probe.h"
#include "pilum/part/widen.h"
#include "pilum/part/word_segments.h"
#include "pilum/source/field_path.h"
#include "pilum/source/missing_columns.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

// Batches of a part in the dataset's types. Without `inner` the part has none of the columns, and all are NULL.
class WidenedStream final : public BatchStream {
 public:
  WidenedStream(std::string part, std::unique_ptr<BatchStream> inner, std::shared_ptr<arrow::Schema> schema,
                RowSet rows, BatchLimits limits, const ReadContext& ctx)
      : part_(std::move(part)),
        inner_(std::move(inner)),
        schema_(std::move(schema)),
        left_(std::move(rows)),
        limits_(limits),
        ctx_(ctx) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  const RowSet& rows() const override { return inner_ ? inner_->rows() : rows_; }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    if (!failed_.ok()) return failed_;
    auto batch = inner_ ? NextWidened() : NextNull();
    if (!batch.ok()) failed_ = batch.status();
    return batch;
  }

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> NextWidened() {
    PILUM_ASSIGN_OR_RETURN(auto batch, inner_->Next());
    if (!batch) return batch;
    arrow::ArrayVector columns;
    for (const auto& field : schema_->fields()) {
      auto own = batch->GetColumnByName(field->name());
      auto widened = own ? WidenArray(own, field->type(), ctx_.memory_pool())
                         : arrow::MakeArrayOfNull(field->type(), batch->num_rows(), ctx_.memory_pool());
      if (!widened.ok()) {
        return WithContext(fmt::format("part {}: column '{}' as {}", part_, field->name(), field->type()->ToString()),
                           widened.status());
      }
      columns.push_back(std::move(*widened));
    }
    return arrow::RecordBatch::Make(schema_, batch->num_rows(), std::move(columns));
  }

  Result<std::shared_ptr<arrow::RecordBatch>> NextNull() {
    PILUM_RETURN_NOT_OK(ctx_.Check());
    rows_ = left_.SliceByRank(at_, limits_.rows);
    if (rows_.empty()) return nullptr;
    const auto n = static_cast<int64_t>(rows_.size());
    at_ += rows_.size();
    arrow::ArrayVector columns;
    for (const auto& field : schema_->fields()) {
      PILUM_ASSIGN_OR_RETURN(auto nulls, arrow::MakeArrayOfNull(field->type(), n, ctx_.memory_pool()));
      columns.push_back(std::move(nulls));
    }
    return arrow::RecordBatch::Make(schema_, n, std::move(columns));
  }

  const std::string part_;
  std::unique_ptr<BatchStream> inner_;
  const std::shared_ptr<arrow::Schema> schema_;
  RowSet left_, rows_;
  uint64_t at_ = 0;
  BatchLimits limits_;
  ReadContext ctx_;
  Status failed_;
};

// Its object, or what the disk cache kept of it.
Result<std::shared_ptr<PartIndex>> OpenHeader(const DatasetFiles& files, const PartFile& file, const Hash128& identity,
                                              ReadContext& ctx) {
  const std::string path = files.HeaderPath(file.name);
  if (!files.has_disk() || file.content_hash().empty())
    return OpenPartIndex(files, path, SidecarKind::kHeader, identity, ctx);
  const std::string key = files.CacheKey(path);
  if (auto held = files.disk->Get(key)) {
    auto source = MakeMemorySource(path, arrow::Buffer::FromString(std::move(*held)));
    ReadContext own = ctx;
    own.stats = nullptr;  // no request
    auto header = PartIndex::Open(std::move(source), SidecarKind::kHeader, own);
    if (header.ok() && (*header)->sidecar().identity().part_hash == identity) return header;
  }
  PILUM_ASSIGN_OR_RETURN(auto source, files.store->OpenSource(path, ctx));
  PILUM_ASSIGN_OR_RETURN(auto header, PartIndex::Open(source, SidecarKind::kHeader, ctx));
  if (header->sidecar().identity().part_hash != identity) return Corrupt(path, "header", "it belongs to another part");
  PILUM_ASSIGN_OR_RETURN(const BufferPtr bytes, header->sidecar().Whole(ctx));
  files.disk->Put(key, std::string_view(*bytes));
  return header;
}

Result<std::shared_ptr<PartIndex>> LoadHeader(const DatasetFiles& files, LoadedPart* part, ReadContext& ctx) {
  if (part->file.content_hash().empty()) {  // its identity costs a read, so first look whether there is a header at all
    PILUM_ASSIGN_OR_RETURN(bool exists, files.store->Exists(files.HeaderPath(part->file.name)));
    if (!exists) return NotFoundError("no header");
  }
  PILUM_ASSIGN_OR_RETURN(part->identity, PartIdentity(files, part->file, ctx));
  PILUM_ASSIGN_OR_RETURN(auto header, OpenHeader(files, part->file, part->identity, ctx));
  auto schema = header->ReadSchema(ctx);
  if (schema.ok()) {
    // Reading it from Arrow's format made extension types of what a Lance file gives as storage with metadata.
    PILUM_ASSIGN_OR_RETURN(part->schema, StoredSchema(**schema));
    part->num_rows = header->num_rows();
  } else if (KindOf(schema.status()) != ErrorKind::kNotFound) {
    return schema.status();
  }
  return header;
}

}  // namespace

Result<std::shared_ptr<PartIndex>> OpenPartIndex(const DatasetFiles& files, const std::string& path, SidecarKind kind,
                                                 const Hash128& identity, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto source, files.store->OpenSource(path, ctx));
  PILUM_ASSIGN_OR_RETURN(auto index, PartIndex::Open(std::move(source), kind, ctx));
  if (index->sidecar().identity().part_hash != identity) return Corrupt(path, "header", "it belongs to another part");
  return index;
}

Result<LoadedPart> LoadPart(const DatasetFiles& files, const PartFile& file, bool use_index, ReadContext& ctx) {
  LoadedPart part;
  part.file = file;
  if (use_index) {
    auto header = LoadHeader(files, &part, ctx);
    if (header.ok()) {
      part.header = std::move(*header);
    } else if (StopsARead(header.status())) {
      return header.status();
    } else {
      part.note =
          KindOf(header.status()) == ErrorKind::kNotFound ? "it has no prune header" : header.status().message();
    }
  }
  if (part.schema) return part;
  PILUM_ASSIGN_OR_RETURN(auto source, files.store->OpenSource(file.path, ctx));
  PILUM_ASSIGN_OR_RETURN(part.reader, FileReader::Open(std::move(source), ctx));
  part.schema = part.reader->schema();
  part.num_rows = part.reader->num_rows();
  if (part.header && part.header->sidecar().identity() !=
                         SidecarIdentity{SchemaDescriptorHash(*part.schema), part.identity, part.num_rows}) {
    part.header = nullptr;
    part.note = "its prune header is of another schema or row count";
  }
  return part;
}

PartUnit::PartUnit(DatasetFiles files, LoadedPart part, std::shared_ptr<arrow::Schema> snapshot_schema, bool use_index,
                   std::shared_ptr<WordSegments> segments)
    : files_(std::move(files)),
      part_(std::move(part)),
      snapshot_schema_(std::move(snapshot_schema)),
      use_index_(use_index),
      segments_(std::move(segments)),
      reader_(part_.reader) {}

Result<bool> PartUnit::MayMatch(const Probe& probe, ReadContext& ctx) const {
  if (num_rows() == 0) return false;
  const PartProbe own = TranslateProbe(probe, *snapshot_schema_, *part_.schema);
  if (own.kind == PartProbe::Kind::kAllNull) return probe.kind == Probe::Kind::kIsNull;
  if (own.kind == PartProbe::Kind::kUnknown || !part_.header) return true;
  PILUM_ASSIGN_OR_RETURN(Candidates found, part_.header->Answer(own.probe(), ctx));
  if (found.possible.empty()) return false;
  if (own.probe().kind != Probe::Kind::kHasWords || !segments_) return true;
  return segments_->MayHold(part_.identity, own.probe().column, own.probe().needles, ctx);
}

Result<bool> PartUnit::MayMatchByBounds(const Probe& probe, ReadContext& ctx) const {
  const PartProbe own = TranslateProbe(probe, *snapshot_schema_, *part_.schema);
  if (own.kind != PartProbe::Kind::kAsk || !part_.header) return true;
  return part_.header->MayMatchByBounds(own.probe(), ctx);
}

Result<Candidates> PartUnit::Narrow(const Probe& probe, ReadContext& ctx) const {
  const PartProbe own = TranslateProbe(probe, *snapshot_schema_, *part_.schema);
  if (own.kind == PartProbe::Kind::kAllNull) return AllNullAnswer(probe.kind, num_rows());
  if (own.kind == PartProbe::Kind::kUnknown || !use_index_) return Candidates::Unknown(num_rows());
  PILUM_ASSIGN_OR_RETURN(auto index, Index(ctx));
  if (!index) return Candidates::Unknown(num_rows());
  PILUM_ASSIGN_OR_RETURN(Candidates found, index->Answer(own.probe(), ctx));
  if (own.probe().kind != Probe::Kind::kHasWords) return found;
  return AskTerms(own.probe(), *index, std::move(found), ctx);
}

// The part's dictionary of words is opened only where the index says that there is one, and rows enough to be spared.
Result<Candidates> PartUnit::AskTerms(const Probe& probe, const PartIndex& index, Candidates found,
                                      ReadContext& ctx) const {
  constexpr uint64_t kFewRows = 64;
  if (found.possible.size() < kFewRows || !index.sidecar().SaysInTerms(&probe.column)) return found;
  PILUM_ASSIGN_OR_RETURN(auto terms, Sidecar(&terms_, "terms", ctx));
  if (!terms) return found;
  PILUM_ASSIGN_OR_RETURN(const Candidates more, terms->Answer(probe, ctx));
  return Candidates::Both(found, more);
}

Result<std::shared_ptr<PartIndex>> PartUnit::Sidecar(Lazy* lazy, const char* what, ReadContext& ctx) const {
  if (!use_index_) return nullptr;
  std::lock_guard lock(mutex_);
  if (lazy->tried) return lazy->index;
  auto open = [&]() -> Result<std::shared_ptr<PartIndex>> {
    const SidecarIdentity wanted{SchemaDescriptorHash(*part_.schema), part_.identity, part_.num_rows};
    const auto [path, kind] = lazy == &stats_   ? std::pair(files_.StatsPath(part_.file.name), SidecarKind::kStats)
                              : lazy == &terms_ ? std::pair(files_.TermsPath(part_.file.name), SidecarKind::kTerms)
                                                : std::pair(files_.IndexPath(part_.file.name), SidecarKind::kIndex);
    PILUM_ASSIGN_OR_RETURN(auto index, OpenPartIndex(files_, path, kind, part_.identity, ctx));
    if (index->sidecar().identity() != wanted) return Corrupt(path, "header", "it is of another schema or row count");
    return index;
  };
  auto index = open();
  if (!index.ok() && StopsARead(index.status())) return index.status();
  lazy->tried = true;
  if (index.ok()) {
    lazy->index = std::move(*index);
  } else if (note_.empty()) {
    note_ =
        KindOf(index.status()) == ErrorKind::kNotFound ? fmt::format("it has no {}", what) : index.status().message();
  }
  return lazy->index;
}

namespace {

// Do values of one type, widened to the other, keep their normal form?
bool SameForm(const arrow::DataType& a, const arrow::DataType& b) {
  const Domain domain = DomainOf(a);
  if (domain != DomainOf(b)) return false;
  if (a.Equals(b)) return true;
  switch (domain) {
    case Domain::kInt:
      return arrow::is_integer(a.id()) && arrow::is_integer(b.id()) &&
             (a.id() == arrow::Type::UINT64) == (b.id() == arrow::Type::UINT64);
    case Domain::kDecimal:
      return static_cast<const arrow::DecimalType&>(a).scale() == static_cast<const arrow::DecimalType&>(b).scale();
    default: return domain != Domain::kNone;
  }
}

}  // namespace

Result<std::optional<ColumnStats>> PartUnit::Stats(const FieldPath& column, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto wanted, FieldAt(*snapshot_schema_, column));
  auto own = FieldAt(*part_.schema, column);
  if (!own.ok() && KindOf(own.status()) == ErrorKind::kNotFound)
    return std::optional(ColumnStats::AllNull(*wanted->type(), part_.num_rows));
  PILUM_RETURN_NOT_OK(own.status());
  const auto type = PlainType((*own)->type());
  const bool counted_only = DomainOf(*type) == Domain::kNone && DomainOf(*wanted->type()) == Domain::kNone;
  if (!counted_only && !SameForm(*type, *PlainType(wanted->type()))) return std::optional<ColumnStats>();
  PILUM_ASSIGN_OR_RETURN(auto index, Sidecar(&stats_, "statistics", ctx));
  if (!index) return std::optional<ColumnStats>();
  PILUM_ASSIGN_OR_RETURN(auto stats, index->Stats(column, *type, ctx));
  return stats ? std::optional(*stats) : std::optional<ColumnStats>();
}

std::map<std::string, uint64_t> PartUnit::index_sections() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, uint64_t> all;
  for (const auto* index : {part_.header.get(), index_.index.get(), terms_.index.get()}) {
    if (!index) continue;
    for (const auto& [family, sections] : index->sections_read()) all[family] += sections;
  }
  return all;
}

std::string PartUnit::index_note() const {
  std::lock_guard lock(mutex_);
  if (!part_.note.empty()) return part_.note;
  if (part_.header && !part_.header->note().empty()) return part_.header->note();
  if (!note_.empty()) return note_;
  if (index_.index && !index_.index->note().empty()) return index_.index->note();
  if (terms_.index && !terms_.index->note().empty()) return terms_.index->note();
  return stats_.index ? stats_.index->note() : std::string();
}

Result<std::shared_ptr<const FileReader>> PartUnit::Reader(ReadContext& ctx) const {
  std::lock_guard lock(mutex_);
  if (reader_ && (reader_verifies_ || ctx.verify == Verify::kOff)) return reader_;
  auto source = part_.file.content_hash().empty() ? files_.store->OpenSource(part_.file.path, ctx)
                                                  : files_.OpenContent(part_.file.path, part_.file.size, ctx);
  if (!source.ok() && KindOf(source.status()) == ErrorKind::kNotFound) {
    return NotFoundError(
        "{}; it was there when this read began, so it was merged and swept since: read again, and give "
        "sweeps a grace that outlasts reads",
        source.status().message());
  }
  PILUM_RETURN_NOT_OK(source.status());
  PILUM_ASSIGN_OR_RETURN(auto reader, FileReader::Open(std::move(*source), ctx));
  if (reader->num_rows() != part_.num_rows ||
      SchemaDescriptorHash(*reader->schema()) != SchemaDescriptorHash(*part_.schema)) {
    return Corrupt(part_.file.path, "",
                   "it is not what its prune header describes; remove the header, the part is whole without");
  }
  reader_ = std::move(reader);
  reader_verifies_ = ctx.verify != Verify::kOff;
  return reader_;
}

Result<std::unique_ptr<BatchStream>> PartUnit::Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                                    const BatchLimits& asked, const ReadContext& given) const {
  ReadContext ctx = given;
  PILUM_ASSIGN_OR_RETURN(auto leaves, LeafColumnsOf(*snapshot_schema_));
  PILUM_ASSIGN_OR_RETURN(auto wanted, ProjectFields(files_.uri, *snapshot_schema_, leaves, columns));
  const std::vector<FieldPath> own = TranslateColumns(columns, *part_.schema);
  const BatchLimits limits = LimitsWithMissing(asked, *wanted.schema, *part_.schema);
  std::unique_ptr<BatchStream> inner;
  if (!own.empty()) {
    PILUM_ASSIGN_OR_RETURN(auto reader, Reader(ctx));
    PILUM_ASSIGN_OR_RETURN(inner, reader->Read(own, rows, limits, ctx));
    if (inner->schema()->Equals(*wanted.schema, false)) return inner;
  }
  return std::make_unique<WidenedStream>(name(), std::move(inner), wanted.schema, rows, limits, ctx);
}

}  // namespace pilum
