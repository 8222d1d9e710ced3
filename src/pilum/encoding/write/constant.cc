// Pages without values (all null) and, from 2.2 on, with one value for all.
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

// `pack`: readers know compressed levels only on all-null pages of 2.2; with a value they expect plain 16-bit levels.
void AddLevels(const PageContext& page, bool pack, EncodedPage* out) {
  PageLayout& l = out->layout;
  auto add = [&](LevelStream stream, std::optional<CodecDesc>* codec, uint64_t* count) {
    Bytes bytes;
    if (stream.present) {
      stream.ChooseCodec(0);
      if (!pack) stream.codec.kind = CodecKind::kFlat;
      (void)stream.Append(0, stream.count, &bytes);  // fails for zstd only
      if (stream.codec.kind != CodecKind::kFlat) {
        *codec = stream.codec;
        *count = stream.count;
      }
    }
    out->buffers.push_back(ToBuffer(std::move(bytes)));
  };
  add(page.rep, &l.rep_codec, &l.num_rep_values);
  add(page.def, &l.def_codec, &l.num_def_values);
}

}  // namespace

EncodedPage NullPage(const PageContext& page) {
  EncodedPage out;
  out.layout.kind = LayoutKind::kConstant;
  out.layout.layers = page.layers;
  bool empty_struct = page.kind().kind == ValueKind::kNone && page.num_valid > 0;  // described like nulls
  if (empty_struct) out.layout.layers = {RepDefLayer::kNullableItem};
  if (page.layers.size() > 1 && !empty_struct) AddLevels(page, page.version != FileVersion::kV2_1, &out);
  return out;
}

EncodedPage ConstantPage(const PageContext& page, uint64_t example_slot) {
  constexpr uint64_t kMaxInline = 32;
  const LeafKind& kind = page.kind();
  const ValueStore& v = *page.slice.values;
  EncodedPage out;
  out.layout.kind = LayoutKind::kConstant;
  out.layout.layers = page.layers;
  uint64_t slot = page.slice.first_slot + example_slot;
  if (kind.kind == ValueKind::kVariable) {
    uint64_t begin = slot ? v.ends[slot - 1] : 0, length = v.ends[slot] - begin;
    uint64_t width = kind.large ? 8 : 4;
    Bytes scalar;
    AppendInt<uint32_t>(&scalar, 2);
    AppendInt<uint32_t>(&scalar, static_cast<uint32_t>(2 * width));
    AppendInt<uint32_t>(&scalar, static_cast<uint32_t>(length));
    uint64_t zero = 0;
    Append(&scalar, &zero, width);
    Append(&scalar, &length, width);
    Append(&scalar, v.bytes.data() + begin, length);
    out.buffers.push_back(ToBuffer(std::move(scalar)));
  } else {
    uint64_t width = kind.kind == ValueKind::kBool ? 1 : kind.width;
    const uint8_t* value = v.bytes.data() + slot * width;
    if (width <= kMaxInline) {
      out.layout.inline_value = std::string(reinterpret_cast<const char*>(value), width);
    } else {
      Bytes scalar;
      AppendInt<uint32_t>(&scalar, 1);
      AppendInt<uint32_t>(&scalar, static_cast<uint32_t>(width));
      Append(&scalar, value, width);
      out.buffers.push_back(ToBuffer(std::move(scalar)));
    }
  }
  if (page.rep.present || page.def.present) AddLevels(page, false, &out);
  return out;
}

}  // namespace pilum::write
