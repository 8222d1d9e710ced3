#include "pilum/change/cast_columns.h"

#include <algorithm>
#include <set>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/compute/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/field_lookup.h"
#include "pilum/change/fragment_scan.h"
#include "pilum/source/field_path.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

using TypePtr = std::shared_ptr<arrow::DataType>;

bool IsList(const arrow::DataType& t) {
  return t.id() == arrow::Type::LIST || t.id() == arrow::Type::LARGE_LIST || t.id() == arrow::Type::FIXED_SIZE_LIST;
}
bool IsText(const arrow::DataType& t) { return t.id() == arrow::Type::STRING || t.id() == arrow::Type::LARGE_STRING; }
bool IsBytes(const arrow::DataType& t) { return t.id() == arrow::Type::BINARY || t.id() == arrow::Type::LARGE_BINARY; }
bool IsBool(const arrow::DataType& t) { return t.id() == arrow::Type::BOOL; }
bool IsWhole(const arrow::DataType& t) { return arrow::is_integer(t.id()); }
bool IsFloat(const arrow::DataType& t) { return arrow::is_floating(t.id()); }
bool IsTime(const arrow::DataType& t) { return arrow::is_temporal(t.id()) || t.id() == arrow::Type::DURATION; }
bool IsDecimal(const arrow::DataType& t) {
  return t.id() == arrow::Type::DECIMAL128 || t.id() == arrow::Type::DECIMAL256;
}

bool SameKind(const arrow::DataType& from, const arrow::DataType& to) {
  for (const auto kind : {IsBool, IsText, IsBytes, IsWhole, IsFloat, IsTime, IsDecimal}) {
    if (kind(from)) return kind(to);
  }
  return IsList(from) && IsList(to) && SameKind(*from.field(0)->type(), *to.field(0)->type());
}

// A decimal with fewer digits behind the point is rounded, halves away from zero.
Result<arrow::Datum> Rounded(const arrow::Datum& values, const arrow::DataType& to) {
  const int32_t digits = static_cast<const arrow::DecimalType&>(to).scale();
  if (static_cast<const arrow::DecimalType&>(*values.type()).scale() <= digits) return values;
  return arrow::compute::Round(values,
                               arrow::compute::RoundOptions(digits, arrow::compute::RoundMode::HALF_TOWARDS_INFINITY));
}

// Values of the live rows of some columns, cast to the types of the new file.
class CastValues final : public ColumnValues {
 public:
  // As the plan found them on its version.
  void Set(std::vector<FieldPath> columns, std::shared_ptr<arrow::Schema> schema) {
    columns_ = std::move(columns);
    schema_ = std::move(schema);
  }

  Result<std::shared_ptr<arrow::Schema>> Schema(const Table&, ReadContext&) override { return schema_; }

  Status Begin(const Table& table, const std::vector<uint64_t>& fragments, ReadContext& ctx) override {
    return scan_.Begin(table, fragments, ctx);
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Next() override {
    PILUM_ASSIGN_OR_RETURN(const auto batch, scan_.Next(columns_));
    if (!batch) return nullptr;
    return Cast(*batch);
  }

 private:
  // Of whole numbers in pylance's words; else nothing.
  static Result<std::string> WhyNot(const arrow::Array& values, const arrow::DataType& type) {
    if (!arrow::is_integer(values.type_id()) || !arrow::is_integer(type.id())) return std::string();
    const IntRange range = IntRangeOf(type);
    for (int64_t i = 0; i < values.length(); ++i) {
      PILUM_ASSIGN_OR_RETURN(const auto v, ValueAt(values, i));
      if (!v || (v->as_int() >= range.min && v->as_int() <= range.max)) continue;
      const std::string name = type.ToString();
      const bool is_signed = name[0] == 'i';
      return fmt::format("Can't cast value {} to type {}{}", v->ToString(), is_signed ? "I" : "UI",
                         name.substr(is_signed ? 1 : 2));
    }
    return std::string();
  }

  Result<std::shared_ptr<arrow::RecordBatch>> Cast(const arrow::RecordBatch& batch) const {
    arrow::ArrayVector columns;
    for (int i = 0; i < batch.num_columns(); ++i) {
      auto cast = CastColumn(batch.column(i), schema_->field(i)->type());
      if (!cast.ok()) {
        PILUM_ASSIGN_OR_RETURN(const std::string why, WhyNot(*batch.column(i), *schema_->field(i)->type()));
        return UsageError("column '{}' has a value that {} does not hold: {}", batch.column_name(i),
                          schema_->field(i)->type()->ToString(), why.empty() ? cast.status().message() : why);
      }
      columns.push_back(std::move(*cast));
    }
    return arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(columns));
  }

  std::vector<FieldPath> columns_;
  std::shared_ptr<arrow::Schema> schema_;
  FragmentScan scan_;
};

// What is below field `at` goes, and the field has the type instead; new ids from *next on.
Status Retype(WireFields* fields, int at, const TypePtr& type, int32_t* next) {
  const auto& old = (*fields)[at];
  PILUM_ASSIGN_OR_RETURN(const WireFields fresh,
                         FieldsOf(arrow::Schema({arrow::field(old.name(), type, old.nullable())}), *next));
  *next += fresh.size();
  const std::set<int> gone = FieldAndBelow(*fields, at);
  WireFields out;
  for (int i = 0; i < fields->size(); ++i) {
    if (!gone.contains(i)) *out.Add() = (*fields)[i];
    if (i != at) continue;
    for (const auto& f : fresh) *out.Add() = f;
    out[out.size() - fresh.size()].set_parent_id(old.parent_id());
  }
  *fields = std::move(out);
  return Status::OK();
}

