// Output buffers of the decoders.
#include <cstring>

#include <arrow/memory_pool.h>
#include <arrow/util/bitmap_ops.h>

#include "pilum/base/bytes.h"
#include "pilum/base/pool_buffer.h"
#include "pilum/base/utf8.h"
#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {

Status CheckOutput(uint64_t count, uint64_t bits) {
  auto total = CheckedMul(count, bits);
  if (total && *total / 8 <= kMaxOutputBytes) return Status::OK();
  return MakeError(ErrorKind::kMemory, fmt::format("{} values of {} bits pass the limit of {} bytes of one page read; "
                                                   "read fewer rows at a time",
                                                   count, bits, kMaxOutputBytes));
}

Result<std::shared_ptr<arrow::ResizableBuffer>> Allocate(uint64_t size, arrow::MemoryPool* pool) {
  if (size > (uint64_t{1} << 62)) return BadBytes("{} bytes cannot be allocated", size);
  return MakePoolBuffer(size, kSlack, pool);
}

Status FixedOut::Init(uint64_t bits, const DecodeSpec& spec) {
  if (bits != 1 && bits % 8 != 0) return Unsupported("values of {} bits", bits);
  bits_ = bits;
  max_count_ = spec.max_count;
  PILUM_RETURN_NOT_OK(CheckOutput(max_count_, bits));
  uint64_t bytes = bits == 1 ? (max_count_ + 7) / 8 : max_count_ * (bits / 8);
  PILUM_ASSIGN_OR_RETURN(data_, Allocate(bytes, spec.pool));
  if (bits == 1 && bytes > 0) data_->mutable_data()[bytes - 1] = 0;
  return Status::OK();
}

Result<uint8_t*> FixedOut::Take(uint64_t count) {
  if (!HasRoom(count)) return BadBytes("more values than the page holds");
  uint8_t* at = data_->mutable_data() + count_ * (bits_ / 8);
  count_ += count;
  return at;
}

Status FixedOut::AppendBits(const uint8_t* bitmap, uint64_t from, uint64_t count) {
  if (!HasRoom(count)) return BadBytes("more values than the page holds");
  if (count > 0) {
    arrow::internal::CopyBitmap(bitmap, static_cast<int64_t>(from), static_cast<int64_t>(count), data_->mutable_data(),
                                static_cast<int64_t>(count_));
  }
  count_ += count;
  return Status::OK();
}

Result<DataBlock> FixedOut::Finish() {
  uint64_t bytes = bits_ == 1 ? (count_ + 7) / 8 : count_ * (bits_ / 8);
  PILUM_RETURN_NOT_OK(data_->Resize(static_cast<int64_t>(bytes), /*shrink_to_fit=*/false));
  DataBlock b;
  b.count = count_;
  b.bits = bits_;
  b.data = std::move(data_);
  return b;
}

Status VariableOut::Init(bool wide, uint64_t max_count, uint64_t reserve_bytes, arrow::MemoryPool* pool) {
  wide_ = wide;
  max_count_ = max_count;
  PILUM_RETURN_NOT_OK(CheckOutput(max_count + 1, wide ? 64 : 32));
  PILUM_ASSIGN_OR_RETURN(offsets_, Allocate((max_count + 1) * (wide ? 8 : 4), pool));
  offsets32_ = reinterpret_cast<int32_t*>(offsets_->mutable_data());
  offsets64_ = reinterpret_cast<int64_t*>(offsets_->mutable_data());
  if (wide)
    offsets64_[0] = 0;
  else
    offsets32_[0] = 0;
  if (reserve_bytes == kUnknown) reserve_bytes = 64 * 1024;  // enough to judge the rest by
  PILUM_ASSIGN_OR_RETURN(data_, Allocate(reserve_bytes, pool));
  capacity_ = reserve_bytes + kSlack;
  return Status::OK();
}

// What all values will take: as many bytes a value as so far, and an eighth; or as many a byte of input, which varies less.
double VariableOut::JudgeBytes() const {
  const double used = static_cast<double>(used_);
  const double times = 1 + static_cast<double>(max_count_ - count_) / static_cast<double>(count_ + 1);
  if (input_taken_ == 0 || input_ < input_taken_) return used * std::min(times, 64.0) * 1.125;
  const double by_input = used * static_cast<double>(input_) / static_cast<double>(input_taken_) * 1.05;
  return std::min(by_input, used * times * 1.3);
}

