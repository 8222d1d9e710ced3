// Repetition and definition levels: what the layers of one page mean, and how arrays grow outwards from the leaf.
// For the page decoders of this folder. Format: docs/formats/lance_file.md, repetition and definition levels.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/base/types.h"
#include "pilum/encoding/descriptor.h"
#include "pilum/encoding/shape.h"

namespace pilum {

// One layer of one page. A level of 0 means that the page has none of that kind.
struct LevelLayer {
  enum class Kind { kItem, kList, kFixedSizeList };
  Kind kind = Kind::kItem;
  uint16_t null_level = 0;
  uint16_t empty_level = 0;               // lists
  int32_t dimension = 1;                  // fixed-size lists
  std::shared_ptr<arrow::DataType> type;  // of the array at this layer (PathField's type at the outermost)
};

struct LevelPlan {
  std::vector<LevelLayer> layers;  // innermost first; layers[0] is the leaf
  uint16_t max_rep = 0, max_def = 0;
  uint16_t max_visible = 0;  // an event whose def is at most this owns a value slot
  bool has_lists() const { return max_rep > 0; }
};

// kCorrupt where the page's layers are not those of the column.
Result<LevelPlan> MakeLevelPlan(const LeafColumn& column, const std::vector<RepDefLayer>& layers);

// 16-bit levels, growing, not initialised; readable and writable for 1,024 values past the end.
class LevelBuffer {
 public:
  Status Reserve(uint64_t count, arrow::MemoryPool* pool);  // drops what was there
  uint16_t* data() { return data_; }
  const uint16_t* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  BufferPtr buffer_;
  uint16_t* data_ = nullptr;
};

// The events of the rows of a read, in order. Without buffers every level is 0.
struct Levels {
  uint64_t count = 0;
  LevelBuffer rep, def;
  bool bitmap = false;  // instead of def: `validity` (set bits valid) of plans with one level and no lists
  BufferPtr validity;   // null: none is null
  int64_t null_count = 0;
};

struct Validity {
  uint64_t count = 0;  // slots
  BufferPtr bitmap;    // null: all valid
  int64_t null_count = 0;
};

// bits[i] = levels[i] < limit, from bit 0; bits has room for (n + 63) / 64 words. Returns the number of zeros.
int64_t BelowToBits(const uint16_t* levels, uint64_t n, uint16_t limit, uint8_t* bits);
// How many of n levels equal `value` / are at most `value`.
uint64_t CountEqual(const uint16_t* levels, uint64_t n, uint16_t value);
uint64_t CountAtMost(const uint16_t* levels, uint64_t n, uint16_t value);
uint16_t MaxLevel(const uint16_t* levels, uint64_t n);

// Checks levels against the plan. Then: the validity of the leaf's visible slots.
Status CheckLevels(const LevelPlan& plan, const Levels& levels);
Status CheckLevels(const LevelPlan& plan, const uint16_t* rep, const uint16_t* def, uint64_t n);  // either may be null
Result<Validity> LeafValidity(const LevelPlan& plan, const Levels& levels, arrow::MemoryPool* pool);
// Wraps the leaf array (one entry a visible slot) into the column's array of `num_rows` rows. Consumes the levels.
Result<std::shared_ptr<arrow::ArrayData>> Unravel(const LevelPlan& plan, Levels levels, uint64_t num_rows,
                                                  std::shared_ptr<arrow::ArrayData> leaf, arrow::MemoryPool* pool);

// Events [first, last) of the rows that a read wants out of one run of events with lists (a chunk, a page).
// `row`: the number of rows that started before the run. Returns event ranges; `*row` moves past the run.
std::vector<RowRange> SelectEvents(const uint16_t* rep, uint64_t n, uint16_t max_rep, const std::vector<RowRange>& rows,
                                   uint64_t* row);
// The same, where `starts` has a bit for each event that starts a row.
std::vector<RowRange> SelectEvents(const uint64_t* starts, uint64_t n, const std::vector<RowRange>& rows,
                                   uint64_t* row);

}  // namespace pilum
