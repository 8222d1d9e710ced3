// variable: offsets relative to the buffer, then the bytes. fsst: the same with each value encoded.
#include <algorithm>
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/codec/fsst.h"
#include "pilum/encoding/codec/numbers.h"

namespace pilum::codec {
namespace {

class VariableDecoder : public ValueDecoder {
 public:
  Status Init(const CodecDesc& desc, const DecodeSpec& spec) {
    bool fsst = desc.kind == CodecKind::kFsst;
    const CodecDesc& variable = fsst ? desc.children[0] : desc;
    if (variable.kind != CodecKind::kVariable) return Unsupported("fsst over {}", variable.ToString());
    width_ = static_cast<int>(variable.children[0].bits / 8);
    if (variable.children[0].kind != CodecKind::kFlat) offsets_codec_ = variable.children[0];
    if (fsst) {
      PILUM_ASSIGN_OR_RETURN(table_, FsstTable::Parse(desc.bytes));
      if (!table_->active()) table_.reset();
    }
    if (!offsets_codec_ && spec.max_count / 2 > spec.input_bytes) {  // each value has an offset of 4 or 8 bytes
      return BadBytes("{} values cannot lie in {} bytes", spec.max_count, spec.input_bytes);
    }
    if (table_) {  // of its input the offsets become no bytes
      const uint64_t offsets = spec.max_count * static_cast<uint64_t>(width_);
      out_.ExpectInput(spec.input_bytes > offsets ? spec.input_bytes - offsets : 0);
    }
    return out_.Init(spec.wide, spec.max_count, table_ ? VariableOut::kUnknown : spec.input_bytes, spec.pool);
  }
  int num_buffers() const override { return offsets_codec_ && HasPayload(*offsets_codec_) ? 2 : 1; }

  Status Append(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) override {
    if (offsets_codec_) return AppendApart(buffers, n, ranges);
    Bytes in = buffers[0];
    if ((n + 1) * width_ > in.size()) return BadBytes("{} offsets in {} bytes", n + 1, in.size());
    if (in.size() >= UINT32_MAX) return Unsupported("chunks of 4 GiB and more");
    for (const RowRange& r : ranges) {
      CopyOffsets(in, r);
      const uint8_t* offsets = reinterpret_cast<const uint8_t*>(offsets_.data());
      PILUM_RETURN_NOT_OK(CheckOffsets(offsets, 4, 0, r.size(), in.size()));
      if (table_)
        PILUM_RETURN_NOT_OK(
            table_->DecodeValues(in.data(), {offsets_.data(), r.size()}, {offsets_.data() + 1, r.size()}, &out_));
      else
        PILUM_RETURN_NOT_OK(out_.AppendRun(offsets, 4, 0, r.size(), in.data()));
    }
    decoded_ += CountOf(ranges);
    return Status::OK();
  }

  Result<DataBlock> Finish() override { return out_.Finish(); }
  uint64_t decoded() const override { return decoded_; }

 private:
  // A copy, so that what was checked is what is used, even where `in` is a mapped file that somebody writes to.
  void CopyOffsets(Bytes in, const RowRange& r) {
    offsets_.resize(r.size() + 1);
    const uint8_t* from = in.data() + r.begin * static_cast<uint64_t>(width_);
    if (width_ == 4) {
      std::memcpy(offsets_.data(), from, offsets_.size() * 4);
      return;
    }
    for (size_t i = 0; i < offsets_.size(); ++i) {
      offsets_[i] = static_cast<uint32_t>(std::min<uint64_t>(LoadLE<uint64_t>(from + i * 8), UINT32_MAX));
    }
  }

  // Version 2.3: offsets from 0, in a buffer of their own or in none.
  Status AppendApart(std::span<const Bytes> buffers, uint64_t n, std::span<const RowRange> ranges) {
    const bool stored = num_buffers() == 2;
    const Bytes bytes = buffers[stored];
    PILUM_ASSIGN_OR_RETURN(Numbers ends, DecodeNumbers(*offsets_codec_, stored ? buffers[0] : Bytes(), n + 1));
    if (bytes.size() > UINT32_MAX) return Unsupported("chunks of 4 GiB and more");
    offsets_.resize(n + 1);
    for (uint64_t i = 0; i <= n; ++i) {
      if (ends[i] > bytes.size() || (i > 0 && ends[i] < ends[i - 1]))
        return BadBytes("value {} ends at {} of {} bytes", i, ends[i], bytes.size());
      offsets_[i] = static_cast<uint32_t>(ends[i]);
    }
    for (const RowRange& r : ranges) {
      const uint32_t* at = offsets_.data() + r.begin;
      if (table_)
        PILUM_RETURN_NOT_OK(table_->DecodeValues(bytes.data(), {at, r.size()}, {at + 1, r.size()}, &out_));
      else
        PILUM_RETURN_NOT_OK(
            out_.AppendRun(reinterpret_cast<const uint8_t*>(offsets_.data()), 4, r.begin, r.end, bytes.data()));
    }
    decoded_ += CountOf(ranges);
    return Status::OK();
  }

  int width_ = 4;
  std::optional<CodecDesc> offsets_codec_;
  uint64_t decoded_ = 0;
  std::shared_ptr<const FsstTable> table_;  // null: values are as they are
  VariableOut out_;
  std::vector<uint32_t> offsets_;
};

}  // namespace

Result<std::unique_ptr<ValueDecoder>> MakeVariableDecoder(const CodecDesc& desc, const DecodeSpec& spec) {
  auto d = std::make_unique<VariableDecoder>();
  PILUM_RETURN_NOT_OK(d->Init(desc, spec));
  return d;
}

}  // namespace pilum::codec
