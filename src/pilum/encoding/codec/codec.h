// The decoders of compressive encodings, for the page decoders of this folder only. Bytes are never trusted: whatever
// does not fit gives kCorrupt. Inputs are readable for 64 bytes past their end (ByteSource::kReadSlack), and every
// buffer made here has the same slack. Format: docs/formats/lance_file.md, compressive encodings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/base/types.h"
#include "pilum/encoding/descriptor.h"
#include "pilum/encoding/stop_check.h"

namespace pilum::codec {

using Bytes = std::span<const uint8_t>;

template <typename... A>
Status BadBytes(fmt::format_string<A...> f, A&&... a) {
  return MakeError(ErrorKind::kCorrupt, fmt::format(f, std::forward<A>(a)...));
}

// For simple loops over arrays: -O2 leaves those of unknown length unvectorised.
#define PILUM_VECTORIZE __attribute__((optimize("O3")))

constexpr uint64_t kSlack = 64;
// A read of one page may not give more than this (dictionaries and constants can claim far more than a file holds).
constexpr uint64_t kMaxOutputBytes = uint64_t{4} << 30;

// kMemory where `count` values of `bits` bits would pass kMaxOutputBytes.
Status CheckOutput(uint64_t count, uint64_t bits);
// `size` bytes plus slack, not initialised.
Result<std::shared_ptr<arrow::ResizableBuffer>> Allocate(uint64_t size, arrow::MemoryPool* pool);

// Values as bytes, before they get an Arrow type.
struct DataBlock {
  enum class Kind { kFixed, kVariable, kFixedSizeList, kStruct };
  Kind kind = Kind::kFixed;
  uint64_t count = 0;
  uint64_t bits = 0;                // fixed: 1 (LSB-first bitmap) or whole bytes
  BufferPtr data;                   // fixed, variable
  bool wide = false;                // variable: 64-bit offsets, else 32-bit
  bool ascii = false;               // variable: known to hold no byte above 0x7f
  BufferPtr offsets;                // variable: count + 1, from 0
  uint64_t dimension = 0;           // fixed-size list: children[0] holds count * dimension items
  BufferPtr validity;               // fixed-size list: bitmap of the items; null: all valid
  std::vector<DataBlock> children;  // fixed-size list: 1; struct: one a field
};

struct DecodeSpec {
  uint64_t max_count = 0;    // values that will be appended, at most
  uint64_t input_bytes = 0;  // encoded bytes they come from (bounds the allocation)
  bool wide = false;         // variable: the offsets wanted
  arrow::MemoryPool* pool = nullptr;
  const arrow::DataType* leaf_type = nullptr;  // full-zip: to fill in items that are all null and not stored
};

// Decodes the value buffers of mini-block chunks, one chunk after another, into one block. Not thread-safe.
class ValueDecoder {
 public:
  virtual ~ValueDecoder() = default;
  virtual int num_buffers() const = 0;
  // Appends the values of `ranges` (ascending, within [0, n)) of a chunk of n values.
  virtual Status Append(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) = 0;
  virtual Result<DataBlock> Finish() = 0;
  // Values materialised so far: those appended, or whole chunks where a codec knows no smaller unit.
  virtual uint64_t decoded() const = 0;
};
Result<std::unique_ptr<ValueDecoder>> MakeValueDecoder(const CodecDesc& desc, const DecodeSpec& spec);
// ValueDecoder::num_buffers, without making one.
Result<uint64_t> CountBuffers(const CodecDesc& desc);

// One a codec; MakeValueDecoder chooses.
Result<std::unique_ptr<ValueDecoder>> MakeFlatDecoder(const CodecDesc& desc, const DecodeSpec& spec);
Result<std::unique_ptr<ValueDecoder>> MakeVariableDecoder(const CodecDesc& desc, const DecodeSpec& spec);
Result<std::unique_ptr<ValueDecoder>> MakeBitpackDecoder(const CodecDesc& desc, const DecodeSpec& spec);
Result<std::unique_ptr<ValueDecoder>> MakeRleDecoder(const CodecDesc& desc, const DecodeSpec& spec);
Result<std::unique_ptr<ValueDecoder>> MakeByteStreamSplitDecoder(const CodecDesc& desc, const DecodeSpec& spec);
Result<std::unique_ptr<ValueDecoder>> MakeGeneralDecoder(const CodecDesc& desc, const DecodeSpec& spec);
Result<std::unique_ptr<ValueDecoder>> MakeFixedSizeListDecoder(const CodecDesc& desc, const DecodeSpec& spec);
Result<std::unique_ptr<ValueDecoder>> MakePackedStructDecoder(const CodecDesc& desc, const DecodeSpec& spec);

// Row-major fixed rows cut into one block a field.
Result<DataBlock> SplitPackedRows(const DataBlock& rows, const std::vector<uint64_t>& field_bits,
                                  arrow::MemoryPool* pool);

// --- Block form (levels, dictionaries): one buffer, count known from outside. ---
Result<DataBlock> DecodeBlock(const CodecDesc& desc, Bytes bytes, uint64_t n, const DecodeSpec& spec);
// n 16-bit levels; `ranges` of them go to `out`, which has room for all of them, rounded up to 1,024, plus slack.
Status DecodeLevels(const CodecDesc& desc, Bytes bytes, uint64_t n, std::span<const RowRange> ranges, uint16_t* out);
// n levels of at most 1 (kCorrupt otherwise) as bits, lowest first, to `out`, which has room for n rounded up to 1,024;
// bits past the last level are anything.
Status DecodeLevelBits(const CodecDesc& desc, Bytes bytes, uint64_t n, uint64_t* out);
// The most values `size` bytes of this encoding can hold: to be asked before anything of that count is allocated.
uint64_t MaxBlockValues(const CodecDesc& desc, Bytes bytes);

// --- Pieces ---
// General compression. `expected`: the size where it is known from outside.
Result<std::shared_ptr<arrow::Buffer>> Decompress(Compression scheme, Bytes in, std::optional<uint64_t> expected,
                                                  arrow::MemoryPool* pool, StopCheck* stop = nullptr);
Result<uint64_t> DecompressedSize(Compression scheme, Bytes in);
// Into out[0, size), size from DecompressedSize; out has slack. `stop`, unless it is null, is asked now and then (of
// zstd; LZ4 is soon done).
Status DecompressInto(Compression scheme, Bytes in, uint8_t* out, uint64_t size, StopCheck* stop = nullptr);

// FastLanes: 1,024 values of `type_bits` (8, 16, 32, 64) at `width` bits, in order, to `out`. `in` holds 128 * width
// bytes.
void Unpack1024(uint64_t type_bits, uint64_t width, const uint8_t* in, uint8_t* out);
uint64_t UnpackOne(uint64_t type_bits, uint64_t width, const uint8_t* in, uint64_t i);
void Unpack1024Scalar(uint64_t type_bits, uint64_t width, const uint8_t* in, uint8_t* out);  // the reference
Status DecodeOutOfLine(uint64_t type_bits, uint64_t width, Bytes bytes, uint64_t n,
                       uint8_t* out);  // out: n rounded up to 1,024
struct InlinePacked {
  uint64_t width;
  const uint8_t* words;
};
Result<InlinePacked> ParseInlinePacked(uint64_t type_bits, Bytes bytes, uint64_t n);

// Runs: n values in total to out, which has slack.
Status ExpandRuns(uint64_t bits, Bytes values, Bytes lengths, uint64_t n, uint8_t* out);

// Offsets and bytes of variable-width values, growing. 32-bit offsets refuse to pass 2 GiB.
class VariableOut {
 public:
  // `reserve_bytes`: what the values will need, or kUnknown: it is judged from those that came so far, the better if
  // `ExpectInput` says how many bytes all of them are made from, and `TookInput` how many of these were used.
  static constexpr uint64_t kUnknown = UINT64_MAX;
  Status Init(bool wide, uint64_t max_count, uint64_t reserve_bytes, arrow::MemoryPool* pool);
  // Room for `bytes` more (and slack) at the returned place.
  Result<uint8_t*> Reserve(uint64_t bytes) {
    if (used_ + bytes + kSlack > capacity_) PILUM_RETURN_NOT_OK(Grow(bytes));
    return data_->mutable_data() + used_;
  }
  // `bytes` of what Reserve gave are now the next value. `ascii`: all of them are known to be.
  void Push(uint64_t bytes, bool ascii = false) {
    ascii_ &= ascii;
    used_ += bytes;
    ++count_;
    if (wide_)
      offsets64_[count_] = static_cast<int64_t>(used_);
    else
      offsets32_[count_] = static_cast<int32_t>(used_);
  }
  Status Append(Bytes value);
  // Values from, .., to - 1 of an offsets array (width 4 or 8 bytes) over `base`, which were checked.
  Status AppendRun(const uint8_t* offsets, int width, uint64_t from, uint64_t to, const uint8_t* base);
  // For those who write many at once: the end of each of the next values goes to ends()[0 ..] (at most room() of them),
  // its bytes to what Reserve gave; Advance counts them. Bytes may come before the value that they belong to ends.
  template <typename Offset>
  Offset* ends() {
    if constexpr (sizeof(Offset) == 8)
      return offsets64_ + count_ + 1;
    else
      return offsets32_ + count_ + 1;
  }
  void Advance(uint64_t values, uint64_t bytes) {
    count_ += values;
    used_ += bytes;
  }
  void ExpectInput(uint64_t bytes) { input_ = bytes; }
  void TookInput(uint64_t bytes) { input_taken_ += bytes; }
  Result<DataBlock> Finish();
  uint64_t count() const { return count_; }
  uint64_t room() const { return max_count_ - count_; }
  uint64_t used() const { return used_; }
  bool wide() const { return wide_; }
  void MarkNotAscii() { ascii_ = false; }

