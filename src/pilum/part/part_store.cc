#include "pilum/part/part_store.h"

#include <atomic>
#include <charconv>
#include <mutex>
#include <set>
#include <thread>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/file/schema_wire.h"
#include "pilum/part/part_check.h"
#include "pilum/part/part_files.h"
#include "pilum/part/part_unit.h"
#include "pilum/part/part_writer.h"
#include "pilum/part/union_schema.h"

namespace pilum {
namespace {

class StoreSnapshot final : public Snapshot {
 public:
  StoreSnapshot(std::string name, UnionSchema schema, std::vector<std::shared_ptr<const Unit>> units)
      : name_(std::move(name)), union_(std::move(schema)), units_(std::move(units)) {}
  const std::string& name() const override { return name_; }
  const std::shared_ptr<arrow::Schema>& schema() const override { return union_.schema; }
  const std::vector<std::shared_ptr<const Unit>>& units() const override { return units_; }
  Status CheckColumn(const std::string& name) const override {
    auto it = union_.clashes.find(name);
    return it == union_.clashes.end() ? Status::OK() : QueryError("{}: {}", name_, it->second);
  }

 private:
  const std::string name_;
  const UnionSchema union_;
  const std::vector<std::shared_ptr<const Unit>> units_;
};

// f(i) for every i below n on up to `threads` threads; the error of the lowest i that failed.
template <typename F>
Status ForEach(size_t n, int threads, F f) {
  std::atomic<size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  size_t failed_at = n;
  Status error;
  auto work = [&] {
    for (size_t i; !failed && (i = next++) < n;) {
      Status st = f(i);
      if (st.ok()) continue;
      failed = true;
      std::lock_guard lock(mutex);
      if (i < failed_at) {
        failed_at = i;
        error = std::move(st);
      }
    }
  };
  std::vector<std::jthread> helpers;
  const size_t wanted = std::min<size_t>(static_cast<size_t>(std::max(1, threads)), n / 4 + 1);
  for (size_t t = 1; t < wanted; ++t) helpers.emplace_back(work);
  work();
  helpers.clear();
  return error;
}

// Rows of the input that parts of this batch hold already.
struct BatchRows {
  RowSet rows;
  std::vector<std::string> parts;
};

std::optional<uint64_t> ParseRow(const std::string& text) {
  uint64_t v = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (ec != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

BatchRows RowsOfBatch(const std::vector<LoadedPart>& parts, const std::string& batch_id) {
  std::vector<RowRange> ranges;
  BatchRows out;
  for (const LoadedPart& part : parts) {
    const auto& m = part.schema->metadata();
    if (batch_id.empty() || !m || m->Get(kBatchIdKey).ValueOr("") != batch_id) continue;
    const auto row = ParseRow(m->Get(kBatchRowKey).ValueOr(""));
    if (!row || *row > ~uint64_t{0} - part.num_rows) continue;
    ranges.push_back({*row, *row + part.num_rows});
    out.parts.push_back(part.file.name);
  }
  out.rows = RowSet::FromRanges(std::move(ranges));
  return out;
}

class PartStoreImpl final : public PartStore {
 public:
  explicit PartStoreImpl(DatasetFiles files) : files_(std::move(files)) {}

  Result<std::shared_ptr<arrow::Schema>> Schema(ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto parts, LoadAll(true, ctx));
    return parts.empty() ? nullptr : UnionOf(parts).schema;
  }

  Result<PutResult> Put(arrow::RecordBatchReader& input, const PutOptions& options, ReadContext& ctx) override {
    PILUM_ASSIGN_OR_RETURN(auto parts, LoadAll(true, ctx));
    const auto schema = input.schema();
    PILUM_RETURN_NOT_OK(CheckInput(*schema, parts, options));
    const BatchRows done = RowsOfBatch(parts, options.batch_id);
    PartWriter writer(files_, schema, options);
    PutResult skipped;
    uint64_t row = 0;
    while (true) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      std::shared_ptr<arrow::RecordBatch> batch;
      PILUM_RETURN_NOT_OK(input.ReadNext(&batch));
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
    PILUM_RETURN_NOT_OK(writer.Finish(parts.empty(), ctx));
    PutResult result = writer.result();
    result.rows = row;
    result.rows_already_there += skipped.rows_already_there;
    result.parts.insert(result.parts.begin(), done.parts.begin(), done.parts.end());
    return result;
  }

  Result<std::shared_ptr<const Snapshot>> OpenSnapshot(bool use_index, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto parts, LoadAll(use_index, ctx));
    if (parts.empty()) return NotFoundError("{}: no dataset here (no parts under parts/ or merged/)", files_.uri);
    UnionSchema schema = UnionOf(parts);
    std::vector<std::shared_ptr<const Unit>> units;
    units.reserve(parts.size());
    for (LoadedPart& part : parts) {
      units.push_back(std::make_shared<PartUnit>(files_, std::move(part), schema.schema, use_index));
    }
    return std::make_shared<StoreSnapshot>(files_.uri, std::move(schema), std::move(units));
  }

  Result<std::vector<PartSummary>> List(ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto parts, LoadAll(true, ctx));
    if (parts.empty()) return NotFoundError("{}: no dataset here (no parts under parts/ or merged/)", files_.uri);
    PILUM_ASSIGN_OR_RETURN(auto side, files_.store->List(files_.prefix + "side/"));
    std::map<std::string, uint64_t> sizes;
    for (const ObjectInfo& info : side) sizes[info.path] = info.size;
    std::vector<PartSummary> out;
    for (const LoadedPart& part : parts) {
      PartSummary s{part.file.name, part.num_rows, part.file.size};
      const std::string index = files_.IndexPath(s.name), header = files_.HeaderPath(s.name);
      if (auto it = sizes.find(index); it != sizes.end()) s.idx_bytes = it->second;
      if (auto it = sizes.find(header); it != sizes.end()) s.idxh_bytes = it->second;
      if (auto it = sizes.find(files_.StatsPath(s.name)); it != sizes.end()) s.stats_bytes = it->second;
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

  Result<std::vector<PartDecisions>> ExplainBuild(ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto listed, files_.ListParts());
    if (listed.empty()) return NotFoundError("{}: no dataset here (no parts under parts/ or merged/)", files_.uri);
    std::vector<PartDecisions> out;
    for (const PartFile& part : listed) {
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
    PILUM_ASSIGN_OR_RETURN(auto listed, files_.ListParts());
    if (listed.empty()) return NotFoundError("{}: no dataset here (no parts under parts/ or merged/)", files_.uri);
    StoreFaults found{listed.size(), {}};
    for (const PartFile& part : listed) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_RETURN_NOT_OK(CheckPart(files_, part, ctx, &found.faults));
    }
    return found;
  }

 private:
  Result<std::vector<LoadedPart>> LoadAll(bool use_index, ReadContext& ctx) const {
    PILUM_ASSIGN_OR_RETURN(auto listed, files_.ListParts());
    std::vector<LoadedPart> parts(listed.size());
    PILUM_RETURN_NOT_OK(ForEach(listed.size(), ctx.threads, [&](size_t i) -> Status {
      auto part = LoadPart(files_, listed[i], use_index, ctx);
      if (!part.ok()) return WithContext(fmt::format("part {}", listed[i].name), part.status());
      parts[i] = std::move(*part);
      return Status::OK();
    }));
    return parts;
  }

  static std::vector<NamedSchema> Named(const std::vector<LoadedPart>& parts) {
    std::vector<NamedSchema> out;
    for (const LoadedPart& part : parts) {
      out.push_back({"part " + part.file.name, part.schema});
    }
    return out;
  }
  static UnionSchema UnionOf(const std::vector<LoadedPart>& parts) { return UnionSchema::Of(Named(parts)); }

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
    PILUM_ASSIGN_OR_RETURN(auto stored, StoredSchema(schema));
    if (options.new_schema) return Status::OK();
    auto named = Named(parts);
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
  return std::make_shared<PartStoreImpl>(DatasetFiles{std::move(store), std::move(dataset), std::move(uri)});
}

}  // namespace pilum
