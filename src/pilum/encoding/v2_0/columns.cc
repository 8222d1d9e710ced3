#include "pilum/encoding/v2_0/columns.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <arrow/type.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/v2_0/path_read.h"

namespace pilum::v2_0 {

using codec::BadBytes;

namespace {

constexpr uint64_t kFreeRows = uint64_t{1} << 24;  // rows that a page without bytes may claim on its own word

constexpr size_t kMaxPages = size_t{1} << 21;  // one each of every leaf below a list: the product could be anything

// The item that entry `entry` of page `page` begins with, were all entries of the page alike.
uint64_t ItemAt(const Column& column, size_t page, uint64_t entry) {
  if (page == column.pages.size()) return column.first_item.back();
  const uint64_t first = column.first_entry[page], entries = column.first_entry[page + 1] - first;
  const uint64_t items = column.first_item[page + 1] - column.first_item[page];
  const auto before = static_cast<__uint128_t>(items) * (entry - first) / std::max<uint64_t>(1, entries);
  return column.first_item[page] + static_cast<uint64_t>(before);
}

// Adds where the pages lie that hold `entries`. The items of these, roughly: ranges that touch have items that touch, so
// that all pages of a column together name each page below about once.
RowRange AddPages(const Column& column, RowRange entries, std::vector<ByteRange>* ranges) {
  const auto& first = column.first_entry;
  auto page_of = [&](uint64_t entry) {
    return std::upper_bound(first.begin(), first.end(), entry) - first.begin() - 1;
  };
  if (entries.size() == 0) return {};
  const auto begin = static_cast<size_t>(page_of(entries.begin)),
             end = static_cast<size_t>(page_of(entries.end - 1)) + 1;
  for (size_t p = begin; p < end; ++p) {
    const auto& buffers = column.stored->pages[p].buffers;
    ranges->insert(ranges->end(), buffers.begin(), buffers.end());
  }
  if (column.first_item.empty()) return {};
  const size_t last = entries.end == column.first_entry[end] ? end : end - 1;
  return {ItemAt(column, begin, entries.begin), ItemAt(column, last, entries.end)};
}

// One page of the outermost column that is stored: the values', or the outermost list's.
class PathPage : public Page {
 public:
  PathPage(std::shared_ptr<const Path> path, std::shared_ptr<const PageInfo> info, uint64_t first_row,
           uint64_t row_bytes)
      : path_(std::move(path)), info_(std::move(info)), first_row_(first_row), row_bytes_(row_bytes) {}
  std::unique_ptr<PageRead> StartRead(RowSet rows) const override {
    return StartPathRead(*path_, rows.Shift(first_row_));
  }
  uint64_t num_rows() const override { return info_->length; }
  std::vector<ByteRange> stored_ranges() const override {
    std::vector<ByteRange> ranges;
    RowRange entries{first_row_, first_row_ + info_->length};
    for (const PathStep& step : path_->steps) {
      if (step.list) entries = AddPages(*step.list, entries, &ranges);
    }
    AddPages(*path_->values, entries, &ranges);
    return ranges;
  }
  const PageInfo& info() const override { return *info_; }
  uint64_t estimated_row_bytes() const override { return row_bytes_; }
  uint64_t cached_bytes() const override {
    uint64_t n = 0;
    if (first_row_ > 0) return n;  // counted once, by the first page
    for (const auto& p : path_->values->pages) n += p.node->cached_bytes();
    return n;
  }

 private:
  std::shared_ptr<const Path> path_;
  std::shared_ptr<const PageInfo> info_;
  uint64_t first_row_, row_bytes_;
};

// The layers above a leaf that are columns of their own, with what they hold.
struct OpenLayer {
  std::shared_ptr<const Column> list;  // null: a struct
  size_t stored = 0;                   // number of its column
  uint64_t entries = 0;                // of what is below it
};

constexpr uint64_t kPlainBytes = 256 << 20;  // pages of a scan of some thirty columns

class Opener {
 public:
  Opener(std::vector<std::vector<PageInfo>> columns, uint64_t claimed_rows, uint64_t file_size)
      : columns_(std::move(columns)) {
    context_.max_free_values = std::max(kFreeRows, claimed_rows);
    context_.file_size = file_size;
    context_.cache = std::make_shared<PlainCache>(kPlainBytes);
  }

  Result<Columns> Run(const arrow::Schema& schema, const std::vector<LeafColumn>& leaves) {
    const LeafColumn* last = nullptr;
    for (const LeafColumn& leaf : leaves) {
      size_t shared = last ? SharedLayers(*last, leaf) : 0;
      open_.resize(shared);
      for (size_t i = shared; i < leaf.layers.size(); ++i) {
        PILUM_RETURN_NOT_OK(OpenLayerAt(schema, leaf, i));
      }
      PILUM_RETURN_NOT_OK(OpenLeaf(leaf));
      last = &leaf;
    }
    if (next_ != columns_.size()) {
      return BadBytes("the schema has {} fields with columns, the file {} columns", next_, columns_.size());
    }
    out_.num_rows = num_rows_.value_or(0);
    return std::move(out_);
  }

