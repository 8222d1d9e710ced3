// Strings and binary: end offsets, and the bytes behind them, which may be compressed as a whole or FSST codes. First
// the offsets are fetched, then the bytes of the wanted values. Blobs: rows of (position, size), then the payloads.
#include <algorithm>
#include <cstring>
#include <optional>

#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/fsst.h"
#include "pilum/encoding/leaf_array.h"
#include "pilum/encoding/v2_0/array.h"

namespace pilum::v2_0 {

using codec::BadBytes;
using codec::Bytes;
using codec::DataBlock;

namespace {

constexpr uint64_t kPiece = 4 << 20;    // copied before it is asked whether to stop
constexpr uint64_t kGuessedRatio = 64;  // most that compressed bytes are guessed to hold, to size units

struct BinaryLayout {
  NodePtr offsets;
  ByteRange bytes;
  Compressed compressed;
  uint64_t null_adjustment = 0;
  bool wide = false;
  std::shared_ptr<const codec::FsstTable> fsst;
};

class BinaryRead : public ArrayRead {
 public:
  BinaryRead(const BinaryLayout& layout, RowSet rows)
      : layout_(layout), rows_(std::move(rows)), offsets_(layout.offsets->StartRead(WithPredecessors(rows_))) {}

  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    std::vector<ByteRange> out;
    if (asked_bytes_) {
      bytes_ = std::move(fetched);
      return out;
    }
    PILUM_ASSIGN_OR_RETURN(out, offsets_->Next(std::move(fetched)));
    if (!out.empty()) return out;
    asked_bytes_ = true;
    PILUM_ASSIGN_OR_RETURN(Values ends, offsets_->Finish({arrow::default_memory_pool()}));
    offsets_.reset();
    PILUM_ASSIGN_OR_RETURN(auto wide_ends, ToUint64(ends.block));
    PILUM_RETURN_NOT_OK(extents_.Append(wide_ends, rows_, layout_.null_adjustment,
                                        layout_.compressed ? uint64_t{1} << 40 : layout_.bytes.size, 0));
    if (extents_.total == 0) return out;
    if (layout_.compressed) {
      plain_ = layout_.compressed.Cached();
      if (!plain_) out.push_back(layout_.bytes);
      return out;
    }
    for (const RowRange& r : extents_.ranges) out.push_back({layout_.bytes.offset + r.begin, r.size()});
    return out;
  }

  Result<Values> Finish(const Work& work) override {
    std::vector<Bytes> runs;
    if (layout_.compressed && extents_.total > 0) {
      PILUM_RETURN_NOT_OK(Decompress(work));
      for (const RowRange& r : extents_.ranges) runs.emplace_back(plain_->data() + r.begin, r.size());
    } else {
      for (const BufferPtr& b : bytes_) runs.emplace_back(b->data(), static_cast<size_t>(b->size()));
    }
    uint64_t total = 0;
    for (Bytes run : runs) total += run.size();
    if (total != extents_.total || runs.size() != extents_.ranges.size()) return BadBytes("the bytes were not fetched");
    Values v;
    PILUM_ASSIGN_OR_RETURN(v.block, layout_.fsst && layout_.fsst->active() ? Decode(runs, work) : Copy(runs, work));
    PILUM_ASSIGN_OR_RETURN(v.validity, extents_.MakeValidity(work.pool));
    return v;
  }

 private:
  Status Decompress(const Work& work) {
    const uint64_t end = extents_.ranges.back().end;
    // The adjustment is one more than all bytes: nothing larger is taken at its word.
    const uint64_t most = layout_.null_adjustment > 0 ? layout_.null_adjustment : UINT64_MAX;
    if (!plain_) {
      PILUM_ASSIGN_OR_RETURN(plain_, layout_.compressed.Decompress(bytes_, end, most, work));
    } else if (static_cast<uint64_t>(plain_->size()) < end) {
      return BadBytes("compressed bytes hold {}, offsets reach to {}", plain_->size(), end);
    }
    bytes_.clear();
    return Status::OK();
  }

  Result<DataBlock> Copy(const std::vector<Bytes>& runs, const Work& work) {
    DataBlock b;
    b.kind = DataBlock::Kind::kVariable;
    b.count = extents_.lengths.size();
    b.wide = layout_.wide;
    PILUM_ASSIGN_OR_RETURN(b.offsets, extents_.Offsets(b.wide, work.pool));
    PILUM_RETURN_NOT_OK(codec::CheckOutput(extents_.total, 8));
    PILUM_ASSIGN_OR_RETURN(auto data, codec::Allocate(extents_.total, work.pool));
    uint8_t* out = data->mutable_data();
    for (Bytes run : runs) {
      for (uint64_t at = 0; at < run.size(); at += kPiece) {
        const uint64_t size = std::min<uint64_t>(kPiece, run.size() - at);
        std::memcpy(out + at, run.data() + at, size);
        PILUM_RETURN_NOT_OK(work.After(size));
      }
      out += run.size();
    }
    b.data = std::move(data);
    return b;
  }

