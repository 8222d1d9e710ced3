// Full-zip pages: for each event its control word (levels), then its value, so that a row is one range of bytes. Rows
// are found by arithmetic where every event has the same size, else by the repetition index.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "pilum/base/bytes.h"
#include "pilum/base/recycling_pool.h"
#include "pilum/encoding/page/fetch_once.h"
#include "pilum/encoding/page/full_zip.h"
#include "pilum/encoding/page/page_base.h"

namespace pilum {

using codec::BadBytes;
using codec::Bytes;

namespace {

// A read of more than a quarter of the repetition index fetches all of it, and keeps it.
constexpr uint64_t kWholeIndexShare = 4;
constexpr uint64_t kSmallIndex = 4096;

class FullZipPage : public PageBase {
 public:
  using PageBase::PageBase;
  Status Check();
  std::unique_ptr<PageRead> StartRead(RowSet rows) const override;
  uint64_t cached_bytes() const override {
    auto held = index_.get();
    return held ? static_cast<uint64_t>(held->size()) : 0;
  }

  uint64_t control_bytes() const { return control_bytes_; }
  uint64_t value_bytes() const { return value_bytes_; }
  bool fixed_stride() const { return fixed_stride_; }
  uint64_t index_width() const { return index_width_; }
  FetchOnce<arrow::Buffer>& index_once() const { return index_; }
  // Keeps a copy: `bytes` may be a slice of a much larger fetch.
  Status KeepIndex(const BufferPtr& bytes) const {
    PILUM_ASSIGN_OR_RETURN(auto copy, codec::Allocate(static_cast<uint64_t>(bytes->size()), DefaultReadPool()));
    std::memcpy(copy->mutable_data(), bytes->data(), static_cast<size_t>(bytes->size()));
    index_.Put(std::move(copy));
    return Status::OK();
  }

 private:
  uint64_t control_bytes_ = 0, value_bytes_ = 0, index_width_ = 0;
  bool fixed_stride_ = false;
  mutable FetchOnce<arrow::Buffer> index_;
};

Status FullZipPage::Check() {
  const PageLayout& l = layout();
  uint32_t bits = l.bits_rep + l.bits_def;
  control_bytes_ = bits == 0 ? 0 : bits <= 8 ? 1 : bits <= 16 ? 2 : 4;
  value_bytes_ = l.bits_per_value / 8;
  if (buffers().empty()) return BadBytes("no data buffer");
  if (plan().has_lists() != (l.bits_rep > 0)) return BadBytes("repetition levels do not go with the column's lists");
  fixed_stride_ = !l.variable_width && !plan().has_lists();
  // Every event has a control word, a length or a value of a byte at least: the data bound the events, and so the rows.
  uint64_t least = control_bytes_ ? control_bytes_ : value_bytes_;
  if (c_.info.length > buffers()[0].size / least)
    return BadBytes("{} rows in {} bytes", c_.info.length, buffers()[0].size);
  if (!plan().has_lists() && l.num_items != c_.info.length) {
    return BadBytes("{} items, but a length of {}", l.num_items, c_.info.length);
  }
  if (fixed_stride_) {
    auto size = CheckedMul(control_bytes_ + value_bytes_, c_.info.length);
    if (!size || *size != buffers()[0].size) {
      return BadBytes("{} values of {} bytes in {} bytes", c_.info.length, control_bytes_ + value_bytes_,
                      buffers()[0].size);
    }
    return Status::OK();
  }
  if (buffers().size() < 2) return BadBytes("no repetition index");
  uint64_t size = buffers()[1].size, entries = c_.info.length + 1;
  index_width_ = size / entries;
  if (size % entries != 0 || (index_width_ != 1 && index_width_ != 2 && index_width_ != 4 && index_width_ != 8)) {
    return BadBytes("a repetition index of {} bytes for {} rows", size, c_.info.length);
  }
  return Status::OK();
}

// Collects where variable values lie in a run, and gives them to the sink many at a time.
class ValueBatch {
 public:
  ValueBatch(const uint8_t* run, full_zip::ValueSink* sink) : base_(run), sink_(sink) {}
  Status Add(const uint8_t* value, uint64_t size) {
    if (n_ == kValues || static_cast<uint64_t>(value - base_) + size > kBytes) {
      PILUM_RETURN_NOT_OK(Flush());
      if (size > kBytes) return sink_->Append(Bytes(value, size));
      base_ = value;
    }
    begins_[n_] = static_cast<uint32_t>(value - base_);
    ends_[n_++] = static_cast<uint32_t>(static_cast<uint64_t>(value - base_) + size);
    return Status::OK();
  }
  Status Flush() {
    const size_t n = std::exchange(n_, 0);
    return n == 0 ? Status::OK() : sink_->AppendValues(base_, {begins_, n}, {ends_, n});
  }

