#include "pilum/part/do_plan.h"

#include <algorithm>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/io/spool_space.h"
#include "pilum/part/batch_rows.h"
#include "pilum/part/dataset_file.h"
#include "pilum/part/put_order.h"
#include "pilum/part/union_schema.h"

namespace pilum {
namespace {

Result<bool> HasOutput(const DatasetFiles& files, uint64_t plan) {
  PILUM_ASSIGN_OR_RETURN(auto listed, files.store->List(files.prefix + fmt::format("merged/{:08}-", plan)));
  return std::any_of(listed.begin(), listed.end(), [](const ObjectInfo& o) { return o.path.ends_with(".lance"); });
}

StandsFor WhatItStandsFor(const MergePlan& plan, const std::vector<LoadedPart>& inputs) {
  StandsFor out;
  for (const LoadedPart& part : inputs) {
    if (part.stands_for) {
      out.Add(*part.stands_for);
    } else {
      out.AddPart(PartKey(part.file.name));
    }
  }
  out.AddPlan(plan.number);
  AddBatches(plan.batches, &out.batches);
  return out;
}

Result<std::shared_ptr<arrow::Schema>> SchemaOf(const std::vector<LoadedPart>& inputs, const StandsFor& stands_for) {
  std::vector<NamedSchema> named;
  for (const LoadedPart& part : inputs) named.push_back({"part " + part.file.name, part.schema});
  UnionSchema all = UnionSchema::Of(named);
  if (!all.clashes.empty()) return Status::Invalid(all.clashes.begin()->second);
  auto metadata = all.schema->metadata() ? all.schema->metadata()->Copy() : std::make_shared<arrow::KeyValueMetadata>();
  PILUM_RETURN_NOT_OK(metadata->Set(kStandsForKey, stands_for.ToText()));
  return all.schema->WithMetadata(metadata);
}

// The rows of an input that the plan takes: those of a batch that no earlier plan took, each once.
RowSet RowsToTake(const LoadedPart& part, BatchRows* taken) {
  const auto batch = part.stands_for ? std::nullopt : BatchOf(*part.schema, part.num_rows);
  return batch ? TakeRows(*batch, taken) : RowSet::All(part.num_rows);
}

// Everything of the plan's batches that it does not take counts as taken from the start.
BatchRows NotTaken(const MergePlan& plan) {
  BatchRows out;
  for (const auto& [id, rows] : plan.batches) out[id] = rows.Complement(~uint64_t{0});
  return out;
}

}  // namespace

std::optional<std::vector<LoadedPart>> InputsOf(const MergePlan& plan, const StoreView& view) {
  std::vector<LoadedPart> out;
  for (const PlanInput& input : plan.inputs) {
    const auto it = std::find_if(view.parts.begin(), view.parts.end(), [&](const LoadedPart& part) {
      return input.plan ? part.file.plan() == input.plan : part.file.name == input.part;
    });
    if (it == view.parts.end()) return std::nullopt;
    out.push_back(*it);
  }
  return out;
}

Result<PlanDone> DoPlan(const DatasetFiles& files, const MergePlan& plan, const std::vector<LoadedPart>& inputs,
                        ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(const bool done, HasOutput(files, plan.number));
  if (done) return PlanDone{};
  PILUM_ASSIGN_OR_RETURN(auto schema, SchemaOf(inputs, WhatItStandsFor(plan, inputs)));
  PILUM_ASSIGN_OR_RETURN(auto folder, TempDir::Make());
  uint64_t bytes = 0;
  for (const LoadedPart& part : inputs) bytes += part.file.size;
  PILUM_RETURN_NOT_OK(CheckSpoolSpace(folder->path(), bytes));
  PILUM_ASSIGN_OR_RETURN(const auto spec, ReadDatasetSpec(files, ctx));
  const auto options = PartWriteOptions::For(*schema, FileVersion::kV2_2, spec);
  PILUM_ASSIGN_OR_RETURN(const auto sidecar_schema, SidecarSchema(spec, schema));
  PILUM_ASSIGN_OR_RETURN(auto spool,
                         PartSpool::Make(folder->path() + "/merged.lance", schema, *sidecar_schema, options.file));
  std::vector<FieldPath> columns;
  for (const auto& field : schema->fields()) columns.push_back({{field->name()}});
  const PutOrder order = PutOrder::OfMerged(*schema, spec);
  std::optional<RowSorter> sorter;
  if (!order.columns.empty()) sorter.emplace(schema, order.columns);
  BatchRows taken = NotTaken(plan);
  uint64_t expected = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const LoadedPart& part = inputs[i];
    const RowSet rows = RowsToTake(part, &taken).Minus(plan.inputs.at(i).erased);
    expected += rows.size();
    if (rows.empty()) continue;
    const PartUnit unit(files, part, schema, /*use_index=*/false);
    PILUM_ASSIGN_OR_RETURN(auto stream, unit.Read(columns, rows, {}, ctx));
    while (true) {
      PILUM_RETURN_NOT_OK(ctx.Check());
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      PILUM_RETURN_NOT_OK(sorter ? sorter->Append(batch, ctx) : spool->Append(*batch));
    }
  }
  while (sorter) {
    PILUM_ASSIGN_OR_RETURN(const auto batch, sorter->Next(ctx));
    if (!batch) break;
    PILUM_RETURN_NOT_OK(spool->Append(*batch));
  }
  PILUM_ASSIGN_OR_RETURN(const PartSpool::Made made, spool->Finish());
  if (made.rows != expected)
    return Status::Invalid("plan ", plan.number, " gave ", made.rows, " of ", expected, " rows");
  const std::string name = fmt::format("{:08}-{}", plan.number, made.hash);
  PILUM_ASSIGN_OR_RETURN(const bool added, PublishPart(files, files.MergedPath(name), name, made, ctx));
  return added ? PlanDone{name, made.rows, made.bytes} : PlanDone{};
}

}  // namespace pilum
