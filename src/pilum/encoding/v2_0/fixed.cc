// Values of a fixed width: flat (maybe compressed as a whole), the two bit packings, packed structs, fixed-size binary.
// Where nothing is compressed, the bytes of a row are found by arithmetic.
#include <algorithm>
#include <cstring>

#include <arrow/type.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/leaf_array.h"
#include "pilum/encoding/v2_0/array.h"

namespace pilum::v2_0 {

using codec::BadBytes;
using codec::Bytes;
using codec::DataBlock;

namespace {

constexpr uint64_t kBlock = 1024;            // values of a block of bitpacked_for_non_neg
constexpr uint64_t kPieceRows = 256 * 1024;  // copied before it is asked whether to stop; whole blocks

struct FixedLayout {
  ArrayKind kind = ArrayKind::kFlat;  // or one of the bit packings
  Compression compression = Compression::kNone;
  uint64_t bits = 0, packed_bits = 0;  // of a value, decoded and stored
  bool is_signed = false;
  uint64_t count = 0;
  ByteRange buffer;
  std::shared_ptr<PlainCache> cache;

  bool in_blocks() const { return kind == ArrayKind::kBitpackedForNonNeg; }
  uint64_t stored_bytes() const {  // checked when the node was made
    if (in_blocks()) return (count + kBlock - 1) / kBlock * (kBlock / 8) * packed_bits;
    return (count * packed_bits + 7) / 8;
  }
  // The stored bytes of values [begin, end), or of the blocks they lie in.
  ByteRange BytesOf(RowRange r) const {
    if (in_blocks()) r = {r.begin / kBlock * kBlock, (r.end + kBlock - 1) / kBlock * kBlock};
    uint64_t first = r.begin * packed_bits / 8, last = (r.end * packed_bits + 7) / 8;
    return {first, last - first};
  }
};

class FixedRead : public ArrayRead {
 public:
  FixedRead(const FixedLayout& layout, RowSet rows) : layout_(layout), rows_(std::move(rows)) {}

  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    std::vector<ByteRange> out;
    if (asked_) {
      fetched_ = std::move(fetched);
      return out;
    }
    asked_ = true;
    if (layout_.compression != Compression::kNone) {
      plain_ = compressed().Cached();
      if (!plain_) out.push_back(layout_.buffer);
      return out;
    }
    for (const RowRange& r : rows_.ranges()) {
      ByteRange b = layout_.BytesOf(r);
      out.push_back({layout_.buffer.offset + b.offset, b.size});
    }
    return out;
  }

  Result<Values> Finish(const Work& work) override {
    Values v;
    codec::DecodeSpec spec;
    spec.max_count = rows_.size();
    spec.pool = work.pool;
    PILUM_RETURN_NOT_OK(out_.Init(layout_.bits, spec));
    PILUM_RETURN_NOT_OK(layout_.compression == Compression::kNone ? CopyFetched(work) : CopyDecompressed(work));
    PILUM_ASSIGN_OR_RETURN(v.block, out_.Finish());
    v.validity.count = v.block.count;
    return v;
  }

 private:
  Status CopyFetched(const Work& work) {
    if (fetched_.size() != rows_.ranges().size()) return BadBytes("the values were not fetched");
    for (size_t i = 0; i < fetched_.size(); ++i) {
      const RowRange& r = rows_.ranges()[i];
      if (static_cast<uint64_t>(fetched_[i]->size()) != layout_.BytesOf(r).size)
        return BadBytes("the values were not fetched");
      PILUM_RETURN_NOT_OK(Copy(fetched_[i]->data(), r, work));
      fetched_[i].reset();
    }
    return Status::OK();
  }

  Compressed compressed() const { return {layout_.compression, layout_.buffer, layout_.cache}; }