 private:
  static constexpr size_t kValues = 1024;
  static constexpr uint64_t kBytes = 1 << 30;
  const uint8_t* base_;
  full_zip::ValueSink* sink_;
  size_t n_ = 0;
  uint32_t begins_[kValues], ends_[kValues];
};

// Bytes [begin, end) of the data, which hold `items` rows (or items, under fixed-size lists of structs).
struct RowRun {
  uint64_t begin = 0, end = 0, items = 0;
};

class FullZipRead : public PageRead {
 public:
  FullZipRead(const FullZipPage& page, RowSet rows) : page_(page), rows_(std::move(rows)) {
    all_ = rows_.size() == page.num_rows();
    items_ = page.ItemsOf(rows_);
    if (!all_ && !page.fixed_stride()) index_claim_.emplace(&page.index_once(), WantsWholeIndex());
  }
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    return page_.InPage(Step(std::move(fetched)));
  }
  Result<std::shared_ptr<arrow::Array>> Decode(ReadContext& ctx) override { return page_.InPage(DecodeAll(ctx)); }
  bool TakeUp(PageRead* next) override {
    auto* other = dynamic_cast<FullZipRead*>(next);
    if (other == nullptr || !IsPlain() || !other->IsPlain()) return false;
    behind_.push_back(other);
    return true;
  }
  bool utf8_checked() const override { return ascii_; }

 private:
  enum class State { kStart, kIndex, kData };

  Result<std::vector<ByteRange>> Step(std::vector<BufferPtr> fetched) {
    switch (state_) {
      case State::kStart: return Start();
      case State::kIndex: PILUM_RETURN_NOT_OK(TakeIndex(fetched)); return AskData();
      case State::kData: break;
    }
    if (fetched.size() != runs_.size()) return BadBytes("{} buffers for {} ranges", fetched.size(), runs_.size());
    data_ = std::move(fetched);
    return std::vector<ByteRange>{};
  }

  Result<std::vector<ByteRange>> Start() {
    const uint64_t size = page_.buffers()[0].size;
    if (all_) {
      runs_.push_back({0, size, page_.info().length});
      return AskData();
    }
    if (page_.fixed_stride()) {
      uint64_t stride = page_.control_bytes() + page_.value_bytes();
      for (const RowRange& r : items_) runs_.push_back({r.begin * stride, r.end * stride, r.size()});
      return AskData();
    }
    if (auto index = index_claim_->Wait()) {
      PILUM_RETURN_NOT_OK(UseWholeIndex(*index));
      return AskData();
    }
    state_ = State::kIndex;
    const ByteRange& index = page_.buffers()[1];
    const uint64_t w = page_.index_width();
    if (WantsWholeIndex()) return std::vector<ByteRange>{index};
    partial_ = true;
    std::vector<ByteRange> ranges;
    for (const RowRange& r : items_) {  // where the run starts, and where it ends
      ranges.push_back({index.offset + r.begin * w, w});
      ranges.push_back({index.offset + r.end * w, w});
    }
    return ranges;
  }

  Status TakeIndex(const std::vector<BufferPtr>& fetched) {
    if (fetched.size() != (partial_ ? items_.size() * 2 : 1))
      return BadBytes("{} buffers for the repetition index", fetched.size());
    if (!partial_) {
      PILUM_RETURN_NOT_OK(page_.KeepIndex(fetched[0]));
      index_claim_->Done();
      return UseWholeIndex(*fetched[0]);
    }
    for (size_t i = 0; i < items_.size(); ++i) {
      PILUM_RETURN_NOT_OK(AddRun(Entry(fetched[2 * i]->data()), Entry(fetched[2 * i + 1]->data()), items_[i].size()));
    }
    return Status::OK();
  }

