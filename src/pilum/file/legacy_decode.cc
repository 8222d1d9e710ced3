#include "pilum/file/legacy_decode.h"

#include <cstring>
#include <limits>

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bit_util.h>

#include "pilum/base/bytes.h"
#include "pilum/base/utf8.h"

namespace pilum {
namespace {

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

bool IsFixed(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::FIXED_SIZE_LIST: return IsFixed(*type.field(0)->type());
    case arrow::Type::DICTIONARY:
    case arrow::Type::EXTENSION: return false;
    default: return type.byte_width() > 0 || type.id() == arrow::Type::BOOL;
  }
}

}  // namespace

Result<BufferPtr> LegacyDecoder::Bytes(uint64_t position, uint64_t first, uint64_t size) {
  const auto begin = CheckedAdd(position, first);
  if (!begin || *begin > source_.size() || size > source_.size() - *begin) {
    return Bad(fmt::format("{} bytes at {} are past the end of the file", size, position + first));
  }
  return source_.ReadRange({*begin, size}, ctx_);
}

template <typename Offset>
Result<std::vector<Offset>> LegacyDecoder::Offsets(uint64_t position, RowRange rows) {
  const auto first = CheckedMul(rows.begin, sizeof(Offset)), size = CheckedMul(rows.size() + 1, sizeof(Offset));
  if (!first || !size) return Bad("offsets past the end of the file");
  PILUM_ASSIGN_OR_RETURN(auto bytes, Bytes(position, *first, *size));
  std::vector<Offset> out(rows.size() + 1);
  std::memcpy(out.data(), bytes->data(), *size);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] < (i == 0 ? 0 : out[i - 1])) return Bad(fmt::format("offset {} of value {} goes back", out[i], i));
  }
  return out;
}

Result<std::shared_ptr<arrow::Array>> LegacyDecoder::Fixed(const std::shared_ptr<arrow::DataType>& type,
                                                           uint64_t position, RowRange values) {
  const auto count = static_cast<int64_t>(values.size());
  if (type->id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto size = static_cast<uint64_t>(static_cast<const arrow::FixedSizeListType&>(*type).list_size());
    const auto begin = CheckedMul(values.begin, size), end = CheckedMul(values.end, size);
    if (!begin || !end) return Bad("more items than any file holds");
    PILUM_ASSIGN_OR_RETURN(auto items, Fixed(type->field(0)->type(), position, {*begin, *end}));
    return arrow::MakeArray(arrow::ArrayData::Make(type, count, {nullptr}, {items->data()}, 0));
  }
  if (type->id() == arrow::Type::BOOL) {
    const uint64_t first = values.begin / 8, last = values.end / 8 + (values.end % 8 != 0);
    PILUM_ASSIGN_OR_RETURN(auto bits, Bytes(position, first, last - first));
    return arrow::MakeArray(
        arrow::ArrayData::Make(type, count, {nullptr, bits}, 0, static_cast<int64_t>(values.begin % 8)));
  }
  const auto width = static_cast<uint64_t>(type->byte_width());
  const auto first = CheckedMul(values.begin, width), size = CheckedMul(values.size(), width);
  if (!first || !size) return Bad("more values than any file holds");
  PILUM_ASSIGN_OR_RETURN(auto bytes, Bytes(position, *first, *size));
  return arrow::MakeArray(arrow::ArrayData::Make(type, count, {nullptr, bytes}, 0));
}

template <typename Type>
Result<std::shared_ptr<arrow::Array>> LegacyDecoder::Binary(const arrow::Field& field, const LegacyPage& page,
                                                            RowRange rows) {
  using Offset = typename Type::offset_type;
  PILUM_ASSIGN_OR_RETURN(auto places, Offsets<int64_t>(page.position, rows));
  const auto begin = static_cast<uint64_t>(places.front()), total = static_cast<uint64_t>(places.back()) - begin;
  if (total > static_cast<uint64_t>(std::numeric_limits<Offset>::max())) {
    return MakeError(ErrorKind::kMemory, fmt::format("{} bytes of text do not fit into one array", total));
  }
  PILUM_ASSIGN_OR_RETURN(auto bytes, Bytes(begin, 0, total));
  arrow::MemoryPool* pool = ctx_.memory_pool();
  const auto n = static_cast<int64_t>(rows.size());
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> offsets,
                         arrow::AllocateBuffer((n + 1) * static_cast<int64_t>(sizeof(Offset)), pool));
  auto* out = reinterpret_cast<Offset*>(offsets->mutable_data());
  for (size_t i = 0; i < places.size(); ++i) out[i] = static_cast<Offset>(places[i] - places[0]);
  if (arrow::is_string(field.type()->id()) && !AreUtf8(out, rows.size(), bytes->data())) {
    return Bad("its text is not UTF-8");
  }
  std::shared_ptr<arrow::Buffer> validity;
  if (field.nullable()) {
    PILUM_ASSIGN_OR_RETURN(validity, arrow::AllocateEmptyBitmap(n, pool));
    for (int64_t i = 0; i < n; ++i) arrow::bit_util::SetBitTo(validity->mutable_data(), i, out[i] != out[i + 1]);
  }
  return arrow::MakeArray(
      arrow::ArrayData::Make(field.type(), n, {std::move(validity), std::move(offsets), std::move(bytes)}));
}

