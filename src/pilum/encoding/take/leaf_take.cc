#include "pilum/encoding/take/leaf_take.h"

#include <algorithm>
#include <cstring>

#include <arrow/array.h>
#include <arrow/type.h>

#include "pilum/encoding/leaf_array.h"

namespace pilum {

using codec::BadBytes;
using take::PageTaker;
using take::Place;

namespace {

// Work between two looks at whether the take must stop: rows with lists, and values.
constexpr size_t kListsAtOnce = 256, kCellsAtOnce = 16 * 1024;

bool ShapeIsAddressable(const LeafColumn& column) {
  if (column.is_blob || column.is_packed || column.is_blob_v2) return false;
  for (const ShapeLayer& layer : column.layers) {
    if (layer.kind == ShapeLayerKind::kFixedSizeList) return false;
  }
  const arrow::DataType& type = *column.leaf->type();
  return take::IsVariable(type) || take::FixedWidth(type) > 0;
}

// Every layer as it is where it may be null and empty.
std::vector<RepDefLayer> FullLayers(const LeafColumn& column) {
  std::vector<RepDefLayer> out{RepDefLayer::kNullableItem};
  for (auto it = column.layers.rbegin(); it != column.layers.rend(); ++it) {
    out.push_back(it->kind == ShapeLayerKind::kStruct ? RepDefLayer::kNullableItem : RepDefLayer::kNullAndEmptyList);
  }
  return out;
}

Result<std::unique_ptr<PageTaker>> MakeTaker(const Page& given, const LevelPlan& plan) {
  const Page& page = given.parsed();
  const auto* base = dynamic_cast<const PageBase*>(&page);
  if (!base || base->context().version == FileVersion::kV2_3) return nullptr;  // codecs that takers do not know
  if (base->plan().layers.size() != plan.layers.size()) return nullptr;
  switch (page.info().layout.kind) {
    case LayoutKind::kMiniBlock: return take::MakeMiniBlockTaker(*base, plan);
    case LayoutKind::kFullZip: return take::MakeFullZipTaker(*base, plan);
    case LayoutKind::kConstant: return take::MakeConstantTaker(*base, plan);
    default: return nullptr;
  }
}

}  // namespace

Result<std::unique_ptr<const LeafTaker>> LeafTaker::Make(const LeafColumn* column,
                                                         std::span<const std::unique_ptr<pilum::Page>> pages,
                                                         std::span<const uint64_t> first_row) {
  if (!ShapeIsAddressable(*column)) return nullptr;
  std::unique_ptr<LeafTaker> out(new LeafTaker);
  out->column_ = column;
  out->pages_ = pages;
  out->first_row_ = first_row;
  PILUM_ASSIGN_OR_RETURN(out->plan_, MakeLevelPlan(*column, FullLayers(*column)));
  out->built_ = std::make_unique<Built[]>(pages.size());
  return std::unique_ptr<const LeafTaker>(std::move(out));
}

size_t LeafTaker::PageOf(uint64_t row) const {
  return static_cast<size_t>(std::upper_bound(first_row_.begin(), first_row_.end(), row) - first_row_.begin()) - 1;
}

const PageTaker* LeafTaker::Page(size_t page) const {
  Built& built = built_[page];
  if (!built.ready.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    if (!built.ready.load()) {
      auto made = MakeTaker(*pages_[page], plan_);
      if (made.ok()) built.taker = std::move(*made);  // else page.h will say what is wrong with it
      built.ready.store(true, std::memory_order_release);
    }
  }
  return built.taker.get();
}

bool LeafTake::Begin(const LeafTaker* leaf, std::span<const uint64_t> rows, const uint8_t* map) {
  leaf_ = leaf;
  map_ = map;
  runs_.clear();
  held_.clear();
  asked_.clear();
  num_asked_.clear();
  cells_.Clear();
  last_ = {};
  requests_ = bytes_ = 0;
  places_.resize(rows.size());
  const auto first_row = leaf->first_row();
  uint64_t begin = 0, end = 0;  // rows of the page at hand
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] < begin || rows[i] >= end) {
      const size_t page = leaf->PageOf(rows[i]);
      const PageTaker* taker = leaf->Page(page);
      if (!taker) return false;
      begin = first_row[page];
      end = first_row[page + 1];
      if (!runs_.empty()) runs_.back().end = i;
      runs_.push_back({page, i, i, taker});
    }
    places_[i] = {rows[i] - begin, {}, nullptr};
  }
  if (runs_.empty()) return false;
  runs_.back().end = rows.size();
  // Each page has its own dictionary, and one array can hold but one.
  if (StorageType(*leaf->column().leaf->type()).id() == arrow::Type::DICTIONARY && runs_.size() > 1) return false;
  return true;
}

Status LeafTake::InPage(const Run& run, const Status& status) const {
  return status.ok() ? status : run.taker->page().InPage(status);
}