Status VariableOut::Grow(uint64_t bytes) {
  auto need = CheckedAdd(used_ + kSlack, bytes);
  if (!need || *need > kMaxOutputBytes + (uint64_t{1} << 20)) return CheckOutput(UINT64_MAX, 8);
  const double judged = JudgeBytes() + static_cast<double>(bytes);  // `bytes` are the most that may come, not what does
  uint64_t to = std::max(*need, std::min(static_cast<uint64_t>(judged), kMaxOutputBytes));
  if (to < capacity_ + capacity_ / 4) to = capacity_ + capacity_ / 4;
  PILUM_RETURN_NOT_OK(data_->Resize(static_cast<int64_t>(to), /*shrink_to_fit=*/false));
  capacity_ = to;
  return Status::OK();
}

Status VariableOut::Append(Bytes value) {
  if (count_ >= max_count_) return BadBytes("more values than the page holds");
  PILUM_ASSIGN_OR_RETURN(uint8_t * at, Reserve(value.size()));
  if (!value.empty()) std::memcpy(at, value.data(), value.size());
  ascii_ = ascii_ && IsAscii(at, value.size());
  Push(value.size());
  return Status::OK();
}

namespace {

template <typename In, typename Out>
PILUM_VECTORIZE void Rebase(const uint8_t* in, uint64_t n, uint64_t first, uint64_t base, Out* out) {
  for (uint64_t i = 0; i < n; ++i) {
    out[i] = static_cast<Out>(static_cast<uint64_t>(LoadLE<In>(in + i * sizeof(In))) - first + base);
  }
}

uint64_t OffsetAt(const uint8_t* offsets, int width, uint64_t i) {
  return width == 4 ? LoadLE<uint32_t>(offsets + i * 4) : LoadLE<uint64_t>(offsets + i * 8);
}

}  // namespace

Status VariableOut::AppendRun(const uint8_t* offsets, int width, uint64_t from, uint64_t to, const uint8_t* base) {
  uint64_t n = to - from;
  if (n > max_count_ - count_) return BadBytes("more values than the page holds");
  uint64_t first = OffsetAt(offsets, width, from), last = OffsetAt(offsets, width, to);
  PILUM_ASSIGN_OR_RETURN(uint8_t * at, Reserve(last - first));
  if (last > first) std::memcpy(at, base + first, last - first);
  ascii_ = ascii_ && IsAscii(at, last - first);
  const uint8_t* in = offsets + (from + 1) * width;
  if (width == 4 && !wide_)
    Rebase<uint32_t>(in, n, first, used_, offsets32_ + count_ + 1);
  else if (width == 4)
    Rebase<uint32_t>(in, n, first, used_, offsets64_ + count_ + 1);
  else if (!wide_)
    Rebase<uint64_t>(in, n, first, used_, offsets32_ + count_ + 1);
  else
    Rebase<uint64_t>(in, n, first, used_, offsets64_ + count_ + 1);
  count_ += n;
  used_ += last - first;
  return Status::OK();
}

Result<DataBlock> VariableOut::Finish() {
  if (!wide_ && used_ > INT32_MAX) {
    return MakeError(ErrorKind::kMemory, fmt::format("{} values hold {} bytes, more than 32-bit offsets reach; "
                                                     "read fewer rows at a time",
                                                     count_, used_));
  }
  PILUM_RETURN_NOT_OK(offsets_->Resize(static_cast<int64_t>((count_ + 1) * (wide_ ? 8 : 4)), false));
  PILUM_RETURN_NOT_OK(data_->Resize(static_cast<int64_t>(used_), false));
  DataBlock b;
  b.kind = DataBlock::Kind::kVariable;
  b.count = count_;
  b.wide = wide_;
  b.ascii = ascii_;
  b.offsets = std::move(offsets_);
  b.data = std::move(data_);
  return b;
}

namespace {

template <typename In>
PILUM_VECTORIZE bool Ascending(const uint8_t* offsets, uint64_t from, uint64_t to) {
  In bad = 0;  // as wide as what it is made from: several at a time
  for (uint64_t i = from; i < to; ++i) {
    const In begin = LoadLE<In>(offsets + i * sizeof(In)), end = LoadLE<In>(offsets + (i + 1) * sizeof(In));
    bad |= static_cast<In>(begin > end);
  }
  return bad == 0;
}

}  // namespace

Status CheckOffsets(const uint8_t* offsets, int width, uint64_t from, uint64_t to, uint64_t limit) {
  bool ok = width == 4 ? Ascending<uint32_t>(offsets, from, to) : Ascending<uint64_t>(offsets, from, to);
  if (!ok) return BadBytes("offsets go backwards");
  if (OffsetAt(offsets, width, to) > limit) {
    return BadBytes("offset {} lies past the {} bytes of its buffer", OffsetAt(offsets, width, to), limit);
  }
  return Status::OK();
}

}  // namespace pilum::codec
