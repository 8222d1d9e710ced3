#include "pilum/file/projection.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include <arrow/array.h>
#include <arrow/type.h>

namespace pilum {
namespace {

using FieldPtr = std::shared_ptr<arrow::Field>;

// What is wanted of a field: all of it, or these children of the struct below its lists.
struct Wanted {
  bool all = false;
  std::map<int, Wanted> children;

  void Add(const std::vector<int>& path) {
    Wanted* w = this;
    for (int child : path) w = &w->children[child];
    w->all = true;
  }
  // Is any of the leaf at `path` wanted? A packed struct is one leaf above its children, so a path may end early.
  bool Covers(const std::vector<int>& path) const {
    const Wanted* w = this;
    for (int child : path) {
      if (w->all) return true;
      auto it = w->children.find(child);
      if (it == w->children.end()) return false;
      w = &it->second;
    }
    return true;
  }
};

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      size_t best = std::min({row[j] + 1, row[j + 1] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = std::exchange(row[j + 1], best);
    }
  }
  return row.back();
}

std::string NearNames(const std::string& wanted, const arrow::FieldVector& fields) {
  if (fields.empty()) return "there are none";
  std::vector<std::pair<size_t, std::string>> scored;
  for (const auto& f : fields) {
    size_t d = wanted.size() + f->name().size() > 400 ? 400 : EditDistance(wanted, f->name());
    scored.emplace_back(d, f->name());
  }
  std::stable_sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (size_t i = 0; i < scored.size() && i < 5; ++i) names.push_back("'" + scored[i].second + "'");
  return fmt::format("{} {}", fields.size() > 5 ? "nearest are" : "there are", fmt::join(names, ", "));
}

// The struct below lists and fixed-size lists, or nullptr.
const arrow::DataType* StructBelow(const arrow::DataType* type) {
  while (type->id() == arrow::Type::LIST || type->id() == arrow::Type::LARGE_LIST ||
         type->id() == arrow::Type::FIXED_SIZE_LIST) {
    type = type->field(0)->type().get();
  }
  return type->id() == arrow::Type::STRUCT ? type : nullptr;
}

class PathResolver {
 public:
  PathResolver(const std::string& file, const FieldPath& path) : file_(file), path_(path) {}

  // Child indexes from the schema down; the first is the top-level field.
  Result<std::vector<int>> Resolve(const arrow::Schema& schema) const {
    if (path_.steps.empty()) return UsageError("{}: an empty column path", file_);
    std::vector<int> out;
    PILUM_ASSIGN_OR_RETURN(int at, Find(schema.GetAllFieldIndices(path_.steps[0]), schema.fields(), 0));
    out.push_back(at);
    const arrow::DataType* type = schema.field(at)->type().get();
    for (size_t i = 1; i < path_.steps.size(); ++i) {
      if (type->id() == arrow::Type::MAP) {
        return UsageError("{}: column '{}': a map is read whole: ask for '{}'", file_, path_.ToString(), Prefix(i));
      }
      type = StructBelow(type);
      if (type == nullptr) {
        return NotFoundError("{}: column '{}': '{}' has no fields inside", file_, path_.ToString(), Prefix(i));
      }
      PILUM_ASSIGN_OR_RETURN(
          at, Find(static_cast<const arrow::StructType*>(type)->GetAllFieldIndices(path_.steps[i]), type->fields(), i));
      out.push_back(at);
      type = type->field(at)->type().get();
    }
    return out;
  }

 private:
  std::string Prefix(size_t steps) const {
    return FieldPath{{path_.steps.begin(), path_.steps.begin() + static_cast<std::ptrdiff_t>(steps)}}.ToString();
  }

  // `found`: the fields of the step's name among `fields`.
  Result<int> Find(const std::vector<int>& found, const arrow::FieldVector& fields, size_t step) const {
    const std::string& name = path_.steps[step];
    if (found.size() == 1) return found[0];
    if (!found.empty()) {
      return UsageError("{}: several columns are named '{}': read all columns, or rename them", file_,
                        Prefix(step + 1));
    }
    if (step == 0) return NotFoundError("{}: no column '{}'; {}", file_, name, NearNames(name, fields));
    return NotFoundError("{}: column '{}' has no field '{}'; {}", file_, Prefix(step), name, NearNames(name, fields));
  }

  const std::string& file_;
  const FieldPath& path_;
};

// `field` with just the wanted children. With `whole_leaves`, structs that are one leaf column stay whole.
FieldPtr Cut(const FieldPtr& field, const Wanted& wanted, bool whole_leaves) {
  if (wanted.all) return field;
  const auto& type = *field->type();
  switch (type.id()) {
    case arrow::Type::LIST: return field->WithType(arrow::list(Cut(type.field(0), wanted, whole_leaves)));
    case arrow::Type::LARGE_LIST: return field->WithType(arrow::large_list(Cut(type.field(0), wanted, whole_leaves)));
    case arrow::Type::FIXED_SIZE_LIST:
      return field->WithType(arrow::fixed_size_list(Cut(type.field(0), wanted, whole_leaves),
                                                    static_cast<const arrow::FixedSizeListType&>(type).list_size()));
    case arrow::Type::STRUCT: {
      if (whole_leaves && (IsPackedStruct(*field) || IsBlobField(*field))) return field;
      arrow::FieldVector children;
      for (const auto& [i, w] : wanted.children) children.push_back(Cut(type.field(i), w, whole_leaves));
      return field->WithType(arrow::struct_(std::move(children)));
    }
    default: return field;
  }
}

std::vector<int> StructPath(const LeafColumn& leaf) {
  std::vector<int> path;
  for (const auto& layer : leaf.layers) {
    if (layer.kind == ShapeLayerKind::kStruct) path.push_back(layer.child);
  }
  return path;
}

class Projector {
 public:
  Projector(const arrow::Schema& schema, const std::vector<LeafColumn>& leaves) : schema_(schema), leaves_(leaves) {}

