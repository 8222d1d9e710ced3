#include "pilum/encoding/v2_0/path_read.h"

#include <algorithm>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/type.h>

#include "pilum/encoding/leaf_array.h"

namespace pilum::v2_0 {

using codec::BadBytes;

namespace {

using Data = std::shared_ptr<arrow::ArrayData>;

class PathRead : public PageRead {
 public:
  PathRead(const Path& path, RowSet rows) : path_(path), at_(std::move(rows)), num_rows_(at_.size()) {
    entries_.resize(path.steps.size());
    Start();
  }

  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    while (true) {
      size_t failed = 0;
      auto ranges = group_.Next(std::move(fetched), &failed);
      if (!ranges.ok()) return InPage(failed, ranges.status());
      if (!ranges->empty() || step_ == path_.steps.size()) return ranges;
      PILUM_RETURN_NOT_OK(FinishList());
      ++step_;
      Start();
      fetched.clear();
    }
  }

  Result<std::shared_ptr<arrow::Array>> Decode(ReadContext& ctx) override {
    arrow::MemoryPool* pool = ctx.memory_pool();
    const uint64_t values = at_.size();
    StopCheck stop(ctx);
    PILUM_ASSIGN_OR_RETURN(Data data, DecodeValues({pool, &stop}));
    if (static_cast<uint64_t>(data->length) != values)
      return BadBytes("column '{}': {} values, not {}", path_.leaf->name, data->length, values);
    for (size_t i = path_.steps.size(); i-- > 0;) {
      PILUM_ASSIGN_OR_RETURN(data, Wrap(i, std::move(data), pool));
    }
    if (static_cast<uint64_t>(data->length) != num_rows_)
      return BadBytes("column '{}': {} rows, not {}", path_.leaf->name, data->length, num_rows_);
    if (ctx.stats) ctx.stats->AddDecoded(path_.leaf->name, values);
    return arrow::MakeArray(data);
  }

 private:
  const Column& column() const { return step_ < path_.steps.size() ? *path_.steps[step_].list : *path_.values; }

  Status InPage(size_t read, const Status& status) const {
    if (read >= page_of_.size()) return status;
    return WithContext(fmt::format("column '{}' page {}", column().name, page_of_[read]), status);
  }

  // Structs have the rows of what is above them. Then: a read of each page that holds wanted entries.
  void Start() {
    group_.Clear();
    page_of_.clear();
    while (step_ < path_.steps.size() && !path_.steps[step_].list) ++step_;
    const bool list = step_ < path_.steps.size();
    if (at_.empty()) return;
    const auto& first = column().first_entry;
    auto page = std::upper_bound(first.begin(), first.end(), at_.ranges().front().begin) - first.begin() - 1;
    for (auto p = static_cast<size_t>(page); p < column().pages.size(); ++p) {
      if (first[p] >= at_.ranges().back().end) break;
      RowSet in_page = at_.Slice(first[p], first[p + 1]);
      if (in_page.empty()) continue;
      const ArrayNode& node = *column().pages[p].node;
      group_.Add(node.StartRead(list ? WithPredecessors(in_page) : in_page));
      page_of_.push_back(p);
      if (list) rows_of_.push_back(std::move(in_page));
    }
  }

  // The offsets are here: what they say, and which items are wanted next.
  Status FinishList() {
    RowSet items;
    Extents& extents = entries_[step_];
    for (size_t i = 0; i < group_.size(); ++i) {
      const Column::Part& page = column().pages[page_of_[i]];
      auto values = group_[i].Finish({arrow::default_memory_pool()});
      if (!values.ok()) return InPage(i, values.status());
      auto ends = ToUint64(values->block);
      if (!ends.ok()) return InPage(i, ends.status());
      Status st =
          extents.Append(*ends, rows_of_[i], page.null_adjustment, page.num_items, column().first_item[page_of_[i]]);
      if (!st.ok()) return InPage(i, st);
    }
    for (const RowRange& r : extents.ranges) items.Append(r.begin, r.end);
    at_ = std::move(items);
    rows_of_.clear();
    extents.ranges = {};
    return Status::OK();
  }

  Result<Data> DecodeValues(const Work& work) {
    const auto& type = path_.leaf->leaf->type();
    arrow::ArrayVector arrays;
    for (size_t i = 0; i < group_.size(); ++i) {
      auto values = group_[i].Finish(work);
      if (!values.ok()) return InPage(i, values.status());
      auto data = ToArrayData(*std::move(values), type, work.pool);
      if (!data.ok()) return InPage(i, data.status());
      arrays.push_back(arrow::MakeArray(*std::move(data)));
    }
    group_.Clear();
    if (arrays.empty()) return MakeNulls(type, 0, work.pool);
    if (arrays.size() == 1) return arrays[0]->data();
    auto joined = arrow::Concatenate(arrays, work.pool);
    if (joined.ok()) return (*joined)->data();
    if (joined.status().IsOutOfMemory()) return joined.status();
    // Dictionaries of several pages that keys of this width cannot name together, or 32-bit offsets that do not reach.
    return MakeError(ErrorKind::kMemory,
                     fmt::format("column '{}': {} pages cannot be put together: {}; read fewer rows "
                                 "at a time",
                                 path_.leaf->name, arrays.size(), joined.status().message()));
  }

  Result<Data> Wrap(size_t step, Data child, arrow::MemoryPool* pool) {
    const PathStep& s = path_.steps[step];
    if (!s.list) return arrow::ArrayData::Make(s.type, child->length, {nullptr}, {child}, 0);
    const Extents& extents = entries_[step];
    if (extents.total != static_cast<uint64_t>(child->length))
      return BadBytes("column '{}': {} items, not {}", s.list->name, child->length, extents.total);
    PILUM_ASSIGN_OR_RETURN(auto offsets, extents.Offsets(s.type->id() == arrow::Type::LARGE_LIST, pool));
    PILUM_ASSIGN_OR_RETURN(Validity v, extents.MakeValidity(pool));
    return arrow::ArrayData::Make(s.type, static_cast<int64_t>(v.count), {v.bitmap, offsets}, {std::move(child)},
                                  v.null_count);
  }

  const Path& path_;
  RowSet at_;  // wanted entries of the step's column
  uint64_t num_rows_;
  size_t step_ = 0;  // steps.size(): the values
  ReadGroup group_;
  std::vector<size_t> page_of_;   // of each read in the group
  std::vector<RowSet> rows_of_;   // lists: the rows each of them is for
  std::vector<Extents> entries_;  // one a step; those of lists are used
};

}  // namespace

std::unique_ptr<PageRead> StartPathRead(const Path& path, RowSet rows) {
  return std::make_unique<PathRead>(path, std::move(rows));
}

}  // namespace pilum::v2_0
