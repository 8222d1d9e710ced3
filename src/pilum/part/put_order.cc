#include "pilum/part/put_order.h"

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <fmt/ranges.h>

#include "pilum/part/batch_rows.h"
#include "pilum/source/field_path.h"

namespace pilum {
namespace {

constexpr std::string_view kSortedBy = " sorted by ";

}  // namespace

Result<PutOrder> PutOrder::Of(const arrow::Schema& schema, const std::vector<std::string>& names,
                              const std::optional<DatasetSpec>& spec) {
  PutOrder order;
  for (const std::string& name : names) {
    const std::vector<std::string>* stands_for = nullptr;
    if (spec && name == "time" && !spec->time.empty()) stands_for = &spec->time;
    if (spec && name == "owner" && !spec->owner.empty()) stands_for = &spec->owner;
    if (stands_for)
      order.names.insert(order.names.end(), stands_for->begin(), stands_for->end());
    else
      order.names.push_back(name);
  }
  for (const std::string& name : order.names) {
    auto path = SortColumn(schema, name);
    if (!path.ok() && name == "time") return WithContext("sort by time (dataset.toml names no time)", path.status());
    PILUM_RETURN_NOT_OK(path.status());
    order.columns.push_back(std::move(*path));
  }
  if (order.columns.empty()) return order;
  PILUM_ASSIGN_OR_RETURN(const auto first, FieldAt(schema, order.columns[0]));
  if (HasDays(*first->type())) order.day_of = order.columns[0];
  return order;
}

PutOrder PutOrder::OfMerged(const arrow::Schema& schema, const std::optional<DatasetSpec>& spec) {
  PutOrder order;
  if (!spec) return order;
  for (const auto* names : {&spec->owner, &spec->time}) {
    for (const std::string& name : *names) {
      auto path = SortColumn(schema, name);
      if (!path.ok()) continue;  // a column that these parts lack
      const auto field = FieldAt(schema, *path);
      if (names == &spec->time && !order.day_of && field.ok() && HasDays(*(*field)->type())) order.day_of = *path;
      order.columns.push_back(std::move(*path));
      order.names.push_back(name);
    }
  }
  return order;
}

Result<std::string> PutOrder::BatchId(const std::string& id, const StoreView& view) const {
  if (id.empty()) return id;
  const std::string own = names.empty() ? id : fmt::format("{}{}{}", id, kSortedBy, fmt::join(names, ", "));
  const auto other = [&](const std::string& known) {
    return known != own && (known == id || known.starts_with(id + std::string(kSortedBy)));
  };
  const auto refuse = [&](const std::string& known) {
    return UsageError(
        "batch '{}' was put in another order before (as '{}'): put it again in that one, or under a new id", id, known);
  };
  for (const auto& [name, said] : view.said) {
    if (!said) continue;
    for (const auto& [known, rows] : said->batches) {
      if (other(known) && !rows.empty()) return refuse(known);
    }
  }
  for (const LoadedPart& part : view.parts) {
    const auto batch = part.stands_for ? std::nullopt : BatchOf(*part.schema, part.num_rows);
    if (batch && other(batch->id)) return refuse(batch->id);
  }
  return own;
}

Result<std::unique_ptr<RowSorter>> SortAll(arrow::RecordBatchReader& input, const std::vector<FieldPath>& columns,
                                           ReadContext& ctx) {
  auto sorter = std::make_unique<RowSorter>(input.schema(), columns);
  while (true) {
    std::shared_ptr<arrow::RecordBatch> batch;
    PILUM_RETURN_NOT_OK(input.ReadNext(&batch));
    if (!batch) return sorter;
    PILUM_RETURN_NOT_OK(sorter->Append(batch, ctx));
  }
}

}  // namespace pilum
