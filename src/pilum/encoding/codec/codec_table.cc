// Which decoder reads which encoding in a mini-block chunk.
#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/codec/numbers.h"

namespace pilum::codec {

Result<std::unique_ptr<ValueDecoder>> MakeValueDecoder(const CodecDesc& desc, const DecodeSpec& spec) {
  switch (desc.kind) {
    case CodecKind::kFlat: return MakeFlatDecoder(desc, spec);
    case CodecKind::kVariable:
    case CodecKind::kFsst: return MakeVariableDecoder(desc, spec);
    case CodecKind::kInlineBitpacking: return MakeBitpackDecoder(desc, spec);
    case CodecKind::kRle: return MakeRleDecoder(desc, spec);
    case CodecKind::kByteStreamSplit: return MakeByteStreamSplitDecoder(desc, spec);
    case CodecKind::kGeneral: return MakeGeneralDecoder(desc, spec);
    case CodecKind::kFixedSizeList: return MakeFixedSizeListDecoder(desc, spec);
    case CodecKind::kPackedStruct: return MakePackedStructDecoder(desc, spec);
    case CodecKind::kConstant:
    case CodecKind::kOutOfLineBitpacking:
    case CodecKind::kDictionary:
    case CodecKind::kRange:
    case CodecKind::kDelta:
    case CodecKind::kVariablePackedStruct: break;
  }
  return Unsupported("{} as the values of a mini-block page", desc.ToString());
}

Result<uint64_t> CountBuffers(const CodecDesc& desc) {
  switch (desc.kind) {
    case CodecKind::kFlat:
    case CodecKind::kInlineBitpacking:
    case CodecKind::kByteStreamSplit:
    case CodecKind::kPackedStruct: return uint64_t{1};
    case CodecKind::kVariable: {
      const CodecDesc& offsets = desc.children[0];
      return uint64_t{1} + (offsets.kind != CodecKind::kFlat && HasPayload(offsets));  // version 2.3: apart
    }
    case CodecKind::kFsst: return CountBuffers(desc.children[0]);
    case CodecKind::kRle: return uint64_t{HasPayload(desc.children[0])} + uint64_t{HasPayload(desc.children[1])};
    case CodecKind::kGeneral: return CountBuffers(desc.children[0]);
    case CodecKind::kFixedSizeList: {
      PILUM_ASSIGN_OR_RETURN(uint64_t inner, CountBuffers(desc.children[0]));
      return inner + (desc.has_validity ? 1 : 0);
    }
    default: return Unsupported("{} as the values of a mini-block page", desc.ToString());
  }
}

}  // namespace pilum::codec
