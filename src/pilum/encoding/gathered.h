// Blocks of values picked by keys, or repeated. For dictionary_keys.cc, item_table.cc and constant_page.cc.
#pragma once

#include <utility>

#include "pilum/encoding/codec/codec.h"

namespace pilum {

inline codec::DataBlock VariableBlock(uint64_t n, bool wide, BufferPtr offsets, BufferPtr data) {
  codec::DataBlock b;
  b.kind = codec::DataBlock::Kind::kVariable;
  b.count = n;
  b.wide = wide;
  b.offsets = std::move(offsets);
  b.data = std::move(data);
  return b;
}

// May n values hold `total` bytes behind offsets of this width?
inline Status CheckGathered(uint64_t n, uint64_t total, size_t offset_bytes) {
  PILUM_RETURN_NOT_OK(codec::CheckOutput(total, 8));
  if (offset_bytes == 8 || total <= INT32_MAX) return Status::OK();
  return MakeError(
      ErrorKind::kMemory,
      fmt::format("{} values hold {} bytes, more than 32-bit offsets reach; read fewer rows at a time", n, total));
}

}  // namespace pilum
