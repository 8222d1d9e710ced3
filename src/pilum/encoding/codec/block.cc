// Block form: one buffer that holds a known number of values (levels, dictionary items).
#include <cstring>

#include <arrow/util/bitmap_ops.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/codec/numbers.h"

namespace pilum::codec {
namespace {

constexpr uint64_t kBlock = 1024;

// u64 size of the run values, the values, the lengths.
struct Runs {
  Bytes values, lengths;
};

Result<Runs> ParseRuns(Bytes bytes) {
  if (bytes.size() < 8) return BadBytes("run-length levels of {} bytes", bytes.size());
  uint64_t size = LoadLE<uint64_t>(bytes.data());
  if (size > bytes.size() - 8) return BadBytes("run values of {} bytes in a block of {}", size, bytes.size());
  return Runs{bytes.subspan(8, size), bytes.subspan(8 + size)};
}

uint64_t RoundUp(uint64_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

Status CopyFlat(Bytes bytes, uint64_t n, uint64_t width, uint8_t* out) {
  auto need = CheckedMul(n, width);
  if (!need || *need > bytes.size()) return BadBytes("{} values of {} bytes in {} bytes", n, width, bytes.size());
  std::memcpy(out, bytes.data(), *need);
  return Status::OK();
}

// Values of whole bytes; out has room for n rounded up to 1,024, and slack.
Status DecodeFixed(const CodecDesc& d, Bytes bytes, uint64_t n, uint8_t* out) {
  switch (d.kind) {
    case CodecKind::kFlat: return CopyFlat(bytes, n, d.bits / 8, out);
    case CodecKind::kInlineBitpacking: {
      PILUM_ASSIGN_OR_RETURN(InlinePacked p, ParseInlinePacked(d.bits, bytes, n));
      Unpack1024(d.bits, p.width, p.words, out);
      return Status::OK();
    }
    case CodecKind::kOutOfLineBitpacking: return DecodeOutOfLine(d.bits, d.children[0].bits, bytes, n, out);
    case CodecKind::kRle: {
      Runs r;
      if (HasPayload(d)) {
        PILUM_ASSIGN_OR_RETURN(r, ParseRuns(bytes));
      }
      return ExpandAnyRuns(d, r.values, r.lengths, n, out);
    }
    case CodecKind::kConstant:
    case CodecKind::kRange:
    case CodecKind::kDelta:
    case CodecKind::kDictionary: {
      PILUM_ASSIGN_OR_RETURN(Numbers numbers, DecodeNumbers(d, bytes, n));
      const uint64_t width = NumberBits(d) / 8;
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t v = numbers[i];
        std::memcpy(out + i * width, &v, width);
      }
      return Status::OK();
    }
    default: return Unsupported("{} as a block", d.ToString());
  }
}

bool HasFlatOffsets(const CodecDesc& d) { return d.children[0].kind == CodecKind::kFlat; }

// u32 or u64 offset width, the same width start of the data, offsets from 0, data. `owner` of the bytes, if not null, is
// for the block alone (with slack behind it): then nothing is copied.
Result<DataBlock> DecodeVariableBlock(const CodecDesc& d, Bytes bytes, uint64_t n, const DecodeSpec& spec,
                                      const BufferPtr& owner) {
  uint64_t bits = d.children[0].bits, width = bits / 8;
  auto word = [&](uint64_t i) -> uint64_t {
    return width == 4 ? LoadLE<uint32_t>(bytes.data() + i * 4) : LoadLE<uint64_t>(bytes.data() + i * 8);
  };
  auto head = CheckedMul(n, width);
  if (!head || *head > bytes.size() || bytes.size() < *head + 3 * width) {
    return BadBytes("{} variable values in a block of {} bytes", n, bytes.size());
  }
  if (word(0) != bits) return BadBytes("a block of {}-bit offsets says {}", bits, word(0));
  uint64_t start = word(1);
  if (start > bytes.size() || start < *head + 3 * width)
    return BadBytes("block data starts at {} of {}", start, bytes.size());
  const uint8_t* offsets = bytes.data() + 2 * width;
  PILUM_RETURN_NOT_OK(CheckOffsets(offsets, static_cast<int>(width), 0, n, bytes.size() - start));
  const uint64_t end = word(2 + n);
  if (owner && spec.wide == (width == 8) && end <= (spec.wide ? INT64_MAX : INT32_MAX)) {
    DataBlock b;
    b.kind = DataBlock::Kind::kVariable;
    b.count = n;
    b.wide = spec.wide;
    b.offsets = arrow::SliceBuffer(owner, static_cast<int64_t>(2 * width), static_cast<int64_t>((n + 1) * width));
    b.data = arrow::SliceBuffer(owner, static_cast<int64_t>(start), static_cast<int64_t>(end));
    return b;
  }
  VariableOut out;
  PILUM_RETURN_NOT_OK(out.Init(spec.wide, n, bytes.size() - start, spec.pool));
  PILUM_RETURN_NOT_OK(out.AppendRun(offsets, static_cast<int>(width), 0, n, bytes.data() + start));
  return out.Finish();
}

Result<DataBlock> DecodeFixedBlock(const CodecDesc& d, Bytes bytes, uint64_t n, const DecodeSpec& spec) {
  DataBlock b;
  b.count = n;
  b.bits = NumberBits(d);
  if (n > MaxBlockValues(d, bytes)) return BadBytes("{} values of {} in {} bytes", n, d.ToString(), bytes.size());
  PILUM_RETURN_NOT_OK(CheckOutput(n, b.bits));
  if (b.bits % 8 != 0) {
    if (b.bits != 1) return Unsupported("blocks of {}-bit values", b.bits);
    PILUM_ASSIGN_OR_RETURN(auto data, Allocate((n + 7) / 8, spec.pool));
    std::memcpy(data->mutable_data(), bytes.data(), (n + 7) / 8);  // MaxBlockValues said that they are there
    b.data = std::move(data);
    return b;
  }
  uint64_t room = d.kind == CodecKind::kFlat ? n : RoundUp(n);
  PILUM_ASSIGN_OR_RETURN(auto data, Allocate(room * (b.bits / 8), spec.pool));
  PILUM_RETURN_NOT_OK(DecodeFixed(d, bytes, n, data->mutable_data()));
  PILUM_RETURN_NOT_OK(data->Resize(static_cast<int64_t>(n * (b.bits / 8)), false));
  b.data = std::move(data);
  return b;
}

// Levels of no bits are bounded by nothing but what a mini-block chunk can count.
constexpr uint64_t kMaxChunkLevels = 65535;

}  // namespace

uint64_t MaxBlockValues(const CodecDesc& d, Bytes bytes) {
  uint64_t size = bytes.size();
  switch (d.kind) {
    case CodecKind::kFlat: return d.bits < 8 ? size * 8 / d.bits : size / (d.bits / 8);
    case CodecKind::kVariable: return HasFlatOffsets(d) ? size / (d.children[0].bits / 8) : 0;
    case CodecKind::kInlineBitpacking: return kBlock;
    case CodecKind::kOutOfLineBitpacking:  // a tail of raw values holds fewer
      if (d.children[0].bits == 0) return kMaxChunkLevels;
      return size * 8 / d.children[0].bits;
    case CodecKind::kRle: return IsPlainRle(d) ? size * 255 : kMaxChunkLevels * (size + 1);
    case CodecKind::kConstant:
    case CodecKind::kRange:
    case CodecKind::kDelta:
    case CodecKind::kDictionary: return kMaxChunkLevels + size * 8;
    case CodecKind::kGeneral: {
      auto inner = DecompressedSize(d.scheme, bytes);
      if (d.children[0].kind == CodecKind::kGeneral) return 0;
      return inner.ok() ? MaxBlockValues(d.children[0], Bytes(bytes.data(), *inner))
                        : 0;  // the size alone is looked at
    }
    default: return 0;
  }
}

namespace {

bool AnyValidity(const CodecDesc& d) {
  return d.kind == CodecKind::kFixedSizeList && (d.has_validity || AnyValidity(d.children[0]));
}

// Lists whose items may be null (version 2.3): row by row, for each layer that has them its validity bytes, outermost
// first, then the items.
Result<DataBlock> DecodeListRows(const CodecDesc& d, Bytes bytes, uint64_t n, const DecodeSpec& spec) {
  std::vector<const CodecDesc*> layers;
  const CodecDesc* item = &d;
  uint64_t items = 1, row = 0;  // of a row: items of the layer at hand, bytes
  for (; item->kind == CodecKind::kFixedSizeList; item = &item->children[0]) {
    layers.push_back(item);
    items = CheckedMul(items, item->num_items).value_or(UINT64_MAX);
    if (items > uint64_t{1} << 32) return BadBytes("lists of {} items", items);
    if (item->has_validity) row += (items + 7) / 8;
  }
  if (item->kind != CodecKind::kFlat || item->bits % 8 != 0 || item->bits > 65536)
    return Unsupported("{} as a block", d.ToString());
  const uint64_t width = item->bits / 8, value_bytes = items * width;
  row += value_bytes;
  const auto need = CheckedMul(n, row);
  if (!need || *need > bytes.size()) return BadBytes("{} lists of {} bytes in {}", n, row, bytes.size());
  DataBlock block;
  block.count = n * items;
  block.bits = item->bits;
  PILUM_ASSIGN_OR_RETURN(auto values, Allocate(n * value_bytes, spec.pool));
  for (uint64_t i = 0; i < n; ++i) {
    std::memcpy(values->mutable_data() + i * value_bytes, bytes.data() + (i + 1) * row - value_bytes, value_bytes);
  }
  block.data = std::move(values);
  uint64_t end = row - value_bytes;  // of the layer's validity in a row; innermost first from here
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    DataBlock list;
    list.kind = DataBlock::Kind::kFixedSizeList;
    list.dimension = (*layer)->num_items;
    list.count = n * (items / list.dimension);
    if ((*layer)->has_validity) {
      PILUM_ASSIGN_OR_RETURN(auto bits, Allocate((n * items + 7) / 8, spec.pool));
      end -= (items + 7) / 8;
      for (uint64_t i = 0; i < n; ++i) {
        arrow::internal::CopyBitmap(bytes.data() + i * row + end, 0, static_cast<int64_t>(items), bits->mutable_data(),
                                    static_cast<int64_t>(i * items));
      }
      list.validity = std::move(bits);
    }
    items /= list.dimension;
    list.children.push_back(std::move(block));
    block = std::move(list);
  }
  return block;
}

}  // namespace

