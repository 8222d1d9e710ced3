#include "pilum/source/missing_columns.h"

#include <algorithm>

#include <arrow/type.h>

namespace pilum {
namespace {

// Arrow bytes that a NULL of this type takes: a fixed-size list takes as many as one with values does.
uint64_t NullBytes(const arrow::DataType& type) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  uint64_t bytes = 1;
  if (type.id() == arrow::Type::FIXED_SIZE_LIST) {
    const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
    const auto size = static_cast<uint64_t>(std::max(1, list.list_size()));
    bytes += size * std::min(NullBytes(*list.value_type()), kMost / size);
  } else if (type.id() == arrow::Type::STRUCT) {
    for (const auto& field : type.fields()) bytes += NullBytes(*field->type());
  } else {
    bytes += static_cast<uint64_t>(type.byte_width() > 0 ? type.byte_width() : 8);
  }
  return std::min(bytes, kMost);
}

// Bytes a row of what is wanted and the unit lacks. `own`: the unit's field of that name, if any.
uint64_t MissingBytes(const arrow::DataType& wanted, const arrow::Field* own) {
  if (!own || own->type()->id() == arrow::Type::NA) return NullBytes(wanted);
  if (wanted.id() != arrow::Type::STRUCT || own->type()->id() != arrow::Type::STRUCT) return 0;
  uint64_t bytes = 0;
  for (const auto& field : wanted.fields()) {
    const auto below = static_cast<const arrow::StructType&>(*own->type()).GetFieldByName(field->name());
    bytes += MissingBytes(*field->type(), below.get());
  }
  return bytes;
}

}  // namespace

BatchLimits LimitsWithMissing(BatchLimits limits, const arrow::Schema& wanted, const arrow::Schema& own) {
  uint64_t bytes = 0;
  for (const auto& field : wanted.fields()) {
    bytes += MissingBytes(*field->type(), own.GetFieldByName(field->name()).get());
  }
  limits.rows = std::max<uint64_t>(1, limits.rows);
  if (bytes > 0) limits.rows = std::clamp<uint64_t>(limits.bytes / bytes, 1, limits.rows);
  return limits;
}

}  // namespace pilum