template <typename List>
Result<std::shared_ptr<arrow::Array>> LegacyDecoder::Lists(const arrow::Field& field, const FieldIds& ids,
                                                           const LegacyPage& page, RowRange rows) {
  using Offset = typename List::offset_type;
  if (ids.children.size() != 1) return Bad("its items have no field id");
  PILUM_ASSIGN_OR_RETURN(auto places, Offsets<Offset>(page.position, rows));
  const RowRange items{static_cast<uint64_t>(places.front()), static_cast<uint64_t>(places.back())};
  PILUM_ASSIGN_OR_RETURN(auto values, Decode(*field.type()->field(0), ids.children[0], items));
  const auto bytes = static_cast<int64_t>(places.size() * sizeof(Offset));
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> offsets, arrow::AllocateBuffer(bytes, ctx_.memory_pool()));
  auto* out = reinterpret_cast<Offset*>(offsets->mutable_data());
  for (size_t i = 0; i < places.size(); ++i) out[i] = places[i] - places[0];
  return arrow::MakeArray(arrow::ArrayData::Make(field.type(), static_cast<int64_t>(rows.size()),
                                                 {nullptr, std::move(offsets)}, {values->data()}, 0));
}

Result<std::shared_ptr<arrow::Array>> LegacyDecoder::Struct(const arrow::Field& field, const FieldIds& ids,
                                                            RowRange rows) {
  arrow::ArrayVector children;
  for (int i = 0; i < field.type()->num_fields(); ++i) {
    if (static_cast<size_t>(i) >= ids.children.size()) return Bad("its fields have no ids");
    PILUM_ASSIGN_OR_RETURN(auto child, Decode(*field.type()->field(i), ids.children[static_cast<size_t>(i)], rows));
    children.push_back(std::move(child));
  }
  return std::make_shared<arrow::StructArray>(field.type(), static_cast<int64_t>(rows.size()), std::move(children));
}

Result<std::shared_ptr<arrow::Array>> LegacyDecoder::Decode(const arrow::Field& field, const FieldIds& ids,
                                                            RowRange rows) {
  PILUM_RETURN_NOT_OK(ctx_.Check());
  const LegacyPage page = page_of_(ids.id);
  const arrow::DataType& type = *field.type();
  auto decode = [&]() -> Result<ArrayPtr> {
    if (type.id() == arrow::Type::STRUCT) return Struct(field, ids, rows);
    if (rows.size() == 0) return arrow::MakeEmptyArray(field.type(), ctx_.memory_pool());
    if (rows.end > page.length) return Bad(fmt::format("its page has {} values, not {}", page.length, rows.end));
    if (ctx_.stats) ctx_.stats->AddDecoded(field.name(), rows.size());
    if (IsFixed(type)) return Fixed(field.type(), page.position, rows);
    switch (type.id()) {
      case arrow::Type::NA: return std::make_shared<arrow::NullArray>(static_cast<int64_t>(rows.size()));
      case arrow::Type::STRING: return Binary<arrow::StringType>(field, page, rows);
      case arrow::Type::BINARY: return Binary<arrow::BinaryType>(field, page, rows);
      case arrow::Type::LARGE_STRING: return Binary<arrow::LargeStringType>(field, page, rows);
      case arrow::Type::LARGE_BINARY: return Binary<arrow::LargeBinaryType>(field, page, rows);
      case arrow::Type::LIST: return Lists<arrow::ListType>(field, ids, page, rows);
      case arrow::Type::LARGE_LIST: return Lists<arrow::LargeListType>(field, ids, page, rows);
      default: return Unsupported("{} is not read from legacy files", type.ToString());
    }
  };
  auto array = decode();
  if (!array.ok()) return WithContext(fmt::format("field '{}'", field.name()), array.status());
  return array;
}

Result<uint64_t> LegacyDecoder::TextBytes(const arrow::Field& field, const FieldIds& ids, RowRange rows) {
  uint64_t sum = 0;
  const arrow::DataType& type = *field.type();
  if (type.id() == arrow::Type::STRUCT) {
    for (int i = 0; i < type.num_fields() && static_cast<size_t>(i) < ids.children.size(); ++i) {
      PILUM_ASSIGN_OR_RETURN(const uint64_t one, TextBytes(*type.field(i), ids.children[static_cast<size_t>(i)], rows));
      sum += one;
    }
    return sum;
  }
  if (!arrow::is_base_binary_like(type.id()) || rows.size() == 0) return 0;
  PILUM_ASSIGN_OR_RETURN(auto places, Offsets<int64_t>(page_of_(ids.id).position, rows));
  return static_cast<uint64_t>(places.back() - places.front());
}

}  // namespace pilum
