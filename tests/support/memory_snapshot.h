// A snapshot in memory, with a small zone index that can be asked to lie. For tests of what lies above `source`.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <arrow/api.h>
#include <arrow/compute/api.h>

#include "pilum/query/project.h"
#include "pilum/source/field_path.h"
#include "pilum/source/snapshot.h"

namespace pilum::testing {

// Rows of a batch in memory, cut as FileReader cuts them.
class MemoryStream final : public BatchStream {
 public:
  MemoryStream(std::shared_ptr<arrow::RecordBatch> batch, RowSet rows, BatchLimits limits)
      : batch_(std::move(batch)), rows_(std::move(rows)), limits_(limits) {}
  const std::shared_ptr<arrow::Schema>& schema() const override { return batch_->schema(); }
  const RowSet& rows() const override { return now_; }
  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    now_ = rows_.SliceByRank(at_, limits_.rows);
    at_ += now_.size();
    if (now_.empty()) return nullptr;
    return Select(batch_, now_, arrow::default_memory_pool());
  }

 private:
  std::shared_ptr<arrow::RecordBatch> batch_;
  RowSet rows_, now_;
  BatchLimits limits_;
  uint64_t at_ = 0;
};

// `zone_rows` = 0: no index. The index knows, a zone and column: smallest and largest value and the count of nulls.
class MemoryUnit final : public Unit {
 public:
  MemoryUnit(std::string name, std::shared_ptr<arrow::RecordBatch> batch, uint64_t zone_rows)
      : name_(std::move(name)), batch_(std::move(batch)), zone_rows_(zone_rows) {}

  const std::string& name() const override { return name_; }
  uint64_t num_rows() const override { return static_cast<uint64_t>(batch_->num_rows()); }
  std::string index_note() const override { return zone_rows_ == 0 ? "no index" : ""; }

  Result<bool> MayMatch(const Probe& probe, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto c, Narrow(probe, ctx));
    return !c.possible.empty();
  }

  Result<Candidates> Narrow(const Probe& probe, ReadContext&) const override {
    if (zone_rows_ == 0 || (probe.kind != Probe::Kind::kInSet && probe.kind != Probe::Kind::kIsNull))
      return Candidates::Unknown(num_rows());
    const bool values = probe.kind == Probe::Kind::kInSet;
    PILUM_ASSIGN_OR_RETURN(auto array, ArrayAt(*batch_, probe.column, arrow::default_memory_pool()));
    if (values && !IsNormalizable(*array->type())) return Candidates::Unknown(num_rows());
    Candidates out;
    for (uint64_t begin = 0; begin < num_rows(); begin += zone_rows_) {
      const uint64_t end = std::min(begin + zone_rows_, num_rows());
      PILUM_ASSIGN_OR_RETURN(Zone zone, MakeZone(*array, begin, end, values));
      const bool any_null = zone.nulls > 0, all_null = zone.nulls == end - begin;
      if (!values) {
        if (any_null) out.possible.Append(begin, end);
        if (all_null) out.certain.Append(begin, end);
        continue;
      }
      if (any_null) out.maybe_null.Append(begin, end);
      if (all_null || !probe.set.Overlaps(*zone.min, *zone.max)) continue;
      out.possible.Append(begin, end);
      if (!any_null && probe.exact && probe.set.Covers(*zone.min, *zone.max)) out.certain.Append(begin, end);
    }
    return out;
  }

  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                            const BatchLimits& limits, const ReadContext& ctx) const override {
    if (!rows.IsSubsetOf(RowSet::All(num_rows()))) return UsageError("{}: rows past the end", name_);
    PILUM_ASSIGN_OR_RETURN(auto schema, PrunedSchema(*batch_->schema(), columns));
    arrow::ArrayVector arrays;
    for (const auto& field : schema->fields()) {
      PILUM_ASSIGN_OR_RETURN(auto array, PrunedArray(batch_->GetColumnByName(field->name()), field->type()));
      arrays.push_back(std::move(array));
    }
    if (ctx.stats) {
      for (const auto& path : columns) ctx.stats->AddDecoded(path.ToString(), rows.size());
      ctx.stats->requests += 1;
    }
    auto batch = arrow::RecordBatch::Make(schema, batch_->num_rows(), std::move(arrays));
    return std::make_unique<MemoryStream>(std::move(batch), rows, limits);
  }

 private:
  struct Zone {
    std::optional<Value> min, max;
    uint64_t nulls = 0;
  };

  static Result<Zone> MakeZone(const arrow::Array& array, uint64_t begin, uint64_t end, bool values) {
    Zone zone;
    for (uint64_t i = begin; i < end; ++i) {
      std::optional<Value> v;
      if (values) {
        PILUM_ASSIGN_OR_RETURN(v, ValueAt(array, static_cast<int64_t>(i)));
      }
      const bool is_null = values ? !v.has_value() : array.IsNull(static_cast<int64_t>(i));
      if (is_null) {
        ++zone.nulls;
        continue;
      }
      if (!values) continue;
      if (!zone.min || *v < *zone.min) zone.min = v;
      if (!zone.max || *zone.max < *v) zone.max = v;
    }
    return zone;
  }

  std::string name_;
  std::shared_ptr<arrow::RecordBatch> batch_;
  uint64_t zone_rows_;
};

