#include "pilum/file/take.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/type.h>

#include "pilum/file/extent_cache.h"
#include "pilum/file/utf8.h"

namespace pilum {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

// A file is mapped once so many values were asked for: the first touch of a mapped page costs more than ten times as
// much as reading a few hundred bytes, and a reader that is used again gets it back.
constexpr uint64_t kMapFromCells = 64;
// So many mapped rows are enough to keep the memory busy with one leaf: each leaf is then done with before the next one
// begins, and what it works on stays near. With fewer, the places of all leaves are asked for in advance.
constexpr size_t kRowsOfOneLeaf = 64;
// The system maps so many bytes around a page that is touched, and has to unmap them: together as long as some small reads
// take. The first take of a leaf that has so few rows in it reads them, if they are not many or large.
constexpr uint64_t kMappedAround = 64 << 10, kReadsATouch = 5;
constexpr uint64_t kMostReads = 1024, kMostReadBytes = 8 << 20, kUsualChunk = 8 << 10;

// One read of the addressable fields. All leaves advance together, so that a take costs few round trips.
class Gather {
 public:
  Gather(const OpenFile& file, size_t num_leaves, std::span<const uint64_t> rows, const uint8_t* map,
         ExtentCache* extents, uint64_t most_bytes, ReadContext& ctx)
      : file_(file), rows_(rows), map_(map), extents_(extents), most_bytes_(most_bytes), ctx_(ctx) {
    leaves_.reserve(num_leaves);
  }

  // False: some page of `leaf` is not addressable. `by_reads`: even if the file is mapped.
  bool Add(const LeafTaker* leaf, bool by_reads) {
    leaves_.emplace_back();
    any_by_reads_ |= by_reads;
    if (leaves_.back().Begin(leaf, rows_, by_reads ? nullptr : map_)) return true;
    leaves_.pop_back();
    return false;
  }
  void Drop(size_t count) { leaves_.resize(leaves_.size() - count); }

  Status Fetch() {
    PILUM_RETURN_NOT_OK(Round(
        leaves_,
        [](LeafTake& leaf, std::vector<ByteRange>* ranges) {
          leaf.AskPreludes(ranges);
          return Status::OK();
        },
        &LeafTake::GivePreludes));
    if (OneByOne()) return Status::OK();
    if (map_) PILUM_RETURN_NOT_OK(Touch(leaves_));
    return map_ && !any_by_reads_ ? Status::OK() : Read(leaves_);
  }

  // The next leaf, in the order they were added.
  Result<ArrayPtr> Next() {
    PILUM_RETURN_NOT_OK(ctx_.Check());
    LeafTake& leaf = leaves_[next_++];
    if (OneByOne()) PILUM_RETURN_NOT_OK(leaf.mapped() ? Touch({&leaf, 1}) : Read({&leaf, 1}));
    auto array = leaf.Finish(ctx_, most_bytes_);
    leaf = {};  // the next one gets its memory
    return array;
  }

 private:
  static Status AskIndex(LeafTake& leaf, std::vector<ByteRange>* ranges) {
    leaf.AskIndex(ranges);
    return Status::OK();
  }
  static Status AskData(LeafTake& leaf, std::vector<ByteRange>* ranges) { return leaf.AskData(ranges); }

  bool OneByOne() const { return map_ && rows_.size() >= kRowsOfOneLeaf; }

  // Of a mapped file: leaves find their rows, and what they will read there is verified, as far as no take did so before.
  Status Touch(std::span<LeafTake> leaves) {
    PILUM_RETURN_NOT_OK(Touch(leaves, AskIndex));
    return Touch(leaves, AskData);
  }
  template <typename Ask>
  Status Touch(std::span<LeafTake> leaves, Ask ask) {
    const bool verify = file_.checksums && ctx_.verify != Verify::kOff;
    std::vector<ByteRange> ranges;
    for (LeafTake& leaf : leaves) {
      if (!leaf.mapped()) continue;
      ranges.clear();
      PILUM_RETURN_NOT_OK(ask(leaf, verify ? &ranges : nullptr));
      if (ranges.empty()) continue;
      auto place = [&](size_t) { return fmt::format("column '{}'", leaf.column().name); };
      PILUM_RETURN_NOT_OK(file_.checksums->VerifyMapped(*file_.source, map_, ranges, place, ctx_));
    }
    return Status::OK();
  }

  template <typename Ask>
  static auto Unmapped(Ask ask) {
    return [ask](LeafTake& leaf, std::vector<ByteRange>* ranges) {
      return leaf.mapped() ? Status::OK() : ask(leaf, ranges);
    };
  }

