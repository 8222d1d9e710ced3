// One read of a mini-block page: which chunks, and their values and levels into one array.
#include <algorithm>
#include <cstring>
#include <optional>

#include <arrow/util/bitmap_ops.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/bits.h"
#include "pilum/encoding/list_levels.h"
#include "pilum/encoding/page/miniblock.h"

namespace pilum::miniblock {

using codec::BadBytes;
using codec::Bytes;

namespace {

// A run of neighbouring chunks, fetched as one range.
struct ChunkRun {
  size_t first = 0, last = 0;  // [first, last)
  uint64_t first_row = 0;      // lists: rows that started before the run
  uint64_t end_row = 0;        // and before its end
};

struct ChunkView {
  size_t index = 0, run = 0;
  uint64_t num_levels = 0, num_values = 0;
  Bytes rep, def;
  size_t values = 0;  // its first value buffer among all
};

constexpr uint64_t kFewLevels = 16;        // of a chunk: picked one by one
constexpr uint64_t kChunkWork = 32 << 10;  // what a chunk counts for, whatever its bytes become

uint64_t Pad8(uint64_t n) { return (n + 7) & ~uint64_t{7}; }
uint64_t RoundUp(uint64_t n) { return (n + 1023) & ~uint64_t{1023}; }

class MiniBlockRead : public PageRead {
 public:
  MiniBlockRead(const MiniBlockPage& page, RowSet rows) : page_(page), rows_(std::move(rows)) {
    all_ = rows_.size() == page.num_rows();
    prelude_claim_.emplace(&page.prelude_once());
    if (lists() && page.has_index() && !all_) index_claim_.emplace(&page.index_once());
  }
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    return page_.InPage(Step(std::move(fetched)));
  }
  Result<std::shared_ptr<arrow::Array>> Decode(ReadContext& ctx) override { return page_.InPage(DecodeAll(ctx)); }
  bool utf8_checked() const override { return utf8_; }

 private:
  bool lists() const { return page_.plan().has_lists(); }
  const PageLayout& layout() const { return page_.layout(); }
  size_t num_buffers() const { return layout().num_buffers; }

  Result<std::vector<ByteRange>> Step(std::vector<BufferPtr> fetched);
  std::vector<ByteRange> AskPrelude();
  Status TakePrelude(const std::vector<BufferPtr>& fetched);
  Status PlanChunks();
  void AddRun(ChunkRun run);

  Status ViewChunks();
  Status ViewChunk(size_t index, size_t run, Bytes bytes);
  std::span<const Bytes> ValuesOf(const ChunkView& c) const { return {values_.data() + c.values, num_buffers()}; }
  Result<std::unique_ptr<codec::ValueDecoder>> MakeDecoder(ReadContext& ctx) const;
  Result<std::shared_ptr<arrow::Array>> DecodeAll(ReadContext& ctx);
  Result<std::shared_ptr<arrow::ArrayData>> MakeLeafArray(codec::DataBlock block, const Levels& levels,
                                                          ReadContext& ctx) const;
  Status DecodeFlat(codec::ValueDecoder* values, Levels* levels, ReadContext& ctx);
  Status AppendFlatLevels(const ChunkView& chunk, std::span<const RowRange> ranges, Levels* levels);
  template <typename Append>
  Status EachListChunk(const Append& append, StopCheck* stop) const;
  Status DecodePlainLists(codec::ValueDecoder* values, Levels* levels, ReadContext& ctx);
  Result<std::shared_ptr<arrow::Array>> FinishLists(std::shared_ptr<arrow::ArrayData> leaf, uint64_t decoded,
                                                    ReadContext& ctx) const;
  Status DecodeLists(codec::ValueDecoder* values, Levels* levels, ReadContext& ctx);
  Status AppendListChunk(const ChunkView& chunk, uint64_t* row, codec::ValueDecoder* values, Levels* levels);
  Status InChunk(const ChunkView& c, const Status& st) const {
    return st.ok() ? st : WithContext(fmt::format("chunk {}", c.index), st);
  }

