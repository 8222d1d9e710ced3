// The vector kernel of FSST: 64 codes a step. The symbols lie in planes (all first bytes, all second bytes, ...) of 256
// entries, looked up by byte permutes; the planes are interleaved and the bytes that no symbol has are squeezed out.
// For fsst.cc.
#pragma once

#include <cstdint>

namespace pilum::codec {

struct FsstPlanes {
  alignas(64) uint8_t bytes[8][256];  // the k-th byte of each symbol, or `filler`
  uint8_t filler = 0;                 // a byte that no symbol holds
  uint8_t num_symbols = 0;
  int width = 0;  // planes in use, as many as the longest symbol has bytes: 2, 4 or 8; 0: the kernel cannot be used
};

// What became of one run of codes. Each 64 of them (a block) are done in groups: `width` groups of 64 / width codes.
struct FsstBlocks {
  static constexpr uint64_t kCodes = 4096;
  static constexpr uint64_t kBlocks = kCodes / 64;
  uint8_t width_log[kBlocks + 1];
  uint32_t begin[kBlocks * 8 + 1];  // of each group, eight a block: where its output begins
  uint64_t used[kBlocks * 8 + 1];   // and which of the `width` bytes of each code are in it
  uint64_t escapes[kBlocks];        // codes that say "the next byte as it is"
  uint64_t written = 0;
  bool carry = false;       // the last code was an escape: kept from one run to the next
  bool any_escape = false;  // `escapes` are not all zero
  bool ascii = true;        // no escaped byte above 0x7f, in all runs
  bool known = true;        // each code had a symbol, in all runs
};

bool MachineHasFsstKernel();
// Decodes codes[0, n), n at most kCodes, into `out`, which has room for n * width bytes and 64 more. Codes with their
// bit set in `skip` (null: none) are none. `codes` is readable for 64 bytes past n.
void DecodeFsstBlocks(const FsstPlanes& planes, const uint8_t* codes, uint64_t n, const uint64_t* skip, uint8_t* out,
                      FsstBlocks* blocks);

// Values end before the codes ends[0, n), ascending; `at`: the first code of the run, `stop`: the one after it. Writes
// for each of those that end in the run where its output ends, plus `base`; returns how many there are.
uint64_t CutFsstValues(const FsstBlocks& blocks, const uint32_t* ends, uint64_t n, uint64_t at, uint64_t stop,
                       int32_t base, int32_t* out);
uint64_t CutFsstValues(const FsstBlocks& blocks, const uint32_t* ends, uint64_t n, uint64_t at, uint64_t stop,
                       int64_t base, int64_t* out);

}  // namespace pilum::codec