Result<DataBlock> DecodeBlock(const CodecDesc& d, Bytes bytes, uint64_t n, const DecodeSpec& spec) {
  switch (d.kind) {
    case CodecKind::kVariable:
      if (!HasFlatOffsets(d)) return Unsupported("{} as a block", d.ToString());
      return DecodeVariableBlock(d, bytes, n, spec, nullptr);
    case CodecKind::kGeneral: {
      PILUM_ASSIGN_OR_RETURN(auto plain, Decompress(d.scheme, bytes, std::nullopt, spec.pool));
      const CodecDesc& inner = d.children[0];
      const Bytes inside(plain->data(), plain->size());
      if (inner.kind == CodecKind::kVariable && HasFlatOffsets(inner))
        return DecodeVariableBlock(inner, inside, n, spec, plain);
      return DecodeBlock(inner, inside, n, spec);
    }
    case CodecKind::kFixedSizeList: {
      if (AnyValidity(d)) return DecodeListRows(d, bytes, n, spec);
      auto items = CheckedMul(n, d.num_items);
      if (!items) return BadBytes("{} lists of {} items in a block", n, d.num_items);
      DataBlock list;
      list.kind = DataBlock::Kind::kFixedSizeList;
      list.count = n;
      list.dimension = d.num_items;
      PILUM_ASSIGN_OR_RETURN(DataBlock child, DecodeBlock(d.children[0], bytes, *items, spec));
      list.children.push_back(std::move(child));
      return list;
    }
    default: return DecodeFixedBlock(d, bytes, n, spec);
  }
}

