#include "pilum/file/unit.h"

#include <algorithm>
#include <utility>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include "pilum/file/extent_cache.h"
#include "pilum/file/utf8.h"

namespace pilum {
namespace {

using ArrayPtr = std::shared_ptr<arrow::Array>;

constexpr int kMaxRounds = 72;  // a page needs at most four, or in version 2.0 two and one a list (64 deep)

// The part that asked for range i of a round.
const PagePart& PartOf(const std::vector<PagePart>& parts, size_t i) {
  for (const PagePart& part : parts) {
    if (i < part.num_ranges) return part;
    i -= part.num_ranges;
  }
  return parts.back();
}

Status FetchParts(const OpenFile& file, ExtentCache* extents, std::vector<PagePart>* parts, ReadContext& ctx) {
  auto place = [&](size_t i) {
    const PagePart& part = PartOf(*parts, i);
    return file.PlaceOf(part.leaf, part.page);
  };
  std::vector<BufferPtr> fetched;
  std::vector<ByteRange> ranges;
  for (int round = 0; round < kMaxRounds; ++round) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    ranges.clear();
    size_t at = 0;
    for (PagePart& part : *parts) {
      if (round > 0 && part.num_ranges == 0) continue;
      std::vector<BufferPtr> mine(
          std::make_move_iterator(fetched.begin() + static_cast<std::ptrdiff_t>(at)),
          std::make_move_iterator(fetched.begin() + static_cast<std::ptrdiff_t>(at + part.num_ranges)));
      at += part.num_ranges;
      PILUM_ASSIGN_OR_RETURN(auto more, part.read->Next(std::move(mine)));
      part.num_ranges = more.size();
      ranges.insert(ranges.end(), more.begin(), more.end());
    }
    if (ranges.empty()) return Status::OK();
    PILUM_ASSIGN_OR_RETURN(fetched,
                           extents ? extents->ReadRanges(ranges, place, ctx) : file.ReadRanges(ranges, place, ctx));
  }
  return MakeError(ErrorKind::kCorrupt, "a page asks for more rounds of bytes than any layout has");
}

Result<ArrayPtr> JoinPages(const arrow::ArrayVector& arrays, arrow::MemoryPool* pool) {
  if (arrays.size() == 1) return arrays[0];
  return arrow::Concatenate(arrays, pool);
}

// Bytes of one value of a fixed width, 0 for other types.
uint64_t FixedBytes(const arrow::DataType& type) {
  if (type.id() == arrow::Type::FIXED_SIZE_LIST) {
    return FixedBytes(*type.field(0)->type()) *
           static_cast<uint64_t>(static_cast<const arrow::FixedSizeListType&>(type).list_size());
  }
  if (!arrow::is_fixed_width(type)) return 0;
  int bits = type.bit_width();
  return bits <= 0 ? 0 : static_cast<uint64_t>(bits + 7) / 8;
}

uint64_t SumBuffers(const arrow::ArrayData& data) {
  uint64_t n = 0;
  for (const auto& b : data.buffers) n += b ? static_cast<uint64_t>(b->size()) : 0;
  for (const auto& c : data.child_data) n += SumBuffers(*c);
  return n;
}

}  // namespace

std::pair<size_t, size_t> OpenColumn::PagesOf(uint64_t begin, uint64_t end) const {
  auto at = [&](uint64_t row) { return std::upper_bound(first_row.begin(), first_row.end(), row) - first_row.begin(); };
  auto first = static_cast<size_t>(at(begin)) - 1;
  auto last = std::min(static_cast<size_t>(at(end - 1)), pages.size());
  return {first, last};
}

UnitRead::UnitRead(const OpenFile& file, const Projection& projection, RowSet rows)
    : file_(file), projection_(projection), rows_(std::move(rows)) {
  std::lock_guard lock(file_.begin_reads);
  for (const ReadField& field : projection_.reads) {
    for (int leaf : field.leaves) Start(static_cast<size_t>(leaf));
  }
}

void UnitRead::Start(size_t leaf) {
  const OpenColumn& column = file_.columns[leaf];
  auto [first, last] = column.PagesOf(rows_.ranges().front().begin, rows_.ranges().back().end);
  size_t count = 0;
  for (size_t p = first; p < last; ++p) {
    RowSet in_page = rows_.Slice(column.first_row[p], column.first_row[p + 1]);
    if (in_page.empty()) continue;
    parts_.push_back({column.pages[p]->StartRead(std::move(in_page)), leaf, p});
    ++count;
  }
  parts_of_leaf_.push_back(count);
}

Status UnitRead::Fetch(ExtentCache* extents, ReadContext& ctx) { return FetchParts(file_, extents, &parts_, ctx); }

Result<DecodedUnit> UnitRead::Decode(ReadContext& ctx) {
  DecodedUnit unit;
  unit.rows = rows_;
  for (const ReadField& field : projection_.reads) {
    PILUM_ASSIGN_OR_RETURN(auto array, DecodeField(field, ctx));
    unit.bytes += ArrowBytes(*array);
    unit.arrays.push_back(std::move(array));
  }
  return unit;
}