  // Those that are not mapped.
  Status Read(std::span<LeafTake> leaves) {
    PILUM_RETURN_NOT_OK(Round(leaves, Unmapped(AskIndex), &LeafTake::GiveIndex));
    return Round(leaves, Unmapped(AskData), &LeafTake::GiveData);
  }
  template <typename Ask>
  Status Round(std::span<LeafTake> leaves, Ask ask, Status (LeafTake::*give)(std::span<const BufferPtr>)) {
    std::vector<ByteRange> ranges, mine;
    std::vector<size_t> counts;
    for (LeafTake& leaf : leaves) {
      mine.clear();
      PILUM_RETURN_NOT_OK(ask(leaf, &mine));
      counts.push_back(mine.size());
      ranges.insert(ranges.end(), mine.begin(), mine.end());
    }
    if (ranges.empty()) return Status::OK();
    PILUM_RETURN_NOT_OK(ctx_.Check());
    uint64_t bytes = 0;
    for (const ByteRange& r : ranges) bytes += r.size;  // each lies in the file
    if (bytes > most_bytes_ && rows_.size() > 1)
      return MakeError(ErrorKind::kMemory,
                       fmt::format("{} rows take {} bytes to fetch; take fewer at a time", rows_.size(), bytes));
    auto place = [&](size_t i) {
      size_t leaf = 0;
      while (leaf + 1 < counts.size() && i >= counts[leaf]) i -= counts[leaf++];
      return fmt::format("column '{}'", leaves[leaf].column().name);
    };
    PILUM_ASSIGN_OR_RETURN(
        auto fetched, extents_ ? extents_->ReadRanges(ranges, place, ctx_) : file_.ReadRanges(ranges, place, ctx_));
    std::span<const BufferPtr> left(fetched);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (counts[i] > 0) PILUM_RETURN_NOT_OK((leaves[i].*give)(left.first(counts[i])));
      left = left.subspan(counts[i]);
    }
    return Status::OK();
  }

  const OpenFile& file_;
  std::span<const uint64_t> rows_;
  const uint8_t* map_;
  ExtentCache* extents_;  // null: of a local file
  const uint64_t most_bytes_;
  ReadContext& ctx_;
  std::vector<LeafTake> leaves_;
  bool any_by_reads_ = false;
  size_t next_ = 0;
};

// For each of `rows` its place among the sorted distinct ones.
Result<ArrayPtr> PlacesOf(std::span<const uint64_t> rows, const std::vector<uint64_t>& sorted,
                          arrow::MemoryPool* pool) {
  arrow::UInt64Builder builder(pool);
  PILUM_RETURN_NOT_OK(builder.Reserve(static_cast<int64_t>(rows.size())));
  for (uint64_t row : rows) {
    builder.UnsafeAppend(static_cast<uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), row) - sorted.begin()));
  }
  return builder.Finish();
}

// The fields of `projection` that are not addressable, in units.
Result<std::vector<ArrayPtr>> TakeUnit(const OpenFile& file, const Projection& projection,
                                       std::span<const uint64_t> rows, ExtentCache* extents, ReadContext& ctx) {
  std::vector<uint64_t> sorted(rows.begin(), rows.end());
  const bool ascending = std::adjacent_find(rows.begin(), rows.end(), std::greater_equal<>()) == rows.end();
  if (!ascending) {
    std::sort(sorted.begin(), sorted.end());
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  }
  PILUM_ASSIGN_OR_RETURN(DecodedUnit unit, DecodeUnit(file, projection, RowSet::FromSorted(sorted), extents, ctx));
  if (ascending) return std::move(unit.arrays);
  PILUM_ASSIGN_OR_RETURN(ArrayPtr places, PlacesOf(rows, sorted, ctx.memory_pool()));
  arrow::compute::ExecContext exec(ctx.memory_pool());
  for (ArrayPtr& array : unit.arrays) {
    PILUM_ASSIGN_OR_RETURN(auto taken,
                           arrow::compute::Take(array, places, arrow::compute::TakeOptions::NoBoundsCheck(), &exec));
    array = taken.make_array();
  }
  return std::move(unit.arrays);
}

std::vector<Extent> WholePages(const OpenFile& file, const Projection& projection, std::span<const uint64_t> rows) {
  std::vector<uint64_t> sorted(rows.begin(), rows.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<int> leaves;
  for (const ReadField& field : projection.reads) leaves.insert(leaves.end(), field.leaves.begin(), field.leaves.end());
  return SmallPages(file, leaves, RowSet::FromSorted(sorted));
}

}  // namespace

FileTaker::FileTaker(std::shared_ptr<const OpenFile> file)
    : file_(std::move(file)), leaves_(std::make_unique<Leaf[]>(file_->leaves.size())) {}