  bool WantsWholeIndex() const {
    uint64_t wanted = 0;
    for (const RowRange& r : items_) wanted += (r.size() + 1) * page_.index_width();
    return page_.buffers()[1].size <= kSmallIndex || wanted >= page_.buffers()[1].size / kWholeIndexShare;
  }

  Status UseWholeIndex(const arrow::Buffer& index) {
    const uint64_t w = page_.index_width();
    for (const RowRange& r : items_) {
      PILUM_RETURN_NOT_OK(AddRun(Entry(index.data() + r.begin * w), Entry(index.data() + r.end * w), r.size()));
    }
    return Status::OK();
  }

  uint64_t Entry(const uint8_t* p) const {
    switch (page_.index_width()) {
      case 1: return *p;
      case 2: return LoadLE<uint16_t>(p);
      case 4: return LoadLE<uint32_t>(p);
      default: return LoadLE<uint64_t>(p);
    }
  }

  Status AddRun(uint64_t begin, uint64_t end, uint64_t items) {
    if (begin > end || end > page_.buffers()[0].size || (!runs_.empty() && begin < runs_.back().end)) {
      return BadBytes("the repetition index points at bytes {} to {} of {}", begin, end, page_.buffers()[0].size);
    }
    runs_.push_back({begin, end, items});
    return Status::OK();
  }

  Result<std::vector<ByteRange>> AskData() {
    state_ = State::kData;
    std::vector<ByteRange> ranges;
    for (const RowRun& r : runs_) ranges.push_back({page_.buffers()[0].offset + r.begin, r.end - r.begin});
    return ranges;
  }

  // Values of any length, one a row, without levels: those of several pages can go to one sink.
  bool IsPlain() const {
    const PageLayout& l = page_.layout();
    return l.variable_width && page_.control_bytes() == 0 && page_.plan().layers.size() == 1 &&
           page_.context().items_per_row == 1 && l.value_codec->kind != CodecKind::kVariablePackedStruct;
  }
  Result<std::unique_ptr<full_zip::ValueSink>> MakeSink(uint64_t max_values, ReadContext& ctx) const;
  Status DecodeRuns(full_zip::ValueSink* sink, Levels* levels, StopCheck* stop);
  uint64_t InputBytes(uint64_t max_values) const;
  Result<std::shared_ptr<arrow::Array>> DecodeAll(ReadContext& ctx);
  Status DecodeRun(Bytes in, uint64_t items, full_zip::ValueSink* sink, Levels* levels, StopCheck* stop);
  Status DecodePlainRun(Bytes in, uint64_t items, full_zip::ValueSink* sink, StopCheck* stop);

