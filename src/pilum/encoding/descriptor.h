// Page layouts and compressive encodings as plain structs: what the wire messages of docs/formats/lance_file.md say,
// with protobuf left behind. Used by the page decoders, the page writers and the file layer. Plain data, no threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/status.h"
#include "pilum/base/types.h"

namespace pilum {

enum class CodecKind {
  kFlat,
  kVariable,
  kConstant,
  kOutOfLineBitpacking,
  kInlineBitpacking,
  kFsst,
  kDictionary,
  kRle,
  kByteStreamSplit,
  kGeneral,
  kFixedSizeList,
  kPackedStruct,
  kVariablePackedStruct,
  kRange,  // 2.3
  kDelta,  // 2.3
};
std::string_view CodecName(CodecKind kind);

enum class Compression { kNone = 0, kLz4 = 1, kZstd = 2 };

// One node of a compressive encoding tree. Which members mean something depends on `kind`; the rest are zero.
struct CodecDesc {
  CodecKind kind = CodecKind::kFlat;
  uint64_t bits = 0;             // flat: bits per value; bitpackings: uncompressed bits per value; range, delta
  uint64_t start = 0, step = 0;  // range; delta: the first number in `start`
  std::string bytes;             // fsst: the symbol table; constant: the value
  bool has_bytes = false;        // constant: a value is given
  Compression scheme = Compression::kNone;  // general
  std::optional<int> level;                 // general
  uint64_t num_items = 0;                   // fixed_size_list: items per value; dictionary: number of items
  bool has_validity = false;                // fixed_size_list
  std::vector<uint64_t> field_bits;         // packed_struct: bits of each child
  // variable_packed_struct: one a field, bits of the value (fixed) or of its length prefix (variable)
  struct VarField {
    bool is_variable = false;
    uint64_t bits = 0;
  };
  std::vector<VarField> var_fields;
  // variable: [offsets]; out_of_line, fsst, byte_stream_split, general, fixed_size_list, packed_struct: [values];
  // rle: [values, run lengths]; dictionary: [indices, items]; variable_packed_struct: one a field
  std::vector<CodecDesc> children;

  std::string ToString() const;  // e.g. "general(zstd, variable(32))", for `columns`
};

// Repetition / definition layers of one page, innermost first (layer 0 is the leaf's own).
enum class RepDefLayer : int {
  kUnspecified = 0,
  kAllValidItem = 1,
  kAllValidList = 2,
  kNullableItem = 3,
  kNullableList = 4,
  kEmptyableList = 5,
  kNullAndEmptyList = 6,
};
inline bool IsListLayer(RepDefLayer l) { return l == RepDefLayer::kAllValidList || l >= RepDefLayer::kNullableList; }

enum class LayoutKind { kMiniBlock, kFullZip, kConstant, kBlob, kSparse /* 2.3 */ };
std::string_view LayoutName(LayoutKind kind);

// One layer of a sparse structure: which of its slots are null, and of a list which are not empty. Numbers are encoded,
// each sequence in a buffer of the page if it has bytes at all.
struct SparseLayer {
  enum class Kind { kItem, kList, kFixedSizeList };
  struct Numbers {
    CodecDesc codec;
    uint64_t count = 0;
  };
  Kind kind = Kind::kItem;
  bool names_valid = false;      // `validity` names the valid slots instead of the nulls
  Numbers validity;              // positions
  uint64_t num_child_slots = 0;  // lists
  Numbers non_empty, counts;     // lists: positions, and items of each
  uint64_t dimension = 1;        // fixed-size lists
};

// A page layout. For a blob page `inner` describes the (position, size) rows and `layers` the outer meaning.
struct PageLayout {
  LayoutKind kind = LayoutKind::kMiniBlock;
  std::vector<RepDefLayer> layers;

  // mini-block
  std::optional<CodecDesc> rep_codec, def_codec;  // also of constant pages (2.2)
  std::optional<CodecDesc> value_codec;           // mini-block and full-zip
  std::optional<CodecDesc> dictionary;
  uint64_t num_dictionary_items = 0;
  uint64_t num_buffers = 0;
  uint32_t repetition_index_depth = 0;
  uint64_t num_items = 0;  // mini-block: visible slots; full-zip: events
  bool has_large_chunk = false;

  // full-zip
  uint32_t bits_rep = 0, bits_def = 0;
  bool variable_width = false;  // then bits_per_value is bits per length
  uint64_t bits_per_value = 0;
  uint64_t num_visible_items = 0;

  // constant
  std::optional<std::string> inline_value;
  uint64_t num_rep_values = 0, num_def_values = 0;

  // blob: the (position, size) rows; sparse: the leaf's slots, or nothing where none has a value
  std::shared_ptr<const PageLayout> inner;
  std::vector<SparseLayer> sparse;   // sparse: outermost first
  std::optional<CodecDesc> indices;  // sparse: `inner` holds distinct values, and these say which each slot has

  std::string ToString() const;
};

namespace v2_0 {
struct ArrayDesc;
}

// One page of one column as its column metadata lists it. `length` counts top-level rows (under FSL<struct>: items).
struct PageInfo {
  std::vector<ByteRange> buffers;  // absolute; each lies within the file
  uint64_t length = 0;
  uint64_t priority = 0;
  PageLayout layout;
  std::shared_ptr<const v2_0::ArrayDesc> array;  // files of version 2.0: instead of a layout
};

// File versions that these layouts belong to.
enum class FileVersion { kV2_0, kV2_1, kV2_2, kV2_3 };
std::string_view VersionName(FileVersion v);  // "2.1"

// The Any value bytes of a page's encoding -> layout, and back. Parse checks the grammar of `version` (2.1: no large
// chunks, no constant values, …; 2.2: large chunks only); its errors have no file name: the caller adds it.
// 2.3 has a message of its own.
Result<PageLayout> ParsePageLayout(std::string_view message, FileVersion version);
Result<PageLayout> ParsePlanarLayout(std::string_view message);
std::string SerializePageLayout(const PageLayout& layout);

}  // namespace pilum