class MemorySnapshot final : public Snapshot {
 public:
  // Each batch becomes a unit in the schema's types: columns that it lacks are null, others are cast.
  static Result<std::shared_ptr<const Snapshot>> Make(std::shared_ptr<arrow::Schema> schema,
                                                      const std::vector<std::shared_ptr<arrow::RecordBatch>>& batches,
                                                      uint64_t zone_rows) {
    auto snapshot = std::make_shared<MemorySnapshot>();
    snapshot->schema_ = schema;
    for (const auto& batch : batches) {
      arrow::ArrayVector arrays;
      for (const auto& field : schema->fields()) {
        auto array = batch->GetColumnByName(field->name());
        if (!array) {
          PILUM_ASSIGN_OR_RETURN(array, arrow::MakeArrayOfNull(field->type(), batch->num_rows()));
        } else if (!array->type()->Equals(*field->type())) {
          PILUM_ASSIGN_OR_RETURN(array, arrow::compute::Cast(*array, field->type()));
        }
        arrays.push_back(std::move(array));
      }
      auto whole = arrow::RecordBatch::Make(schema, batch->num_rows(), std::move(arrays));
      snapshot->units_.push_back(
          std::make_shared<MemoryUnit>(fmt::format("unit {}", snapshot->units_.size()), std::move(whole), zone_rows));
    }
    return snapshot;
  }

  const std::string& name() const override { return name_; }
  const std::shared_ptr<arrow::Schema>& schema() const override { return schema_; }
  const std::vector<std::shared_ptr<const Unit>>& units() const override { return units_; }
  Status CheckColumn(const std::string&) const override { return Status::OK(); }

 private:
  std::string name_ = "memory";
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<std::shared_ptr<const Unit>> units_;
};

// Any snapshot whose index forgets a row whenever it narrows: what a test of indexes must notice.
class LyingSnapshot final : public Snapshot {
 public:
  explicit LyingSnapshot(std::shared_ptr<const Snapshot> honest) : honest_(std::move(honest)) {
    for (const auto& unit : honest_->units()) units_.push_back(std::make_shared<LyingUnit>(unit));
  }
  const std::string& name() const override { return honest_->name(); }
  const std::shared_ptr<arrow::Schema>& schema() const override { return honest_->schema(); }
  const std::vector<std::shared_ptr<const Unit>>& units() const override { return units_; }
  Status CheckColumn(const std::string& column) const override { return honest_->CheckColumn(column); }

 private:
  class LyingUnit final : public Unit {
   public:
    explicit LyingUnit(std::shared_ptr<const Unit> honest) : honest_(std::move(honest)) {}
    const std::string& name() const override { return honest_->name(); }
    uint64_t num_rows() const override { return honest_->num_rows(); }
    std::string index_note() const override { return honest_->index_note(); }
    Result<bool> MayMatch(const Probe& probe, ReadContext& ctx) const override { return honest_->MayMatch(probe, ctx); }
    Result<Candidates> Narrow(const Probe& probe, ReadContext& ctx) const override {
      PILUM_ASSIGN_OR_RETURN(auto c, honest_->Narrow(probe, ctx));
      if (c.possible.empty()) return c;
      const uint64_t last = c.possible.ranges().back().end - 1;
      c.possible = c.possible.Minus(RowSet::Range(last, last + 1));
      c.certain = c.certain.Intersect(c.possible);
      return c;
    }
    Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                              const BatchLimits& limits, const ReadContext& ctx) const override {
      return honest_->Read(columns, rows, limits, ctx);
    }

   private:
    std::shared_ptr<const Unit> honest_;
  };

  std::shared_ptr<const Snapshot> honest_;
  std::vector<std::shared_ptr<const Unit>> units_;
};

}  // namespace pilum::testing
