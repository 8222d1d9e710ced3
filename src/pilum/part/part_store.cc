#include "pilum/part/list_uniform.h"
#include "pilum/part/part_store.h"

#include <map>
#include <set>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/file/schema_wire.h"
#include "pilum/index/index_spec.h"
#include "pilum/part/attribute.h"
#include "pilum/part/backfill.h"
#include "pilum/part/batch_rows.h"
#include "pilum/part/compact.h"
#include "pilum/part/copy_dataset.h"
#include "pilum/part/dataset_file.h"
#include "pilum/part/erase.h"
#include "pilum/part/maintain.h"
#include "pilum/part/part_cache.h"
#include "pilum/part/part_check.h"
#include "pilum/part/part_files.h"
#include "pilum/part/part_writer.h"
#include "pilum/part/put_order.h"
#include "pilum/part/store_snapshot.h"
#include "pilum/part/store_view.h"
#include "pilum/part/sweep.h"
#include "pilum/part/union_schema.h"

namespace pilum {
namespace {

// Rows of the input that parts of this batch hold already, and the names of those that put wrote.
struct RowsOfBatch {
  RowSet rows;
  std::vector<std::string> parts;

  RowsOfBatch(const StoreView& view, const std::string& batch_id) {
    if (batch_id.empty()) return;
    BatchRows held;
    for (const auto& [name, said] : view.said) {
      if (said) AddBatches(said->batches, &held);
    }
    for (const LoadedPart& part : view.parts) {
      const auto batch = part.stands_for ? std::nullopt : BatchOf(*part.schema, part.num_rows);
      if (!batch || batch->id != batch_id) continue;
      TakeRows(*batch, &held);
      parts.push_back(part.file.name);
    }
    rows = held[batch_id];
  }
};

class PartStoreImpl final : public PartStore {
 public:
  explicit PartStoreImpl(DatasetFiles files) : files_(std::move(files)) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto parts, LoadParts(true, ctx));
    return parts.empty() ? nullptr : UnionOf(parts).schema;
  }

