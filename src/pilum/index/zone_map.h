// Lowest and highest value, NULLs and NaN of each chunk of rows of one column: the `bounds` and `zones` sections of a
// sidecar (docs/formats/sidecar.md). Built by ColumnCollector, asked by PartIndex. Immutable once read; const calls are
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/util/decimal.h>

#include "pilum/index/index.h"

namespace pilum {

struct ZoneMap {
  static constexpr uint64_t kChunkRows = 1024;
  static constexpr size_t kTextCut = 64;  // bytes of a text or binary bound
  enum Flag : uint8_t { kHasBounds = 1, kLowExact = 2, kHighExact = 4, kNoUpper = 8, kHasNaN = 16 };

  using Words = std::vector<uint64_t>;
  using Decimals = std::vector<arrow::Decimal256>;
  using Texts = std::vector<std::string>;

  uint64_t chunk_rows = kChunkRows, num_rows = 0;
  Domain domain = Domain::kNone;
  bool is_unsigned = false;     // integers: uint64
  int32_t scale = 0;            // decimals
  std::vector<uint8_t> flags;   // one a chunk
  std::vector<uint64_t> nulls;  // one a chunk
  Words lows, highs;            // integers (two's complement) and floats (bits), one a chunk
  Decimals decimal_lows, decimal_highs;
  Texts text_lows, text_highs;  // text and binary

  size_t num_chunks() const { return flags.size(); }
  uint64_t RowsOf(size_t chunk) const;  // rows of this chunk
  Value Low(size_t chunk) const;        // only where kHasBounds
  Value High(size_t chunk) const;       // only where kHasBounds and not kNoUpper
  bool IsSound(size_t chunk) const;     // false: the chunk contradicts itself and says nothing

  std::string ToBytes() const;
  // Also checks that it is about `num_rows` rows. kCorrupt names `source`.
  static Result<ZoneMap> FromBytes(std::string_view bytes, uint64_t num_rows, std::string_view source);

  // Rows whose value lies in `set` (values in this column's normal form; decimals at its scale).
  Candidates InSet(const ValueSet& set, bool exact) const;
  Candidates IsNull() const;
  // The share of chunks whose bounds hold a value of the column, on average: near 1 where values lie anywhere, near
  // 1 / num_chunks where rows are in their order. 1 where there are no values.
  double Overlap() const;
  // Do the bounds of chunks ascend, with no NULL and no NaN among the values? Of integers and floats.
  bool Ascends() const;

 private:
  std::pair<size_t, size_t> ChunksNear(const ValueSet& set) const;
  Value ValueOf(const Words& words, const Decimals& decimals, const Texts& texts, size_t chunk) const;
};

}  // namespace pilum