 private:
  // Layers that two leaves one after the other hang in together.
  static size_t SharedLayers(const LeafColumn& a, const LeafColumn& b) {
    if (a.top_level != b.top_level) return 0;
    size_t n = 0;
    while (n < a.layers.size() && n < b.layers.size()) {
      const bool same_child = a.layers[n].child == b.layers[n].child;
      ++n;
      if (!same_child) break;
    }
    return n;
  }

  // Its dotted name: the leaf's, as far as it goes. Names hold dots, so it is put together again.
  static std::string NameOf(const arrow::Schema& schema, const LeafColumn& leaf, size_t layer) {
    std::string name = schema.field(leaf.top_level)->name();
    for (size_t i = 1; i <= layer; ++i) name += "." + leaf.layers[i].field->name();
    return name;
  }

  // The next column's pages: their places, and that there are as many entries as there should be.
  Status Take(std::string name, std::shared_ptr<arrow::DataType> type, Column* column) {
    if (next_ >= columns_.size()) {
      return BadBytes("the schema has a field '{}' for column {}, the file only {} columns", name, next_,
                      columns_.size());
    }
    StoredColumn stored{name, std::move(type), std::move(columns_[next_++])};
    uint64_t entries = 0;
    for (size_t i = 0; i < stored.pages.size(); ++i) {
      column->first_entry.push_back(entries);
      if (__builtin_add_overflow(entries, stored.pages[i].length, &entries) || entries > uint64_t{1} << 62)
        return BadBytes("column '{}' page {}: more rows than any file holds", name, i);
    }
    column->first_entry.push_back(entries);
    column->name = std::move(name);
    const bool top_level = open_.empty();
    if (top_level && !num_rows_) num_rows_ = entries;
    const uint64_t expected = top_level ? *num_rows_ : open_.back().entries;
    if (entries != expected) {
      return BadBytes("column '{}' has {} rows or items where {} are expected", column->name, entries, expected);
    }
    column->stored = std::make_shared<const StoredColumn>(std::move(stored));
    out_.stored.push_back(column->stored);
    return Status::OK();
  }

  Status OpenLayerAt(const arrow::Schema& schema, const LeafColumn& leaf, size_t layer) {
    const ShapeLayer& l = leaf.layers[layer];
    auto column = std::make_shared<Column>();
    PILUM_RETURN_NOT_OK(Take(NameOf(schema, leaf, layer), l.field->type(), column.get()));
    OpenLayer open{nullptr, next_ - 1, column->first_entry.back()};
    switch (l.kind) {
      case ShapeLayerKind::kStruct: PILUM_RETURN_NOT_OK(CheckHeader(*column)); break;
      case ShapeLayerKind::kList:
      case ShapeLayerKind::kLargeList:
        PILUM_RETURN_NOT_OK(EachPage(column.get(), [&](const PageInfo& info, Column::Part* part) {
          return MakeList(info, column.get(), part);
        }));
        column->first_item.push_back(items_);
        open.entries = std::exchange(items_, 0);
        open.list = column;
        break;
      default:
        return Unsupported("column '{}': files of version 2.0 hold no {}", column->name, l.field->type()->ToString());
    }
    open_.push_back(std::move(open));
    return Status::OK();
  }

  Status CheckHeader(const Column& column) const {
    for (size_t i = 0; i < out_.stored.back()->pages.size(); ++i) {
      const auto& array = out_.stored.back()->pages[i].array;
      if (WithoutNullable(*array).kind != ArrayKind::kStruct) {
        return BadBytes("column '{}' page {}: {} where a struct header is expected", column.name, i, array->ToString());
      }
    }
    return Status::OK();
  }

  template <typename Make>
  Status EachPage(Column* column, Make make) {
    const StoredColumn& stored = *out_.stored.back();
    for (size_t i = 0; i < stored.pages.size(); ++i) {
      Column::Part part;
      context_.buffers = &stored.pages[i].buffers;
      Status st = make(stored.pages[i], &part);
      if (!st.ok()) return WithContext(fmt::format("column '{}' page {}", column->name, i), st);
      column->pages.push_back(std::move(part));
    }
    return Status::OK();
  }

