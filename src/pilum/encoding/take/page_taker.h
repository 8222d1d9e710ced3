// One page, by address. For leaf_take.cc; a page layout is one .cc with one factory here. Waves over all rows of a take:
// places (prefetched), then cells (prefetched), then values; so that the memory's latency is paid once a wave.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/page/page_base.h"

namespace pilum::take {

// Where the bytes of one row lie.
struct Place {
  uint64_t row = 0;             // of the page
  ByteRange range;              // in the file
  const uint8_t* at = nullptr;  // those bytes, once they are there; readable for 64 bytes past their end
};

// One value slot: what its value is read from.
struct Cell {
  const uint8_t* bytes = nullptr;  // mini-block: the first value buffer of its chunk; else the value itself
  const uint8_t* more = nullptr;   // the second value buffer
  uint64_t size = 0;
  uint32_t more_size = 0;
  uint32_t count = 0, index = 0;  // mini-block: values of the chunk, and which
  bool null = false;              // the value is filler, and may be anything
};

// The levels of one chunk with lists, kept for the next row of it: as bits where they have one, else as numbers.
struct ChunkLevels {
  const uint8_t* at = nullptr;
  uint64_t count = 0, rows = 0;  // events, and rows that start
  bool rep_is_bits = false, has_def = false, def_is_bits = false;
  std::vector<uint16_t> rep, def;
  std::vector<uint64_t> starts;  // bit i: a row starts at event i
  std::vector<uint64_t> def_bits;

  uint16_t RepAt(uint64_t i) const { return rep_is_bits ? starts[i / 64] >> (i % 64) & 1 : rep[i]; }
  uint16_t DefAt(uint64_t i) const { return !has_def ? 0 : def_is_bits ? def_bits[i / 64] >> (i % 64) & 1 : def[i]; }
};

// The cells and events of a take so far. Levels count as LeafTaker::plan() does. Reused from take to take.
struct Cells {
  std::vector<Cell> cells;
  uint64_t events = 0;
  bool has_def = false;  // else every def is 0
  std::vector<uint16_t> rep, def;
  ChunkLevels chunk;
  std::vector<codec::Bytes> def_bytes;  // of flat mini-block rows
  std::vector<uint64_t> keys;
  std::vector<codec::Bytes> parts;
  std::vector<uint8_t> copy;

  void Clear();
  // `n` events of def 0, or of those levels. (rep is appended by whoever has lists.)
  void AddValid(uint64_t n);
  uint16_t* AddDef(uint64_t n);
};

// Where the values of a leaf go, in order.
struct ValueOut {
  bool variable = false;
  codec::VariableOut strings;
  uint64_t width = 0;  // bytes of a fixed value; bool: 1
  uint8_t* fixed = nullptr;
};

// Immutable apart from the page's own prelude cache. Thread-safe.
class PageTaker {
 public:
  // `plan`: the leaf's, with every level any page could have.
  PageTaker(const PageBase& page, const LevelPlan& plan);
  virtual ~PageTaker() = default;
  const PageBase& page() const { return page_; }

  // Ranges that must be known before rows can be found; none once they are.
  virtual std::vector<ByteRange> AskPrelude() const = 0;
  virtual Status GivePrelude(const std::vector<BufferPtr>& fetched) const = 0;
  // Does an index in the file say where a row lies? Then IndexOf gives the place of its entry.
  virtual bool has_index() const { return false; }
  virtual void IndexOf(std::span<Place> /*rows*/) const {}
  // rows[i].row -> rows[i].range. `index`: as IndexOf gave, with their bytes.
  virtual Status Locate(std::span<Place> rows, std::span<const Place> index) const = 0;
  // Appends levels and cells of the rows, whose bytes are there.
  virtual Status AddCells(std::span<const Place> rows, Cells* out) const = 0;
  // How many bytes the values of cells will take, for variable ones; VariableOut::kUnknown.
  virtual uint64_t ReserveBytes(std::span<const Cell> cells) const = 0;
  virtual Status AddValues(std::span<const Cell> cells, Cells* scratch, ValueOut* out) const = 0;
  // Of a dictionary column: AddValues gives keys into these.
  virtual std::shared_ptr<arrow::Array> dictionary() const { return nullptr; }

 protected:
  bool lists() const { return page_.plan().has_lists(); }
  // A level of the page as the leaf's plan counts it. `level` is at most the page's max_def.
  uint16_t Canonical(uint16_t level) const { return canonical_[level]; }
  Status CheckLevel(uint16_t level) const {
    if (level < canonical_.size()) return Status::OK();
    return codec::BadBytes("a definition level of {}, where {} is the highest", level, canonical_.size() - 1);
  }

  const PageBase& page_;
  std::vector<uint16_t> canonical_;
};

// Null: not addressable. (A page that is at fault in itself is not either: page.h then says what is wrong.)
Result<std::unique_ptr<PageTaker>> MakeMiniBlockTaker(const PageBase& page, const LevelPlan& plan);
Result<std::unique_ptr<PageTaker>> MakeFullZipTaker(const PageBase& page, const LevelPlan& plan);
Result<std::unique_ptr<PageTaker>> MakeConstantTaker(const PageBase& page, const LevelPlan& plan);

// Bytes of a value of this leaf type in ValueOut (bool: 1); 0: variable or not addressable.
uint64_t FixedWidth(const arrow::DataType& type);
bool IsVariable(const arrow::DataType& type);
// Appends cells whose bytes are their values.
Status AddPlainValues(std::span<const Cell> cells, ValueOut* out);

inline void Prefetch(const void* p) { __builtin_prefetch(p); }

}  // namespace pilum::take
