// Which encoding a page gets: statistics in, a choice with an estimated size and a reason out. Writers only; a codec
// never decides for itself. Pure functions: same values, same options, same choice.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/encoding/descriptor.h"
#include "pilum/base/status.h"

namespace pilum {

// What a file is written for. `fast`: cheap to write and to read; `balanced`: smaller where reading stays as fast;
// `small`: few bytes, large compressed chunks, slower to write and to take rows from.
enum class WriteProfile { kFast, kBalanced, kSmall };
std::string_view ProfileName(WriteProfile profile);
Result<WriteProfile> ParseProfile(std::string_view name);  // kUsage for another name

// What field metadata (lance-encoding:*) asks for; unset where it says nothing.
struct EncodingHints {
  std::optional<Compression> compression;  // lance-encoding:compression = lz4 | zstd | none
  bool fsst = false;                       // = fsst
  std::optional<int> compression_level;
  std::optional<double> rle_threshold;
  std::optional<bool> byte_stream_split;
  std::optional<uint64_t> dict_divisor;
  std::optional<double> dict_size_ratio;
  std::optional<uint64_t> dict_max_size;
  std::optional<Compression> dict_compression;  // lance-encoding:dict-values-compression = lz4 | zstd | none
  std::optional<int> dict_compression_level;
  std::optional<uint64_t> minichunk_size;
  std::optional<bool> full_zip;  // structural-encoding = fullzip (true) | miniblock (false)
  // Numbers that do not parse are passed over; an unknown scheme or structural encoding is kUnsupported naming the
  // field.
  static Result<EncodingHints> Parse(const arrow::Field& leaf, const arrow::Field& top_level);
};

// What a page's visible values look like, gathered in one pass.
struct PageStats {
  uint64_t num_values = 0;          // visible slots
  uint64_t num_nulls = 0;           // among them
  uint64_t bits_per_value = 0;      // fixed width; 0: variable
  uint64_t data_bytes = 0;          // variable: bytes of all values
  uint64_t max_length = 0;          // variable: longest value
  uint64_t bitpacked_bytes = 0;     // fixed width 8..64: sum over 1,024-value blocks of header + 128 x width
  bool all_equal = false;           // every non-null value bit-equal (and at least one)
  uint64_t plain_level_bytes = 0;   // levels as 16-bit numbers, which constant pages need
  uint64_t packed_level_bytes = 0;  // about, as chunks hold them
  bool composite = false;           // fixed-size list or packed struct: stored as it is
  bool variable_struct = false;     // packed struct with fields of varying size
  bool keys = false;                // Arrow dictionary array
  std::optional<uint64_t> runs;     // fixed width 8..64: runs of equal values as chunks cut them; unset: too many
  bool can_pack = false;            // fixed width of 8, 16, 32 or 64 bits
  bool text = false;                // variable: strings, not binaries
  // Variable, where a table of symbols was made: the values with it, judged by the sample that it was made from.
  std::optional<uint64_t> fsst_bytes;
  // Where a dictionary was built (an auto dictionary is given up early when it cannot pay):
  std::optional<uint64_t> distinct;
  uint64_t dictionary_bytes = 0;  // its items
  uint64_t key_bytes = 0;         // its keys, in their smallest form
};

// A way that was weighed, and the bytes of values it would take (some are estimates from a sample).
struct Alternative {
  std::string name;
  uint64_t bytes = 0;
};

struct Choice {
  LayoutKind layout = LayoutKind::kMiniBlock;
  CodecKind codec = CodecKind::kFlat;
  bool dictionary = false;
  // LZ4 or zstd on top, to be kept where it shrinks the page: of each chunk's first buffer, of each zipped value.
  Compression general = Compression::kNone;
  std::optional<uint64_t> estimated_size;  // bytes of values, before `general`
  std::string why;
  bool split = false;  // with `general`: the values as streams of bytes are tried too
  std::vector<Alternative> alternatives;
};

// Is an auto dictionary worth trying, and up to how many distinct values? 0: no.
uint64_t DictionaryCap(const PageStats& stats, const EncodingHints& hints, FileVersion version);
// Bytes of distinct values from which it does not pay.
uint64_t DictionaryRoom(const PageStats& stats, const EncodingHints& hints);
// The smallest form of fixed-width values in chunks: flat, bit-packed or, where strictly smaller than both, runs.
CodecKind SmallestFixed(const PageStats& stats, const EncodingHints& hints, uint64_t* size);
// Is it worth making a table of symbols for the page's values?
bool WantsFsst(const PageStats& stats, const EncodingHints& hints, FileVersion version,
               WriteProfile profile = WriteProfile::kBalanced);
Choice ChooseEncoding(const PageStats& stats, const EncodingHints& hints, FileVersion version,
                      WriteProfile profile = WriteProfile::kBalanced);

}  // namespace pilum
