// Mini-block pages: a row's chunk by the chunk table (with lists, by the repetition index), then in the chunk its level
// and its value alone.
#include <algorithm>
#include <bit>
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/page/miniblock.h"
#include "pilum/encoding/take/value_at.h"

namespace pilum::take {

using codec::BadBytes;
using codec::Bytes;
using miniblock::MiniBlockPage;

namespace {

uint64_t Pad8(uint64_t n) { return (n + 7) & ~uint64_t{7}; }

// What a chunk says of itself, once.
struct ChunkHead {
  uint64_t num_levels = 0;
  Bytes rep, def, values[2];
};

class MiniBlockTaker : public PageTaker {
 public:
  MiniBlockTaker(const MiniBlockPage& page, const LevelPlan& plan, ValueReader reader)
      : PageTaker(page, plan), mini_(page), reader_(std::move(reader)) {
    has_def_ = layout().def_codec && page.plan().max_def > 0;
  }

  std::vector<ByteRange> AskPrelude() const override;
  Status GivePrelude(const std::vector<BufferPtr>& fetched) const override;
  Status Locate(std::span<Place> rows, std::span<const Place> index) const override;
  Status AddCells(std::span<const Place> rows, Cells* out) const override {
    return lists() ? AddListCells(rows, out) : AddFlatCells(rows, out);
  }
  uint64_t ReserveBytes(std::span<const Cell>) const override { return codec::VariableOut::kUnknown; }
  Status AddValues(std::span<const Cell> cells, Cells* scratch, ValueOut* out) const override;
  std::shared_ptr<arrow::Array> dictionary() const override {
    const auto p = mini_.prelude();
    return p ? p->dictionary : nullptr;
  }

 private:
  const PageLayout& layout() const { return page_.layout(); }
  Status ParseHead(const uint8_t* at, uint64_t size, size_t chunk, ChunkHead* out) const;
  Status InChunk(size_t chunk, const Status& st) const { return WithContext(fmt::format("chunk {}", chunk), st); }
  size_t ChunkOf(const miniblock::ChunkTable& table, uint64_t item) const;
  Status LocateLists(std::span<Place> rows, const miniblock::Prelude& p) const;
  Status AddFlatCells(std::span<const Place> rows, Cells* out) const;
  Status AddListCells(std::span<const Place> rows, Cells* out) const;
  Status AddListRow(const Place& row, const miniblock::Prelude& p, const miniblock::RowIndex& index, Cells* out) const;
  Status LoadLevels(const ChunkHead& head, const uint8_t* at, ChunkLevels* out) const;
  Status AddEvents(const ChunkHead& head, uint64_t num_values, uint64_t begin, uint64_t end, Cells* out) const;
  Status ReadKeys(std::span<const Cell> cells, Cells* scratch) const;
  Status AddItems(std::span<const Cell> cells, const codec::DataBlock& items, Cells* scratch, ValueOut* out) const;