void LeafTake::AskPreludes(std::vector<ByteRange>* ranges) {
  for (const Run& run : runs_) {
    if (std::find(asked_.begin(), asked_.end(), run.taker) != asked_.end()) continue;
    auto wanted = run.taker->AskPrelude();
    if (wanted.empty()) continue;
    ranges->insert(ranges->end(), wanted.begin(), wanted.end());
    asked_.push_back(run.taker);
    num_asked_.push_back(wanted.size());
  }
}

Status LeafTake::GivePreludes(std::span<const BufferPtr> fetched) {
  for (size_t i = 0; i < asked_.size(); ++i) {
    std::vector<BufferPtr> mine(fetched.begin(), fetched.begin() + static_cast<std::ptrdiff_t>(num_asked_[i]));
    fetched = fetched.subspan(num_asked_[i]);
    PILUM_RETURN_NOT_OK(asked_[i]->page().InPage(asked_[i]->GivePrelude(mine)));
  }
  return Status::OK();
}

void LeafTake::AskIndex(std::vector<ByteRange>* ranges) {
  index_.clear();
  bool any = false;
  for (const Run& run : runs_) any |= run.taker->has_index();
  if (!any) return;
  index_ = places_;
  for (const Run& run : runs_) {
    if (!run.taker->has_index()) continue;
    std::span<Place> rows(index_.data() + run.begin, run.end - run.begin);
    run.taker->IndexOf(rows);
    for (Place& p : rows) {
      if (map_) {
        p.at = map_ + p.range.offset;
        take::Prefetch(p.at);
        Count(p.range);
      }
      if (ranges) ranges->push_back(p.range);
    }
  }
}

Status LeafTake::GiveIndex(std::span<const BufferPtr> fetched) {
  size_t at = 0;
  for (const Run& run : runs_) {
    if (!run.taker->has_index()) continue;
    for (size_t i = run.begin; i < run.end; ++i) index_[i].at = fetched[at++]->data();
  }
  held_.assign(fetched.begin(), fetched.end());
  return Status::OK();
}

Status LeafTake::AskData(std::vector<ByteRange>* ranges) {
  for (const Run& run : runs_) {
    std::span<Place> rows(places_.data() + run.begin, run.end - run.begin);
    std::span<const Place> index;
    if (!index_.empty()) index = {index_.data() + run.begin, rows.size()};
    PILUM_RETURN_NOT_OK(InPage(run, run.taker->Locate(rows, index)));
    for (Place& p : rows) {
      if (map_) {
        p.at = map_ + p.range.offset;
        take::Prefetch(p.at);
        Count(p.range);
      }
      if (ranges && p.range.size > 0 && (ranges->empty() || !(ranges->back() == p.range))) ranges->push_back(p.range);
    }
  }
  return Status::OK();
}

Status LeafTake::GiveData(std::span<const BufferPtr> fetched) {
  size_t at = 0;
  ByteRange last;
  static constexpr uint8_t kNothing[codec::kSlack] = {};
  for (Place& p : places_) {
    if (p.range.size == 0) {
      p.at = kNothing;
      continue;
    }
    if (!(p.range == last)) {
      last = p.range;
      ++at;
    }
    p.at = fetched[at - 1]->data();
  }
  held_.assign(fetched.begin(), fetched.end());  // the index is done with
  return Status::OK();
}

void LeafTake::Count(ByteRange range) {
  if (range.size == 0 || range == last_) return;
  requests_ += range.offset != last_.end();
  bytes_ += range.size;
  last_ = range;
}

Status LeafTake::ReadCells(StopCheck* stop) {
  const size_t most = leaf_->plan().has_lists() ? kListsAtOnce : SIZE_MAX;
  for (Run& run : runs_) {
    run.first_cell = cells_.cells.size();
    for (size_t i = run.begin; i < run.end;) {
      const size_t n = std::min(most, run.end - i), before = cells_.cells.size();
      PILUM_RETURN_NOT_OK(InPage(run, run.taker->AddCells({places_.data() + i, n}, &cells_)));
      PILUM_RETURN_NOT_OK(stop->After((cells_.cells.size() - before) * sizeof(take::Cell)));
      i += n;
      const uint64_t held = cells_.cells.size() * sizeof(take::Cell) + cells_.events * 4;
      if (held > most_bytes_ && places_.size() > 1) {
        return MakeError(ErrorKind::kMemory,
                         fmt::format("column '{}': {} of {} rows hold {} items; take fewer rows at a time",
                                     column().name, i, places_.size(), cells_.cells.size()));
      }
    }
  }
  return Status::OK();
}

