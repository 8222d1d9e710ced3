// Leaf arrays of one top-level field, merged into one array: the structs, that each leaf brings cut down to itself,
// become whole again. Shapes are taken from the first leaf; the others must have the same.
#include <cstring>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/type.h>

#include "pilum/encoding/leaf_array.h"
#include "pilum/encoding/page.h"

namespace pilum {
namespace {

using Data = std::shared_ptr<arrow::ArrayData>;

Status Disagree(const arrow::Field& field) {
  return codec::BadBytes("field '{}': its columns disagree on lists or lengths", field.name());
}

bool IsLeaf(const arrow::Field& field, const arrow::DataType& storage) {
  if (IsBlobField(field)) return true;
  switch (storage.id()) {
    case arrow::Type::STRUCT: return storage.num_fields() == 0 || IsPackedStruct(field);
    case arrow::Type::LIST:
    case arrow::Type::LARGE_LIST:
    case arrow::Type::MAP: return false;
    case arrow::Type::FIXED_SIZE_LIST: {
      const arrow::DataType& item = StorageType(*storage.field(0)->type());
      return item.id() == arrow::Type::FIXED_SIZE_LIST ? IsLeaf(*storage.field(0), item)
                                                       : item.id() != arrow::Type::STRUCT;
    }
    default: return true;
  }
}

size_t CountLeaves(const arrow::Field& field) {
  const arrow::DataType& storage = StorageType(*field.type());
  if (IsLeaf(field, storage)) return 1;
  size_t n = 0;
  for (const auto& child : storage.fields()) n += CountLeaves(*child);
  return n;
}

class Merger {
 public:
  Result<Data> Merge(const arrow::Field& field, std::span<const Data> parts) {
    const arrow::DataType& storage = StorageType(*field.type());
    if (IsLeaf(field, storage)) {
      if (parts.size() != 1) return Disagree(field);
      return WithType(parts[0], field.type());
    }
    for (const Data& p : parts) {
      if (p->length != parts[0]->length || p->child_data.size() != 1) return Disagree(field);
    }
    if (storage.id() == arrow::Type::STRUCT) return MergeStruct(field, storage, parts);
    if (storage.id() != arrow::Type::FIXED_SIZE_LIST) PILUM_RETURN_NOT_OK(CheckOffsets(field, storage, parts));
    std::vector<Data> items;
    for (const Data& p : parts) items.push_back(p->child_data[0]);
    PILUM_ASSIGN_OR_RETURN(Data child, Merge(*storage.field(0), items));
    if (storage.id() == arrow::Type::MAP) PILUM_RETURN_NOT_OK(CheckMap(field, *child));
    return Rebuild(field, *parts[0], {std::move(child)});
  }

 private:
  static Data WithType(const Data& data, const std::shared_ptr<arrow::DataType>& type) {
    if (data->type.get() == type.get()) return data;
    Data copy = data->Copy();
    copy->type = type;
    return copy;
  }

  static Result<Data> Rebuild(const arrow::Field& field, const arrow::ArrayData& first, std::vector<Data> children) {
    return arrow::ArrayData::Make(field.type(), first.length, first.buffers, std::move(children), first.null_count);
  }

  Result<Data> MergeStruct(const arrow::Field& field, const arrow::DataType& storage, std::span<const Data> parts) {
    std::vector<Data> children;
    size_t at = 0;
    for (const auto& f : storage.fields()) {
      size_t n = CountLeaves(*f);
      if (n > parts.size() - at) return Disagree(field);
      std::vector<Data> inner;
      for (size_t i = 0; i < n; ++i) inner.push_back(parts[at + i]->child_data[0]);
      at += n;
      PILUM_ASSIGN_OR_RETURN(Data child, Merge(*f, inner));
      if (child->length != parts[0]->length) return Disagree(field);
      children.push_back(std::move(child));
    }
    if (at != parts.size() || parts.empty()) return Disagree(field);
    return Rebuild(field, *parts[0], std::move(children));
  }

  static Status CheckOffsets(const arrow::Field& field, const arrow::DataType& storage, std::span<const Data> parts) {
    size_t bytes = static_cast<size_t>(parts[0]->length + 1) * (storage.id() == arrow::Type::LARGE_LIST ? 8 : 4);
    for (const Data& p : parts) {
      if (std::memcmp(p->buffers[1]->data(), parts[0]->buffers[1]->data(), bytes) != 0 ||
          p->child_data[0]->length != parts[0]->child_data[0]->length) {
        return Disagree(field);
      }
    }
    return Status::OK();
  }

  static Status CheckMap(const arrow::Field& field, const arrow::ArrayData& entries) {
    if (entries.GetNullCount() != 0 || entries.child_data.size() != 2 || entries.child_data[0]->GetNullCount() != 0) {
      return codec::BadBytes("field '{}': a map with null entries or keys", field.name());
    }
    return Status::OK();
  }
};

}  // namespace

Result<std::shared_ptr<arrow::Array>> MergeLeaves(const std::shared_ptr<arrow::Field>& field,
                                                  const std::vector<std::shared_ptr<arrow::Array>>& leaves,
                                                  arrow::MemoryPool* pool) {
  if (leaves.empty() || leaves.size() != CountLeaves(*field)) {
    return codec::BadBytes("field '{}': {} columns, not {}", field->name(), leaves.size(), CountLeaves(*field));
  }
  std::vector<Data> parts;
  for (const auto& leaf : leaves) {
    if (leaf->offset() == 0 || leaf->data()->child_data.empty()) {
      parts.push_back(leaf->data());
      continue;
    }
    // A slice: its children would have to be cut too.
    PILUM_ASSIGN_OR_RETURN(auto plain, arrow::Concatenate({leaf}, pool ? pool : arrow::default_memory_pool()));
    parts.push_back(plain->data());
  }
  PILUM_ASSIGN_OR_RETURN(Data merged, Merger().Merge(*field, parts));
  return arrow::MakeArray(merged);
}

}  // namespace pilum