// `array`: the rows of `parts`. Names the page of the first that is not UTF-8.
Status UnitRead::CheckPagesUtf8(const arrow::Array& array, std::span<const PagePart> parts) const {
  if (parts.size() > 1 && CheckUtf8(*array.data()).ok()) return Status::OK();
  int64_t at = 0;
  for (const PagePart& part : parts) {
    const auto& first = file_.columns[part.leaf].first_row;
    const auto rows = static_cast<int64_t>(rows_.Slice(first[part.page], first[part.page + 1]).size());
    const ArrayPtr own = parts.size() > 1 ? array.Slice(at, rows) : nullptr;
    Status st = CheckUtf8(own ? *own->data() : *array.data());
    if (!st.ok()) return WithContext(fmt::format("column '{}' page {}", file_.leaves[part.leaf].name, part.page), st);
    at += rows;
  }
  return Status::OK();
}

Result<ArrayPtr> UnitRead::DecodeLeaf(size_t num_parts, ReadContext& ctx) {
  arrow::ArrayVector arrays;
  for (const size_t end = next_part_ + num_parts; next_part_ < end;) {
    PILUM_RETURN_NOT_OK(ctx.Check());
    const std::span<PagePart> left(parts_.data() + next_part_, end - next_part_);
    size_t n = 1;
    while (n < left.size() && left[0].read->TakeUp(left[n].read.get())) ++n;
    PILUM_ASSIGN_OR_RETURN(auto array, left[0].read->Decode(ctx));
    if (!left[0].read->utf8_checked()) PILUM_RETURN_NOT_OK(CheckPagesUtf8(*array, left.first(n)));
    for (PagePart& part : left.first(n)) part.read.reset();  // lets go of the fetched bytes
    next_part_ += n;
    arrays.push_back(std::move(array));
  }
  if (arrays.empty()) return MakeError(ErrorKind::kCorrupt, "no page holds these rows");
  return JoinPages(arrays, ctx.memory_pool());
}

Result<ArrayPtr> UnitRead::DecodeField(const ReadField& field, ReadContext& ctx) {
  arrow::ArrayVector leaves;
  for (size_t i = 0; i < field.leaves.size(); ++i) {
    PILUM_ASSIGN_OR_RETURN(auto leaf, DecodeLeaf(parts_of_leaf_[next_leaf_++], ctx));
    leaves.push_back(std::move(leaf));
  }
  PILUM_ASSIGN_OR_RETURN(auto array, MergeLeaves(field.merged, leaves, ctx.memory_pool()));
  if (static_cast<uint64_t>(array->length()) != rows_.size()) {
    return MakeError(ErrorKind::kCorrupt, fmt::format("column '{}': {} rows decoded where {} were asked for",
                                                      field.field->name(), array->length(), rows_.size()));
  }
  if (field.merged == field.field) return array;
  return PruneArray(array, field.field->type());
}

Result<std::vector<BufferPtr>> OpenFile::ReadRanges(std::span<const ByteRange> ranges,
                                                    const std::function<std::string(size_t)>& place,
                                                    ReadContext& ctx) const {
  if (!checksums || ctx.verify == Verify::kOff) return source->ReadRanges(ranges, ctx);
  return checksums->ReadRanges(*source, ranges, place, ctx);
}

std::string OpenFile::PlaceOf(size_t leaf, size_t page) const {
  const auto& first = columns[leaf].first_row;
  return fmt::format("column '{}' page {} (rows {} to {})", leaves[leaf].name, page, first[page], first[page + 1] - 1);
}

Result<ArrayPtr> DecodePage(const OpenFile& file, size_t leaf, size_t page, RowSet rows, ReadContext& ctx) {
  std::vector<PagePart> parts;
  std::unique_lock lock(file.begin_reads);
  parts.push_back({file.columns[leaf].pages[page]->StartRead(std::move(rows)), leaf, page});
  lock.unlock();
  PILUM_RETURN_NOT_OK(FetchParts(file, nullptr, &parts, ctx));
  return parts[0].read->Decode(ctx);
}

uint64_t EstimateRowBytes(const OpenFile& file, size_t leaf, size_t page_number) {
  const LeafColumn& column = file.leaves[leaf];
  const Page& page = *file.columns[leaf].pages[page_number];
  const PageInfo& info = page.info();
  if (const uint64_t known = page.estimated_row_bytes()) return known;
  const uint64_t rows = std::max<uint64_t>(1, page.num_rows());
  uint64_t stored = 0;
  for (const ByteRange& b : info.buffers) stored += b.size;
  uint64_t estimate = std::max<uint64_t>(1, stored / rows);
  if (info.layout.kind == LayoutKind::kBlob && !column.is_blob_v2)
    return std::max(estimate, file.source->size() / rows);  // payloads lie outside
  const double values = std::max(1.0, static_cast<double>(std::max(info.layout.num_items, info.layout.num_def_values)) /
                                          static_cast<double>(rows));
  double value_bytes = static_cast<double>(FixedBytes(*column.leaf->type()));
  if (info.layout.kind == LayoutKind::kConstant) {
    if (info.layout.inline_value)
      value_bytes = std::max(value_bytes, static_cast<double>(info.layout.inline_value->size()));
    else if (!info.buffers.empty())
      value_bytes = std::max(value_bytes, static_cast<double>(info.buffers[0].size));
  } else if (info.layout.dictionary && info.buffers.size() > 2) {
    value_bytes =
        std::max(value_bytes, static_cast<double>(info.buffers[2].size) /
                                  static_cast<double>(std::max<uint64_t>(1, info.layout.num_dictionary_items)));
  }
  return std::max(estimate, static_cast<uint64_t>(std::min(1e15, values * value_bytes)));
}

uint64_t ArrowBytes(const arrow::Array& array) { return SumBuffers(*array.data()); }

}  // namespace pilum
