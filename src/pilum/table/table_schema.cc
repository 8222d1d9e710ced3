#include "pilum/table/table_schema.h"

#include <algorithm>
#include <map>
#include <set>

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/file/projection.h"
#include "pilum/source/field_path.h"

namespace pilum {
namespace {

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

// Field id -> its column in the file. The first of an id counts, as it does for pylance. Legacy files number their pages
// by field: any number will do.
std::map<int32_t, uint32_t> ColumnsById(const DataFile& file) {
  std::map<int32_t, uint32_t> out;
  for (size_t i = 0; i < file.fields.size(); ++i) {
    if (file.is_legacy()) {
      if (file.fields[i] >= 0) out.emplace(file.fields[i], static_cast<uint32_t>(i));
      continue;
    }
    if (file.fields[i] >= 0 && file.column_indices[i] >= 0) {
      out.emplace(file.fields[i], static_cast<uint32_t>(file.column_indices[i]));
    }
  }
  return out;
}

// The ids of what is left of `whole` in `pruned`.
FieldIds PrunedIds(const arrow::FieldVector& whole, const FieldIds& ids, const arrow::FieldVector& pruned) {
  FieldIds out{ids.id, {}};
  size_t at = 0;
  for (const auto& field : pruned) {
    while (at < whole.size() && whole[at]->name() != field->name()) ++at;
    if (at >= ids.children.size()) break;  // items of a fixed-size list have no ids
    out.children.push_back(PrunedIds(whole[at]->type()->fields(), ids.children[at], field->type()->fields()));
    ++at;
  }
  return out;
}

bool IsVersion20(const DataFile& file) { return file.major < 2 || (file.major == 2 && file.minor == 0); }

}  // namespace

const char* SystemColumnName(SystemColumn column) {
  switch (column) {
    case SystemColumn::kRowId: return "_rowid";
    case SystemColumn::kRowAddress: return "_rowaddr";
    case SystemColumn::kCreatedAt: return "_row_created_at_version";
    case SystemColumn::kLastUpdatedAt: return "_row_last_updated_at_version";
    default: return "_rowoffset";
  }
}

Result<std::shared_ptr<const TableSchema>> TableSchema::Make(const FileSchema& schema, BlobHandling blobs) {
  auto out = std::make_shared<TableSchema>();
  out->ids_ = schema.ids;
  for (const WireField& f : schema.fields) out->names_.emplace(f.id, f.name);
  arrow::FieldVector declared, stored, given;
  std::set<std::string> names;
  for (const auto& f : schema.schema->fields()) {
    if (!names.insert(f->name()).second) return Bad(fmt::format("schema: two columns are named '{}'", f->name()));
    ColumnForms forms = FormsOf(f, blobs);
    declared.push_back(std::move(forms.declared));
    stored.push_back(std::move(forms.stored));
    given.push_back(std::move(forms.given));
  }
  const auto& metadata = schema.schema->metadata();
  out->declared_ = arrow::schema(std::move(declared), metadata);
  out->stored_ = arrow::schema(stored, metadata);
  for (const SystemColumn c : kSystemColumns) {
    if (names.contains(SystemColumnName(c))) continue;
    stored.push_back(arrow::field(SystemColumnName(c), arrow::uint64()));
    given.push_back(stored.back());
  }
  const bool same = stored == given;
  out->full_ = arrow::schema(std::move(stored), metadata);
  out->given_ = same ? out->full_ : arrow::schema(std::move(given), metadata);
  PILUM_ASSIGN_OR_RETURN(out->leaves_, LeafColumnsOf(*out->full_));
  out->given_leaves_ = out->leaves_;
  if (!same) {
    PILUM_ASSIGN_OR_RETURN(out->given_leaves_, LeafColumnsOf(*out->given_));
  }
  for (const LeafColumn& leaf : out->leaves_) {
    if (leaf.top_level >= schema.schema->num_fields()) break;
    const FieldIds* at = &schema.ids.children[static_cast<size_t>(leaf.top_level)];
    Path path{{at->id}, {{schema.schema->field(leaf.top_level)->name()}}, false};
    for (const ShapeLayer& layer : leaf.layers) {
      const auto child = static_cast<size_t>(layer.kind == ShapeLayerKind::kStruct ? layer.child : 0);
      if (child >= at->children.size()) return Bad(fmt::format("schema: column '{}' lacks field ids", leaf.name));
      at = &at->children[child];
      path.ids.push_back(at->id);
      path.in_map |= layer.kind == ShapeLayerKind::kMap;
      if (layer.kind == ShapeLayerKind::kStruct && !path.in_map) {
        path.path.steps.push_back(layer.field->type()->field(layer.child)->name());
      }
    }
    out->paths_.push_back(std::move(path));
  }
  return out;
}

bool TableSchema::IsJson(const FieldPath& column) const {
  if (given_ == full_) return false;
  const auto given = FieldAt(*given_, column), stored = FieldAt(*full_, column);
  return given.ok() && stored.ok() && (*given)->type()->id() == arrow::Type::STRING &&
         (*stored)->type()->id() == arrow::Type::LARGE_BINARY;
}

int TableSchema::num_system() const { return full_->num_fields() - stored_->num_fields(); }

Result<std::shared_ptr<const FileView>> TableSchema::ViewOf(const DataFile& file,
                                                            const std::set<int32_t>& elsewhere) const {
  std::vector<int32_t> not_taken;
  if (!elsewhere.empty()) {
    std::copy_if(file.fields.begin(), file.fields.end(), std::back_inserter(not_taken),
                 [&](int32_t id) { return elsewhere.contains(id); });
  }
  const ViewKey key(IsVersion20(file), file.fields, file.column_indices, std::move(not_taken));
  std::lock_guard lock(mutex_);
  auto& held = views_[key];
  if (held) return held;
  PILUM_ASSIGN_OR_RETURN(FileView view, MakeView(file, elsewhere));
  held = std::make_shared<const FileView>(std::move(view));
  return held;
}

Result<FileView> TableSchema::MakeView(const DataFile& file, const std::set<int32_t>& elsewhere) const {
  if (file.is_legacy() && std::any_of(file.fields.begin(), file.fields.end(), [](int32_t id) { return id < 0; })) {
    return Unsupported("data file {}: fields of a legacy file were replaced, and so its pages cannot be told",
                       file.path);
  }
  const auto column_of = ColumnsById(file);
  FileView view;
  view.every_field = IsVersion20(file) && !file.is_legacy();
  std::vector<FieldPath> held;
  std::set<int32_t> done;
  for (const Path& path : paths_) {
    if (!column_of.contains(path.ids.back()) || elsewhere.contains(path.ids.back())) continue;
    held.push_back(path.path);
    for (size_t i = view.every_field ? 0 : path.ids.size() - 1; i < path.ids.size(); ++i) {
      if (!done.insert(path.ids[i]).second) continue;
      const auto column = column_of.find(path.ids[i]);
      if (column == column_of.end()) {
        return Bad(fmt::format("data file {}: it has field {} of column '{}', but not field {} around it", file.path,
                               path.ids.back(), path.path.ToString(), path.ids[i]));
      }
      view.columns.push_back(column->second);
    }
  }
  // A column of the table that was not understood must not become NULLs.
  for (const auto& [id, column] : column_of) {
    const auto name = names_.find(id);
    if (!file.is_legacy() && name != names_.end() && !done.contains(id) && !elsewhere.contains(id)) {
      return Unsupported("data file {}: it holds field {} ('{}') in a way that this Pilum does not read", file.path, id,
                         name->second);
    }
  }
  PILUM_ASSIGN_OR_RETURN(view.schema, PrunedSchema(*stored_, MinimalPaths(held)));
  PILUM_ASSIGN_OR_RETURN(view.shape, FileShape::Make(view.schema));
  if (view.shape->leaves().size() != held.size()) {
    return Bad(fmt::format("data file {}: it has a part of a column that is stored whole or not at all", file.path));
  }
  return view;
}

LegacyFields TableSchema::LegacyFieldsOf(const DataFile& file, const FileView& view) const {
  LegacyFields out;
  out.schema = view.schema ? view.schema : arrow::schema({});
  out.ids = PrunedIds(stored_->fields(), ids_, out.schema->fields());
  const auto [least, most] = std::minmax_element(file.fields.begin(), file.fields.end());
  if (least != file.fields.end()) out.first_id = *least, out.last_id = *most;
  return out;
}

}  // namespace pilum