  Status CopyDecompressed(const Work& work) {
    const uint64_t need = layout_.stored_bytes();
    if (!plain_) {
      PILUM_ASSIGN_OR_RETURN(plain_, compressed().Decompress(fetched_, need, need + 64, work));
    } else if (static_cast<uint64_t>(plain_->size()) < need) {
      return BadBytes("a buffer of {} bytes for values of {}", plain_->size(), need);
    }
    for (const RowRange& r : rows_.ranges()) {
      PILUM_RETURN_NOT_OK(Copy(plain_->data() + layout_.BytesOf(r).offset, r, work));
    }
    return Status::OK();
  }

  // `in`: the bytes of BytesOf(r).
  Status Copy(const uint8_t* in, const RowRange& r, const Work& work) {
    const uint64_t first = layout_.BytesOf(r).offset;
    for (uint64_t begin = r.begin; begin < r.end;) {
      const RowRange piece{begin, std::min(r.end, begin / kPieceRows * kPieceRows + kPieceRows)};
      PILUM_RETURN_NOT_OK(CopyPiece(in + (layout_.BytesOf(piece).offset - first), piece));
      PILUM_RETURN_NOT_OK(work.After(piece.size() * layout_.bits / 8));
      begin = piece.end;
    }
    return Status::OK();
  }

  Status CopyPiece(const uint8_t* in, const RowRange& r) {
    if (layout_.kind == ArrayKind::kFlat && layout_.bits == 1) return out_.AppendBits(in, r.begin % 8, r.size());
    PILUM_ASSIGN_OR_RETURN(uint8_t * out, out_.Take(r.size()));
    if (layout_.kind == ArrayKind::kFlat) {
      std::memcpy(out, in, r.size() * (layout_.bits / 8));
    } else if (layout_.in_blocks()) {
      UnpackBlocks(in, r, out);
    } else {
      Unpack(in, r, out);
    }
    return Status::OK();
  }

  void UnpackBlocks(const uint8_t* in, const RowRange& r, uint8_t* out) const {
    const uint64_t width = layout_.bits / 8;
    alignas(64) uint8_t scratch[kBlock * 8];
    for (uint64_t block = r.begin / kBlock; block * kBlock < r.end; ++block, in += kBlock / 8 * layout_.packed_bits) {
      codec::Unpack1024(layout_.bits, layout_.packed_bits, in, scratch);
      const uint64_t from = std::max(r.begin, block * kBlock), to = std::min(r.end, (block + 1) * kBlock);
      std::memcpy(out, scratch + (from - block * kBlock) * width, (to - from) * width);
      out += (to - from) * width;
    }
  }

  // Values one after another, low bits first. Both sides have slack for whole words.
  void Unpack(const uint8_t* in, const RowRange& r, uint8_t* out) const {
    const uint64_t packed = layout_.packed_bits, width = layout_.bits / 8;
    const int unused = static_cast<int>(64 - packed);
    for (uint64_t i = 0, bit = r.begin * packed % 8; i < r.size(); ++i, bit += packed) {
      const uint64_t shift = bit % 8;
      uint64_t v = LoadLE<uint64_t>(in + bit / 8) >> shift;
      if (shift + packed > 64) v |= static_cast<uint64_t>(in[bit / 8 + 8]) << (64 - shift);
      v <<= unused;
      v = layout_.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(v) >> unused) : v >> unused;
      std::memcpy(out + i * width, &v, width);
    }
  }

  const FixedLayout& layout_;
  RowSet rows_;
  bool asked_ = false;
  std::vector<BufferPtr> fetched_;
  BufferPtr plain_;
  codec::FixedOut out_;
};

class FixedNode : public ArrayNode {
 public:
  explicit FixedNode(const FixedLayout& layout) : ArrayNode(layout.count), layout_(layout) {}
  std::unique_ptr<ArrayRead> StartRead(RowSet rows) const override {
    return std::make_unique<FixedRead>(layout_, std::move(rows));
  }
  uint64_t estimated_bytes() const override { return CheckedMul(count(), layout_.bits).value_or(UINT64_MAX) / 8; }

