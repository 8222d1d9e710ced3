// What all nodes share: groups of reads, extents, and the way from values to Arrow.
#include "pilum/encoding/v2_0/array.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/leaf_array.h"

namespace pilum::v2_0 {

using codec::BadBytes;

const ArrayDesc& WithoutNullable(const ArrayDesc& desc) {
  const ArrayDesc* d = &desc;
  while (d->kind == ArrayKind::kNullable && d->nulls == Nulls::kNone) d = &d->children[0];
  return *d;
}

Result<ByteRange> BufferOf(const ArrayDesc& desc, const NodeContext& context) {
  if (desc.buffer >= context.buffers->size()) {
    return BadBytes("its encoding names buffer {} of {}", desc.buffer, context.buffers->size());
  }
  return (*context.buffers)[desc.buffer];
}

Result<BufferPtr> Compressed::Decompress(const std::vector<BufferPtr>& fetched, uint64_t least, uint64_t most,
                                         const Work& work) const {
  if (fetched.size() != 1) return BadBytes("the compressed bytes were not fetched");
  const codec::Bytes in(fetched[0]->data(), static_cast<size_t>(fetched[0]->size()));
  PILUM_ASSIGN_OR_RETURN(uint64_t size, codec::DecompressedSize(scheme, in));
  if (size < least || size > most)
    return BadBytes("compressed bytes hold {}, where {} to {} are needed", size, least, most);
  const bool keep = cache && cache->Takes(size);  // what is kept outlives the read and its pool
  PILUM_ASSIGN_OR_RETURN(
      BufferPtr plain, codec::Decompress(scheme, in, size, keep ? arrow::default_memory_pool() : work.pool, work.stop));
  if (keep) cache->Add(stored, plain);
  return plain;
}

Result<std::vector<ByteRange>> ReadGroup::Next(std::vector<BufferPtr> fetched, size_t* failed) {
  std::vector<ByteRange> ranges;
  size_t at = 0;
  for (size_t i = 0; i < reads_.size(); ++i) {
    Entry& e = reads_[i];
    if (started_ && e.num_ranges == 0) continue;
    if (e.num_ranges > fetched.size() - at) return BadBytes("fewer ranges were fetched than asked for");
    auto from = fetched.begin() + static_cast<std::ptrdiff_t>(at);
    at += e.num_ranges;
    std::vector<BufferPtr> mine(std::make_move_iterator(from),
                                std::make_move_iterator(from + static_cast<std::ptrdiff_t>(e.num_ranges)));
    if (failed) *failed = i;
    PILUM_ASSIGN_OR_RETURN(auto more, e.read->Next(std::move(mine)));
    e.num_ranges = more.size();
    ranges.insert(ranges.end(), more.begin(), more.end());
  }
  started_ = true;
  return ranges;
}

RowSet WithPredecessors(const RowSet& rows) {
  RowSet out;
  for (const RowRange& r : rows.ranges()) out.Append(r.begin == 0 ? 0 : r.begin - 1, r.end);
  return out;
}

Status Extents::Append(const std::vector<uint64_t>& ends, const RowSet& rows, uint64_t adjustment, uint64_t limit,
                       uint64_t base) {
  const RowSet stored = WithPredecessors(rows);
  if (ends.size() != stored.size()) return BadBytes("{} offsets where {} are needed", ends.size(), stored.size());
  auto is_null = [&](uint64_t i) { return adjustment > 0 && ends[i] >= adjustment; };
  auto end_of = [&](uint64_t i) { return is_null(i) ? ends[i] - adjustment : ends[i]; };
  size_t in = 0;         // range of `stored`
  uint64_t rank = 0;     // of its first member
  uint64_t reached = 0;  // nothing may begin before
  for (const RowRange& r : rows.ranges()) {
    const uint64_t first = r.begin == 0 ? 0 : r.begin - 1;
    while (stored.ranges()[in].end <= first) rank += stored.ranges()[in++].size();
    uint64_t i = rank + first - stored.ranges()[in].begin;
    uint64_t begin = r.begin == 0 ? 0 : end_of(i++), at = begin;
    if (begin < reached) return BadBytes("an offset of {} behind one of {}", begin, reached);
    for (uint64_t row = r.begin; row < r.end; ++row, ++i) {
      const uint64_t end = end_of(i);
      if (end < at || end > limit) {
        return BadBytes("row {} ends at {}, which is {} {}", row, end, end < at ? "before its begin at" : "past",
                        end < at ? at : limit);
      }
      lengths.push_back(end - at);
      valid.push_back(!is_null(i));
      null_count += is_null(i);
      at = end;
    }
    if (at > begin) {
      if (at - begin > UINT64_MAX - total) return BadBytes("offsets beyond all bounds");
      total += at - begin;
      ranges.push_back({base + begin, base + at});
    }
    reached = at;
  }
  return Status::OK();
}

Result<BufferPtr> Extents::Offsets(bool wide, arrow::MemoryPool* pool) const {
  if (!wide && total > INT32_MAX) {
    return MakeError(ErrorKind::kMemory, fmt::format("{} rows hold {} bytes or items, more than 32-bit offsets reach; "
                                                     "read fewer rows at a time",
                                                     lengths.size(), total));
  }
  PILUM_ASSIGN_OR_RETURN(auto buffer, codec::Allocate((lengths.size() + 1) * (wide ? 8 : 4), pool));
  uint8_t* out = buffer->mutable_data();
  uint64_t at = 0;
  for (size_t i = 0;; ++i) {
    wide ? StoreLE<uint64_t>(out + i * 8, at) : StoreLE<uint32_t>(out + i * 4, static_cast<uint32_t>(at));
    if (i == lengths.size()) break;
    at += lengths[i];
  }
  return BufferPtr(std::move(buffer));
}

Result<Validity> Extents::MakeValidity(arrow::MemoryPool* pool) const {
  Validity v{lengths.size(), nullptr, static_cast<int64_t>(null_count)};
  if (null_count == 0) return v;
  PILUM_ASSIGN_OR_RETURN(auto bits, codec::Allocate((valid.size() + 7) / 8, pool));
  std::memset(bits->mutable_data(), 0, static_cast<size_t>(bits->size()));
  for (size_t i = 0; i < valid.size(); ++i) {
    if (valid[i]) arrow::bit_util::SetBit(bits->mutable_data(), static_cast<int64_t>(i));
  }
  v.bitmap = std::move(bits);
  return v;
}

Result<std::vector<uint64_t>> ToUint64(const codec::DataBlock& block) {
  std::vector<uint64_t> out(block.count);
  const uint8_t* in = block.data->data();
  switch (block.bits) {
    case 8: std::copy_n(in, block.count, out.begin()); break;
    case 16:
      for (uint64_t i = 0; i < block.count; ++i) out[i] = LoadLE<uint16_t>(in + i * 2);
      break;
    case 32:
      for (uint64_t i = 0; i < block.count; ++i) out[i] = LoadLE<uint32_t>(in + i * 4);
      break;
    case 64:
      if (block.count > 0) std::memcpy(out.data(), in, block.count * 8);
      break;
    default: return BadBytes("{}-bit integers", block.bits);
  }
  return out;
}

Result<std::shared_ptr<arrow::ArrayData>> ToArrayData(Values values, const std::shared_ptr<arrow::DataType>& type,
                                                      arrow::MemoryPool* pool) {
  if (values.all_null) return MakeNulls(type, values.block.count, pool);
  const bool is_dictionary = StorageType(*type).id() == arrow::Type::DICTIONARY;
  if (is_dictionary != (values.dictionary != nullptr)) return BadBytes("these values as {}", type->ToString());
  if (is_dictionary) return MakeDictionary(type, std::move(values.block), values.dictionary, values.validity);
  return MakeLeaf(type, std::move(values.block), values.validity, pool);
}

}  // namespace pilum::v2_0
