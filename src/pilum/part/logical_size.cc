#include "pilum/part/logical_size.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/bit_run_reader.h>

namespace pilum {
namespace {

using arrow::Type;

// f(begin, n) over the runs of non-NULL slots: what lies under a NULL does not count.
template <typename F>
void ForRuns(const arrow::Array& a, int64_t begin, int64_t n, F f) {
  arrow::internal::VisitSetBitRunsVoid(a.null_bitmap_data(), a.offset() + begin, n,
                                       [&](int64_t at, int64_t len) { f(begin + at, len); });
}

template <typename ArrayType>
uint64_t BytesSize(const arrow::Array& given, int64_t begin, int64_t n) {
  const auto& a = static_cast<const ArrayType&>(given);
  uint64_t size = static_cast<uint64_t>(n) * sizeof(typename ArrayType::offset_type);
  ForRuns(a, begin, n, [&](int64_t at, int64_t len) {
    size += static_cast<uint64_t>(a.value_offset(at + len) - a.value_offset(at));
  });
  return size;
}

uint64_t ViewsSize(const arrow::Array& given, int64_t begin, int64_t n) {
  const auto& a = static_cast<const arrow::BinaryViewArray&>(given);
  uint64_t size = static_cast<uint64_t>(n) * 4;
  ForRuns(a, begin, n, [&](int64_t at, int64_t len) {
    for (int64_t i = at; i < at + len; ++i) size += a.GetView(i).size();
  });
  return size;
}

template <typename ArrayType>
uint64_t ListSize(const arrow::Array& given, int64_t begin, int64_t n) {
  const auto& a = static_cast<const ArrayType&>(given);
  uint64_t size = static_cast<uint64_t>(n) * sizeof(typename ArrayType::offset_type);
  ForRuns(a, begin, n, [&](int64_t at, int64_t len) {
    const int64_t first = a.value_offset(at);
    size += LogicalSize(*a.values(), first, a.value_offset(at + len) - first);
  });
  return size;
}

}  // namespace

uint64_t LogicalSize(const arrow::Array& a, int64_t begin, int64_t n) {
  if (n == 0) return 0;
  switch (a.type_id()) {
    case Type::NA: return 0;
    case Type::BOOL: return static_cast<uint64_t>(n);
    case Type::STRING:
    case Type::BINARY: return BytesSize<arrow::BinaryArray>(a, begin, n);
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY: return BytesSize<arrow::LargeBinaryArray>(a, begin, n);
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW: return ViewsSize(a, begin, n);
    case Type::LIST:
    case Type::MAP: return ListSize<arrow::ListArray>(a, begin, n);
    case Type::LARGE_LIST: return ListSize<arrow::LargeListArray>(a, begin, n);
    case Type::EXTENSION: return LogicalSize(*static_cast<const arrow::ExtensionArray&>(a).storage(), begin, n);
    case Type::DICTIONARY: return LogicalSize(*static_cast<const arrow::DictionaryArray&>(a).indices(), begin, n);
    case Type::FIXED_SIZE_LIST: {
      const auto& list = static_cast<const arrow::FixedSizeListArray&>(a);
      const int64_t width = list.list_type()->list_size();
      return LogicalSize(*list.values(), list.value_offset(begin), n * width);
    }
    case Type::STRUCT: {
      uint64_t size = 0;
      const auto& fields = static_cast<const arrow::StructArray&>(a).fields();
      ForRuns(a, begin, n, [&](int64_t at, int64_t len) {
        for (const auto& field : fields) size += LogicalSize(*field, at, len);
      });
      return size;
    }
    default: return static_cast<uint64_t>(n) * static_cast<uint64_t>(std::max(1, a.type()->byte_width()));
  }
}

uint64_t LogicalSize(const arrow::RecordBatch& batch, int64_t begin, int64_t n) {
  uint64_t size = static_cast<uint64_t>(n);
  for (const auto& column : batch.columns()) size += LogicalSize(*column, begin, n);
  return size;
}

}  // namespace pilum