 private:
  FixedLayout layout_;
};

Result<NodePtr> MakeFixed(FixedLayout layout) {
  if (layout.bits == 0 || (layout.bits != 1 && layout.bits % 8 != 0)) return BadBytes("values of {} bits", layout.bits);
  const uint64_t padded = layout.in_blocks() ? layout.count + kBlock - 1 : layout.count;
  auto bits = CheckedMul(padded, std::max(layout.packed_bits, layout.bits));
  if (padded < layout.count || !bits || *bits > UINT64_MAX - 64)
    return BadBytes("{} values of {} bits", layout.count, layout.bits);
  if (layout.compression == Compression::kNone && layout.stored_bytes() > layout.buffer.size) {
    return BadBytes("{} values of {} bits in a buffer of {} bytes", layout.count, layout.packed_bits,
                    layout.buffer.size);
  }
  return NodePtr(std::make_unique<FixedNode>(layout));
}

uint64_t BitsOfField(const ArrayDesc& desc) {
  const ArrayDesc& d = WithoutNullable(desc);
  if (d.kind == ArrayKind::kFlat && d.compression == Compression::kNone) return d.bits;
  if (d.kind == ArrayKind::kFixedSizeList) return CheckedMul(BitsOfField(d.children[0]), d.dimension).value_or(0);
  return 0;
}

// Rows of a packed struct, cut into its fields.
class PackedStructRead : public ArrayRead {
 public:
  PackedStructRead(std::unique_ptr<ArrayRead> rows, const std::vector<uint64_t>& field_bits)
      : rows_(std::move(rows)), field_bits_(field_bits) {}
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    return rows_->Next(std::move(fetched));
  }
  Result<Values> Finish(const Work& work) override {
    PILUM_ASSIGN_OR_RETURN(Values v, rows_->Finish(work));
    PILUM_ASSIGN_OR_RETURN(v.block, codec::SplitPackedRows(v.block, field_bits_, work.pool));
    return v;
  }

 private:
  std::unique_ptr<ArrayRead> rows_;
  const std::vector<uint64_t>& field_bits_;
};

class PackedStructNode : public ArrayNode {
 public:
  PackedStructNode(NodePtr rows, std::vector<uint64_t> field_bits)
      : ArrayNode(rows->count()), rows_(std::move(rows)), field_bits_(std::move(field_bits)) {}
  std::unique_ptr<ArrayRead> StartRead(RowSet rows) const override {
    return std::make_unique<PackedStructRead>(rows_->StartRead(std::move(rows)), field_bits_);
  }
  uint64_t estimated_bytes() const override { return rows_->estimated_bytes(); }

 private:
  NodePtr rows_;
  std::vector<uint64_t> field_bits_;
};

// Fixed-width bytes as strings of one length.
class SameLengthRead : public ArrayRead {
 public:
  SameLengthRead(std::unique_ptr<ArrayRead> bytes, bool wide) : bytes_(std::move(bytes)), wide_(wide) {}
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    return bytes_->Next(std::move(fetched));
  }
  Result<Values> Finish(const Work& work) override {
    PILUM_ASSIGN_OR_RETURN(Values v, bytes_->Finish(work));
    Extents extents;
    extents.lengths.assign(v.block.count, v.block.bits / 8);
    extents.total = v.block.count * (v.block.bits / 8);
    PILUM_ASSIGN_OR_RETURN(v.block.offsets, extents.Offsets(wide_, work.pool));
    v.block.kind = DataBlock::Kind::kVariable;
    v.block.wide = wide_;
    return v;
  }

 private:
  std::unique_ptr<ArrayRead> bytes_;
  bool wide_;
};

