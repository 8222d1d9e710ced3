// rle: run values and one-byte run lengths.
#include <algorithm>
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/codec/numbers.h"

namespace pilum::codec {
namespace {

// A run is at most 255 values: whole 64-byte stores, which may pass the end of the run (later runs and the slack take
// it).
template <typename T>
void Fill(const uint8_t* value, uint64_t n, uint8_t* out) {
  T v = LoadLE<T>(value);
  constexpr uint64_t kStep = 64 / sizeof(T);
  T wide[kStep];
  for (auto& w : wide) w = v;
  for (uint64_t i = 0; i < n; i += kStep) std::memcpy(out + i * sizeof(T), wide, 64);
}

// Runs may go on past the n values of their chunk: pylance 7 leaves there what it counted for the next one, and readers stop
// at n.
template <typename T>
Status Expand(Bytes values, Bytes lengths, uint64_t n, uint8_t* out) {
  uint64_t at = 0;
  for (uint64_t i = 0; i < lengths.size() && at < n; ++i) {
    const uint64_t run = std::min<uint64_t>(lengths[i], n - at);
    Fill<T>(values.data() + i * sizeof(T), run, out + at * sizeof(T));
    at += run;
  }
  if (at != n) return BadBytes("runs hold {} values, not {}", at, n);
  return Status::OK();
}

class RleDecoder : public ValueDecoder {
 public:
  Status Init(const CodecDesc& desc, const DecodeSpec& spec) {
    desc_ = desc;
    bits_ = NumberBits(desc);
    if (bits_ != 8 && bits_ != 16 && bits_ != 32 && bits_ != 64) return BadBytes("runs of {}-bit values", bits_);
    pool_ = spec.pool;
    return out_.Init(bits_, spec);
  }
  int num_buffers() const override { return HasPayload(desc_.children[0]) + HasPayload(desc_.children[1]); }

  Status Append(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) override {
    const uint64_t width = bits_ / 8;
    decoded_ += n;
    const bool values = HasPayload(desc_.children[0]), lengths = HasPayload(desc_.children[1]);
    const Bytes in = values ? buffers[0] : Bytes(), of = lengths ? buffers[values] : Bytes();
    if (ranges.size() == 1 && ranges[0].size() == n) {
      // Stores past the last run stay in the block's own room or slack: nothing behind is written yet.
      PILUM_ASSIGN_OR_RETURN(uint8_t * at, out_.Take(n));
      return ExpandAnyRuns(desc_, in, of, n, at);
    }
    if (scratch_.size() < n * width + kSlack) scratch_.resize(n * width + kSlack);
    PILUM_RETURN_NOT_OK(ExpandAnyRuns(desc_, in, of, n, scratch_.data()));
    for (const RowRange& r : ranges) {
      PILUM_ASSIGN_OR_RETURN(uint8_t * at, out_.Take(r.size()));
      std::memcpy(at, scratch_.data() + r.begin * width, r.size() * width);
    }
    return Status::OK();
  }

  Result<DataBlock> Finish() override { return out_.Finish(); }
  uint64_t decoded() const override { return decoded_; }

 private:
  CodecDesc desc_;
  uint64_t bits_ = 0, decoded_ = 0;
  arrow::MemoryPool* pool_ = nullptr;
  FixedOut out_;
  std::vector<uint8_t> scratch_;
};

}  // namespace

Status ExpandRuns(uint64_t bits, Bytes values, Bytes lengths, uint64_t n, uint8_t* out) {
  if (values.size() != lengths.size() * (bits / 8)) {
    return BadBytes("{} run lengths for {} bytes of {}-bit run values", lengths.size(), values.size(), bits);
  }
  switch (bits) {
    case 8: return Expand<uint8_t>(values, lengths, n, out);
    case 16: return Expand<uint16_t>(values, lengths, n, out);
    case 32: return Expand<uint32_t>(values, lengths, n, out);
    default: return Expand<uint64_t>(values, lengths, n, out);
  }
}

Result<std::unique_ptr<ValueDecoder>> MakeRleDecoder(const CodecDesc& desc, const DecodeSpec& spec) {
  auto d = std::make_unique<RleDecoder>();
  PILUM_RETURN_NOT_OK(d->Init(desc, spec));
  return d;
}

}  // namespace pilum::codec
