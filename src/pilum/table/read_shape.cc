#include "pilum/table/read_shape.h"

#include <arrow/type.h>

#include "pilum/file/projection.h"
#include "pilum/source/field_path.h"

namespace pilum {
namespace {

// `paths` as far as `schema` has them.
std::vector<FieldPath> PathsIn(const arrow::Schema& schema, const std::vector<FieldPath>& paths) {
  std::vector<FieldPath> out;
  for (const FieldPath& path : paths) {
    if (FieldAt(schema, path).ok()) out.push_back(path);
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<const ReadShape>> ReadShapes::Of(const std::string& name, const arrow::Schema& full,
                                                        const std::vector<LeafColumn>& leaves,
                                                        const std::vector<const FileView*>& views,
                                                        const std::vector<FieldPath>& columns) const {
  {
    std::lock_guard lock(mutex_);
    if (shape_ && views_ == views && columns_ == columns) return shape_;
  }
  auto shape = std::make_shared<ReadShape>();
  PILUM_ASSIGN_OR_RETURN(const Projection wanted, ProjectFields(name, full, leaves, columns));
  shape->schema = wanted.schema;
  arrow::FieldVector held;
  for (const FileView* view : views) {
    shape->own.push_back(PathsIn(*view->schema, columns));
    if (shape->own.back().empty()) continue;
    PILUM_ASSIGN_OR_RETURN(auto pruned, PrunedSchema(*view->schema, MinimalPaths(shape->own.back())));
    held.insert(held.end(), pruned->fields().begin(), pruned->fields().end());
  }
  shape->held = arrow::schema(std::move(held));
  std::lock_guard lock(mutex_);
  views_ = views;
  columns_ = columns;
  shape_ = shape;
  return shape;
}

}  // namespace pilum
