// flat: values one after another; bool as an LSB-first bitmap.
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {
namespace {

class FlatDecoder : public ValueDecoder {
 public:
  Status Init(uint64_t bits, const DecodeSpec& spec) {
    bits_ = bits;
    return out_.Init(bits, spec);
  }
  int num_buffers() const override { return 1; }

  Status Append(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) override {
    Bytes in = buffers[0];
    auto need = CheckedMul(n, bits_);
    if (!need || (*need + 7) / 8 > in.size()) return BadBytes("{} values of {} bits in {} bytes", n, bits_, in.size());
    for (const RowRange& r : ranges) {
      if (bits_ == 1) {
        PILUM_RETURN_NOT_OK(out_.AppendBits(in.data(), r.begin, r.size()));
        continue;
      }
      uint64_t width = bits_ / 8;
      PILUM_ASSIGN_OR_RETURN(uint8_t * at, out_.Take(r.size()));
      std::memcpy(at, in.data() + r.begin * width, r.size() * width);
    }
    return Status::OK();
  }

  Result<DataBlock> Finish() override {
    decoded_ = out_.count();
    return out_.Finish();
  }
  uint64_t decoded() const override { return decoded_ ? decoded_ : out_.count(); }

 private:
  uint64_t bits_ = 0, decoded_ = 0;
  FixedOut out_;
};

}  // namespace

Result<std::unique_ptr<ValueDecoder>> MakeFlatDecoder(const CodecDesc& desc, const DecodeSpec& spec) {
  auto total = CheckedMul(spec.max_count, desc.bits);
  if (!total || *total / 8 > spec.input_bytes) {
    return BadBytes("{} values of {} bits cannot lie in {} bytes", spec.max_count, desc.bits, spec.input_bytes);
  }
  auto d = std::make_unique<FlatDecoder>();
  PILUM_RETURN_NOT_OK(d->Init(desc.bits, spec));
  return d;
}

}  // namespace pilum::codec
