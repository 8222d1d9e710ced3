// Which decoder reads which encoding in a mini-block chunk.
#include "pilum/encoding/codec/codec.h"

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
    case CodecKind::kVariablePackedStruct: break;
  }
  return Unsupported("{} as the values of a mini-block page", desc.ToString());
}

}  // namespace pilum::codec