const LeafTaker* FileTaker::TakerOf(int number) const {
  Leaf& leaf = leaves_[static_cast<size_t>(number)];
  if (!leaf.ready.load(std::memory_order_acquire)) {
    std::lock_guard lock(mutex_);
    if (!leaf.ready.load()) {
      const OpenColumn& column = file_->columns[static_cast<size_t>(number)];
      auto made = LeafTaker::Make(&file_->leaves[static_cast<size_t>(number)], column.pages, column.first_row);
      if (made.ok()) leaf.taker = std::move(*made);
      leaf.ready.store(true, std::memory_order_release);
    }
  }
  return leaf.taker.get();
}

const uint8_t* FileTaker::MapFor(size_t cells, const ReadContext& ctx) const {
  if (file_->checksums && ctx.verify == Verify::kAll) return nullptr;  // each time anew: copies, not mapped bytes
  if (cells_taken_.fetch_add(cells) + cells < kMapFromCells) return nullptr;
  auto bytes = file_->source->Mapped();
  return bytes.size() == file_->source->size() && !bytes.empty() ? bytes.data() : nullptr;
}

// Of a mapped file. Files with checksums are verified once where they are mapped, each time where they are read.
bool FileTaker::IsSparse(int number, size_t rows) const {
  if (leaves_[static_cast<size_t>(number)].taken.exchange(true) || file_->checksums || rows > kMostReads) return false;
  uint64_t bytes = 0;
  for (const auto& page : file_->columns[static_cast<size_t>(number)].pages) {
    for (const ByteRange& b : page->stored_ranges()) bytes += b.size;
  }
  const uint64_t each = std::max(kUsualChunk, bytes / std::max<uint64_t>(1, file_->num_rows));
  return rows < kReadsATouch * (bytes / kMappedAround) && rows * each <= kMostReadBytes;
}

Result<std::vector<ArrayPtr>> FileTaker::Take(const Projection& projection, std::span<const uint64_t> rows,
                                              ReadContext& ctx, uint64_t most_bytes) const {
  std::vector<ArrayPtr> out(projection.reads.size());
  size_t num_leaves = 0;
  for (const ReadField& field : projection.reads) num_leaves += field.leaves.size();
  const uint8_t* map = MapFor(rows.size() * num_leaves, ctx);
  std::optional<ExtentCache> extents;
  if (!map && file_->source->cost().remote) extents.emplace(*file_, WholePages(*file_, projection, rows), 0, ctx);
  Gather gather(*file_, num_leaves, rows, map, extents ? &*extents : nullptr, most_bytes, ctx);
  // With few rows all leaves are read together.
  const bool may_read = rows.size() >= kRowsOfOneLeaf || rows.size() * num_leaves * kUsualChunk <= 2 * kMostReadBytes;
  Projection others;
  std::vector<size_t> places, other_places;
  for (size_t f = 0; f < projection.reads.size(); ++f) {
    const ReadField& field = projection.reads[f];
    size_t added = 0;
    for (int leaf : field.leaves) {
      const LeafTaker* taker = TakerOf(leaf);
      if (!taker || !gather.Add(taker, map && may_read && IsSparse(leaf, rows.size()))) break;
      ++added;
    }
    if (added == field.leaves.size()) {
      places.push_back(f);
      continue;
    }
    gather.Drop(added);
    others.reads.push_back(field);
    other_places.push_back(f);
  }
  // A file that shrank under the mapping says so, whatever was made of the zeros there.
  auto judged = [&](const Status& st) -> Status {
    if (map && !st.ok()) PILUM_RETURN_NOT_OK(file_->source->CheckMapped());
    return st;
  };
  PILUM_RETURN_NOT_OK(judged(gather.Fetch()));
  std::vector<ArrayPtr> leaves;
  for (size_t f : places) {
    const ReadField& field = projection.reads[f];
    leaves.clear();
    for (int number : field.leaves) {
      auto next = gather.Next();
      PILUM_RETURN_NOT_OK(judged(next.status()));
      const ArrayPtr array = *std::move(next);
      Status utf8 = CheckUtf8(*array->data());
      if (!utf8.ok()) {
        return WithContext(fmt::format("column '{}'", file_->leaves[static_cast<size_t>(number)].name), utf8);
      }
      leaves.push_back(array);
    }
    PILUM_ASSIGN_OR_RETURN(out[f], MergeLeaves(field.merged, leaves, ctx.memory_pool()));
    if (field.merged != field.field) {
      PILUM_ASSIGN_OR_RETURN(out[f], PruneArray(out[f], field.field->type()));
    }
  }
  if (map) PILUM_RETURN_NOT_OK(file_->source->CheckMapped());
  if (others.reads.empty()) return out;
  PILUM_ASSIGN_OR_RETURN(auto arrays, TakeUnit(*file_, others, rows, extents ? &*extents : nullptr, ctx));
  for (size_t i = 0; i < arrays.size(); ++i) out[other_places[i]] = std::move(arrays[i]);
  return out;
}

}  // namespace pilum
