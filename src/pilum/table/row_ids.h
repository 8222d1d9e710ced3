// Row addresses, and the sequences that give the rows of a fragment their stable ids and the versions they come from.
// Called by fragment.cc. Immutable once made. Format: docs/formats/table.md, "Row ids".
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "pilum/base/row_set.h"
#include "pilum/base/status.h"

namespace pilum {

inline constexpr uint64_t RowAddress(uint64_t fragment, uint64_t row) { return fragment << 32 | row; }

// One id a physical row, in order.
class RowIdSequence {
 public:
  // `bytes`: the message. kCorrupt where it is none, or not of `rows` ids; that is counted before anything is allocated
  // for them.
  static Result<RowIdSequence> Parse(std::string_view bytes, uint64_t rows);
  // How many ids there are; kCorrupt past `most`.
  static Result<uint64_t> Count(std::string_view bytes, uint64_t most);
  // The ids of `rows`, in order, added to `out`. All of them must be below the number of rows.
  void Append(const RowSet& rows, std::vector<uint64_t>* out) const;

 private:
  struct Segment {
    uint64_t first_row = 0, rows = 0;
    std::variant<RowSet, std::vector<uint64_t>> ids;  // ascending ones as ranges
  };
  std::vector<Segment> segments_;
};

// The version a row was made or last changed in, one a physical row, as runs.
class RowVersionSequence {
 public:
  static Result<RowVersionSequence> Parse(std::string_view bytes, uint64_t rows);
  void Append(const RowSet& rows, std::vector<uint64_t>* out) const;

 private:
  struct Run {
    uint64_t end_row = 0, version = 0;
  };
  std::vector<Run> runs_;
};

}  // namespace pilum