  // The values of a run lie one behind the other, as many as fill it.
  Result<DataBlock> Decode(const std::vector<Bytes>& runs, const Work& work) {
    codec::VariableOut out;
    PILUM_RETURN_NOT_OK(out.Init(layout_.wide, extents_.lengths.size(), codec::VariableOut::kUnknown, work.pool));
    size_t run = 0;
    uint64_t at = 0;
    for (uint64_t length : extents_.lengths) {
      if (length == 0) {
        PILUM_RETURN_NOT_OK(out.Append({}));
        continue;
      }
      if (at == runs[run].size()) ++run, at = 0;
      const Bytes codes = runs[run].subspan(at, length);
      at += length;
      PILUM_ASSIGN_OR_RETURN(uint8_t * to, out.Reserve(layout_.fsst->MaxSize(length)));
      PILUM_ASSIGN_OR_RETURN(const uint64_t size, layout_.fsst->Decode(codes, to));
      out.Push(size);
      PILUM_RETURN_NOT_OK(work.After(size));
    }
    return out.Finish();
  }

  const BinaryLayout& layout_;
  RowSet rows_;
  std::unique_ptr<ArrayRead> offsets_;
  bool asked_bytes_ = false;
  Extents extents_;
  std::vector<BufferPtr> bytes_;
  BufferPtr plain_;
};

class BinaryNode : public ArrayNode {
 public:
  BinaryNode(uint64_t n, BinaryLayout layout) : ArrayNode(n), layout_(std::move(layout)) {}
  std::unique_ptr<ArrayRead> StartRead(RowSet rows) const override {
    return std::make_unique<BinaryRead>(layout_, std::move(rows));
  }
  uint64_t estimated_bytes() const override {
    uint64_t bytes = layout_.bytes.size;
    if (layout_.compressed) {
      const uint64_t most = CheckedMul(bytes, kGuessedRatio).value_or(UINT64_MAX);
      bytes = std::max(bytes, std::min(layout_.null_adjustment, most));
    }
    if (layout_.fsst && layout_.fsst->active()) bytes = CheckedMul(bytes, 2).value_or(UINT64_MAX);
    return CheckedAdd(bytes, count() * (layout_.wide ? 8 : 4)).value_or(UINT64_MAX);
  }

 private:
  BinaryLayout layout_;
};

class BlobRead : public ArrayRead {
 public:
  BlobRead(std::unique_ptr<ArrayRead> descriptors, uint64_t file_size)
      : descriptors_(std::move(descriptors)), file_size_(file_size) {}

  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    std::vector<ByteRange> out;
    if (asked_payloads_) {
      payloads_ = std::move(fetched);
      return out;
    }
    PILUM_ASSIGN_OR_RETURN(out, descriptors_->Next(std::move(fetched)));
    if (!out.empty()) return out;
    asked_payloads_ = true;
    PILUM_ASSIGN_OR_RETURN(Values rows, descriptors_->Finish({arrow::default_memory_pool()}));
    if (rows.all_null) {
      sizes_.assign(rows.block.count, 0);
      extents_.valid.assign(rows.block.count, false);
    } else {
      PILUM_ASSIGN_OR_RETURN(out, PayloadRanges(rows));
    }
    extents_.lengths = sizes_;
    for (bool valid : extents_.valid) extents_.null_count += !valid;
    return out;
  }

  Result<Values> Finish(const Work& work) override {
    Values v;
    codec::VariableOut out;
    PILUM_RETURN_NOT_OK(out.Init(true, sizes_.size(), extents_.total, work.pool));
    size_t next = 0;
    for (uint64_t size : sizes_) {
      Bytes payload;
      if (size > 0) {
        if (next >= payloads_.size() || static_cast<uint64_t>(payloads_[next]->size()) != size)
          return BadBytes("a payload was not fetched");
        payload = Bytes(payloads_[next]->data(), size);
        ++next;
      }
      PILUM_RETURN_NOT_OK(out.Append(payload));
      PILUM_RETURN_NOT_OK(work.After(size));
    }
    PILUM_ASSIGN_OR_RETURN(v.block, out.Finish());
    PILUM_ASSIGN_OR_RETURN(v.validity, extents_.MakeValidity(work.pool));
    return v;
  }