 private:
  Status Grow(uint64_t bytes);
  double JudgeBytes() const;
  bool wide_ = false, ascii_ = true;
  uint64_t max_count_ = 0, count_ = 0, used_ = 0, capacity_ = 0;
  uint64_t input_ = 0, input_taken_ = 0;  // 0: not told
  std::shared_ptr<arrow::ResizableBuffer> offsets_, data_;
  int32_t* offsets32_ = nullptr;
  int64_t* offsets64_ = nullptr;
};

// Checks offsets[from .. to] (ascending, at most `limit`).
Status CheckOffsets(const uint8_t* offsets, int width, uint64_t from, uint64_t to, uint64_t limit);

// A fixed-width block of a known most count, filled front to back. bits: 1 or whole bytes.
class FixedOut {
 public:
  Status Init(uint64_t bits, const DecodeSpec& spec);
  // Room for `count` more values of whole bytes; they count as written.
  Result<uint8_t*> Take(uint64_t count);
  Status AppendBits(const uint8_t* bitmap, uint64_t from, uint64_t count);
  bool HasRoom(uint64_t count) const { return count <= max_count_ - count_; }
  uint64_t count() const { return count_; }
  Result<DataBlock> Finish();

 private:
  uint64_t bits_ = 0, max_count_ = 0, count_ = 0;
  std::shared_ptr<arrow::ResizableBuffer> data_;
};

inline uint64_t CountOf(std::span<const RowRange> ranges) {
  uint64_t n = 0;
  for (const auto& r : ranges) n += r.size();
  return n;
}

}  // namespace pilum::codec