  const MiniBlockPage& page_;
  RowSet rows_;
  bool all_ = false, started_ = false, planned_ = false, utf8_ = false;
  bool ask_prelude_ = false, ask_index_ = false, ask_data_ = false;
  std::optional<FetchOnce<Prelude>::Claim> prelude_claim_;
  std::optional<FetchOnce<RowIndex>::Claim> index_claim_;  // where the index is needed
  std::shared_ptr<const Prelude> prelude_;
  std::shared_ptr<const RowIndex> index_;
  std::vector<ChunkRun> runs_;
  std::vector<BufferPtr> data_;  // one a run, or
  BufferPtr whole_data_;         // the whole data buffer
  std::vector<ChunkView> chunks_;
  std::vector<Bytes> values_;
  std::vector<uint16_t> scratch_;
  std::vector<uint64_t> scratch_bits_;
  std::vector<RowRange> ranges_;
  std::optional<ListLevels> list_levels_;
};

Result<std::vector<ByteRange>> MiniBlockRead::Step(std::vector<BufferPtr> fetched) {
  if (!started_) {
    started_ = true;
    auto ranges = AskPrelude();
    if (!ranges.empty()) return ranges;
  }
  if (planned_) {
    if (fetched.size() != runs_.size()) return BadBytes("{} buffers for {} ranges", fetched.size(), runs_.size());
    data_ = std::move(fetched);
    return std::vector<ByteRange>{};
  }
  PILUM_RETURN_NOT_OK(TakePrelude(fetched));
  PILUM_RETURN_NOT_OK(PlanChunks());
  planned_ = true;
  std::vector<ByteRange> ranges;
  if (whole_data_) return ranges;
  const auto& offset = prelude_->chunks.offset;
  for (const ChunkRun& r : runs_) {
    ranges.push_back({page_.buffers()[1].offset + offset[r.first], offset[r.last] - offset[r.first]});
  }
  return ranges;
}

std::vector<ByteRange> MiniBlockRead::AskPrelude() {
  prelude_ = prelude_claim_->Wait();
  index_ = index_claim_ ? index_claim_->Wait() : nullptr;
  std::vector<ByteRange> ranges;
  ask_prelude_ = !prelude_;
  if (ask_prelude_) {
    ranges.push_back(page_.buffers()[0]);
    if (layout().dictionary) ranges.push_back(page_.buffers()[2]);
  }
  ask_index_ = index_claim_ && !index_;
  if (ask_index_) ranges.push_back(page_.index_range());
  ask_data_ = ask_prelude_ && (all_ || page_.buffers()[1].size <= kSmallData);
  if (ask_data_) ranges.push_back(page_.buffers()[1]);
  return ranges;
}

Status MiniBlockRead::TakePrelude(const std::vector<BufferPtr>& fetched) {
  bool dict = layout().dictionary.has_value();
  size_t want = (ask_prelude_ ? (dict ? 2 : 1) : 0) + (ask_index_ ? 1 : 0) + (ask_data_ ? 1 : 0), at = 0;
  if (fetched.size() != want) return BadBytes("{} buffers for {} ranges", fetched.size(), want);
  if (ask_prelude_) {
    PILUM_ASSIGN_OR_RETURN(prelude_, page_.ParsePrelude(fetched[0], dict ? fetched[1] : nullptr));
    at = dict ? 2 : 1;
  }
  if (ask_index_) {
    PILUM_ASSIGN_OR_RETURN(index_, page_.ParseIndex(fetched[at++], prelude_->chunks.size()));
  }
  if (ask_data_) whole_data_ = fetched[at];
  prelude_claim_->Done();
  if (index_claim_) index_claim_->Done();
  return Status::OK();
}

Status MiniBlockRead::PlanChunks() {
  const auto& value = prelude_->chunks.value;
  if (lists() && (!index_ || all_)) {
    AddRun({0, prelude_->chunks.size(), 0, page_.num_rows()});
    return Status::OK();
  }
  for (const RowRange& r : lists() ? rows_.ranges() : page_.ItemsOf(rows_)) {
    if (!lists()) {
      size_t first = std::upper_bound(value.begin(), value.end(), r.begin) - value.begin() - 1;
      size_t last = std::lower_bound(value.begin(), value.end(), r.end) - value.begin();
      AddRun({first, last, 0, 0});
      continue;
    }
    const auto &started = index_->started, &finished = index_->finished;
    size_t first = std::upper_bound(started.begin(), started.end(), r.begin) - started.begin() - 1;
    size_t last = std::upper_bound(finished.begin(), finished.end(), r.end - 1) - finished.begin();
    AddRun({first, last, started[first], started[last]});
  }
  return Status::OK();
}

void MiniBlockRead::AddRun(ChunkRun run) {
  if (runs_.empty() || run.first > runs_.back().last) {
    runs_.push_back(run);
  } else if (run.last > runs_.back().last) {
    runs_.back().last = run.last;
    runs_.back().end_row = run.end_row;
  }
}

Status MiniBlockRead::ViewChunks() {
  const auto& offset = prelude_->chunks.offset;
  for (size_t r = 0; r < runs_.size(); ++r) {
    const uint64_t base = whole_data_ ? 0 : offset[runs_[r].first];
    Bytes bytes = BytesOf(whole_data_ ? whole_data_ : data_[r]);
    for (size_t c = runs_[r].first; c < runs_[r].last; ++c) {
      if (offset[c + 1] - base > bytes.size()) return BadBytes("chunk {} lies past its bytes", c);
      Status st = ViewChunk(c, r, bytes.subspan(offset[c] - base, offset[c + 1] - offset[c]));
      if (!st.ok()) return WithContext(fmt::format("chunk {}", c), st);
    }
  }
  return Status::OK();
}

// u16 levels, [u16 rep bytes], [u16 def bytes], a size a value buffer; then the buffers; all padded to 8.
Status MiniBlockRead::ViewChunk(size_t index, size_t run, Bytes bytes) {
  ByteCursor in(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  ChunkView c;
  c.index = index;
  c.run = run;
  c.num_values = prelude_->chunks.value[index + 1] - prelude_->chunks.value[index];
  c.num_levels = in.Read<uint16_t>();
  c.values = values_.size();
  uint64_t rep = layout().rep_codec ? in.Read<uint16_t>() : 0, def = layout().def_codec ? in.Read<uint16_t>() : 0;
  uint64_t sizes[kMaxValueBuffers];
  for (size_t i = 0; i < num_buffers(); ++i)
    sizes[i] = layout().has_large_chunk ? in.Read<uint32_t>() : in.Read<uint16_t>();
  uint64_t at = Pad8(in.offset());
  bool ok = in.ok();
  auto take = [&](uint64_t size) {
    ok = ok && at <= bytes.size() && size <= bytes.size() - at;
    Bytes b = ok ? bytes.subspan(at, size) : Bytes();
    at += Pad8(size);
    return b;
  };
  if (layout().rep_codec) c.rep = take(rep);
  if (layout().def_codec) c.def = take(def);
  for (size_t i = 0; i < num_buffers(); ++i) values_.push_back(take(sizes[i]));
  if (!ok) return BadBytes("its buffers do not fit into {} bytes", bytes.size());
  if (!lists() && layout().def_codec && c.num_levels != c.num_values) {
    return BadBytes("{} levels for {} values", c.num_levels, c.num_values);
  }
  if (lists() && c.num_levels < c.num_values) return BadBytes("{} levels for {} values", c.num_levels, c.num_values);
  chunks_.push_back(c);
  return Status::OK();
}

Result<std::unique_ptr<codec::ValueDecoder>> MiniBlockRead::MakeDecoder(ReadContext& ctx) const {
  codec::DecodeSpec spec;
  spec.pool = ctx.memory_pool();
  spec.wide = IsWide(*page_.leaf_type());
  for (const Bytes& b : values_) spec.input_bytes += b.size();
  if (lists()) {
    for (const ChunkView& c : chunks_) spec.max_count += c.num_values;
  } else {
    spec.max_count = rows_.size() * page_.context().items_per_row;
  }
  return codec::MakeValueDecoder(*layout().value_codec, spec);
}

Result<std::shared_ptr<arrow::Array>> MiniBlockRead::DecodeAll(ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(ViewChunks());
  PILUM_ASSIGN_OR_RETURN(auto values, MakeDecoder(ctx));
  Levels levels;
  PILUM_RETURN_NOT_OK(lists() ? DecodeLists(values.get(), &levels, ctx) : DecodeFlat(values.get(), &levels, ctx));
  uint64_t decoded = values->decoded();
  PILUM_ASSIGN_OR_RETURN(codec::DataBlock block, values->Finish());
  utf8_ = layout().dictionary ? prelude_->utf8 : block.ascii;
  PILUM_ASSIGN_OR_RETURN(auto leaf, MakeLeafArray(std::move(block), levels, ctx));
  if (list_levels_) return FinishLists(std::move(leaf), decoded, ctx);
  return FinishRead(page_, std::move(levels), rows_.size(), std::move(leaf), decoded, ctx);
}

Result<std::shared_ptr<arrow::ArrayData>> MiniBlockRead::MakeLeafArray(codec::DataBlock block, const Levels& levels,
                                                                       ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(Validity validity, LeafValidity(page_.plan(), levels, ctx.memory_pool()));
  if (prelude_->dictionary) return MakeDictionary(page_.leaf_type(), std::move(block), prelude_->dictionary, validity);
  if (layout().dictionary) {
    StopCheck stop(ctx);
    PILUM_ASSIGN_OR_RETURN(
        block, GatherDictionary(block, prelude_->items, validity, ctx.memory_pool(), &prelude_->item_table, &stop));
  }
  return MakeLeaf(page_.leaf_type(), std::move(block), validity, ctx.memory_pool());
}

// Without lists, value i and level i are item i of the page.
Status MiniBlockRead::DecodeFlat(codec::ValueDecoder* values, Levels* levels, ReadContext& ctx) {
  const uint64_t total = rows_.size() * page_.context().items_per_row;
  const LevelPlan& plan = page_.plan();
  const bool has_levels = layout().def_codec && plan.max_def > 0;
  if (has_levels && plan.max_def == 1) {
    levels->bitmap = true;
    PILUM_ASSIGN_OR_RETURN(levels->validity, codec::Allocate((total + 63) / 64 * 8, ctx.memory_pool()));
  } else if (has_levels) {
    PILUM_RETURN_NOT_OK(levels->def.Reserve(total, ctx.memory_pool()));
  }
  const std::vector<RowRange> items = page_.ItemsOf(rows_);
  auto it = items.begin();
  StopCheck stop(ctx);
  for (const ChunkView& c : chunks_) {
    PILUM_RETURN_NOT_OK(stop.After(kChunkWork + c.num_values * 8));
    const uint64_t begin = prelude_->chunks.value[c.index], end = begin + c.num_values;
    ranges_.clear();
    while (it != items.end() && it->end <= begin) ++it;
    for (auto r = it; r != items.end() && r->begin < end; ++r) {
      ranges_.push_back({std::max(r->begin, begin) - begin, std::min(r->end, end) - begin});
    }
    if (ranges_.empty()) continue;
    PILUM_RETURN_NOT_OK(InChunk(c, values->Append(ValuesOf(c), c.num_values, ranges_)));
    if (has_levels) PILUM_RETURN_NOT_OK(InChunk(c, AppendFlatLevels(c, ranges_, levels)));
    levels->count += codec::CountOf(ranges_);
  }
  if (levels->count != total) return BadBytes("{} values for {} items", levels->count, total);
  if (levels->bitmap && levels->null_count == 0) levels->validity = nullptr;
  return levels->bitmap ? Status::OK() : CheckLevels(plan, *levels);
}

Status MiniBlockRead::AppendFlatLevels(const ChunkView& c, std::span<const RowRange> ranges, Levels* levels) {
  const uint64_t n = codec::CountOf(ranges);
  uint64_t at = levels->count;
  if (levels->bitmap && n > kFewLevels) {
    scratch_bits_.resize(RoundUp(c.num_levels) / 64);
    PILUM_RETURN_NOT_OK(codec::DecodeLevelBits(*layout().def_codec, c.def, c.num_levels, scratch_bits_.data()));
    uint8_t* bits = const_cast<uint8_t*>(levels->validity->data());
    for (const RowRange& r : ranges) {
      levels->null_count += static_cast<int64_t>(bits::Count(scratch_bits_.data(), r.begin, r.end));
      arrow::internal::InvertBitmap(reinterpret_cast<const uint8_t*>(scratch_bits_.data()),
                                    static_cast<int64_t>(r.begin), static_cast<int64_t>(r.size()), bits,
                                    static_cast<int64_t>(at));
      at += r.size();
    }
    return Status::OK();
  }
  // Whole blocks may be written past the end: into the levels' own slack, before anything follows.
  if (!levels->bitmap && n == c.num_levels)
    return codec::DecodeLevels(*layout().def_codec, c.def, n, ranges, levels->def.data() + at);
  if (scratch_.size() < RoundUp(c.num_levels) + codec::kSlack) scratch_.resize(RoundUp(c.num_levels) + codec::kSlack);
  PILUM_RETURN_NOT_OK(codec::DecodeLevels(*layout().def_codec, c.def, c.num_levels, ranges, scratch_.data()));
  if (!levels->bitmap) {
    std::memcpy(levels->def.data() + at, scratch_.data(), n * 2);
    return Status::OK();
  }
  if (MaxLevel(scratch_.data(), n) > 1) return BadBytes("a definition level above 1");
  scratch_bits_.resize((n + 63) / 64);
  uint8_t* part = reinterpret_cast<uint8_t*>(scratch_bits_.data());
  levels->null_count += BelowToBits(scratch_.data(), n, 1, part);
  arrow::internal::CopyBitmap(part, 0, static_cast<int64_t>(n), const_cast<uint8_t*>(levels->validity->data()),
                              static_cast<int64_t>(at));
  return Status::OK();
}

// `append` each chunk, with the number of rows that started before it, which it moves on.
template <typename Append>
Status MiniBlockRead::EachListChunk(const Append& append, StopCheck* stop) const {
  uint64_t row = 0;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    const ChunkView& c = chunks_[i];
    PILUM_RETURN_NOT_OK(stop->After(kChunkWork + (c.num_levels + c.num_values) * 8));
    if (i == 0 || chunks_[i - 1].run != c.run) row = runs_[c.run].first_row;
    PILUM_RETURN_NOT_OK(InChunk(c, append(c, &row)));
    if ((i + 1 == chunks_.size() || chunks_[i + 1].run != c.run) && row != runs_[c.run].end_row) {
      return BadBytes("{} rows start before the end of chunk {}, not {}", row, c.index, runs_[c.run].end_row);
    }
  }
  return Status::OK();
}

// Lists of leaves: levels as bitmaps throughout. `levels` becomes those of the items.
Status MiniBlockRead::DecodePlainLists(codec::ValueDecoder* values, Levels* levels, ReadContext& ctx) {
  list_levels_.emplace(page_.plan(), &*layout().rep_codec, layout().def_codec ? &*layout().def_codec : nullptr);
  StopCheck stop(ctx);
  auto append = [&](const ChunkView& c, uint64_t* row) {
    PILUM_RETURN_NOT_OK(
        list_levels_->AppendChunk(c.rep, c.def, c.num_levels, c.num_values, rows_.ranges(), row, &ranges_));
    return ranges_.empty() ? Status::OK() : values->Append(ValuesOf(c), c.num_values, ranges_);
  };
  PILUM_RETURN_NOT_OK(EachListChunk(append, &stop));
  PILUM_ASSIGN_OR_RETURN(Validity items, list_levels_->LeafValidity(ctx.memory_pool()));
  levels->bitmap = true;
  levels->count = items.count;
  levels->validity = items.bitmap;
  levels->null_count = items.null_count;
  return Status::OK();
}

Result<std::shared_ptr<arrow::Array>> MiniBlockRead::FinishLists(std::shared_ptr<arrow::ArrayData> leaf,
                                                                 uint64_t decoded, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto lists, list_levels_->Wrap(std::move(leaf), rows_.size(), ctx.memory_pool()));
  if (ctx.stats) ctx.stats->AddDecoded(page_.context().column->name, decoded);
  return arrow::MakeArray(lists);
}

