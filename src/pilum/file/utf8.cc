#include "pilum/file/utf8.h"

#include <cstdint>

#include <arrow/array/data.h>
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <arrow/util/utf8.h>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

bool IsUtf8(const uint8_t* p, int64_t n) {
  [[maybe_unused]] static const bool ready = (arrow::util::InitializeUTF8(), true);
  return arrow::util::ValidateUTF8(p, n);
}

bool IsAscii(const uint8_t* p, uint64_t n) {
  constexpr uint64_t kHigh = 0x8080808080808080u;
  uint64_t a = 0, b = 0, c = 0, d = 0, i = 0;
  for (; i + 32 <= n; i += 32) {
    a |= LoadLE<uint64_t>(p + i);
    b |= LoadLE<uint64_t>(p + i + 8);
    c |= LoadLE<uint64_t>(p + i + 16);
    d |= LoadLE<uint64_t>(p + i + 24);
  }
  uint8_t rest = 0;
  for (; i < n; ++i) rest |= p[i];
  return ((a | b | c | d) & kHigh) == 0 && rest < 0x80;
}

template <typename Offset>
Status CheckStrings(const arrow::ArrayData& data) {
  if (data.length == 0) return Status::OK();
  const auto* offsets = data.GetValues<Offset>(1);
  const uint8_t* bytes = data.buffers[2] ? data.buffers[2]->data() : nullptr;
  const Offset begin = offsets[0], end = offsets[data.length];
  if (begin == end || IsAscii(bytes + begin, static_cast<uint64_t>(end - begin))) return Status::OK();
  // All the bytes together are UTF-8 and no value starts inside a character: then each value is UTF-8.
  bool ok = IsUtf8(bytes + begin, end - begin);
  for (int64_t i = 1; ok && i < data.length; ++i) ok = offsets[i] == end || (bytes[offsets[i]] & 0xC0) != 0x80;
  if (ok) return Status::OK();
  for (int64_t i = 0; i < data.length; ++i) {
    if (!IsUtf8(bytes + offsets[i], offsets[i + 1] - offsets[i])) {
      return MakeError(ErrorKind::kCorrupt, fmt::format("string {} is not valid UTF-8", i));
    }
  }
  return Status::OK();
}

}  // namespace

bool IsUtf8(std::string_view text) {
  return IsUtf8(reinterpret_cast<const uint8_t*>(text.data()), static_cast<int64_t>(text.size()));
}

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
