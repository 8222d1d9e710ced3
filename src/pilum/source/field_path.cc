#include "pilum/source/field_path.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <utility>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace pilum {
namespace {

using Steps = std::span<const std::string>;

// No schema has such a field below text.
const std::string kStoredJsonStep("\0jsonb", 6);

bool IsPrefix(const FieldPath& prefix, const FieldPath& path) {
  return prefix.steps.size() <= path.steps.size() &&
         std::equal(prefix.steps.begin(), prefix.steps.end(), path.steps.begin());
}

bool IsListLike(arrow::Type::type id) {
  return id == arrow::Type::LIST || id == arrow::Type::LARGE_LIST || id == arrow::Type::FIXED_SIZE_LIST;
}

// The same kind of list around another item field.
Result<std::shared_ptr<arrow::DataType>> ListLike(const arrow::DataType& type, std::shared_ptr<arrow::Field> item) {
  switch (type.id()) {
    case arrow::Type::LIST: return arrow::list(std::move(item));
    case arrow::Type::LARGE_LIST: return arrow::large_list(std::move(item));
    case arrow::Type::FIXED_SIZE_LIST:
      return arrow::fixed_size_list(std::move(item), static_cast<const arrow::FixedSizeListType&>(type).list_size());
    default: return Status::Invalid("not a list: ", type.ToString());
  }
}

Status NoSuchStep(const FieldPath& path, const std::string& step, const arrow::DataType& type) {
  return MakeError(ErrorKind::kNotFound,
                   fmt::format("column '{}': no field '{}' in {}", path.ToString(), step, type.ToString()));
}

// The field below `field`; `steps` are those still to take.
Result<std::shared_ptr<arrow::Field>> Step(const std::shared_ptr<arrow::Field>& field, Steps steps,
                                           const FieldPath& path) {
  if (steps.empty()) return field;
  const arrow::DataType* type = field->type().get();
  if (type->id() == arrow::Type::EXTENSION) type = static_cast<const arrow::ExtensionType*>(type)->storage_type().get();
  if (type->id() == arrow::Type::STRUCT) {
    auto child = static_cast<const arrow::StructType*>(type)->GetFieldByName(steps[0]);
    if (!child) return NoSuchStep(path, steps[0], *type);
    return Step(child->WithNullable(field->nullable() || child->nullable()), steps.subspan(1), path);
  }
  if (IsListLike(type->id())) {
    const auto& item = type->field(0);
    PILUM_ASSIGN_OR_RETURN(auto leaf, Step(item, steps, path));
    PILUM_ASSIGN_OR_RETURN(auto list, ListLike(*type, item->WithType(leaf->type())->WithNullable(leaf->nullable())));
    return leaf->WithType(std::move(list))->WithNullable(field->nullable());
  }
  return NoSuchStep(path, steps[0], *type);
}

Result<std::shared_ptr<arrow::Array>> Descend(const std::shared_ptr<arrow::Array>& array, Steps steps,
                                              const FieldPath& path, arrow::MemoryPool* pool) {
  if (steps.empty()) return array;
  const arrow::DataType& type = *array->type();
  if (type.id() == arrow::Type::EXTENSION) {
    return Descend(static_cast<const arrow::ExtensionArray&>(*array).storage(), steps, path, pool);
  }
  if (type.id() == arrow::Type::STRUCT) {
    const int i = static_cast<const arrow::StructType&>(type).GetFieldIndex(steps[0]);
    if (i < 0) return NoSuchStep(path, steps[0], type);
    PILUM_ASSIGN_OR_RETURN(auto child, static_cast<const arrow::StructArray&>(*array).GetFlattenedField(i, pool));
    return Descend(child, steps.subspan(1), path, pool);
  }
  if (!IsListLike(type.id())) return NoSuchStep(path, steps[0], type);
  auto data = array->data()->Copy();
  const auto item = arrow::field(path.steps[0], array->type()->field(0)->type(), type.field(0)->nullable());
  PILUM_ASSIGN_OR_RETURN(auto leaf, Step(item, steps, path));
  PILUM_ASSIGN_OR_RETURN(data->type,
                         ListLike(type, type.field(0)->WithType(leaf->type())->WithNullable(leaf->nullable())));
  PILUM_ASSIGN_OR_RETURN(auto values, Descend(arrow::MakeArray(data->child_data[0]), steps, path, pool));
  data->child_data = {values->data()};
  return arrow::MakeArray(std::move(data));
}

// `tails`: what is wanted below this field; an empty tail wants all of it.
Result<std::shared_ptr<arrow::Field>> PruneField(const std::shared_ptr<arrow::Field>& field,
                                                 const std::vector<Steps>& tails, const FieldPath& path) {
  if (std::any_of(tails.begin(), tails.end(), [](Steps s) { return s.empty(); })) return field;
  const auto& type = field->type();
  if (IsListLike(type->id())) {
    PILUM_ASSIGN_OR_RETURN(auto item, PruneField(type->field(0), tails, path));
    PILUM_ASSIGN_OR_RETURN(auto list, ListLike(*type, item));
    return field->WithType(std::move(list));
  }
  if (type->id() != arrow::Type::STRUCT) return NoSuchStep(path, tails[0][0], *type);
  arrow::FieldVector children;
  for (const auto& child : type->fields()) {
    std::vector<Steps> below;
    for (Steps s : tails)
      if (s[0] == child->name()) below.push_back(s.subspan(1));
    if (below.empty()) continue;
    PILUM_ASSIGN_OR_RETURN(auto kept, PruneField(child, below, path));
    children.push_back(std::move(kept));
  }
  for (Steps s : tails) {
    if (static_cast<const arrow::StructType&>(*type).GetFieldIndex(s[0]) < 0) return NoSuchStep(path, s[0], *type);
  }
  return field->WithType(arrow::struct_(std::move(children)));
}

}  // namespace

