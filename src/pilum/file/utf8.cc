#include "pilum/file/utf8.h"

#include <cstdint>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include "pilum/base/utf8.h"

namespace pilum {
namespace {

template <typename Offset>
Status CheckStrings(const arrow::ArrayData& data) {
  if (data.length == 0) return Status::OK();
  const auto* offsets = data.GetValues<Offset>(1);
  const uint8_t* bytes = data.buffers[2] ? data.buffers[2]->data() : nullptr;
  if (AreUtf8(offsets, static_cast<uint64_t>(data.length), bytes)) return Status::OK();
  const auto view = [bytes](Offset from, Offset to) {
    return std::string_view(reinterpret_cast<const char*>(bytes) + from, static_cast<size_t>(to - from));
  };
  for (int64_t i = 0; i < data.length; ++i) {
    if (!IsUtf8(view(offsets[i], offsets[i + 1]))) {
      return MakeError(ErrorKind::kCorrupt, fmt::format("string {} is not valid UTF-8", i));
    }
  }
  return Status::OK();
}

}  // namespace

Status CheckUtf8(const arrow::ArrayData& data) {
  switch (data.type->id()) {
    case arrow::Type::STRING: return CheckStrings<int32_t>(data);
    case arrow::Type::LARGE_STRING: return CheckStrings<int64_t>(data);
    default: break;
  }
  if (data.dictionary) return CheckUtf8(*data.dictionary);
  for (const auto& child : data.child_data) PILUM_RETURN_NOT_OK(CheckUtf8(*child));
  return Status::OK();
}

}  // namespace pilum
