// fixed_size_list: per layer with validity a bitmap of the items, then the items. packed_struct: row-major fixed rows.
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {
namespace {

class FixedSizeListDecoder : public ValueDecoder {
 public:
  Status Init(const CodecDesc& desc, const DecodeSpec& spec) {
    dimension_ = desc.num_items;
    has_validity_ = desc.has_validity;
    DecodeSpec inner = spec;
    auto items = CheckedMul(spec.max_count, dimension_);
    if (!items || *items > (uint64_t{1} << 48)) return CheckOutput(UINT64_MAX, 8);
    inner.max_count = *items;
    PILUM_ASSIGN_OR_RETURN(child_, MakeValueDecoder(desc.children[0], inner));  // checks the count against the bytes
    if (has_validity_) PILUM_RETURN_NOT_OK(validity_.Init(1, inner));
    return Status::OK();
  }
  int num_buffers() const override { return child_->num_buffers() + (has_validity_ ? 1 : 0); }

  Status Append(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) override {
    auto items = CheckedMul(n, dimension_);
    if (!items) return BadBytes("{} lists of {} items in one chunk", n, dimension_);
    scaled_.clear();
    for (const RowRange& r : ranges) scaled_.push_back({r.begin * dimension_, r.end * dimension_});
    if (has_validity_) {
      if ((*items + 7) / 8 > buffers[0].size())
        return BadBytes("validity of {} items in {} bytes", *items, buffers[0].size());
      for (const RowRange& r : scaled_) PILUM_RETURN_NOT_OK(validity_.AppendBits(buffers[0].data(), r.begin, r.size()));
      buffers = buffers.subspan(1);
    }
    count_ += CountOf(ranges);
    return child_->Append(buffers, *items, scaled_);
  }

  Result<DataBlock> Finish() override {
    DataBlock b;
    b.kind = DataBlock::Kind::kFixedSizeList;
    b.count = count_;
    b.dimension = dimension_;
    if (has_validity_) {
      PILUM_ASSIGN_OR_RETURN(DataBlock v, validity_.Finish());
      b.validity = v.data;
    }
    PILUM_ASSIGN_OR_RETURN(DataBlock child, child_->Finish());
    b.children.push_back(std::move(child));
    return b;
  }
  uint64_t decoded() const override { return count_; }

 private:
  uint64_t dimension_ = 0, count_ = 0;
  bool has_validity_ = false;
  FixedOut validity_;
  std::unique_ptr<ValueDecoder> child_;
  std::vector<RowRange> scaled_;
};

class PackedStructDecoder : public ValueDecoder {
 public:
  Status Init(const CodecDesc& desc, const DecodeSpec& spec) {
    field_bits_ = desc.field_bits;
    pool_ = spec.pool;
    uint64_t sum = 0;
    for (uint64_t bits : field_bits_) sum += bits;  // each at most 2^40, few of them
    const CodecDesc& rows = desc.children[0];
    if (rows.kind != CodecKind::kFlat || rows.bits != sum || sum % 8 != 0) {
      return BadBytes("a packed struct of {} bits over {}", sum, rows.ToString());
    }
    PILUM_ASSIGN_OR_RETURN(child_, MakeValueDecoder(rows, spec));
    return Status::OK();
  }
  int num_buffers() const override { return 1; }
  Status Append(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) override {
    return child_->Append(buffers, n, ranges);
  }
  Result<DataBlock> Finish() override {
    PILUM_ASSIGN_OR_RETURN(DataBlock rows, child_->Finish());
    return SplitPackedRows(rows, field_bits_, pool_);
  }
  uint64_t decoded() const override { return child_->decoded(); }

 private:
  std::vector<uint64_t> field_bits_;
  arrow::MemoryPool* pool_ = nullptr;
  std::unique_ptr<ValueDecoder> child_;
};

template <uint64_t kWidth>
void Gather(const uint8_t* in, uint64_t stride, uint64_t n, uint8_t* out) {
  for (uint64_t i = 0; i < n; ++i) std::memcpy(out + i * kWidth, in + i * stride, kWidth);
}

}  // namespace

Result<DataBlock> SplitPackedRows(const DataBlock& rows, const std::vector<uint64_t>& field_bits,
                                  arrow::MemoryPool* pool) {
  DataBlock out;
  out.kind = DataBlock::Kind::kStruct;
  out.count = rows.count;
  uint64_t stride = rows.bits / 8, at = 0;
  for (uint64_t bits : field_bits) {
    if (bits % 8 != 0) return Unsupported("packed struct fields of {} bits", bits);
    uint64_t width = bits / 8;
    if (at + width > stride) return BadBytes("packed struct fields pass their row of {} bytes", stride);
    PILUM_ASSIGN_OR_RETURN(auto data, Allocate(rows.count * width, pool));
    const uint8_t* in = rows.data->data() + at;
    uint8_t* to = data->mutable_data();
    switch (width) {
      case 1: Gather<1>(in, stride, rows.count, to); break;
      case 2: Gather<2>(in, stride, rows.count, to); break;
      case 4: Gather<4>(in, stride, rows.count, to); break;
      case 8: Gather<8>(in, stride, rows.count, to); break;
      default:
        for (uint64_t i = 0; i < rows.count; ++i) std::memcpy(to + i * width, in + i * stride, width);
    }
    DataBlock field;
    field.count = rows.count;
    field.bits = bits;
    field.data = std::move(data);
    out.children.push_back(std::move(field));
    at += width;
  }
  return out;
}

Result<std::unique_ptr<ValueDecoder>> MakeFixedSizeListDecoder(const CodecDesc& desc, const DecodeSpec& spec) {
  auto d = std::make_unique<FixedSizeListDecoder>();
  PILUM_RETURN_NOT_OK(d->Init(desc, spec));
  return d;
}

Result<std::unique_ptr<ValueDecoder>> MakePackedStructDecoder(const CodecDesc& desc, const DecodeSpec& spec) {
  auto d = std::make_unique<PackedStructDecoder>();
  PILUM_RETURN_NOT_OK(d->Init(desc, spec));
  return d;
}

}  // namespace pilum::codec
