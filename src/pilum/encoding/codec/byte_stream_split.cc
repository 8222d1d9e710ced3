// byte_stream_split: all first bytes of the chunk's values, then all second bytes, ...
#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {
namespace {

template <int kWidth>
void Join(const uint8_t* in, uint64_t n, const RowRange& r, uint8_t* out) {
  for (uint64_t i = r.begin; i < r.end; ++i, out += kWidth) {
    for (int b = 0; b < kWidth; ++b) out[b] = in[b * n + i];
  }
}

class ByteStreamSplitDecoder : public ValueDecoder {
 public:
  Status Init(uint64_t bits, const DecodeSpec& spec) {
    width_ = bits / 8;
    return out_.Init(bits, spec);
  }
  int num_buffers() const override { return 1; }

  Status Append(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) override {
    if (buffers[0].size() < n * width_)
      return BadBytes("{} values of {} bytes in {} bytes", n, width_, buffers[0].size());
    for (const RowRange& r : ranges) {
      PILUM_ASSIGN_OR_RETURN(uint8_t * at, out_.Take(r.size()));
      if (width_ == 4)
        Join<4>(buffers[0].data(), n, r, at);
      else
        Join<8>(buffers[0].data(), n, r, at);
      decoded_ += r.size();
    }
    return Status::OK();
  }

  Result<DataBlock> Finish() override { return out_.Finish(); }
  uint64_t decoded() const override { return decoded_; }

 private:
  uint64_t width_ = 0, decoded_ = 0;
  FixedOut out_;
};

}  // namespace

Result<std::unique_ptr<ValueDecoder>> MakeByteStreamSplitDecoder(const CodecDesc& desc, const DecodeSpec& spec) {
  uint64_t bits = desc.children[0].bits;
  if (bits != 32 && bits != 64) return Unsupported("byte stream split of {}-bit values", bits);
  auto d = std::make_unique<ByteStreamSplitDecoder>();
  PILUM_RETURN_NOT_OK(d->Init(bits, spec));
  return d;
}

}  // namespace pilum::codec