  Result<PutResult> Put(arrow::RecordBatchReader& input, const PutOptions& options, ReadContext& ctx) override {
    PILUM_ASSIGN_OR_RETURN(const StoreView view, LoadView(files_, true, ctx));
    const auto schema = input.schema();
    PILUM_RETURN_NOT_OK(CheckInput(*schema, view.parts, options));
    PILUM_ASSIGN_OR_RETURN(const auto spec, ReadDatasetSpec(files_, ctx));
    PutOptions effective = options;  // what the caller did not choose, the dataset does
    PILUM_ASSIGN_OR_RETURN(const PutOrder order, PutOrder::Of(*schema, options.sort, spec));
    PILUM_ASSIGN_OR_RETURN(effective.batch_id, order.BatchId(options.batch_id, view));
    const RowsOfBatch done(view, effective.batch_id);
    if (spec && options.target_part_bytes == PutOptions().target_part_bytes)
      effective.target_part_bytes = spec->target_part_bytes.value_or(options.target_part_bytes);
    PILUM_ASSIGN_OR_RETURN(auto sidecar_schema, SidecarSchema(spec, schema));
    PartWriter writer(files_, schema, std::move(sidecar_schema), effective, spec, order.day_of,
                      [&](const std::string& name) { return view.StandsInFor(name); });
    PutResult skipped;
    uint64_t row = 0;
    std::unique_ptr<RowSorter> sorter;
    if (!order.columns.empty()) {
      PILUM_ASSIGN_OR_RETURN(sorter, SortAll(input, order.columns, ctx));
    }
    while (true) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      std::shared_ptr<arrow::RecordBatch> batch;
      if (sorter) {
        PILUM_ASSIGN_OR_RETURN(batch, sorter->Next(ctx));
      } else {
        PILUM_RETURN_NOT_OK(input.ReadNext(&batch));
      }
      if (!batch) break;
      const auto n = static_cast<uint64_t>(batch->num_rows());
      const RowSet fresh = RowSet::Range(row, row + n).Minus(done.rows);
      skipped.rows_already_there += n - fresh.size();
      for (const RowRange& r : fresh.ranges()) {
        const auto rows = batch->Slice(static_cast<int64_t>(r.begin - row), static_cast<int64_t>(r.size()));
        PILUM_RETURN_NOT_OK(writer.Append(rows, r.begin, ctx));
      }
      row += n;
    }
    PILUM_RETURN_NOT_OK(writer.Finish(view.parts.empty(), ctx));
    PutResult result = writer.result();
    result.rows = row;
    result.rows_already_there += skipped.rows_already_there;
    result.parts.insert(result.parts.begin(), done.parts.begin(), done.parts.end());
    return result;
  }

  Result<std::shared_ptr<const Snapshot>> OpenSnapshot(bool use_index, ReadContext& ctx) const override {
    return OpenStoreSnapshot(files_, use_index, nullptr, ctx);
  }

  Result<std::vector<PartSummary>> List(ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(const StoreView view, LoadView(files_.Uncached(), true, ctx));
    const auto& parts = view.parts;
    if (parts.empty()) return files_.NoDataset();
    PILUM_ASSIGN_OR_RETURN(auto side, ListUniform(*files_.store, files_.prefix + "side/", ctx));
    std::map<std::string, uint64_t> sizes;
    for (const ObjectInfo& info : side) sizes[info.path] = info.size;
    std::vector<PartSummary> out;
    for (const LoadedPart& part : parts) {
      PartSummary s{part.file.name, part.counted_rows(), part.file.size};
      const std::string index = files_.IndexPath(s.name);
      s.idx_bytes = sizes[index];
      s.idxh_bytes = sizes[files_.HeaderPath(s.name)];
      s.stats_bytes = sizes[files_.StatsPath(s.name)];
      s.terms_bytes = sizes[files_.TermsPath(s.name)];
      s.merged = part.file.merged;
      if (s.idx_bytes == 0 && s.idxh_bytes == 0) {
        s.sidecar_state = "missing";
      } else if (!part.header) {
        s.sidecar_state = part.note;
      } else {
        auto opened = OpenPartIndex(files_, index, SidecarKind::kIndex, part.identity, ctx);
        if (!opened.ok() && StopsARead(opened.status())) return opened.status();
        s.sidecar_state = opened.ok() ? "ok" : opened.status().message();
      }
      out.push_back(std::move(s));
    }
    return out;
  }

  Result<std::vector<AttributedBytes>> Attribute(ReadContext& ctx) const override {
    return pilum::Attribute(files_, ctx);
  }

  Result<std::vector<PartDecisions>> ExplainBuild(ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto listed, ListView(files_, true, ctx));
    if (listed.parts.visible.empty()) return files_.NoDataset();
    std::vector<PartDecisions> out;
    for (const PartFile& part : listed.parts.visible) {
      PartDecisions p{part.name, {}};
      PILUM_ASSIGN_OR_RETURN(const Hash128 identity, PartIdentity(files_, part, ctx));
      auto stats = OpenPartIndex(files_, files_.StatsPath(part.name), SidecarKind::kStats, identity, ctx);
      if (stats.ok()) {
        PILUM_ASSIGN_OR_RETURN(p.decisions, (*stats)->Decisions(ctx));
      } else if (KindOf(stats.status()) != ErrorKind::kNotFound) {
        return stats.status();
      }
      out.push_back(std::move(p));
    }
    return out;
  }

  Result<StoreFaults> Check(ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto listed, files_.ListParts(ctx));
    if (listed.empty()) return files_.NoDataset();
    StoreFaults found{listed.size(), {}};
    for (const PartFile& part : listed) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      std::vector<Status> faults;
      PILUM_RETURN_NOT_OK(CheckPart(files_, part, ctx, &faults));
      if (faults.empty()) continue;
      PILUM_ASSIGN_OR_RETURN(const bool there, files_.store->Exists(part.path));
      if (!there) continue;  // merged and swept meanwhile
      found.faults.insert(found.faults.end(), faults.begin(), faults.end());
    }
    PILUM_RETURN_NOT_OK(CheckMerged(ctx, &found.faults));
    return found;
  }

  Result<CompactResult> Compact(const CompactOptions& options, ReadContext& ctx) override {
    return pilum::Compact(files_, options, ctx);
  }
  Result<SweepResult> Sweep(const SweepOptions& options, ReadContext& ctx) override {
    return pilum::Sweep(files_, options, ctx);
  }
  Result<EraseResult> Erase(const BindRowMatcher& bind, const EraseOptions& options, ReadContext& ctx) override {
    return EraseRows(files_, bind, options, ctx);
  }
  Result<BackfillResult> Backfill(const BackfillOptions& options, ReadContext& ctx) override {
    auto done = pilum::Backfill(files_, options, ctx);
    files_.cache->Clear();  // which has headers of before
    return done;
  }
  Result<MaintainResult> Maintain(const MaintainOptions& options, ReadContext& ctx) override {
    return pilum::Maintain(files_, options, ctx);
  }
  Result<CopyResult> CopyTo(const PartStore& to, ReadContext& ctx) const override {
    return CopyDataset(files_, to.files(), ctx);
  }
  const DatasetFiles& files() const override { return files_; }

 private:
  // What merged parts stand for: as their bytes say, and as their prune headers say, which is what queries ask. And what
  // caches over many parts say of each.
  Status CheckMerged(ReadContext& ctx, std::vector<Status>* faults) const {
    const DatasetFiles files = files_.Uncached();
    auto own = ListView(files, false, ctx);
    auto headers = own.ok() ? ListView(files, true, ctx) : own;
    if (!headers.ok()) {
      if (StopsARead(headers.status())) return headers.status();
      faults->push_back(headers.status());
      return Status::OK();
    }
    for (const auto& [name, said] : headers->said) {
      const auto it = own->said.find(name);
      if (it == own->said.end() || it->second->ToText() == said->ToText()) continue;
      faults->push_back(Corrupt(files_.HeaderPath(name), "", "it says other than its part what this part stands for"));
    }
    for (const auto& cache : MaintainedCaches()) PILUM_RETURN_NOT_OK(cache->Check(files, *headers, ctx, faults));
    return Status::OK();
  }

  Result<std::vector<LoadedPart>> LoadParts(bool use_index, ReadContext& ctx) const {
    PILUM_ASSIGN_OR_RETURN(StoreView view, LoadView(files_, use_index, ctx));
    return std::move(view.parts);
  }

  static UnionSchema UnionOf(const std::vector<LoadedPart>& parts) { return UnionSchema::Of(NamedSchemas(parts)); }

  // What cannot be stored, and what queries would refuse afterwards.
  Status CheckInput(const arrow::Schema& schema, const std::vector<LoadedPart>& parts,
                    const PutOptions& options) const {
    if (options.target_part_bytes == 0) return UsageError("a part of 0 bytes holds nothing: raise target_part_bytes");
    if (schema.num_fields() == 0) return UsageError("the input has no columns; nothing can be put");
    std::set<std::string> names;
    for (const auto& field : schema.fields()) {
      if (!names.insert(field->name()).second)
        return UsageError("the input has more than one column named '{}'", field->name());
    }
    PILUM_RETURN_NOT_OK(CheckIndexSpecs(schema));
    PILUM_ASSIGN_OR_RETURN(auto stored, StoredSchema(schema));
    if (options.new_schema) return Status::OK();
    auto named = NamedSchemas(parts);
    named.push_back({"this input", stored});
    const UnionSchema all = UnionSchema::Of(named);
    for (const auto& [column, clash] : all.clashes) {
      if (names.count(column)) {
        return UsageError(
            "{}: {}. Queries would refuse this column; give it a type that fits, or allow it with --new-schema",
            files_.uri, clash);
      }
    }
    return Status::OK();
  }

  const DatasetFiles files_;
};

}  // namespace

Result<std::shared_ptr<PartStore>> PartStore::Open(std::string_view uri, const StoreOptions& options) {
  PILUM_ASSIGN_OR_RETURN(auto store, ObjectStore::Open(uri, options));
  return OpenIn(std::move(store), "");
}

Result<std::shared_ptr<PartStore>> PartStore::OpenIn(std::shared_ptr<ObjectStore> store, std::string dataset) {
  while (!dataset.empty() && dataset.back() == '/') dataset.pop_back();
  std::string uri = dataset.empty() ? store->uri() : store->uri() + "/" + dataset;
  if (!dataset.empty()) dataset += "/";
  return std::make_shared<PartStoreImpl>(DatasetFiles{std::move(store), std::move(dataset), std::move(uri),
                                                      std::make_shared<PartCache>(), DiskCache::FromEnvironment()});
}

}  // namespace pilum
