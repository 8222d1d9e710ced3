// What all page kinds share. For the page decoders of this folder.
#pragma once

#include <memory>
#include <mutex>

#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/type.h>

#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/leaf_array.h"
#include "pilum/encoding/page.h"
#include "pilum/encoding/rep_def.h"
#include "pilum/encoding/stop_check.h"

namespace pilum {

struct PageContext {
  PageInfo info;
  const LeafColumn* column = nullptr;
  int index = 0;
  FileVersion version = FileVersion::kV2_2;
  uint64_t file_size = 0;
  uint64_t num_rows = 0;
  uint64_t items_per_row = 1;
  LevelPlan plan;
};

class PageBase : public Page {
 public:
  explicit PageBase(PageContext&& context) : c_(std::move(context)) {}
  uint64_t num_rows() const override { return c_.num_rows; }
  const PageInfo& info() const override { return c_.info; }

  const PageContext& context() const { return c_; }
  const LevelPlan& plan() const { return c_.plan; }
  const PageLayout& layout() const { return c_.info.layout; }
  const std::vector<ByteRange>& buffers() const { return c_.info.buffers; }
  const std::shared_ptr<arrow::DataType>& leaf_type() const { return c_.column->leaf->type(); }
  // The status with the column and page before its message.
  Status InPage(const Status& status) const {
    if (status.ok()) return status;
    return WithContext(fmt::format("column '{}' page {}", c_.column->name, c_.index), status);
  }
  template <typename T>
  Result<T> InPage(Result<T> result) const {
    if (result.ok()) return result;
    return InPage(result.status());
  }
  // Rows of this page -> its items (they differ under fixed-size lists of structs).
  std::vector<RowRange> ItemsOf(const RowSet& rows) const {
    std::vector<RowRange> out = rows.ranges();
    for (auto& r : out) r = {r.begin * c_.items_per_row, r.end * c_.items_per_row};
    return out;
  }

 protected:
  PageContext c_;
};

// The last steps of every decode: the leaf array, the layers around it, the count. `plan`: what the levels count by.
inline Result<std::shared_ptr<arrow::Array>> FinishRead(const PageBase& page, const LevelPlan& plan, Levels levels,
                                                        uint64_t rows, std::shared_ptr<arrow::ArrayData> leaf,
                                                        uint64_t decoded, ReadContext& ctx) {
  if (plan.layers.size() > 1) {
    PILUM_ASSIGN_OR_RETURN(leaf, Unravel(plan, std::move(levels), rows, std::move(leaf), ctx.memory_pool()));
  } else if (static_cast<uint64_t>(leaf->length) != rows) {
    return codec::BadBytes("{} values for {} rows", leaf->length, rows);
  }
  if (ctx.stats) ctx.stats->AddDecoded(page.context().column->name, decoded);
  return arrow::MakeArray(leaf);
}

inline Result<std::shared_ptr<arrow::Array>> FinishRead(const PageBase& page, Levels levels, uint64_t rows,
                                                        std::shared_ptr<arrow::ArrayData> leaf, uint64_t decoded,
                                                        ReadContext& ctx) {
  return FinishRead(page, page.plan(), std::move(levels), rows, std::move(leaf), decoded, ctx);
}

inline codec::Bytes BytesOf(const BufferPtr& b) { return codec::Bytes(b->data(), static_cast<size_t>(b->size())); }

Result<std::unique_ptr<Page>> MakeMiniBlockPage(PageContext&& context);
Result<std::unique_ptr<Page>> MakeFullZipPage(PageContext&& context);
Result<std::unique_ptr<Page>> MakeConstantPage(PageContext&& context);
Result<std::unique_ptr<Page>> MakeBlobPage(PageContext&& context);
Result<std::unique_ptr<Page>> MakeSparsePage(PageContext&& context);

}  // namespace pilum
