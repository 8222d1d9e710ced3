// Decoded bytes -> Arrow leaf arrays. For the page decoders of this folder.
#pragma once

#include <memory>

#include <arrow/type_fwd.h>

#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/rep_def.h"

namespace pilum {

// Under extension types.
const arrow::DataType& StorageType(const arrow::DataType& type);
// Does this type use 64-bit offsets?
bool IsWide(const arrow::DataType& type);
// Bits of one value of a fixed-width type (fixed-size lists of them included), 0 for others.
uint64_t FixedBits(const arrow::DataType& type);

// `block` as an array of `type` (any leaf type but null and dictionary). kCorrupt where they do not fit.
Result<std::shared_ptr<arrow::ArrayData>> MakeLeaf(const std::shared_ptr<arrow::DataType>& type, codec::DataBlock block,
                                                   const Validity& validity, arrow::MemoryPool* pool);
// Indices (8 to 64 bits) and items -> a dictionary array of `type`. Keys of nulls may be anything, others must be in
// range.
Result<std::shared_ptr<arrow::ArrayData>> MakeDictionary(const std::shared_ptr<arrow::DataType>& type,
                                                         codec::DataBlock indices,
                                                         const std::shared_ptr<arrow::Array>& items,
                                                         const Validity& validity);
// `n` nulls of `type`; an empty struct gives valid rows.
Result<std::shared_ptr<arrow::ArrayData>> MakeNulls(const std::shared_ptr<arrow::DataType>& type, uint64_t n,
                                                    arrow::MemoryPool* pool);

}  // namespace pilum