Status DecodeLevels(const CodecDesc& d, Bytes bytes, uint64_t n, std::span<const RowRange> ranges, uint16_t* out) {
  const uint64_t count = CountOf(ranges);
  if (d.kind == CodecKind::kGeneral) {
    PILUM_ASSIGN_OR_RETURN(auto plain, Decompress(d.scheme, bytes, std::nullopt, arrow::default_memory_pool()));
    return DecodeLevels(d.children[0], Bytes(plain->data(), plain->size()), n, ranges, out);
  }
  if (NumberBits(d) != 16) return BadBytes("levels of {}", d.ToString());
  if (count == n) return DecodeFixed(d, bytes, n, reinterpret_cast<uint8_t*>(out));
  if (d.kind == CodecKind::kFlat) {
    if (n * 2 > bytes.size()) return BadBytes("{} levels in {} bytes", n, bytes.size());
    for (const RowRange& r : ranges) {
      std::memcpy(out, bytes.data() + r.begin * 2, r.size() * 2);
      out += r.size();
    }
    return Status::OK();
  }
  if (d.kind == CodecKind::kInlineBitpacking && count <= 16) {
    PILUM_ASSIGN_OR_RETURN(InlinePacked p, ParseInlinePacked(16, bytes, n));
    for (const RowRange& r : ranges) {
      for (uint64_t i = r.begin; i < r.end; ++i) *out++ = static_cast<uint16_t>(UnpackOne(16, p.width, p.words, i));
    }
    return Status::OK();
  }
  if (n > MaxBlockValues(d, bytes)) return BadBytes("{} levels in {} bytes", n, bytes.size());
  std::vector<uint16_t> all(RoundUp(n) + kSlack);
  PILUM_RETURN_NOT_OK(DecodeFixed(d, bytes, n, reinterpret_cast<uint8_t*>(all.data())));
  for (const RowRange& r : ranges) {
    std::memcpy(out, all.data() + r.begin, r.size() * 2);
    out += r.size();
  }
  return Status::OK();
}

}  // namespace pilum::codec