  Status MakeList(const PageInfo& info, Column* column, Column::Part* part) {
    const ArrayDesc& desc = WithoutNullable(*info.array);
    if (desc.kind != ArrayKind::kList) return BadBytes("{} where list offsets are expected", desc.ToString());
    PILUM_ASSIGN_OR_RETURN(part->node, MakeFixedNode(desc.children[0], context_, info.length, 0));
    part->null_adjustment = desc.null_adjustment;
    part->num_items = desc.num_items;
    column->first_item.push_back(items_);
    if (__builtin_add_overflow(items_, part->num_items, &items_)) return BadBytes("{} items", part->num_items);
    return Status::OK();
  }

  Status OpenLeaf(const LeafColumn& leaf) {
    auto column = std::make_shared<Column>();
    PILUM_RETURN_NOT_OK(Take(leaf.name, leaf.leaf->type(), column.get()));
    if (leaf.is_blob_v2 && !leaf.is_blob)
      return Unsupported("column '{}': files of version 2.0 hold no blobs of this kind", leaf.name);
    PILUM_RETURN_NOT_OK(EachPage(column.get(), [&](const PageInfo& info, Column::Part* part) -> Status {
      PILUM_ASSIGN_OR_RETURN(part->node, leaf.is_blob
                                             ? MakeBlobNode(*info.array, context_, info.length, leaf.is_blob_v2)
                                             : MakeNode(*info.array, context_, info.length, leaf.leaf->type()));
      return Status::OK();
    }));
    auto path = std::make_shared<Path>();
    path->leaf = &leaf;
    path->values = std::move(column);
    std::shared_ptr<arrow::DataType> type = PathField(leaf)->type();
    for (const OpenLayer& open : open_) {
      path->steps.push_back({open.list, type});
      type = type->field(0)->type();
    }
    out_.pages.push_back(MakePages(std::move(path)));
    num_pages_ += out_.pages.back().size();
    if (num_pages_ > kMaxPages) return BadBytes("more than {} pages, counted for each leaf below them", kMaxPages);
    return Status::OK();
  }

  std::vector<std::unique_ptr<Page>> MakePages(std::shared_ptr<const Path> path) const {
    const auto list = std::find_if(open_.begin(), open_.end(), [](const OpenLayer& l) { return l.list != nullptr; });
    const auto& stored = list == open_.end() ? out_.stored.back() : out_.stored[list->stored];
    const Column& column = list == open_.end() ? *path->values : *list->list;
    std::vector<std::unique_ptr<Page>> pages;
    // Below the outermost list: of one item of it, on average.
    double items = 1, item_bytes = 0;
    for (auto l = list; l != open_.end(); ++l) {
      if (l == list || !l->list) continue;
      items *= ItemsPerEntry(*l->list, 0, l->list->pages.size());
      item_bytes += items * 8;
    }
    if (list != open_.end()) item_bytes += items * BytesPerEntry(*path->values, 0, path->values->pages.size());
    for (size_t i = 0; i < stored->pages.size(); ++i) {
      const double bytes = list == open_.end() ? BytesPerEntry(column, i, i + 1)
                                               : 8 + ItemsPerEntry(column, i, i + 1) * (8 + item_bytes);
      const auto row_bytes = static_cast<uint64_t>(std::clamp(bytes, 1.0, 1e15));
      pages.push_back(std::make_unique<PathPage>(path, std::shared_ptr<const PageInfo>(stored, &stored->pages[i]),
                                                 column.first_entry[i], row_bytes));
    }
    return pages;
  }

  // Averages over pages [from, to).
  static double BytesPerEntry(const Column& column, size_t from, size_t to) {
    double bytes = 0;
    for (size_t i = from; i < to; ++i) bytes += static_cast<double>(column.pages[i].node->estimated_bytes());
    return bytes / static_cast<double>(std::max<uint64_t>(1, column.first_entry[to] - column.first_entry[from]));
  }
  static double ItemsPerEntry(const Column& list, size_t from, size_t to) {
    return static_cast<double>(list.first_item[to] - list.first_item[from]) /
           static_cast<double>(std::max<uint64_t>(1, list.first_entry[to] - list.first_entry[from]));
  }

  std::vector<std::vector<PageInfo>> columns_;
  NodeContext context_;
  size_t next_ = 0;  // column
  std::vector<OpenLayer> open_;
  uint64_t items_ = 0;  // of the list being opened
  size_t num_pages_ = 0;
  std::optional<uint64_t> num_rows_;
  Columns out_;
};

}  // namespace

Result<Columns> OpenColumns(const arrow::Schema& schema, const std::vector<LeafColumn>& leaves,
                            std::vector<std::vector<PageInfo>> columns, uint64_t claimed_rows, uint64_t file_size) {
  return Opener(std::move(columns), claimed_rows, file_size).Run(schema, leaves);
}

}  // namespace pilum::v2_0