// In pieces of many values or of a few large ones. (A value of a mini-block page names its chunk, which is small.)
Status LeafTake::AddValues(const Run& run, std::span<const take::Cell> cells, take::ValueOut* out, StopCheck* stop) {
  constexpr uint64_t kPieceBytes = 1 << 20;
  const bool any_size = run.taker->page().layout().kind == LayoutKind::kFullZip;
  while (!cells.empty()) {
    size_t n = any_size ? 0 : std::min(kCellsAtOnce, cells.size());
    uint64_t bytes = n * 16;
    if (any_size) {
      while (n < cells.size() && n < kCellsAtOnce && bytes < kPieceBytes) bytes += cells[n++].size + 16;
    }
    PILUM_RETURN_NOT_OK(InPage(run, run.taker->AddValues(cells.first(n), &cells_, out)));
    PILUM_RETURN_NOT_OK(stop->After(bytes));
    cells = cells.subspan(n);
  }
  return Status::OK();
}

Result<codec::DataBlock> LeafTake::ReadValues(arrow::MemoryPool* pool, StopCheck* stop) {
  const arrow::DataType& type = *leaf_->column().leaf->type();
  const uint64_t count = cells_.cells.size();
  auto cells_of = [&](size_t r) {
    const size_t first = runs_[r].first_cell, last = r + 1 < runs_.size() ? runs_[r + 1].first_cell : count;
    return std::span<const take::Cell>(cells_.cells.data() + first, last - first);
  };
  take::ValueOut out;
  codec::DataBlock block;
  std::shared_ptr<arrow::ResizableBuffer> fixed;
  out.variable = take::IsVariable(type);
  if (out.variable) {
    uint64_t reserve = 0;
    for (size_t r = 0; r < runs_.size() && reserve != codec::VariableOut::kUnknown; ++r) {
      const uint64_t bytes = runs_[r].taker->ReserveBytes(cells_of(r));
      reserve = bytes > codec::kMaxOutputBytes - reserve ? codec::VariableOut::kUnknown : reserve + bytes;
    }
    PILUM_RETURN_NOT_OK(out.strings.Init(IsWide(type), count, reserve, pool));
  } else {
    out.width = take::FixedWidth(type);
    PILUM_RETURN_NOT_OK(codec::CheckOutput(count, out.width * 8));
    PILUM_ASSIGN_OR_RETURN(fixed, codec::Allocate(count * out.width, pool));
    out.fixed = fixed->mutable_data();
  }
  for (size_t r = 0; r < runs_.size(); ++r) {
    PILUM_RETURN_NOT_OK(AddValues(runs_[r], cells_of(r), &out, stop));
  }
  if (out.variable) return out.strings.Finish();
  block.count = count;
  block.bits = out.width * 8;
  block.data = std::move(fixed);
  return block;
}

Result<std::shared_ptr<arrow::ArrayData>> LeafTake::MakeLeafArray(const Levels& levels, arrow::MemoryPool* pool,
                                                                  StopCheck* stop) {
  PILUM_ASSIGN_OR_RETURN(codec::DataBlock block, ReadValues(pool, stop));
  PILUM_ASSIGN_OR_RETURN(Validity validity, LeafValidity(leaf_->plan(), levels, pool));
  const auto& type = leaf_->column().leaf->type();
  if (StorageType(*type).id() == arrow::Type::DICTIONARY) {
    return MakeDictionary(type, std::move(block), runs_[0].taker->dictionary(), validity);
  }
  return MakeLeaf(type, std::move(block), validity, pool);
}

Result<std::shared_ptr<arrow::Array>> LeafTake::Finish(ReadContext& ctx, uint64_t most_bytes) {
  arrow::MemoryPool* pool = ctx.memory_pool();
  StopCheck stop(ctx);
  most_bytes_ = most_bytes;
  PILUM_RETURN_NOT_OK(ReadCells(&stop));
  Levels levels;
  levels.count = cells_.events;
  if (leaf_->plan().has_lists()) {
    if (cells_.rep.size() != cells_.events) return BadBytes("{} events for {}", cells_.rep.size(), cells_.events);
    PILUM_RETURN_NOT_OK(levels.rep.Reserve(levels.count, pool));
    if (levels.count) std::memcpy(levels.rep.data(), cells_.rep.data(), levels.count * 2);
  }
  if (cells_.has_def) {
    PILUM_RETURN_NOT_OK(levels.def.Reserve(levels.count, pool));
    if (levels.count) std::memcpy(levels.def.data(), cells_.def.data(), levels.count * 2);
  }
  const uint64_t values = cells_.cells.size();
  PILUM_ASSIGN_OR_RETURN(auto leaf, runs_[0].taker->page().InPage(MakeLeafArray(levels, pool, &stop)));
  auto array = FinishRead(runs_[0].taker->page(), leaf_->plan(), std::move(levels), places_.size(), std::move(leaf),
                          values, ctx);
  held_.clear();
  if (map_ && ctx.stats) {
    ctx.stats->requests += requests_;
    ctx.stats->bytes += bytes_;
  }
  return array;
}

}  // namespace pilum