  void AddOutput(int top_level, const Wanted& wanted) {
    auto it = read_of_.find(top_level);
    if (it == read_of_.end()) {
      it = read_of_.emplace(top_level, static_cast<int>(out_.reads.size())).first;
      const FieldPtr& field = schema_.field(top_level);
      ReadField read{top_level, {}, Cut(field, wanted, true), Cut(field, wanted, false)};
      auto first =
          std::partition_point(leaves_.begin(), leaves_.end(), [&](const auto& l) { return l.top_level < top_level; });
      for (auto l = first; l != leaves_.end() && l->top_level == top_level; ++l) {
        if (wanted.Covers(StructPath(*l))) read.leaves.push_back(static_cast<int>(l - leaves_.begin()));
      }
      out_.reads.push_back(std::move(read));
    }
    out_.outputs.push_back(it->second);
  }

  Projection Finish() {
    arrow::FieldVector fields;
    for (int r : out_.outputs) fields.push_back(out_.reads[static_cast<size_t>(r)].field);
    out_.schema = arrow::schema(std::move(fields), schema_.metadata());
    return std::move(out_);
  }

 private:
  const arrow::Schema& schema_;
  const std::vector<LeafColumn>& leaves_;
  std::map<int, int> read_of_;
  Projection out_;
};

}  // namespace

Result<Projection> ProjectFields(const std::string& file, const arrow::Schema& schema,
                                 const std::vector<LeafColumn>& leaves,
                                 const std::optional<std::vector<FieldPath>>& columns) {
  Projector projector(schema, leaves);
  if (!columns) {
    for (int i = 0; i < schema.num_fields(); ++i) projector.AddOutput(i, Wanted{true, {}});
    return projector.Finish();
  }
  std::vector<std::pair<int, bool>> order;  // top-level field, is a whole one
  std::map<int, Wanted> wanted;
  for (const FieldPath& path : *columns) {
    PILUM_ASSIGN_OR_RETURN(auto indexes, PathResolver(file, path).Resolve(schema));
    bool whole = indexes.size() == 1;
    bool known = wanted.contains(indexes[0]);
    wanted[indexes[0]].Add({indexes.begin() + 1, indexes.end()});
    auto had_nested = [&] {
      return std::any_of(order.begin(), order.end(), [&](auto& o) { return o.first == indexes[0] && !o.second; });
    };
    if (!known || (whole && !had_nested())) order.emplace_back(indexes[0], whole);
  }
  for (const auto& [top_level, whole] : order) projector.AddOutput(top_level, wanted[top_level]);
  return projector.Finish();
}

Result<std::shared_ptr<const FileShape>> FileShape::Make(std::shared_ptr<arrow::Schema> schema) {
  auto out = std::make_shared<FileShape>();
  PILUM_ASSIGN_OR_RETURN(out->leaves_, LeafColumnsOf(*schema));
  out->schema_ = std::move(schema);
  return out;
}

Result<std::shared_ptr<const Projection>> FileShape::Project(
    const std::string& file, const std::optional<std::vector<FieldPath>>& columns) const {
  {
    std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock && projection_ && projected_ == columns) return projection_;
  }
  PILUM_ASSIGN_OR_RETURN(Projection made, ProjectFields(file, *schema_, leaves_, columns));
  auto shared = std::make_shared<const Projection>(std::move(made));
  std::unique_lock lock(mutex_, std::try_to_lock);  // waits for nobody: a fork may leave it locked for ever
  if (lock) projected_ = columns, projection_ = shared;
  return shared;
}

namespace {

Result<std::shared_ptr<arrow::ArrayData>> PruneData(const arrow::ArrayData& data,
                                                    const std::shared_ptr<arrow::DataType>& to) {
  auto out = data.Copy();
  out->type = to;
  if (data.type->Equals(*to)) return out;
  if (to->id() != arrow::Type::STRUCT) {
    PILUM_ASSIGN_OR_RETURN(out->child_data[0], PruneData(*data.child_data[0], to->field(0)->type()));
    return out;
  }
  out->child_data.clear();
  int from = 0;  // children of `to` are some of those of `data`, in the same order
  for (const auto& field : to->fields()) {
    while (data.type->field(from)->name() != field->name()) ++from;
    PILUM_ASSIGN_OR_RETURN(auto child, PruneData(*data.child_data[static_cast<size_t>(from++)], field->type()));
    out->child_data.push_back(std::move(child));
  }
  return out;
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> PruneArray(const std::shared_ptr<arrow::Array>& array,
                                                 const std::shared_ptr<arrow::DataType>& to) {
  PILUM_ASSIGN_OR_RETURN(auto data, PruneData(*array->data(), to));
  return arrow::MakeArray(data);
}

}  // namespace pilum