// An index on a column is of its old values; who cast one would lose it without a word.
Status CheckNotIndexed(const ChangeBase& base, const std::string& path, const std::set<int32_t>& ids) {
  for (const auto& index : base.stored->indices.indices()) {
    for (const int32_t id : index.fields()) {
      if (!ids.contains(id)) continue;
      return UsageError(
          "Cannot cast column(s) [{}] to a new type: they have an index attached: {}. Drop it first and make it anew "
          "after "
          "the cast",
          path, index.name());
    }
  }
  return Status::OK();
}

std::set<int32_t> IdsBelow(const WireFields& fields, int at) {
  std::set<int32_t> out;
  for (const int i : FieldAndBelow(fields, at)) out.insert(fields[i].id());
  return out;
}

}  // namespace

Status CheckCast(const std::string& path, const arrow::DataType& from, const arrow::DataType& to) {
  const bool durations = from.id() == arrow::Type::DURATION && to.id() == arrow::Type::DURATION;
  const bool can = IsList(from) || durations || from.Equals(to) || arrow::compute::CanCast(from, to);
  if (SameKind(from, to) && can) return Status::OK();
  return UsageError("Cannot cast column \"{}\" from {} to {}", path, from.ToString(), to.ToString());
}

Result<std::shared_ptr<arrow::Array>> CastColumn(const std::shared_ptr<arrow::Array>& array, const TypePtr& to) {
  if (array->type()->Equals(*to)) return array;
  if (array->type_id() == arrow::Type::STRUCT && to->id() == arrow::Type::STRUCT) {
    const auto& values = static_cast<const arrow::StructArray&>(*array);
    arrow::ArrayVector children;
    for (int i = 0; i < to->num_fields(); ++i) {
      PILUM_ASSIGN_OR_RETURN(children.emplace_back(), CastColumn(values.field(i), to->field(i)->type()));
    }
    std::shared_ptr<arrow::Buffer> validity;
    if (array->null_count() > 0) {
      PILUM_ASSIGN_OR_RETURN(const auto is_valid, arrow::compute::IsValid(array));
      const auto bits = is_valid.make_array();
      PILUM_ASSIGN_OR_RETURN(const auto copied, arrow::Concatenate({bits}));
      validity = copied->data()->buffers[1];
    }
    return std::make_shared<arrow::StructArray>(to, array->length(), std::move(children), std::move(validity));
  }
  arrow::Datum values = array;
  if (IsDecimal(*array->type()) && IsDecimal(*to)) {
    PILUM_ASSIGN_OR_RETURN(values, Rounded(values, *to));
  }
  auto options = arrow::compute::CastOptions::Safe(to);
  options.allow_time_truncate = true;  // a coarser unit: as Lance's casts
  options.allow_float_truncate = true;
  PILUM_ASSIGN_OR_RETURN(const arrow::Datum cast, arrow::compute::Cast(values, options));
  return cast.make_array();
}

Result<Committed> CastColumns(WritableTable table, const std::vector<ColumnAlteration>& alterations,
                              const ChangeOptions& options, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  CastValues values;
  const PlanColumns plan = [&](const ChangeBase& base) -> Result<ColumnPlan> {
    const WireFields& before = base.stored->manifest.fields();
    PILUM_ASSIGN_OR_RETURN(WireFields fields, AlterFields(base, alterations, ctx));
    int32_t next = NextFieldId(base.stored->manifest);
    std::set<int32_t> fresh;
    std::vector<int> old;
    for (const ColumnAlteration& a : alterations) {
      if (!a.type) continue;
      PILUM_ASSIGN_OR_RETURN(const int at, FindField(before, a.path));
      const FieldPath path = FieldPathOf(before, at);
      PILUM_ASSIGN_OR_RETURN(const auto field, FieldAt(*base.table->schema(), path));
      PILUM_RETURN_NOT_OK(CheckCast(a.path, *field->type(), *a.type));
      if (before[at].parent_id() >= 0 && base.stored->manifest.data_format().version() == "2.0") {
        return Unsupported(
            "column '{}' lies in a struct, which a data file of version 2.0 holds whole: it cannot be cast there",
            a.path);
      }
      PILUM_RETURN_NOT_OK(CheckNotIndexed(base, a.path, IdsBelow(before, at)));
      const auto is = [&](const wire::Field& f) { return f.id() == before[at].id(); };
      const auto now = std::find_if(fields.begin(), fields.end(), is);
      if (now == fields.end()) return UsageError("column '{}' is altered twice, or lies in another that is", a.path);
      fresh.insert(next);
      PILUM_RETURN_NOT_OK(Retype(&fields, static_cast<int>(now - fields.begin()), a.type, &next));
      old.push_back(at);
    }
    std::vector<int> chosen;
    for (int i = 0; i < fields.size(); ++i) {
      if (fresh.contains(fields[i].id())) chosen.push_back(i);
    }
    ColumnPlan out;
    out.fields.all = std::move(fields);
    PILUM_ASSIGN_OR_RETURN(out.fields.file, PartOfFields(out.fields.all, chosen));
    out.preserves_nullability = AllowsNullsAsBefore(before, out.fields.all);
    std::sort(old.begin(), old.end());
    std::vector<FieldPath> paths;
    for (const int at : old) paths.push_back(FieldPathOf(before, at));
    values.Set(std::move(paths), out.fields.file.schema);
    return out;
  };
  return WriteColumns(std::move(table), plan, values, options, ctx);
}

}  // namespace pilum