 private:
  Result<std::vector<ByteRange>> PayloadRanges(const Values& rows) {
    std::vector<ByteRange> out;
    PILUM_ASSIGN_OR_RETURN(auto positions, ToUint64(rows.block.children[0]));
    PILUM_ASSIGN_OR_RETURN(sizes_, ToUint64(rows.block.children[1]));
    const uint8_t* validity = rows.validity.bitmap ? rows.validity.bitmap->data() : nullptr;
    for (size_t i = 0; i < sizes_.size(); ++i) {
      const uint64_t at = positions[i];
      uint64_t& size = sizes_[i];
      const bool null = validity && !arrow::bit_util::GetBit(validity, static_cast<int64_t>(i));
      if (null) size = 0;
      if (size == 0 && !null && at > 1) return BadBytes("a blob without payload and with position {:#x}", at);
      extents_.valid.push_back(!null && (size > 0 || at == 0));
      if (size == 0) continue;
      if (size > file_size_ || at > file_size_ - size)
        return BadBytes("a blob at {} of {} bytes lies past the end of the file", at, size);
      extents_.total += size;  // no overflow: it is checked at once
      if (extents_.total > file_size_) return BadBytes("the blobs of one read hold more bytes than the file");
      out.push_back({at, size});
    }
    return out;
  }

  std::unique_ptr<ArrayRead> descriptors_;
  uint64_t file_size_;
  bool asked_payloads_ = false;
  std::vector<uint64_t> sizes_;
  Extents extents_;  // ranges unused
  std::vector<BufferPtr> payloads_;
};

// The places alone. A NULL is one of position 1 and no size.
class BlobPlaceRead : public ArrayRead {
 public:
  explicit BlobPlaceRead(std::unique_ptr<ArrayRead> descriptors) : descriptors_(std::move(descriptors)) {}
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    return descriptors_->Next(std::move(fetched));
  }
  Result<Values> Finish(const Work& work) override {
    PILUM_ASSIGN_OR_RETURN(Values v, descriptors_->Finish(work));
    if (v.all_null || v.validity.bitmap) return v;
    PILUM_ASSIGN_OR_RETURN(auto positions, ToUint64(v.block.children[0]));
    PILUM_ASSIGN_OR_RETURN(auto sizes, ToUint64(v.block.children[1]));
    Extents extents;
    extents.lengths = std::move(sizes);
    for (size_t i = 0; i < positions.size(); ++i) {
      extents.valid.push_back(extents.lengths[i] > 0 || positions[i] != 1);
      extents.null_count += !extents.valid.back();
    }
    PILUM_ASSIGN_OR_RETURN(v.validity, extents.MakeValidity(work.pool));
    return v;
  }

 private:
  std::unique_ptr<ArrayRead> descriptors_;
};

class BlobNode : public ArrayNode {
 public:
  BlobNode(NodePtr descriptors, uint64_t file_size, bool places)
      : ArrayNode(descriptors->count()), descriptors_(std::move(descriptors)), file_size_(file_size), places_(places) {}
  std::unique_ptr<ArrayRead> StartRead(RowSet rows) const override {
    if (places_) return std::make_unique<BlobPlaceRead>(descriptors_->StartRead(std::move(rows)));
    return std::make_unique<BlobRead>(descriptors_->StartRead(std::move(rows)), file_size_);
  }
  // Payloads lie outside of the page.
  uint64_t estimated_bytes() const override { return places_ ? descriptors_->estimated_bytes() : file_size_; }

 private:
  NodePtr descriptors_;
  uint64_t file_size_;
  bool places_;  // not the payloads
};

}  // namespace

Result<NodePtr> MakeBinaryNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                               const arrow::DataType& type) {
  if (!arrow::is_base_binary_like(StorageType(type).id())) {
    return BadBytes("{} as values of type {}", desc.ToString(), type.ToString());
  }
  BinaryLayout layout;
  const ArrayDesc* binary = &desc;
  if (desc.kind == ArrayKind::kFsst) {
    PILUM_ASSIGN_OR_RETURN(layout.fsst, codec::FsstTable::Parse(desc.symbol_table));
    binary = &WithoutNullable(desc.children[0]);
  }
  if (binary->kind != ArrayKind::kBinary) return Unsupported("page encoding: FSST over {}", binary->ToString());
  const ArrayDesc& bytes = WithoutNullable(binary->children[1]);
  if (bytes.kind != ArrayKind::kFlat || bytes.bits != 8) {
    return Unsupported("page encoding: {} as bytes of a binary", bytes.ToString());
  }
  PILUM_ASSIGN_OR_RETURN(layout.offsets, MakeFixedNode(binary->children[0], context, n, 0));
  PILUM_ASSIGN_OR_RETURN(layout.bytes, BufferOf(bytes, context));
  layout.compressed = {bytes.compression, layout.bytes, context.cache};
  layout.null_adjustment = binary->null_adjustment;
  layout.wide = IsWide(type);
  return NodePtr(std::make_unique<BinaryNode>(n, std::move(layout)));
}

Result<NodePtr> MakeBlobNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n, bool places) {
  static const std::shared_ptr<arrow::DataType> row =
      arrow::struct_({arrow::field("position", arrow::uint64(), false), arrow::field("size", arrow::uint64(), false)});
  PILUM_ASSIGN_OR_RETURN(NodePtr rows, MakeNode(desc, context, n, row));
  return NodePtr(std::make_unique<BlobNode>(std::move(rows), context.file_size, places));
}

}  // namespace pilum::v2_0
