// Single values and levels out of encoded buffers. For the takers of this folder.
#pragma once

#include <optional>
#include <vector>

#include "pilum/encoding/codec/fsst.h"
#include "pilum/encoding/take/page_taker.h"

namespace pilum::take {

// Level i of n levels in a block. Repetition and definition levels alike.
Result<uint16_t> LevelAt(const CodecDesc& desc, codec::Bytes bytes, uint64_t n, uint64_t i);
void PrefetchLevel(const CodecDesc& desc, codec::Bytes bytes, uint64_t i);
bool LevelsAreAddressable(const CodecDesc& desc);

// Levels of one bit each: bit i of `bits` becomes level i. False: they are packed otherwise, or hold other numbers.
Result<bool> LevelBits(const CodecDesc& desc, codec::Bytes bytes, uint64_t n, std::vector<uint64_t>* bits);
// Of a bitmap: ones among the first n bits; and the place of the k-th one, or `n`.
uint64_t CountOnes(const std::vector<uint64_t>& bits, uint64_t n);
uint64_t PlaceOfOne(const std::vector<uint64_t>& bits, uint64_t n, uint64_t k);

// Appends one FSST value. (`in` may change meanwhile: whatever it says, no more than 8 bytes a code are written.)
Status AddEncoded(const codec::FsstTable& table, codec::Bytes in, codec::VariableOut* out);

// Reads the values of cells of mini-block chunks of one page.
class ValueReader {
 public:
  // nullopt: values of this encoding are not addressable.
  static Result<std::optional<ValueReader>> Make(const CodecDesc& desc);

  bool variable() const { return kind_ == Kind::kVariable; }
  bool encoded() const { return table_ && table_->active(); }
  uint64_t width() const { return width_; }  // bytes of a fixed value; a bit counts as one
  void PrefetchCell(const Cell& cell) const;
  // To out, width() bytes a value. Prefetches for itself.
  Status ReadFixed(std::span<const Cell> cells, uint8_t* out) const;
  Status ReadVariable(std::span<const Cell> cells, Cells* scratch, codec::VariableOut* out) const;

 private:
  enum class Kind { kFlat, kBit, kBitpack, kByteStreamSplit, kRle, kVariable };
  Status ReadBitpacked(std::span<const Cell> cells, uint8_t* out) const;
  Status ReadRun(const Cell& cell, uint8_t* out) const;
  Kind kind_ = Kind::kFlat;
  uint64_t width_ = 0;                             // variable: of an offset
  std::shared_ptr<const codec::FsstTable> table_;  // null: values are as they are
};

}  // namespace pilum::take
