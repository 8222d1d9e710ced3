#include "pilum/encoding/shape.h"

#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/format.h>

namespace pilum {
namespace {

constexpr int kMaxDepth = 64;  // nesting levels of one field: far above real schemas, far below a stack overflow

const arrow::DataType& Storage(const arrow::DataType& type) {
  const arrow::DataType* t = &type;
  while (t->id() == arrow::Type::EXTENSION) t = static_cast<const arrow::ExtensionType*>(t)->storage_type().get();
  return *t;
}

std::string MetadataValue(const arrow::Field& field, const char* key) {
  const auto& m = field.metadata();
  if (!m) return "";
  int i = m->FindKey(key);
  return i < 0 ? "" : m->value(i);
}

bool HasMetadata(const arrow::Field& field, const char* key) {
  return field.metadata() && field.metadata()->FindKey(key) >= 0;
}

// A type whose values have one fixed width in bits, so that lists of them of fixed size are leaves.
bool IsFixedWidthLeaf(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::BOOL:
    case arrow::Type::INT8:
    case arrow::Type::INT16:
    case arrow::Type::INT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT8:
    case arrow::Type::UINT16:
    case arrow::Type::UINT32:
    case arrow::Type::UINT64:
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
    case arrow::Type::TIME32:
    case arrow::Type::TIME64:
    case arrow::Type::TIMESTAMP:
    case arrow::Type::DURATION:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
    case arrow::Type::FIXED_SIZE_BINARY: return true;
    default: return false;
  }
}

bool IsPlainLeaf(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::NA:
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::BINARY:
    case arrow::Type::LARGE_BINARY:
    case arrow::Type::DICTIONARY: return true;
    default: return IsFixedWidthLeaf(type);
  }
}

class Walker {
 public:
  Walker(std::vector<LeafColumn>* out, int top_level) : out_(out), top_level_(top_level) {}

  Status Visit(const std::shared_ptr<arrow::Field>& field, const std::string& name) {
    if (layers_.size() >= kMaxDepth)
      return Unsupported("field '{}' is nested more than {} levels deep", name, kMaxDepth);
    const arrow::DataType& type = Storage(*field->type());
    if (IsBlobField(*field)) return AddBlob(field, name, type);
    switch (type.id()) {
      case arrow::Type::STRUCT:
        if (type.num_fields() == 0) return Add(field, name);
        if (IsPackedStruct(*field)) return AddPacked(field, name, type);
        return VisitStruct(field, name, type);
      case arrow::Type::LIST:
      case arrow::Type::LARGE_LIST: {
        PILUM_RETURN_NOT_OK(RefuseInside(ShapeLayerKind::kFixedSizeList, name, type));
        auto kind = type.id() == arrow::Type::LIST ? ShapeLayerKind::kList : ShapeLayerKind::kLargeList;
        return Descend({kind, field}, type.field(0), name);
      }
      case arrow::Type::MAP: {
        PILUM_RETURN_NOT_OK(RefuseInside(ShapeLayerKind::kFixedSizeList, name, type));
        layers_.push_back({ShapeLayerKind::kMap, field});
        Status st = VisitStruct(type.field(0), name + "." + type.field(0)->name(), *type.field(0)->type());
        layers_.pop_back();
        return st;
      }
      case arrow::Type::FIXED_SIZE_LIST:
        return VisitFixedSizeList(field, name, static_cast<const arrow::FixedSizeListType&>(type));
      default:
        if (IsPlainLeaf(type)) return Add(field, name);
        return Unsupported("field '{}': a Lance file has no type for {}", name, field->type()->ToString());
    }
  }

 private:
  Status Descend(ShapeLayer layer, const std::shared_ptr<arrow::Field>& child, const std::string& name) {
    layers_.push_back(std::move(layer));
    Status st = Visit(child, name + "." + child->name());
    layers_.pop_back();
    return st;
  }

  // Lists and fixed-size lists of structs do not mix: their levels have no agreed meaning (writers stop at them too).
  Status RefuseInside(ShapeLayerKind kind, const std::string& name, const arrow::DataType& type) const {
    for (const auto& l : layers_) {
      if (l.kind == kind)
        return Unsupported("field '{}': {} inside {}", name, type.ToString(), l.field->type()->ToString());
    }
    return Status::OK();
  }

  Status VisitStruct(const std::shared_ptr<arrow::Field>& field, const std::string& name, const arrow::DataType& type) {
    for (int i = 0; i < type.num_fields(); ++i) {
      PILUM_RETURN_NOT_OK(Descend({ShapeLayerKind::kStruct, field, 1, i}, type.field(i), name));
    }
    return Status::OK();
  }

