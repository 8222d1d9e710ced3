// The levels of plain lists (one list of leaves) as bitmaps from the chunk to the Arrow buffers: no level is ever
// looked at alone. For page/miniblock_read.cc; what else lists and structs can be goes through rep_def.h. A bad level
// is kCorrupt.
#pragma once

#include <span>
#include <vector>

#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/rep_def.h"

namespace pilum {

// The levels of the rows of one read, growing a chunk at a time. Not thread-safe.
class ListLevels {
 public:
  static bool Fits(const LevelPlan& plan);
  // `def`: the codec of the definition levels, null where the page has none.
  ListLevels(const LevelPlan& plan, const CodecDesc* rep, const CodecDesc* def) : plan_(plan), rep_(rep), def_(def) {}

  // A chunk of `n` events: those of `rows` are added, and `*values` becomes the chunk's values that they hold.
  // `*row`: the rows that started before the chunk; moves past it.
  Status AppendChunk(codec::Bytes rep, codec::Bytes def, uint64_t n, uint64_t num_values,
                     const std::vector<RowRange>& rows, uint64_t* row, std::vector<RowRange>* values);

  uint64_t num_values() const { return num_values_; }
  Result<Validity> LeafValidity(arrow::MemoryPool* pool) const;
  // The lists around `leaf`, which has num_values() slots: `rows` of them.
  Result<std::shared_ptr<arrow::ArrayData>> Wrap(std::shared_ptr<arrow::ArrayData> leaf, uint64_t rows,
                                                 arrow::MemoryPool* pool) const;

 private:
  // One bit an event; those that the plan has no level for stay empty.
  struct Marks {
    std::vector<uint64_t> start, visible, list_null, item_null;
  };
  Status DecodeChunk(codec::Bytes rep, codec::Bytes def, uint64_t n);
  Status DecodeDef(codec::Bytes def, uint64_t n);
  bool may_hide() const { return def_ && plan_.max_def > plan_.max_visible; }  // events without a value
  bool lists_may_be_null() const { return def_ && plan_.layers[1].null_level > 0; }
  bool items_may_be_null() const { return def_ && plan_.layers[0].null_level > 0; }

  const LevelPlan& plan_;
  const CodecDesc *rep_, *def_;
  Marks chunk_, all_;
  std::vector<uint16_t> scratch_;
  uint64_t events_ = 0, num_values_ = 0;
};

}  // namespace pilum
