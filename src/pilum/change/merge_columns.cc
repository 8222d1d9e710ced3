#include "pilum/change/merge_columns.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/builder.h>
#include <arrow/compute/api.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/field_lookup.h"
#include "pilum/change/fragment_scan.h"
#include "pilum/change/json_columns.h"
#include "pilum/change/new_fields.h"
#include "pilum/change/write_columns.h"
#include "pilum/query/evaluate.h"
#include "pilum/table/column_forms.h"
#include "pilum/table/roaring.h"

namespace pilum {
namespace {

constexpr int kRewriteColumns = 1;

// Those that the rows have beside the keys.
std::vector<std::string> Changed(const MergeSource& source, const std::vector<std::string>& on) {
  std::vector<std::string> out;
  for (const auto& f : source.schema()->fields()) {
    if (std::find(on.begin(), on.end(), f->name()) == on.end()) out.push_back(f->name());
  }
  return out;
}

// The table's own values, but for rows of pairs those of the source.
class PairValues final : public ColumnValues {
 public:
  PairValues(const MergeSource& source, const std::vector<MergePair>& pairs, std::vector<std::string> columns)
      : source_(source), pairs_(pairs), columns_(std::move(columns)) {
    read_.push_back({{"_rowaddr"}});
    for (const auto& name : columns_) read_.push_back({{name}});
  }

  Result<std::shared_ptr<arrow::Schema>> Schema(const Table&, ReadContext&) override { return OwnSchema(); }

  Status Begin(const Table& table, const std::vector<uint64_t>& fragments, ReadContext& ctx) override {
    ctx_ = &ctx;
    return scan_.Begin(table, fragments, ctx);
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    PILUM_ASSIGN_OR_RETURN(const auto own, scan_.Next(read_));
    if (!own) return nullptr;
    const auto addresses = std::static_pointer_cast<arrow::UInt64Array>(own->GetColumnByName("_rowaddr"));
    std::vector<uint32_t> rows;  // of the source
    arrow::Int64Builder places;  // among the batch's own values, then those of the source
    PILUM_RETURN_NOT_OK(places.Reserve(own->num_rows()));
    for (int64_t i = 0; i < own->num_rows(); ++i) {
      const auto pair = std::lower_bound(pairs_.begin(), pairs_.end(), addresses->Value(i),
                                         [](const MergePair& p, uint64_t at) { return p.address < at; });
      const bool found = pair != pairs_.end() && pair->address == addresses->Value(i);
      places.UnsafeAppend(found ? own->num_rows() + static_cast<int64_t>(rows.size()) : i);
      if (found) rows.push_back(pair->row);
    }
    PILUM_ASSIGN_OR_RETURN(const auto order, places.Finish());
    return Mixed(*own, rows, order);
  }

 private:
  std::shared_ptr<arrow::Schema> OwnSchema() const {
    arrow::FieldVector fields;
    for (const auto& name : columns_) fields.push_back(source_.schema()->GetFieldByName(name));
    return arrow::schema(std::move(fields));
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Mixed(const arrow::RecordBatch& own, const std::vector<uint32_t>& rows,
                                                    const std::shared_ptr<arrow::Array>& order) const {
    const auto schema = OwnSchema();
    std::vector<arrow::ArrayVector> pieces(columns_.size());
    for (size_t c = 0; c < columns_.size(); ++c) {
      auto values = Storage(own.GetColumnByName(columns_[c]));
      if (IsJsonField(*schema->field(static_cast<int>(c)))) {
        PILUM_ASSIGN_OR_RETURN(values, JsonToStored(values, columns_[c]));
      }
      pieces[c].push_back(std::move(values));
    }
    PILUM_RETURN_NOT_OK(source_.Take(columns_, rows, *ctx_, [&](size_t, const arrow::RecordBatch& batch) -> Status {
      for (size_t c = 0; c < columns_.size(); ++c) {
        auto values = Storage(batch.column(static_cast<int>(c)));
        const auto& type = pieces[c][0]->type();
        if (!values->type()->Equals(*type)) {  // lists name their items otherwise
          PILUM_ASSIGN_OR_RETURN(values, arrow::compute::Cast(*values, type));
        }
        pieces[c].push_back(std::move(values));
      }
      return Status::OK();
    }));
    arrow::ArrayVector out;
    for (const auto& values : pieces) {
      PILUM_ASSIGN_OR_RETURN(const auto all, arrow::Concatenate(values, ctx_->memory_pool()));
      PILUM_ASSIGN_OR_RETURN(const arrow::Datum taken,
                             arrow::compute::Take(all, order, arrow::compute::TakeOptions::NoBoundsCheck()));
      out.push_back(taken.make_array());
    }
    return arrow::RecordBatch::Make(schema, own.num_rows(), std::move(out));
  }

  const MergeSource& source_;
  const std::vector<MergePair>& pairs_;
  const std::vector<std::string> columns_;
  std::vector<FieldPath> read_;
  FragmentScan scan_;
  ReadContext* ctx_ = nullptr;
};

// Of the columns and all fields below them.
void AddIds(const FieldIds& above, wire::Transaction::Update* update) {
  for (const FieldIds& field : above.children) {
    update->add_fields_modified(static_cast<uint32_t>(field.id));
    AddIds(field, update);
  }
}

Status Cannot(const char* why) {
  return UsageError(
      "MergeInsertWriteMode::RewriteColumns cannot express this merge insert: {}. Use MergeInsertWriteMode::Auto or "
      "RewriteRows instead",
      why);
}

}  // namespace

Status CheckRewritesColumns(const Table& table, const MergeSource& source, const std::vector<std::string>& on,
                            const MergeOptions& options) {
  if (options.matched != WhenMatched::kUpdate) return Cannot("no columns of rows that match are updated");
  if (options.insert) return Cannot("inserting unmatched source rows adds rows, which patching cannot do");
  if (options.delete_others) return Cannot("deleting rows that the source lacks is not patching");
  if (options.targets.chosen()) return Cannot("the new files lie beside the old ones, in the table's own folder");
  if (source.schema()->num_fields() == table.schema()->num_fields()) {
    return Cannot("the source covers every dataset column, so there is nothing to skip");
  }
  if (Changed(source, on).empty()) return Cannot("the source has no columns beside the keys");
  return Status::OK();
}

Result<RewrittenColumns> RewriteColumns(const ChangeBase& base, const MergeSource& source, const MergePlan& plan,
                                        const std::vector<std::string>& on, ReadContext& ctx) {
  RewrittenColumns out;
  auto* update = out.transaction.mutable_update();
  update->set_update_mode(kRewriteColumns);
  const auto columns = Changed(source, on);
  const WireFields& fields = base.stored->manifest.fields();
  std::vector<int> chosen;
  for (const auto& name : columns) {
    PILUM_ASSIGN_OR_RETURN(chosen.emplace_back(), FindField(fields, name));
  }
  PILUM_ASSIGN_OR_RETURN(const FileSchema file, PartOfFields(fields, chosen));
  if (!plan.updates.empty()) AddIds(file.ids, update);
  for (const auto& [fragment, places] : ByFragment(plan.updates)) {
    PairValues values(source, plan.updates, columns);
    auto written = WriteFragmentColumns(base, fragment, file, values, ctx);
    if (!written.ok()) {
      RemoveWritten(base.store.get(), out.written);
      return written.status();
    }
    out.written.push_back(written->path);
    *update->add_updated_fragments() = std::move(written->fragment);
    if (base.stored->read->has_stable_row_ids())
      (*update->mutable_updated_offsets())[fragment] = SerializeRoaring32(places);
  }
  return out;
}

}  // namespace pilum