class SameLengthNode : public ArrayNode {
 public:
  SameLengthNode(NodePtr bytes, bool wide) : ArrayNode(bytes->count()), bytes_(std::move(bytes)), wide_(wide) {}
  std::unique_ptr<ArrayRead> StartRead(RowSet rows) const override {
    return std::make_unique<SameLengthRead>(bytes_->StartRead(std::move(rows)), wide_);
  }
  uint64_t estimated_bytes() const override { return bytes_->estimated_bytes() + count() * (wide_ ? 8 : 4); }

 private:
  NodePtr bytes_;
  bool wide_;
};

}  // namespace

Result<NodePtr> MakeFixedNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n, uint64_t bits) {
  const ArrayDesc& d = WithoutNullable(desc);
  if (d.kind != ArrayKind::kFlat && d.kind != ArrayKind::kBitpacked && d.kind != ArrayKind::kBitpackedForNonNeg) {
    return Unsupported("page encoding: {} where values of a fixed width are needed", d.ToString());
  }
  const bool integer = d.bits == 8 || d.bits == 16 || d.bits == 32 || d.bits == 64;
  if (bits == 0 ? !integer : d.bits != bits) return BadBytes("values of {} bits where {} are needed", d.bits, bits);
  FixedLayout layout{d.kind, d.compression, d.bits, d.kind == ArrayKind::kFlat ? d.bits : d.packed_bits, d.is_signed, n,
                     {}};
  PILUM_ASSIGN_OR_RETURN(layout.buffer, BufferOf(d, context));
  layout.cache = context.cache;
  return MakeFixed(layout);
}

Result<NodePtr> MakePackedStructNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                                     const arrow::DataType& type) {
  const arrow::DataType& storage = StorageType(type);
  if (storage.id() != arrow::Type::STRUCT || static_cast<size_t>(storage.num_fields()) != desc.children.size()) {
    return BadBytes("a packed struct of {} fields as {}", desc.children.size(), type.ToString());
  }
  std::vector<uint64_t> field_bits;
  uint64_t sum = 0;
  for (const ArrayDesc& child : desc.children) {
    field_bits.push_back(BitsOfField(child));
    const uint64_t want = FixedBits(*storage.field(static_cast<int>(field_bits.size() - 1))->type());
    if (field_bits.back() == 0 || field_bits.back() != want || want % 8 != 0) {
      return BadBytes("field {} of a packed struct has {} bits, not {}", field_bits.size() - 1, field_bits.back(),
                      want);
    }
    if (__builtin_add_overflow(sum, want, &sum)) return BadBytes("a packed struct beyond all bounds");
  }
  PILUM_ASSIGN_OR_RETURN(ByteRange buffer, BufferOf(desc, context));
  PILUM_ASSIGN_OR_RETURN(NodePtr rows, MakeFixed({ArrayKind::kFlat, Compression::kNone, sum, sum, false, n, buffer}));
  return NodePtr(std::make_unique<PackedStructNode>(std::move(rows), std::move(field_bits)));
}

Result<NodePtr> MakeFixedSizeBinaryNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                                        const arrow::DataType& type) {
  const ArrayDesc& bytes = WithoutNullable(desc.children[0]);
  const uint64_t bits = desc.byte_width * 8;
  if (bits == 0) return Unsupported("page encoding: values of no bytes");
  if (bytes.kind != ArrayKind::kFlat || (bytes.bits != 8 && bytes.bits != bits)) {
    return Unsupported("page encoding: {} as bytes of fixed-size binary", bytes.ToString());
  }
  PILUM_ASSIGN_OR_RETURN(ByteRange buffer, BufferOf(bytes, context));
  PILUM_ASSIGN_OR_RETURN(NodePtr node, MakeFixed({ArrayKind::kFlat, bytes.compression, bits, bits, false, n, buffer}));
  if (arrow::is_base_binary_like(StorageType(type).id()))
    return NodePtr(std::make_unique<SameLengthNode>(std::move(node), IsWide(type)));
  if (FixedBits(type) != bits) return BadBytes("values of {} bits as {}", bits, type.ToString());
  return node;
}

}  // namespace pilum::v2_0
