#include "pilum/table/json_texts.h"

#include <algorithm>
#include <string>

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/util/bitmap_ops.h>

#include "pilum/values/jsonb.h"

namespace pilum {

// Text takes about as many bytes as its JSONB: one buffer, which seldom grows.
Result<std::shared_ptr<arrow::Array>> JsonTexts(const arrow::Array& array, ReadContext& ctx) {
  const auto& stored = static_cast<const arrow::LargeBinaryArray&>(array);
  const int64_t rows = stored.length();
  const int64_t expected = rows > 0 ? stored.value_offset(rows) - stored.value_offset(0) : 0;
  PILUM_ASSIGN_OR_RETURN(auto bytes, arrow::AllocateResizableBuffer(expected + expected / 8 + 64, ctx.memory_pool()));
  PILUM_ASSIGN_OR_RETURN(std::shared_ptr<arrow::Buffer> offsets,
                         arrow::AllocateBuffer((rows + 1) * 4, ctx.memory_pool()));
  auto* offset = reinterpret_cast<int32_t*>(offsets->mutable_data());
  int64_t size = 0;
  std::string text;
  for (int64_t i = 0; i < rows; ++i) {
    offset[i] = static_cast<int32_t>(size);
    if (i % 1024 == 0) PILUM_RETURN_NOT_OK(ctx.Check());
    if (stored.IsNull(i)) continue;
    text.clear();
    PILUM_RETURN_NOT_OK(AppendJsonbText(stored.GetView(i), &text));
    const int64_t end = size + static_cast<int64_t>(text.size());
    if (end > INT32_MAX) return Status::CapacityError("a batch of more than 2 GiB of JSON text: ask for fewer rows");
    if (end > bytes->size()) PILUM_RETURN_NOT_OK(bytes->Resize(std::max(end, bytes->size() * 3 / 2), false));
    std::copy(text.begin(), text.end(), bytes->mutable_data() + size);
    size = end;
  }
  offset[rows] = static_cast<int32_t>(size);
  PILUM_RETURN_NOT_OK(bytes->Resize(size, false));
  std::shared_ptr<arrow::Buffer> valid;
  if (stored.null_count() > 0) {
    PILUM_ASSIGN_OR_RETURN(
        valid, arrow::internal::CopyBitmap(ctx.memory_pool(), stored.null_bitmap_data(), stored.offset(), rows));
  }
  return std::make_shared<arrow::StringArray>(rows, std::move(offsets), std::move(bytes), std::move(valid),
                                              stored.null_count());
}

}  // namespace pilum