std::vector<FieldPath> MinimalPaths(const std::vector<FieldPath>& paths) {
  const std::set<FieldPath> all(paths.begin(), paths.end());
  auto inside_other = [&](const FieldPath& path) {
    for (auto end = path.steps.begin() + 1; end < path.steps.end(); ++end) {
      if (all.contains(FieldPath{{path.steps.begin(), end}})) return true;
    }
    return false;
  };
  std::set<FieldPath> done;
  std::vector<FieldPath> out;
  for (const auto& path : paths) {
    if (!inside_other(path) && done.insert(path).second) out.push_back(path);
  }
  return out;
}

FieldPath StoredJson(FieldPath column) {
  column.steps.push_back(kStoredJsonStep);
  return column;
}

bool IsStoredJson(const FieldPath& path) { return path.steps.back() == kStoredJsonStep; }

FieldPath WithoutStoredJson(FieldPath path) {
  if (IsStoredJson(path)) path.steps.pop_back();
  return path;
}

bool IsCovered(const FieldPath& path, const std::vector<FieldPath>& have) {
  return std::any_of(have.begin(), have.end(), [&](const FieldPath& h) { return IsPrefix(h, path); });
}

Result<std::shared_ptr<arrow::Field>> FieldAt(const arrow::Schema& schema, const FieldPath& path) {
  auto top = schema.GetFieldByName(path.steps[0]);
  if (!top) return NotFoundError("no single column '{}'", path.steps[0]);
  return Step(top, Steps(path.steps).subspan(1), path);
}

Result<std::shared_ptr<arrow::Array>> ArrayAt(const arrow::RecordBatch& batch, const FieldPath& path,
                                              arrow::MemoryPool* pool) {
  auto top = batch.GetColumnByName(path.steps[0]);
  if (!top) return NotFoundError("no single column '{}' in the batch", path.steps[0]);
  return Descend(top, Steps(path.steps).subspan(1), path, pool);
}

Result<std::shared_ptr<arrow::Schema>> PrunedSchema(const arrow::Schema& schema, const std::vector<FieldPath>& paths) {
  std::map<std::string_view, std::vector<Steps>> tails_of;
  for (const auto& path : paths) tails_of[path.steps[0]].push_back(Steps(path.steps).subspan(1));
  arrow::FieldVector fields;
  for (const auto& path : paths) {
    const std::string& name = path.steps[0];
    const auto tails = std::exchange(tails_of[name], {});
    if (tails.empty()) continue;  // done
    auto field = schema.GetFieldByName(name);
    if (!field) return NotFoundError("no single column '{}'", name);
    PILUM_ASSIGN_OR_RETURN(auto kept, PruneField(field, tails, path));
    fields.push_back(std::move(kept));
  }
  return arrow::schema(std::move(fields), schema.metadata());
}

Result<std::shared_ptr<arrow::Array>> PrunedArray(const std::shared_ptr<arrow::Array>& array,
                                                  const std::shared_ptr<arrow::DataType>& pruned) {
  if (array->type()->Equals(*pruned)) return array;
  auto data = array->data()->Copy();
  data->type = pruned;
  if (IsListLike(pruned->id()) && array->type_id() == pruned->id()) {
    PILUM_ASSIGN_OR_RETURN(auto values, PrunedArray(arrow::MakeArray(data->child_data[0]), pruned->field(0)->type()));
    data->child_data = {values->data()};
    return arrow::MakeArray(std::move(data));
  }
  if (pruned->id() != arrow::Type::STRUCT || array->type_id() != arrow::Type::STRUCT) {
    return Status::Invalid("cannot cut ", array->type()->ToString(), " down to ", pruned->ToString());
  }
  const auto& have = static_cast<const arrow::StructType&>(*array->type());
  std::vector<std::shared_ptr<arrow::ArrayData>> children;
  for (const auto& child : pruned->fields()) {
    const int i = have.GetFieldIndex(child->name());
    if (i < 0) return NotFoundError("no field '{}' in {}", child->name(), have.ToString());
    PILUM_ASSIGN_OR_RETURN(auto values, PrunedArray(arrow::MakeArray(data->child_data[i]), child->type()));
    children.push_back(values->data());
  }
  data->child_data = std::move(children);
  return arrow::MakeArray(std::move(data));
}

}  // namespace pilum