  const FullZipPage& page_;
  RowSet rows_;
  std::vector<RowRange> items_;
  std::optional<FetchOnce<arrow::Buffer>::Claim> index_claim_;  // where rows are found by the index
  bool all_ = false, partial_ = false, ascii_ = false;
  State state_ = State::kStart;
  std::vector<RowRun> runs_;
  std::vector<BufferPtr> data_;
  std::vector<FullZipRead*> behind_;  // taken up
  uint64_t values_ = 0, max_events_ = 0;
};

// Of all values, without their lengths where nothing else lies between them.
uint64_t FullZipRead::InputBytes(uint64_t max_values) const {
  uint64_t bytes = 0;
  for (const BufferPtr& b : data_) bytes += static_cast<uint64_t>(b->size());
  for (const FullZipRead* other : behind_) {
    for (const BufferPtr& b : other->data_) bytes += static_cast<uint64_t>(b->size());
  }
  const uint64_t lengths =
      page_.layout().variable_width && page_.control_bytes() == 0 ? max_values * page_.value_bytes() : 0;
  return bytes > lengths ? bytes - lengths : bytes;
}

Result<std::unique_ptr<full_zip::ValueSink>> FullZipRead::MakeSink(uint64_t max_values, ReadContext& ctx) const {
  codec::DecodeSpec spec;
  spec.pool = ctx.memory_pool();
  spec.wide = IsWide(*page_.leaf_type());
  spec.max_count = max_values;
  spec.input_bytes = InputBytes(max_values);
  const PageLayout& l = page_.layout();
  spec.leaf_type = page_.leaf_type().get();
  if (!l.variable_width) return full_zip::MakeFixedSink(*l.value_codec, l.bits_per_value, spec);
  if (l.value_codec->kind == CodecKind::kVariablePackedStruct) {
    const arrow::DataType& type = StorageType(*page_.leaf_type());
    if (type.id() != arrow::Type::STRUCT) return BadBytes("packed rows in a column of type {}", type.ToString());
    return full_zip::MakePackedRowSink(*l.value_codec, type, spec);
  }
  return full_zip::MakeVariableSink(*l.value_codec, spec);
}

Result<std::shared_ptr<arrow::Array>> FullZipRead::DecodeAll(ReadContext& ctx) {
  const PageLayout& l = page_.layout();
  // Events of a run: its items, or with lists as many as control words fit, and no more than the page has.
  max_events_ = 0;
  uint64_t most_values = 0;
  for (const RowRun& r : runs_) {
    uint64_t bytes = r.end - r.begin;
    max_events_ += page_.plan().has_lists() ? bytes / page_.control_bytes() : r.items;
    most_values += l.variable_width ? max_events_ : bytes / (page_.control_bytes() + page_.value_bytes());
  }
  if (page_.plan().has_lists()) max_events_ = std::min(max_events_, l.num_items);
  uint64_t rows = rows_.size();
  for (const FullZipRead* other : behind_) {
    rows += other->rows_.size();
    max_events_ += other->rows_.size();
    most_values += other->rows_.size();
  }
  PILUM_ASSIGN_OR_RETURN(auto sink, MakeSink(std::min(most_values, max_events_), ctx));
  Levels levels;
  if (l.bits_rep) PILUM_RETURN_NOT_OK(levels.rep.Reserve(max_events_, ctx.memory_pool()));
  if (l.bits_def) PILUM_RETURN_NOT_OK(levels.def.Reserve(max_events_, ctx.memory_pool()));
  StopCheck stop(ctx);
  PILUM_RETURN_NOT_OK(DecodeRuns(sink.get(), &levels, &stop));
  for (FullZipRead* other : behind_) {
    PILUM_RETURN_NOT_OK(other->page_.InPage(sink->TurnTo(*other->page_.layout().value_codec)));
    PILUM_RETURN_NOT_OK(other->page_.InPage(other->DecodeRuns(sink.get(), &levels, &stop)));
    values_ += other->values_;
  }
  PILUM_RETURN_NOT_OK(CheckLevels(page_.plan(), levels));
  PILUM_ASSIGN_OR_RETURN(codec::DataBlock block, sink->Finish());
  ascii_ = block.ascii;
  PILUM_ASSIGN_OR_RETURN(Validity validity, LeafValidity(page_.plan(), levels, ctx.memory_pool()));
  PILUM_ASSIGN_OR_RETURN(auto leaf, MakeLeaf(page_.leaf_type(), std::move(block), validity, ctx.memory_pool()));
  return FinishRead(page_, std::move(levels), rows, std::move(leaf), values_, ctx);
}

Status FullZipRead::DecodeRuns(full_zip::ValueSink* sink, Levels* levels, StopCheck* stop) {
  for (size_t i = 0; i < runs_.size(); ++i) {
    Bytes in = BytesOf(data_[i]);
    if (in.size() != runs_[i].end - runs_[i].begin)
      return BadBytes("{} bytes fetched of {}", in.size(), runs_[i].end - runs_[i].begin);
    if (page_.control_bytes() == 0) {
      PILUM_RETURN_NOT_OK(DecodePlainRun(in, runs_[i].items, sink, stop));
      levels->count += runs_[i].items;
    } else {
      PILUM_RETURN_NOT_OK(DecodeRun(in, runs_[i].items, sink, levels, stop));
    }
  }
  return Status::OK();
}

// No levels: values alone, with their lengths where those vary.
Status FullZipRead::DecodePlainRun(Bytes in, uint64_t items, full_zip::ValueSink* sink, StopCheck* stop) {
  values_ += items;
  const uint64_t width = page_.value_bytes();
  if (!page_.layout().variable_width) {
    if (in.size() != items * width) return BadBytes("{} values of {} bytes in {} bytes", items, width, in.size());
    const uint64_t piece = std::max<uint64_t>(1, (4 << 20) / std::max<uint64_t>(1, width));
    for (uint64_t i = 0; i < items; i += piece) {
      const uint64_t n = std::min(piece, items - i);
      PILUM_RETURN_NOT_OK(sink->AppendRun(in.subspan(i * width, n * width), n));
      PILUM_RETURN_NOT_OK(stop->After(n * width));
    }
    return Status::OK();
  }
  uint64_t at = 0;
  ValueBatch batch(in.data(), sink);
  for (uint64_t i = 0; i < items; ++i) {
    if (in.size() - at < width) return BadBytes("the data end inside a length");
    uint64_t size = width == 4 ? LoadLE<uint32_t>(in.data() + at) : LoadLE<uint64_t>(in.data() + at);
    at += width;
    if (size > in.size() - at) return BadBytes("a value of {} bytes, where {} are left", size, in.size() - at);
    PILUM_RETURN_NOT_OK(batch.Add(in.data() + at, size));
    PILUM_RETURN_NOT_OK(stop->After(size));
    at += size;
  }
  if (at != in.size()) return BadBytes("{} bytes after the last value", in.size() - at);
  return batch.Flush();
}

Status FullZipRead::DecodeRun(Bytes in, uint64_t items, full_zip::ValueSink* sink, Levels* levels, StopCheck* stop) {
  const PageLayout& l = page_.layout();
  const uint64_t control = page_.control_bytes(), width = page_.value_bytes();
  const uint32_t def_mask = (1u << l.bits_def) - 1;
  const uint16_t visible = page_.plan().max_visible, max_rep = page_.plan().max_rep;
  uint16_t* rep = levels->rep ? levels->rep.data() : nullptr;
  uint16_t* def = levels->def ? levels->def.data() : nullptr;
  uint64_t at = 0, rows = 0;
  ValueBatch batch(in.data(), sink);
  while (at < in.size()) {
    if (in.size() - at < control) return BadBytes("the data end inside a control word");
    uint32_t word = control == 1 ? in[at] : control == 2 ? LoadLE<uint16_t>(&in[at]) : LoadLE<uint32_t>(&in[at]);
    at += control;
    if (levels->count >= max_events_) return BadBytes("more than {} events", max_events_);
    const uint16_t d = static_cast<uint16_t>(word & def_mask), r = static_cast<uint16_t>(word >> l.bits_def);
    if (rep) rep[levels->count] = r;
    rows += rep ? r == max_rep : 1;
    if (def) def[levels->count] = d;
    ++levels->count;
    if (d > visible) {
      PILUM_RETURN_NOT_OK(stop->AfterEvent());
      continue;
    }
    ++values_;
    uint64_t size = width;
    if (l.variable_width) {
      size = 0;
      if (d == 0) {
        if (in.size() - at < width) return BadBytes("the data end inside a length");
        size = width == 4 ? LoadLE<uint32_t>(&in[at]) : LoadLE<uint64_t>(&in[at]);
        at += width;
      }
    }
    if (size > in.size() - at) return BadBytes("a value of {} bytes, where {} are left", size, in.size() - at);
    PILUM_RETURN_NOT_OK(l.variable_width ? batch.Add(in.data() + at, size) : sink->Append(in.subspan(at, size)));
    PILUM_RETURN_NOT_OK(stop->After(size));
    at += size;
  }
  PILUM_RETURN_NOT_OK(batch.Flush());
  if (rows != items) return BadBytes("a run of {} rows, not {}", rows, items);
  return Status::OK();
}

std::unique_ptr<PageRead> FullZipPage::StartRead(RowSet rows) const {
  return std::make_unique<FullZipRead>(*this, std::move(rows));
}

}  // namespace

Result<std::unique_ptr<Page>> MakeFullZipPage(PageContext&& context) {
  auto page = std::make_unique<FullZipPage>(std::move(context));
  PILUM_RETURN_NOT_OK(page->Check());
  return std::unique_ptr<Page>(std::move(page));
}

}  // namespace pilum
