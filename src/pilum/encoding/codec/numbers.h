// Sequences of unsigned numbers of version 2.3: positions, counts, offsets, run lengths. Some are stored without a byte
// and stay so. For the decoders of this folder and the sparse pages. Bytes are never trusted.
#pragma once

#include <cstdint>
#include <vector>

#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {

class Numbers {
 public:
  uint64_t size() const { return size_; }
  uint64_t operator[](uint64_t i) const { return stored_.empty() ? start_ + i * step_ : stored_[i]; }
  // The first index whose number is at least `value`; they ascend.
  uint64_t LowerBound(uint64_t value) const;
  // kCorrupt unless they ascend, no two alike, and all are below `limit`.
  Status CheckPositions(uint64_t limit) const;
  uint64_t stored_bytes() const { return stored_.size() * 8; }

 private:
  friend Result<Numbers> DecodeNumbers(const CodecDesc& desc, Bytes payload, uint64_t n);
  uint64_t size_ = 0, start_ = 0, step_ = 0;
  std::vector<uint64_t> stored_;  // empty: start + i * step
};

// Has it bytes? If not it takes no buffer either.
bool HasPayload(const CodecDesc& desc);
// Bits of one number, decoded.
uint64_t NumberBits(const CodecDesc& desc);
// `payload`: empty where it has none.
Result<Numbers> DecodeNumbers(const CodecDesc& desc, Bytes payload, uint64_t n);
// Runs whose values and lengths may be any sequences; n values of NumberBits(rle) bits to `out`, which has slack.
Status ExpandAnyRuns(const CodecDesc& rle, Bytes values, Bytes lengths, uint64_t n, uint8_t* out);
// Values and lengths as one byte each and flat: what all versions have, and the kernels are made for.
bool IsPlainRle(const CodecDesc& rle);

}  // namespace pilum::codec
