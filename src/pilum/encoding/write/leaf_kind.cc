// What a leaf column's values look like, from its type alone.
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

uint64_t FixedBytes(const arrow::DataType& type) {
  return static_cast<uint64_t>(static_cast<const arrow::FixedWidthType&>(type).bit_width()) / 8;
}

CodecDesc Flat(uint64_t bits) {
  CodecDesc d;
  d.kind = CodecKind::kFlat;
  d.bits = bits;
  return d;
}

// Walks down fixed-size lists: dims outermost first; returns the item type.
const arrow::DataType& Items(const arrow::DataType& type, std::vector<int64_t>* dims) {
  const arrow::DataType* t = &StorageOf(type);
  while (t->id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(*t);
    dims->push_back(list.list_size());
    t = &StorageOf(*list.value_type());
  }
  return *t;
}

bool IsVariable(arrow::Type::type id, bool* large) {
  *large = id == arrow::Type::LARGE_STRING || id == arrow::Type::LARGE_BINARY;
  return *large || id == arrow::Type::STRING || id == arrow::Type::BINARY || id == arrow::Type::STRING_VIEW ||
         id == arrow::Type::BINARY_VIEW;
}

CodecDesc VariableCodec(bool large) {
  CodecDesc d;
  d.kind = CodecKind::kVariable;
  d.children = {Flat(large ? 64 : 32)};
  return d;
}

// A packed struct of fixed-width fields only has rows of one width; any other is stored value by value, with lengths.
void DescribePacked(const arrow::DataType& type, LeafKind* out) {
  out->packed = true;
  bool variable = false;
  for (const auto& child : type.fields()) {
    std::vector<int64_t> dims;
    const arrow::DataType& item = Items(*child->type(), &dims);
    bool large = false;
    if (dims.empty() && IsVariable(item.id(), &large)) {
      variable = true;
      out->var_fields.push_back({true, large ? 64u : 32u});
      out->var_codecs.push_back(VariableCodec(large));
      continue;
    }
    uint64_t bits = FixedBytes(item) * 8;
    CodecDesc codec = Flat(bits);
    for (auto it = dims.rbegin(); it != dims.rend(); ++it) {
      CodecDesc list;
      list.kind = CodecKind::kFixedSizeList;
      list.num_items = static_cast<uint64_t>(*it);
      list.children = {codec};
      codec = list;
      bits *= static_cast<uint64_t>(*it);
      variable = true;
    }
    out->field_bits.push_back(bits);
    out->var_fields.push_back({false, bits});
    out->var_codecs.push_back(codec);
  }
  if (variable) {
    out->kind = ValueKind::kVariable;
    out->field_bits.clear();
    return;
  }
  out->kind = ValueKind::kFixed;
  for (uint64_t b : out->field_bits) out->width += b / 8;
  out->var_fields.clear();
  out->var_codecs.clear();
}

}  // namespace

int64_t LeafKind::items_per_slot() const {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

Result<LeafKind> LeafKind::Of(const LeafColumn& column) {
  const arrow::DataType& type = StorageOf(*column.leaf->type());
  LeafKind out;
  out.blob = column.is_blob;
  if (type.id() == arrow::Type::STRUCT) {
    if (type.num_fields() == 0)
      out.kind = ValueKind::kNone;
    else
      DescribePacked(type, &out);
    return out;
  }
  if (IsVariable(type.id(), &out.large)) {
    out.kind = ValueKind::kVariable;
    return out;
  }
  switch (type.id()) {
    case arrow::Type::NA: out.kind = ValueKind::kNone; return out;
    case arrow::Type::BOOL: out.kind = ValueKind::kBool; return out;
    case arrow::Type::FIXED_SIZE_LIST: {
      const arrow::DataType& item = Items(type, &out.dims);
      out.kind = ValueKind::kFixedSizeList;
      out.bool_items = item.id() == arrow::Type::BOOL;
      out.null_items = item.id() == arrow::Type::NA;
      out.width = out.bool_items ? 1 : out.null_items ? 0 : FixedBytes(item);
      for (int64_t d : out.dims) {
        if (__builtin_mul_overflow(out.width, static_cast<uint64_t>(d), &out.width) || out.width > (1u << 30)) {
          return Unsupported("field '{}': a fixed-size list value of over 1 GiB", column.name);
        }
      }
      return out;
    }
    case arrow::Type::DICTIONARY: {
      const auto& dict = static_cast<const arrow::DictionaryType&>(type);
      out.kind = ValueKind::kDictionary;
      out.dict_value = dict.value_type();
      out.key_bits = static_cast<uint64_t>(dict.index_type()->byte_width()) * 8;
      bool is_signed = arrow::is_signed_integer(dict.index_type()->id());
      uint64_t bits = out.key_bits - is_signed;
      out.max_keys = bits >= 31 ? uint64_t{1} << 31 : uint64_t{1} << bits;
      return out;
    }
    default: break;
  }
  if (!arrow::is_fixed_width(type.id())) {
    return Unsupported("field '{}': a Lance file holds no {}", column.name, column.leaf->type()->ToString());
  }
  out.kind = ValueKind::kFixed;
  out.width = FixedBytes(type);
  return out;
}

Status CheckHasBytes(const LeafColumn& column, const LeafKind& kind, FileVersion version) {
  if (kind.width > 0 || kind.null_items) return Status::OK();
  if (kind.kind == ValueKind::kFixedSizeList) {
    return Unsupported(
        "field '{}': items of no bytes ({}), which no reader reads; write null items, or leave the field out",
        column.name, column.leaf->type()->ToString());
  }
  if (kind.kind != ValueKind::kFixed || version >= FileVersion::kV2_2) return Status::OK();
  return Unsupported("field '{}': values of no bytes ({}), which are read from file version 2.2 on; write that one",
                     column.name, column.leaf->type()->ToString());
}

}  // namespace pilum::write
