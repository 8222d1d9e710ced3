// Which encoding a page gets: statistics in, a choice with an estimated size and a reason out. Writers only; a codec never
// decides for itself. Pure functions: same values, same options, same choice.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/encoding/descriptor.h"
#include "pilum/encoding/shape.h"

namespace pilum {

// What field metadata (lance-encoding:*) asks for; unset where it says nothing.
struct EncodingHints {
  std::optional<Compression> compression;   // lance-encoding:compression = lz4 | zstd | none
  bool fsst = false;                        // = fsst
  std::optional<int> compression_level;
  std::optional<double> rle_threshold;
  std::optional<bool> byte_stream_split;
  std::optional<uint64_t> dict_divisor;
  std::optional<double> dict_size_ratio;
  std::optional<uint64_t> dict_max_size;
  std::optional<uint64_t> minichunk_size;
  std::optional<bool> full_zip;             // structural-encoding = fullzip (true) | miniblock (false)
  static Result<EncodingHints> Parse(const arrow::Field& leaf, const arrow::Field& top_level);
};

// What a page's visible values look like, gathered in one pass.
struct PageStats {
  uint64_t num_values = 0;        // visible slots
  uint64_t num_nulls = 0;         // among them
  uint64_t bits_per_value = 0;    // fixed width; 0: variable
  uint64_t data_bytes = 0;        // variable: bytes of all values
  uint64_t max_length = 0;        // variable: longest value
  uint64_t bitpacked_bytes = 0;   // fixed width 8..64: sum over 1,024-value blocks of header + 128 x width
  bool all_equal = false;         // every non-null value bit-equal (and at least one)
  std::optional<uint64_t> distinct;  // exact where it was counted, capped at the dictionary limit
};

struct Choice {
  LayoutKind layout = LayoutKind::kMiniBlock;
  CodecKind codec = CodecKind::kFlat;
  bool dictionary = false;
  std::optional<uint64_t> estimated_size;  // bytes of values
  std::string why;
};

Choice ChooseEncoding(const PageStats& stats, const EncodingHints& hints, const LeafColumn& column, FileVersion version);

}  // namespace pilum