  const MiniBlockPage& mini_;
  ValueReader reader_;
  bool has_def_ = false;
};

// All or nothing, so that what comes back is known by its number.
std::vector<ByteRange> MiniBlockTaker::AskPrelude() const {
  if (mini_.prelude() && (!lists() || mini_.index())) return {};
  std::vector<ByteRange> ranges{page_.buffers()[0]};
  if (layout().dictionary) ranges.push_back(page_.buffers()[2]);
  if (lists()) ranges.push_back(mini_.index_range());
  return ranges;
}

Status MiniBlockTaker::GivePrelude(const std::vector<BufferPtr>& fetched) const {
  const bool dictionary = layout().dictionary.has_value();
  PILUM_ASSIGN_OR_RETURN(auto prelude, mini_.ParsePrelude(fetched[0], dictionary ? fetched[1] : nullptr));
  return lists() ? mini_.ParseIndex(fetched.back(), prelude->chunks.size()).status() : Status::OK();
}

// Most pages have chunks of one size; the search is for those that have not.
size_t MiniBlockTaker::ChunkOf(const miniblock::ChunkTable& table, uint64_t item) const {
  const auto& value = table.value;
  if (value.size() > 2) {
    const uint64_t size = value[1];
    const uint64_t guess = std::min<uint64_t>(item >> std::countr_zero(size), value.size() - 2);
    if (value[guess] <= item && item < value[guess + 1]) return guess;
  }
  return static_cast<size_t>(std::upper_bound(value.begin(), value.end(), item) - value.begin()) - 1;
}

Status MiniBlockTaker::Locate(std::span<Place> rows, std::span<const Place>) const {
  const auto held = mini_.prelude();
  const miniblock::Prelude& p = *held;
  if (lists()) return LocateLists(rows, p);
  const uint64_t data = page_.buffers()[1].offset;
  for (Place& row : rows) {
    const size_t c = ChunkOf(p.chunks, row.row);
    row.range = {data + p.chunks.offset[c], p.chunks.offset[c + 1] - p.chunks.offset[c]};
  }
  return Status::OK();
}

// Chunks [first, last) of a row with lists.
std::pair<size_t, size_t> ChunksOf(const miniblock::RowIndex& index, uint64_t row) {
  const auto &started = index.started, &finished = index.finished;
  const auto first = std::upper_bound(started.begin(), started.end(), row) - started.begin() - 1;
  const auto last = std::upper_bound(finished.begin(), finished.end(), row) - finished.begin();
  return {static_cast<size_t>(first), static_cast<size_t>(last)};
}

Status MiniBlockTaker::LocateLists(std::span<Place> rows, const miniblock::Prelude& p) const {
  const auto index = mini_.index();
  const uint64_t data = page_.buffers()[1].offset;
  for (Place& row : rows) {
    auto [first, last] = ChunksOf(*index, row.row);
    if (first >= last || last > p.chunks.size()) return BadBytes("row {} lies in no chunk", row.row);
    row.range = {data + p.chunks.offset[first], p.chunks.offset[last] - p.chunks.offset[first]};
  }
  return Status::OK();
}

// u16 levels, [u16 rep bytes], [u16 def bytes], a size a value buffer; then the buffers; all padded to 8.
Status MiniBlockTaker::ParseHead(const uint8_t* at, uint64_t size, size_t chunk, ChunkHead* out) const {
  const PageLayout& l = layout();
  const uint64_t buffers = l.num_buffers;
  const uint64_t head = 2 + (l.rep_codec ? 2 : 0) + (l.def_codec ? 2 : 0) + buffers * (l.has_large_chunk ? 4 : 2);
  const uint8_t* in = at;
  auto two = [&in] {
    in += 2;
    return uint64_t{LoadLE<uint16_t>(in - 2)};
  };
  if (size < head) return InChunk(chunk, BadBytes("{} bytes of {}", size, head));
  out->num_levels = two();
  const uint64_t rep = l.rep_codec ? two() : 0, def = l.def_codec ? two() : 0;
  uint64_t from = Pad8(head);
  bool ok = true;
  auto take = [&](uint64_t n) {
    ok = ok && from <= size && n <= size - from;
    Bytes b(at + (ok ? from : 0), ok ? n : 0);
    from += Pad8(n);
    return b;
  };
  if (l.rep_codec) out->rep = take(rep);
  if (l.def_codec) out->def = take(def);
  for (uint64_t i = 0; i < buffers; ++i) {
    const uint64_t n = l.has_large_chunk ? LoadLE<uint32_t>(in + i * 4) : LoadLE<uint16_t>(in + i * 2);
    out->values[i] = take(n);
  }
  if (!ok) return InChunk(chunk, BadBytes("its buffers do not fit into {} bytes", size));
  return Status::OK();
}

void SetBuffers(const ChunkHead& head, uint64_t count, Cell* c) {
  c->bytes = head.values[0].data();
  c->size = head.values[0].size();
  c->more = head.values[1].data();
  c->more_size = static_cast<uint32_t>(head.values[1].size());
  c->count = static_cast<uint32_t>(count);
}

Status MiniBlockTaker::AddFlatCells(std::span<const Place> rows, Cells* out) const {
  const auto held = mini_.prelude();
  const auto& chunks = held->chunks;
  const bool has_levels = layout().def_codec.has_value();
  const size_t first = out->cells.size();
  out->cells.resize(first + rows.size());
  out->def_bytes.resize(rows.size());
  Cell* cells = out->cells.data() + first;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Place& row = rows[i];
    const size_t chunk = ChunkOf(chunks, row.row);
    const uint64_t count = chunks.value[chunk + 1] - chunks.value[chunk];
    ChunkHead head;
    PILUM_RETURN_NOT_OK(ParseHead(row.at, row.range.size, chunk, &head));
    if (has_levels && head.num_levels != count) {
      return InChunk(chunk, BadBytes("{} levels for {} values", head.num_levels, count));
    }
    SetBuffers(head, count, &cells[i]);
    cells[i].index = static_cast<uint32_t>(row.row - chunks.value[chunk]);
    reader_.PrefetchCell(cells[i]);
    if (!has_def_) continue;
    out->def_bytes[i] = head.def;
    PrefetchLevel(*layout().def_codec, head.def, cells[i].index);
  }
  if (!has_def_) {
    out->AddValid(rows.size());
    return Status::OK();
  }
  uint16_t* def = out->AddDef(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    PILUM_ASSIGN_OR_RETURN(uint16_t level,
                           LevelAt(*layout().def_codec, out->def_bytes[i], cells[i].count, cells[i].index));
    PILUM_RETURN_NOT_OK(CheckLevel(level));
    def[i] = Canonical(level);
    cells[i].null = level != 0;
  }
  return Status::OK();
}

Status MiniBlockTaker::AddListCells(std::span<const Place> rows, Cells* out) const {
  const auto held = mini_.prelude();
  const auto index = mini_.index();
  out->chunk.at = nullptr;
  for (const Place& row : rows) PILUM_RETURN_NOT_OK(AddListRow(row, *held, *index, out));
  return Status::OK();
}

Status MiniBlockTaker::AddListRow(const Place& row, const miniblock::Prelude& p, const miniblock::RowIndex& index,
                                  Cells* out) const {
  const auto& chunks = p.chunks;
  auto [first, last] = ChunksOf(index, row.row);
  const uint64_t base = chunks.offset[first];
  for (size_t c = first; c < last; ++c) {
    const uint8_t* at = row.at + (chunks.offset[c] - base);
    ChunkHead head;
    PILUM_RETURN_NOT_OK(ParseHead(at, chunks.offset[c + 1] - chunks.offset[c], c, &head));
    const uint64_t num_values = chunks.value[c + 1] - chunks.value[c];
    if (head.num_levels < num_values) {
      return InChunk(c, BadBytes("{} levels for {} values", head.num_levels, num_values));
    }
    Status st = LoadLevels(head, at, &out->chunk);
    if (!st.ok()) return InChunk(c, st);
    if (out->chunk.rows != index.started[c + 1] - index.started[c]) {
      return InChunk(c, BadBytes("{} rows start in it, not {} as the repetition index says", out->chunk.rows,
                                 index.started[c + 1] - index.started[c]));
    }
    const uint64_t n = out->chunk.count;
    uint64_t begin = 0, end = 0;
    if (c == first) {
      const uint64_t k = row.row - index.started[c];
      begin = PlaceOfOne(out->chunk.starts, n, k);
      end = PlaceOfOne(out->chunk.starts, n, k + 1);
    } else {
      end = PlaceOfOne(out->chunk.starts, n, 0);
    }
    if (end < n && c + 1 != last) {
      return InChunk(c, BadBytes("row {} ends before the repetition index says", row.row));
    }
    st = AddEvents(head, num_values, begin, end, out);
    if (!st.ok()) return InChunk(c, st);
  }
  return Status::OK();
}

Status MiniBlockTaker::LoadLevels(const ChunkHead& head, const uint8_t* at, ChunkLevels* out) const {
  const uint64_t n = head.num_levels;
  if (out->at == at && out->count == n) return Status::OK();
  const RowRange all{0, n};
  const uint64_t room = (n + 1023) / 1024 * 1024 + codec::kSlack;
  const uint16_t max_rep = page_.plan().max_rep;
  out->at = nullptr;
  out->rep_is_bits = out->def_is_bits = false;
  out->has_def = has_def_;
  if (max_rep == 1) {
    PILUM_ASSIGN_OR_RETURN(out->rep_is_bits, LevelBits(*layout().rep_codec, head.rep, n, &out->starts));
  }
  if (!out->rep_is_bits) {
    if (out->rep.size() < room) out->rep.resize(room);
    PILUM_RETURN_NOT_OK(codec::DecodeLevels(*layout().rep_codec, head.rep, n, {&all, 1}, out->rep.data()));
    out->starts.resize((n + 63) / 64);
    BelowToBits(out->rep.data(), n, max_rep, reinterpret_cast<uint8_t*>(out->starts.data()));
    for (uint64_t& word : out->starts) word = ~word;
    if (n % 64) out->starts.back() &= (uint64_t{1} << (n % 64)) - 1;
  }
  if (has_def_) {
    PILUM_ASSIGN_OR_RETURN(out->def_is_bits, LevelBits(*layout().def_codec, head.def, n, &out->def_bits));
    if (!out->def_is_bits) {
      if (out->def.size() < room) out->def.resize(room);
      PILUM_RETURN_NOT_OK(codec::DecodeLevels(*layout().def_codec, head.def, n, {&all, 1}, out->def.data()));
    }
  }
  out->rows = CountOnes(out->starts, n);
  out->count = n;
  out->at = at;
  return Status::OK();
}

// How many of the events before `end` own a value.
uint64_t VisibleBefore(const ChunkLevels& levels, uint64_t end, uint16_t visible) {
  if (!levels.has_def || (levels.def_is_bits && visible > 0)) return end;
  if (levels.def_is_bits) return end - CountOnes(levels.def_bits, end);
  return CountAtMost(levels.def.data(), end, visible);
}

// Events [begin, end) of the chunk whose levels are loaded, and their cells.
Status MiniBlockTaker::AddEvents(const ChunkHead& head, uint64_t num_values, uint64_t begin, uint64_t end,
                                 Cells* out) const {
  const ChunkLevels& levels = out->chunk;
  const uint16_t max_rep = page_.plan().max_rep, visible = page_.plan().max_visible;
  for (uint64_t i = begin; i < end; ++i) {
    const uint16_t rep = levels.RepAt(i);
    if (rep > max_rep) return BadBytes("a repetition level of {}", rep);
    out->rep.push_back(rep);
  }
  uint64_t slot = levels.count == num_values ? begin : VisibleBefore(levels, begin, visible);
  uint16_t* def = nullptr;
  if (has_def_)
    def = out->AddDef(end - begin);
  else
    out->AddValid(end - begin);
  Cell c;
  SetBuffers(head, num_values, &c);
  for (uint64_t i = begin; i < end; ++i) {
    const uint16_t level = levels.DefAt(i);
    PILUM_RETURN_NOT_OK(CheckLevel(level));
    if (def) *def++ = Canonical(level);
    if (level > visible) continue;
    if (slot >= num_values) return BadBytes("{} slots or more for {} values", slot + 1, num_values);
    c.index = static_cast<uint32_t>(slot++);
    c.null = level != 0;
    reader_.PrefetchCell(c);
    out->cells.push_back(c);
  }
  return Status::OK();
}

Status MiniBlockTaker::AddValues(std::span<const Cell> cells, Cells* scratch, ValueOut* out) const {
  if (!layout().dictionary) {
    if (out->variable) return reader_.ReadVariable(cells, scratch, &out->strings);
    PILUM_RETURN_NOT_OK(reader_.ReadFixed(cells, out->fixed));
    out->fixed += cells.size() * out->width;
    return Status::OK();
  }
  const auto held = mini_.prelude();
  if (held->dictionary) {  // keys as they are: whoever makes the array checks them
    PILUM_RETURN_NOT_OK(reader_.ReadFixed(cells, out->fixed));
    out->fixed += cells.size() * out->width;
    return Status::OK();
  }
  PILUM_RETURN_NOT_OK(ReadKeys(cells, scratch));
  return AddItems(cells, held->items, scratch, out);
}

// To scratch->keys, as 64-bit numbers.
Status MiniBlockTaker::ReadKeys(std::span<const Cell> cells, Cells* scratch) const {
  const uint64_t n = cells.size(), width = reader_.width();
  scratch->keys.resize(n);
  // At the end of the same memory: widening from the front never reaches a key that is still narrow.
  uint8_t* narrow = reinterpret_cast<uint8_t*>(scratch->keys.data()) + n * (8 - width);
  PILUM_RETURN_NOT_OK(reader_.ReadFixed(cells, narrow));
  for (uint64_t i = 0; i < n; ++i) {
    uint64_t key = 0;
    std::memcpy(&key, narrow + i * width, width);
    scratch->keys[i] = key;
  }
  return Status::OK();
}

Status MiniBlockTaker::AddItems(std::span<const Cell> cells, const codec::DataBlock& items, Cells* scratch,
                                ValueOut* out) const {
  const uint64_t fixed_width = items.bits / 8;
  for (size_t i = 0; i < cells.size(); ++i) {
    const uint64_t key = scratch->keys[i];
    if (key >= items.count) {
      if (!cells[i].null) return BadBytes("a key reaches past the {} items of the dictionary", items.count);
      if (out->variable) {
        PILUM_RETURN_NOT_OK(out->strings.Append({}));
      } else {
        std::memset(out->fixed, 0, out->width);
        out->fixed += out->width;
      }
      continue;
    }
    if (!out->variable) {
      std::memcpy(out->fixed, items.data->data() + key * fixed_width, fixed_width);
      out->fixed += fixed_width;
      continue;
    }
    const uint8_t* offsets = items.offsets->data() + key * (items.wide ? 8 : 4);
    const uint64_t begin = items.wide ? LoadLE<uint64_t>(offsets) : LoadLE<uint32_t>(offsets);
    const uint64_t end = items.wide ? LoadLE<uint64_t>(offsets + 8) : LoadLE<uint32_t>(offsets + 4);
    PILUM_RETURN_NOT_OK(out->strings.Append({items.data->data() + begin, end - begin}));
  }
  return Status::OK();
}

bool ValuesFit(const PageLayout& l, const ValueReader& reader, const arrow::DataType& type) {
  const bool dictionary_type = StorageType(type).id() == arrow::Type::DICTIONARY;
  if (l.dictionary && !dictionary_type) {
    const CodecDesc* items = &*l.dictionary;
    while (items->kind == CodecKind::kGeneral) items = &items->children[0];
    const uint64_t width = reader.width();
    if (reader.variable() || (width != 1 && width != 2 && width != 4 && width != 8)) return false;
    if (IsVariable(type)) return items->kind == CodecKind::kVariable;
    return items->kind == CodecKind::kFlat && items->bits % 8 == 0 && items->bits / 8 == FixedWidth(type);
  }
  if (IsVariable(type)) return reader.variable() && !l.dictionary;
  return !reader.variable() && reader.width() == FixedWidth(type);
}

}  // namespace

Result<std::unique_ptr<PageTaker>> MakeMiniBlockTaker(const PageBase& page, const LevelPlan& plan) {
  const auto* mini = dynamic_cast<const MiniBlockPage*>(&page);
  if (!mini || page.context().items_per_row != 1) return nullptr;
  const PageLayout& l = page.layout();
  if (l.num_buffers > 2 || (l.def_codec && !LevelsAreAddressable(*l.def_codec))) return nullptr;
  if (page.plan().has_lists() && !mini->has_index()) return nullptr;
  PILUM_ASSIGN_OR_RETURN(auto reader, ValueReader::Make(*l.value_codec));
  if (!reader || !ValuesFit(l, *reader, *page.leaf_type())) return nullptr;
  return std::unique_ptr<PageTaker>(new MiniBlockTaker(*mini, plan, std::move(*reader)));
}

}  // namespace pilum::take
