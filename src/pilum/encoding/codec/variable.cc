// variable: offsets relative to the buffer, then the bytes. fsst: the same with each value encoded.
#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {
namespace {

class VariableDecoder : public ValueDecoder {
 public:
  Status Init(const CodecDesc& desc, const DecodeSpec& spec) {
    bool fsst = desc.kind == CodecKind::kFsst;
    const CodecDesc& variable = fsst ? desc.children[0] : desc;
    if (variable.kind != CodecKind::kVariable) return Unsupported("fsst over {}", variable.ToString());
    width_ = static_cast<int>(variable.children[0].bits / 8);
    if (fsst) {
      PILUM_ASSIGN_OR_RETURN(table_, FsstTable::Parse(desc.bytes));
    }
    if (spec.max_count / 2 > spec.input_bytes) {  // each value has an offset of 4 or 8 bytes
      return BadBytes("{} values cannot lie in {} bytes", spec.max_count, spec.input_bytes);
    }
    return out_.Init(spec.wide, spec.max_count, table_.active() ? VariableOut::kUnknown : spec.input_bytes, spec.pool);
  }
  int num_buffers() const override { return 1; }

  Status Append(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) override {
    Bytes in = buffers[0];
    if ((n + 1) * width_ > in.size()) return BadBytes("{} offsets in {} bytes", n + 1, in.size());
    for (const RowRange& r : ranges) {
      PILUM_RETURN_NOT_OK(CheckOffsets(in.data(), width_, r.begin, r.end, in.size()));
      if (table_.active())
        PILUM_RETURN_NOT_OK(AppendEncoded(in, r));
      else
        PILUM_RETURN_NOT_OK(out_.AppendRun(in.data(), width_, r.begin, r.end, in.data()));
    }
    decoded_ += CountOf(ranges);
    return Status::OK();
  }

  Result<DataBlock> Finish() override { return out_.Finish(); }
  uint64_t decoded() const override { return decoded_; }

 private:
  Status AppendEncoded(Bytes in, const RowRange& r) {
    auto offset = [&](uint64_t i) -> uint64_t {
      return width_ == 4 ? LoadAt<uint32_t>(in.data() + i * 4) : LoadAt<uint64_t>(in.data() + i * 8);
    };
    uint64_t at = offset(r.begin);
    if (!table_.CheckCodes(in.subspan(at, offset(r.end) - at))) return BadBytes("an FSST code without a symbol");
    // Room for the whole run at once: an encoded byte gives 8 at most.
    PILUM_ASSIGN_OR_RETURN(uint8_t * out, out_.Reserve((offset(r.end) - at) * 8));
    for (uint64_t i = r.begin; i < r.end; ++i) {
      uint64_t end = offset(i + 1);
      int64_t wrote = table_.Decode(in.subspan(at, end - at), out);
      if (wrote < 0) return BadBytes("value {} ends inside an FSST escape", i);
      out_.Push(static_cast<uint64_t>(wrote));
      out += wrote;
      at = end;
    }
    return Status::OK();
  }

  template <typename T>
  static T LoadAt(const uint8_t* p) {
    T v;
    __builtin_memcpy(&v, p, sizeof v);
    return v;
  }

  int width_ = 4;
  uint64_t decoded_ = 0;
  FsstTable table_;
  VariableOut out_;
};

}  // namespace

Result<std::unique_ptr<ValueDecoder>> MakeVariableDecoder(const CodecDesc& desc, const DecodeSpec& spec) {
  auto d = std::make_unique<VariableDecoder>();
  PILUM_RETURN_NOT_OK(d->Init(desc, spec));
  return d;
}

}  // namespace pilum::codec
