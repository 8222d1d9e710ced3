// The page encodings of file version 2.0 as plain structs, with protobuf left behind. Used by the decoders of this
// folder. Plain data, no threads. Format: docs/formats/lance_file.md, "Version 2.0".
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/status.h"
#include "pilum/encoding/descriptor.h"

namespace pilum::v2_0 {

enum class ArrayKind {
  kFlat,
  kNullable,
  kFixedSizeList,
  kList,
  kStruct,
  kBinary,
  kDictionary,
  kFsst,
  kPackedStruct,
  kBitpacked,
  kFixedSizeBinary,
  kBitpackedForNonNeg,
};
enum class Nulls { kNone, kSome, kAll };

// One node of an encoding tree. Which members mean something depends on `kind`; the rest are zero.
struct ArrayDesc {
  ArrayKind kind = ArrayKind::kFlat;
  uint64_t bits = 0;                             // flat: bits a value; bit packings: of an unpacked value
  uint64_t packed_bits = 0;                      // bit packings
  bool is_signed = false;                        // bitpacked: the top packed bit is the sign
  uint32_t buffer = 0;                           // flat, packed_struct, bit packings: number of the page's buffer
  Compression compression = Compression::kNone;  // flat: of the whole buffer
  Nulls nulls = Nulls::kNone;                    // nullable
  uint64_t dimension = 0;                        // fixed_size_list
  uint64_t null_adjustment = 0;                  // list, binary: offsets from here on are null (0: none is)
  uint64_t num_items = 0;                        // list, dictionary
  uint64_t byte_width = 0;                       // fixed_size_binary
  std::string symbol_table;                      // fsst
  // nullable: [values], [validity, values] or none; fixed_size_list: [items]; list: [offsets]; binary: [indices,
  // bytes]; dictionary: [indices, items]; fsst: [binary]; packed_struct: one a field; fixed_size_binary: [bytes]
  std::vector<ArrayDesc> children;

  std::string ToString() const;  // e.g. "nullable(flat(32))", for `columns`
};

// The Any value bytes of a page's encoding. Errors have no file name: the caller adds it.
Result<std::shared_ptr<const ArrayDesc>> ParseArrayEncoding(std::string_view message);
// And back; of the encodings that are written: flat, nullable, fixed_size_list, list, struct, binary, dictionary, fsst
// and packed_struct.
std::string SerializeArrayEncoding(const ArrayDesc& desc);

}  // namespace pilum::v2_0