  Status VisitFixedSizeList(const std::shared_ptr<arrow::Field>& field, const std::string& name,
                            const arrow::FixedSizeListType& type) {
    if (type.list_size() <= 0) return Unsupported("field '{}': a fixed-size list of {} items", name, type.list_size());
    const arrow::DataType* item = &Storage(*type.value_type());
    if (item->id() == arrow::Type::STRUCT) {
      for (auto list : {ShapeLayerKind::kList, ShapeLayerKind::kLargeList, ShapeLayerKind::kMap}) {
        PILUM_RETURN_NOT_OK(RefuseInside(list, name, type));
      }
      return Descend({ShapeLayerKind::kFixedSizeList, field, type.list_size()}, type.value_field(), name);
    }
    while (item->id() == arrow::Type::FIXED_SIZE_LIST) {
      const auto& inner = static_cast<const arrow::FixedSizeListType&>(*item);
      if (inner.list_size() <= 0)
        return Unsupported("field '{}': a fixed-size list of {} items", name, inner.list_size());
      item = &Storage(*inner.value_type());
    }
    if (IsFixedWidthLeaf(*item) || item->id() == arrow::Type::NA) return Add(field, name);
    return Unsupported("field '{}': a Lance file holds no fixed-size list of {}", name, item->ToString());
  }

  Status AddBlob(const std::shared_ptr<arrow::Field>& field, const std::string& name, const arrow::DataType& type) {
    if (type.id() == arrow::Type::LARGE_BINARY) {
      PILUM_RETURN_NOT_OK(Add(field, name));
      out_->back().is_blob = true;
      return Status::OK();
    }
    if (type.id() == arrow::Type::STRUCT) {
      PILUM_RETURN_NOT_OK(AddPacked(field, name, type));
      out_->back().is_blob_v2 = true;
      out_->back().is_blob = type.Equals(*BlobPlaceType());
      return Status::OK();
    }
    return Unsupported("field '{}': lance-encoding:blob needs large_binary, not {}", name, field->type()->ToString());
  }

  Status AddPacked(const std::shared_ptr<arrow::Field>& field, const std::string& name, const arrow::DataType& type) {
    for (const auto& child : type.fields()) {
      const arrow::DataType* t = &Storage(*child->type());
      bool ok = IsPlainLeaf(*t) && t->id() != arrow::Type::NA && t->id() != arrow::Type::DICTIONARY;
      while (t->id() == arrow::Type::FIXED_SIZE_LIST) {
        t = &Storage(*t->field(0)->type());
        ok = IsFixedWidthLeaf(*t);
      }
      if (!ok || t->id() == arrow::Type::BOOL) {
        return Unsupported("field '{}.{}': a packed struct holds no {}", name, child->name(),
                           child->type()->ToString());
      }
    }
    PILUM_RETURN_NOT_OK(Add(field, name));
    out_->back().is_packed = true;
    return Status::OK();
  }

  Status Add(const std::shared_ptr<arrow::Field>& field, const std::string& name) {
    LeafColumn c;
    c.layers = layers_;
    c.leaf = field;
    c.name = name;
    c.top_level = top_level_;
    out_->push_back(std::move(c));
    return Status::OK();
  }

  std::vector<LeafColumn>* out_;
  int top_level_;
  std::vector<ShapeLayer> layers_;
};

}  // namespace

int64_t LeafColumn::items_per_row() const {
  int64_t n = 1;
  for (const auto& l : layers) {
    if (l.kind != ShapeLayerKind::kStruct && l.kind != ShapeLayerKind::kFixedSizeList) break;  // a list row is one row
    if (__builtin_mul_overflow(n, int64_t{l.dimension}, &n)) return INT64_MAX;
  }
  return n;
}

int LeafColumn::num_list_layers() const {
  int n = 0;
  for (const auto& l : layers) {
    n += l.kind == ShapeLayerKind::kList || l.kind == ShapeLayerKind::kLargeList || l.kind == ShapeLayerKind::kMap;
  }
  return n;
}

Result<std::vector<LeafColumn>> LeafColumnsOf(const arrow::Schema& schema) {
  std::vector<LeafColumn> out;
  for (int i = 0; i < schema.num_fields(); ++i) {
    PILUM_RETURN_NOT_OK(Walker(&out, i).Visit(schema.field(i), schema.field(i)->name()));
  }
  return out;
}

bool IsPackedStruct(const arrow::Field& field) {
  return HasMetadata(field, "lance-encoding:packed") || MetadataValue(field, "packed") == "true";
}

bool IsBlobField(const arrow::Field& field) { return HasMetadata(field, "lance-encoding:blob"); }

const std::shared_ptr<arrow::DataType>& BlobPlaceType() {
  static const std::shared_ptr<arrow::DataType> type =
      arrow::struct_({arrow::field("position", arrow::uint64()), arrow::field("size", arrow::uint64())});
  return type;
}

std::shared_ptr<arrow::Field> PathField(const LeafColumn& column) {
  std::shared_ptr<arrow::Field> f = column.leaf;
  for (auto it = column.layers.rbegin(); it != column.layers.rend(); ++it) {
    switch (it->kind) {
      case ShapeLayerKind::kStruct: f = it->field->WithType(arrow::struct_({f})); break;
      case ShapeLayerKind::kMap:
      case ShapeLayerKind::kList: f = it->field->WithType(arrow::list(f)); break;
      case ShapeLayerKind::kLargeList: f = it->field->WithType(arrow::large_list(f)); break;
      case ShapeLayerKind::kFixedSizeList: f = it->field->WithType(arrow::fixed_size_list(f, it->dimension)); break;
    }
  }
  return f;
}

}  // namespace pilum
