#include "pilum/change/fit_rows.h"

#include <algorithm>
#include <map>

#include <arrow/array.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/change/blob_columns.h"
#include "pilum/change/json_columns.h"
#include "pilum/table/column_forms.h"
#include "pilum/table/commit/schema_fields.h"

namespace pilum {
namespace {

Status Different(const std::string& what) { return UsageError("Append with different schema: {}", what); }

struct Node {
  std::string logical_type;
  bool blob = false;  // its members may be fewer: BlobWriter looks at them
  std::vector<std::string> children;
};
// Dotted path -> what is stored there.
std::map<std::string, Node> NodesOf(const WireFields& fields) {
  std::map<int32_t, std::string> paths;
  std::map<std::string, Node> out;
  for (const auto& f : fields) {
    const auto parent = paths.find(f.parent_id());
    const std::string path = parent == paths.end() ? f.name() : parent->second + "." + f.name();
    paths[f.id()] = path;
    out[path].logical_type = f.logical_type();
    out[path].blob = f.extension_name() == "lance.blob.v2";
    if (parent != paths.end()) out[parent->second].children.push_back(f.name());
  }
  return out;
}

// `path`, a column of both, down to its leaves. Names of list items do not count.
Status CheckSame(const std::map<std::string, Node>& table, const std::map<std::string, Node>& input,
                 const std::string& path, const std::string& other) {
  const Node &want = table.at(path), &got = input.at(other);
  if (want.logical_type != got.logical_type) {
    return Different(
        fmt::format("`{}` should have type {} but type was {}", path, want.logical_type, got.logical_type));
  }
  if (want.blob) return Status::OK();
  const bool by_name = want.logical_type == "struct";
  if (want.children.size() != got.children.size() || (by_name && want.children != got.children)) {
    return Different(fmt::format("`{}` should have the fields [{}], in this order, but has [{}]", path,
                                 fmt::join(want.children, ", "), fmt::join(got.children, ", ")));
  }
  for (size_t i = 0; i < want.children.size(); ++i) {
    PILUM_RETURN_NOT_OK(CheckSame(table, input, path + "." + want.children[i], other + "." + got.children[i]));
  }
  return Status::OK();
}

// NULLs of a child where its parent is NULL do not count; those are looked for only where there are any at all.
Status CheckNoNulls(const arrow::Field& field, const arrow::Array& array, const std::string& path) {
  if (!field.nullable() && array.null_count() > 0) {
    return UsageError("The field `{}` contained null values even though the field is marked non-null in the schema",
                      path);
  }
  if (array.type_id() != arrow::Type::STRUCT || array.null_count() > 0) return Status::OK();
  const auto& values = static_cast<const arrow::StructArray&>(array);
  for (int i = 0; i < values.num_fields() && i < field.type()->num_fields(); ++i) {
    const auto& child = *field.type()->field(i);
    PILUM_RETURN_NOT_OK(CheckNoNulls(child, *values.field(i), path + "." + child.name()));
  }
  return Status::OK();
}

}  // namespace

Result<FitRows> FitRows::MakeForNew(const FileSchema& table) {
  FitRows out;
  out.schema_ = table.schema;
  out.ids_ = std::make_shared<const FieldIds>(table.ids);
  return out;
}

Result<FitRows> FitRows::Make(const FileSchema& table, const arrow::Schema& input) {
  PILUM_ASSIGN_OR_RETURN(const WireFields want, FieldsOf(*table.schema));
  arrow::FieldVector given;
  for (const auto& f : input.fields()) {
    const auto here = table.schema->GetFieldByName(f->name());
    given.push_back(here && HasBlobV2(*here) ? MarkedAsBlobV2(f) : f);
  }
  PILUM_ASSIGN_OR_RETURN(const WireFields got, FieldsOf(*arrow::schema(std::move(given), input.metadata())));
  const auto want_nodes = NodesOf(want), got_nodes = NodesOf(got);
  std::vector<std::string> missing, unexpected;
  for (const auto& f : input.fields()) {
    if (table.schema->GetFieldIndex(f->name()) < 0) unexpected.push_back(f->name());
  }
  arrow::FieldVector fields;
  FieldIds ids;
  for (int i = 0; i < table.schema->num_fields(); ++i) {
    const auto& field = table.schema->field(i);
    if (input.GetFieldIndex(field->name()) >= 0) {
      fields.push_back(field);
      ids.children.push_back(table.ids.children[static_cast<size_t>(i)]);
    } else if (!field->nullable()) {
      missing.push_back(field->name());
    }
  }
  if (!missing.empty() || !unexpected.empty()) {
    return Different(fmt::format("fields did not match, missing=[{}], unexpected=[{}]", fmt::join(missing, ", "),
                                 fmt::join(unexpected, ", ")));
  }
  for (const auto& f : fields) PILUM_RETURN_NOT_OK(CheckSame(want_nodes, got_nodes, f->name(), f->name()));
  FitRows out;
  out.schema_ = arrow::schema(std::move(fields), table.schema->metadata());
  out.ids_ = std::make_shared<const FieldIds>(std::move(ids));
  return out;
}

Result<std::shared_ptr<arrow::RecordBatch>> FitRows::Fit(const arrow::RecordBatch& batch) const {
  arrow::ArrayVector columns;
  arrow::FieldVector fields;
  for (const auto& field : schema_->fields()) {
    const int at = batch.schema()->GetFieldIndex(field->name());
    if (at < 0) return UsageError("a batch lacks column '{}', which others have", field->name());
    PILUM_RETURN_NOT_OK(CheckNoNulls(*field, *batch.column(at), field->name()));
    columns.push_back(batch.column(at));
    fields.push_back(batch.schema()->field(at));
    if (HasBlobV2(*field) && HasMarkedBytes(*fields.back())) {
      PILUM_ASSIGN_OR_RETURN(columns.back(), BytesAsBlobV2(*field, columns.back()));
      fields.back() = field->WithType(columns.back()->type());
    }
    if (!IsJsonField(*field)) continue;
    PILUM_ASSIGN_OR_RETURN(columns.back(), JsonToStored(columns.back(), field->name()));
    fields.back() = field;
  }
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)), batch.num_rows(), std::move(columns));
}

}  // namespace pilum
