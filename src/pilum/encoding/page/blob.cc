// Blob pages: an inner page of (position, size) rows, and the payloads somewhere else in the file, fetched in a round
// of their own. A row without payload tells with its position why: 0 is an empty value, else definition level << 16.
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/page/page_base.h"

namespace pilum {

using codec::BadBytes;

namespace {

const LeafColumn& DescriptorColumn() {
  static const LeafColumn column = [] {
    LeafColumn c;
    c.leaf = arrow::field("descriptor",
                          arrow::struct_({arrow::field("position", arrow::uint64(), false),
                                          arrow::field("size", arrow::uint64(), false)}),
                          false);
    c.is_packed = true;
    c.name = "descriptor";
    return c;
  }();
  return column;
}

class BlobPage : public PageBase {
 public:
  using PageBase::PageBase;
  Status Init() {
    if (!c_.column->is_blob) return BadBytes("a blob page in a column of type {}", leaf_type()->ToString());
    if (plan().has_lists()) return Unsupported("blobs inside lists");
    PageInfo inner;
    inner.buffers = c_.info.buffers;
    inner.length = c_.info.length;
    inner.priority = c_.info.priority;
    inner.layout = *c_.info.layout.inner;
    PILUM_ASSIGN_OR_RETURN(inner_,
                           Page::Make(std::move(inner), &DescriptorColumn(), c_.index, c_.version, c_.file_size));
    return Status::OK();
  }
  std::unique_ptr<PageRead> StartRead(RowSet rows) const override;
  uint64_t cached_bytes() const override { return inner_->cached_bytes(); }
  const Page& inner() const { return *inner_; }

 private:
  std::unique_ptr<Page> inner_;
};

// The level at which a row without payload stops: its position, shifted.
Result<uint16_t> LevelOf(uint64_t position, uint64_t size, const LevelPlan& plan) {
  if (size > 0) return uint16_t{0};
  if ((position & 0xffff) != 0 || position >> 16 > plan.max_def) {
    return BadBytes("a blob without payload and with position {:#x}", position);
  }
  return static_cast<uint16_t>(position >> 16);
}

// The places, and no payload.
class BlobPlaceRead : public PageRead {
 public:
  BlobPlaceRead(const BlobPage& page, RowSet rows) : page_(page), rows_(std::move(rows)) {
    RowSet items = RowSet::FromRanges(page.ItemsOf(rows_));
    count_ = items.size();
    descriptors_ = page.inner().StartRead(std::move(items));
  }
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    return page_.InPage(descriptors_->Next(std::move(fetched)));
  }
  Result<std::shared_ptr<arrow::Array>> Decode(ReadContext& ctx) override { return page_.InPage(DecodeAll(ctx)); }

 private:
  Result<std::shared_ptr<arrow::Array>> DecodeAll(ReadContext& ctx) {
    const LevelPlan& plan = page_.plan();
    ReadContext quiet = ctx;  // the descriptors are not values of the column
    quiet.stats = nullptr;
    PILUM_ASSIGN_OR_RETURN(auto places, descriptors_->Decode(quiet));
    auto leaf = places->data()->Copy();
    Levels levels;
    levels.count = count_;
    PILUM_RETURN_NOT_OK(levels.def.Reserve(count_, ctx.memory_pool()));
    const BufferPtr positions = leaf->child_data[0]->buffers[1], sizes = leaf->child_data[1]->buffers[1];
    for (uint64_t i = 0; i < count_; ++i) {
      PILUM_ASSIGN_OR_RETURN(levels.def.data()[i], LevelOf(LoadLE<uint64_t>(positions->data() + i * 8),
                                                           LoadLE<uint64_t>(sizes->data() + i * 8), plan));
    }
    PILUM_ASSIGN_OR_RETURN(Validity validity, LeafValidity(plan, levels, ctx.memory_pool()));
    leaf->type = page_.leaf_type();
    leaf->buffers[0] = validity.bitmap;
    leaf->null_count = validity.null_count;
    return FinishRead(page_, std::move(levels), rows_.size(), std::move(leaf), count_, ctx);
  }

