#include "pilum/base/validity.h"

#include <arrow/array.h>
#include <arrow/util/bitmap_ops.h>

namespace pilum {

Result<std::shared_ptr<arrow::Buffer>> ValidityFromZero(const arrow::Array& array, arrow::MemoryPool* pool) {
  if (array.null_bitmap_data() == nullptr || array.null_count() == 0) return std::shared_ptr<arrow::Buffer>();
  if (array.offset() == 0) return array.null_bitmap();
  return arrow::internal::CopyBitmap(pool, array.null_bitmap_data(), array.offset(), array.length());
}

}  // namespace pilum