Status MiniBlockRead::DecodeLists(codec::ValueDecoder* values, Levels* levels, ReadContext& ctx) {
  if (ListLevels::Fits(page_.plan())) return DecodePlainLists(values, levels, ctx);
  uint64_t events = 0;
  for (const ChunkView& c : chunks_) events += c.num_levels;
  PILUM_RETURN_NOT_OK(levels->rep.Reserve(events, ctx.memory_pool()));
  if (layout().def_codec) PILUM_RETURN_NOT_OK(levels->def.Reserve(events, ctx.memory_pool()));
  StopCheck stop(ctx);
  return EachListChunk([&](const ChunkView& c, uint64_t* row) { return AppendListChunk(c, row, values, levels); },
                       &stop);
}

Status MiniBlockRead::AppendListChunk(const ChunkView& c, uint64_t* row, codec::ValueDecoder* values, Levels* levels) {
  const uint64_t n = c.num_levels;
  const RowRange all{0, n};
  uint16_t* rep = levels->rep.data() + levels->count;
  uint16_t* def = levels->def ? levels->def.data() + levels->count : nullptr;
  PILUM_RETURN_NOT_OK(codec::DecodeLevels(*layout().rep_codec, c.rep, n, {&all, 1}, rep));
  if (def) PILUM_RETURN_NOT_OK(codec::DecodeLevels(*layout().def_codec, c.def, n, {&all, 1}, def));
  PILUM_RETURN_NOT_OK(CheckLevels(page_.plan(), rep, def, n));
  std::vector<RowRange> events = SelectEvents(rep, n, page_.plan().max_rep, rows_.ranges(), row);
  if (events.empty()) return Status::OK();

  const bool every_visible = !def || n == c.num_values;
  const uint16_t visible = page_.plan().max_visible;
  uint64_t seen = 0, slot = 0, kept = 0;
  ranges_.clear();
  for (const RowRange& e : events) {
    uint64_t first = e.begin, last = e.end;
    if (!every_visible) {
      slot += CountAtMost(def + seen, e.begin - seen, visible);
      first = slot;
      slot += CountAtMost(def + e.begin, e.size(), visible);
      last = slot;
      seen = e.end;
    }
    if (last > c.num_values) return BadBytes("{} slots or more for {} values", last, c.num_values);
    if (first < last) ranges_.push_back({first, last});
  }
  for (const RowRange& e : events) {  // slots were counted over the unmoved levels
    if (e.begin != kept) {
      std::memmove(rep + kept, rep + e.begin, e.size() * 2);
      if (def) std::memmove(def + kept, def + e.begin, e.size() * 2);
    }
    kept += e.size();
  }
  levels->count += kept;
  if (ranges_.empty()) return Status::OK();
  return values->Append(ValuesOf(c), c.num_values, ranges_);
}

}  // namespace

std::unique_ptr<PageRead> MiniBlockPage::StartRead(RowSet rows) const {
  return std::make_unique<MiniBlockRead>(*this, std::move(rows));
}

}  // namespace pilum::miniblock