  const BlobPage& page_;
  RowSet rows_;
  uint64_t count_ = 0;
  std::unique_ptr<PageRead> descriptors_;
};

class BlobRead : public PageRead {
 public:
  BlobRead(const BlobPage& page, RowSet rows) : page_(page), rows_(std::move(rows)) {
    RowSet items = RowSet::FromRanges(page.ItemsOf(rows_));
    count_ = items.size();
    descriptors_ = page.inner().StartRead(std::move(items));
  }
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    return page_.InPage(Step(std::move(fetched)));
  }
  Result<std::shared_ptr<arrow::Array>> Decode(ReadContext& ctx) override { return page_.InPage(DecodeAll(ctx)); }

 private:
  Result<std::vector<ByteRange>> Step(std::vector<BufferPtr> fetched) {
    if (asked_payloads_) {
      payloads_ = std::move(fetched);
      return std::vector<ByteRange>{};
    }
    PILUM_ASSIGN_OR_RETURN(auto ranges, descriptors_->Next(std::move(fetched)));
    if (!ranges.empty()) return ranges;
    asked_payloads_ = true;
    ReadContext quiet;  // the descriptors are not values of the column
    PILUM_ASSIGN_OR_RETURN(auto array, descriptors_->Decode(quiet));
    const auto& children = array->data()->child_data;
    position_ = children[0]->buffers[1];
    size_ = children[1]->buffers[1];
    return PayloadRanges();
  }

  uint64_t position(uint64_t i) const { return LoadLE<uint64_t>(position_->data() + i * 8); }
  uint64_t size(uint64_t i) const { return LoadLE<uint64_t>(size_->data() + i * 8); }

  Result<std::vector<ByteRange>> PayloadRanges() {
    std::vector<ByteRange> ranges;
    const uint64_t file = page_.context().file_size;
    for (uint64_t i = 0; i < count_; ++i) {
      uint64_t at = position(i), n = size(i);
      if (n == 0) continue;
      if (n > file || at > file - n) return BadBytes("a blob at {} of {} bytes lies past the end of the file", at, n);
      total_ += n;  // no overflow: both are below the file's size, and it is checked at once
      if (total_ > file) return BadBytes("the blobs of one read hold more bytes than the file");
      ranges.push_back({at, n});
    }
    return ranges;
  }

  Result<std::shared_ptr<arrow::Array>> DecodeAll(ReadContext& ctx) {
    const LevelPlan& plan = page_.plan();
    arrow::MemoryPool* pool = ctx.memory_pool();
    Levels levels;
    levels.count = count_;
    PILUM_RETURN_NOT_OK(levels.def.Reserve(count_, pool));
    codec::VariableOut out;
    PILUM_RETURN_NOT_OK(out.Init(true, count_, total_, pool));
    size_t next = 0;
    for (uint64_t i = 0; i < count_; ++i) {
      const uint64_t n = size(i);
      PILUM_ASSIGN_OR_RETURN(levels.def.data()[i], LevelOf(position(i), n, plan));
      codec::Bytes payload;
      if (n > 0) {
        if (next >= payloads_.size() || static_cast<uint64_t>(payloads_[next]->size()) != n)
          return BadBytes("a payload was not fetched");
        payload = BytesOf(payloads_[next++]);
      }
      PILUM_RETURN_NOT_OK(out.Append(payload));
    }
    PILUM_ASSIGN_OR_RETURN(codec::DataBlock block, out.Finish());
    PILUM_ASSIGN_OR_RETURN(Validity validity, LeafValidity(plan, levels, pool));
    PILUM_ASSIGN_OR_RETURN(auto leaf, MakeLeaf(page_.leaf_type(), std::move(block), validity, pool));
    return FinishRead(page_, std::move(levels), rows_.size(), std::move(leaf), count_, ctx);
  }

  const BlobPage& page_;
  RowSet rows_;
  uint64_t count_ = 0, total_ = 0;
  std::unique_ptr<PageRead> descriptors_;
  bool asked_payloads_ = false;
  BufferPtr position_, size_;
  std::vector<BufferPtr> payloads_;
};

std::unique_ptr<PageRead> BlobPage::StartRead(RowSet rows) const {
  if (c_.column->is_blob_v2) return std::make_unique<BlobPlaceRead>(*this, std::move(rows));
  return std::make_unique<BlobRead>(*this, std::move(rows));
}

}  // namespace

Result<std::unique_ptr<Page>> MakeBlobPage(PageContext&& context) {
  auto page = std::make_unique<BlobPage>(std::move(context));
  PILUM_RETURN_NOT_OK(page->Init());
  return std::unique_ptr<Page>(std::move(page));
}

}  // namespace pilum
