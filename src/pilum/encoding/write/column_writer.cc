// The writer of one column: collects rows, finds where a page ends from the rows alone, encodes.
#include <arrow/array.h>

#include "pilum/encoding/write/internal.h"

namespace pilum {

using write::EncodeSlice;
using write::LeafKind;
using write::LevelPlan;
using write::LevelWalk;
using write::PageSlice;
using write::ValueKind;
using write::ValueStore;

namespace {

class ColumnWriterImpl : public ColumnWriter {
 public:
  ColumnWriterImpl(const LeafColumn* column, const PageWriterOptions& options, EncodingHints hints, LevelPlan plan,
                   LeafKind kind)
      : column_(column),
        options_(options),
        setup_{column, std::move(hints), std::move(plan), options.version, options.profile, {}},
        plan_(setup_.plan),
        items_per_row_(static_cast<uint64_t>(column->items_per_row())) {
    values_.kind = std::move(kind);
    for (const auto& l : plan_.layers) {
      if (!l.is_list) continue;
      first_list_ = l.null_code;
      break;
    }
  }

  Status Append(const std::shared_ptr<arrow::Array>& top_level, std::vector<EncodedPage>* out) override {
    const auto& data = top_level->data();
    for (int64_t at = 0; at < data->length;) {
      int64_t n = std::min(step_, data->length - at);
      uint64_t before = Cost(events(), values_.slots);
      PILUM_RETURN_NOT_OK(walk_.Walk(*column_, plan_, data, at, n));
      if (column_->is_packed == false && values_.kind.kind == ValueKind::kNone) PILUM_RETURN_NOT_OK(CheckEmptyStruct());
      AppendLevels();
      if (Status st = values_.AppendRuns(walk_, *column_); !st.ok()) {
        return WithContext(fmt::format("column '{}', rows {} and on", column_->name, base_row_ + rows_), st);
      }
      rows_ += static_cast<uint64_t>(n);
      at += n;
      // The step is about memory only; where pages end does not depend on it.
      uint64_t added = Cost(events(), values_.slots) - before;
      if (added > options_.page_bytes / 4 && step_ > 1)
        step_ /= 2;
      else if (added < options_.page_bytes / 16 && step_ < kMaxStep)
        step_ *= 2;
      PILUM_RETURN_NOT_OK(CutPages(out));
    }
    return Status::OK();
  }

  Status Finish(std::vector<EncodedPage>* out) override {
    if (rows_ == 0) return Status::OK();
    return Emit({rows_, events(), values_.slots}, base_row_ + rows_, out);
  }

  uint64_t buffered_bytes() const override { return rep_.capacity() + def_.capacity() + values_.memory(); }

 private:
  static constexpr int64_t kMaxStep = 65536;
  struct Cut {
    uint64_t rows, events, slots;
  };

  uint64_t events() const { return plain_events_ + def_.size(); }

  // Columns without lists keep no levels before their first null: they are many, and a byte an event each.
  void AppendLevels() {
    if (plan_.max_rep == 0 && def_.empty() && !walk_.any_null) {
      plain_events_ += walk_.def.size();
      return;
    }
    if (plain_events_ > 0) def_.assign(std::exchange(plain_events_, 0), 0);
    rep_.append(walk_.rep.data(), walk_.rep.size());
    def_.append(walk_.def.data(), walk_.def.size());
  }

  Status CheckEmptyStruct() const {
    if (column_->leaf->type()->id() != arrow::Type::STRUCT || !walk_.any_null) return Status::OK();
    return Unsupported("field '{}': an empty struct that is null or inside a null", column_->name);
  }

  // Bytes that events and slots at the front count for.
  uint64_t Cost(uint64_t events, uint64_t slots) const {
    return values_.BytesOfFront(slots) + (plan_.max_rep > 0 ? 2 * events : 0);
  }

  Status CutPages(std::vector<EncodedPage>* out) {
    while (rows_ > 0) {
      std::optional<Cut> size_cut;
      if (Cost(events(), values_.slots) >= options_.page_bytes) size_cut = plan_.max_rep > 0 ? CutLists() : CutFlat();
      std::optional<Cut> key_cut;
      PILUM_ASSIGN_OR_RETURN(key_cut, CutKeys(size_cut ? size_cut->slots : values_.slots));
      if (key_cut)
        PILUM_RETURN_NOT_OK(Emit(*key_cut, base_row_ + key_cut->rows + 1, out));
      else if (size_cut)
        PILUM_RETURN_NOT_OK(Emit(*size_cut, base_row_ + size_cut->rows, out));
      else
        break;
    }
    return Status::OK();
  }

  // The first row at whose end the page is full. Without lists a row is items_per_row slots.
  Cut CutFlat() const {
    uint64_t low = 1, high = rows_;
    while (low < high) {
      uint64_t mid = (low + high) / 2;
      if (Cost(mid * items_per_row_, mid * items_per_row_) >= options_.page_bytes)
        high = mid;
      else
        low = mid + 1;
    }
    return {low, low * items_per_row_, low * items_per_row_};
  }

  Cut CutLists() const {
    Cut c{0, 0, 0};
    for (uint64_t e = 0; e < def_.size(); ++e) {
      if (rep_[e] == plan_.max_rep && e > 0) {
        ++c.rows;
        c.events = e;
        if (Cost(e, c.slots) >= options_.page_bytes) return c;
      }
      c.slots += def_[e] < first_list_;
    }
    return {rows_, def_.size(), values_.slots};
  }

  // Dictionary columns: the rows before the one that would need one key more than the key type has.
  Result<std::optional<Cut>> CutKeys(uint64_t slots) const {
    if (values_.kind.kind != ValueKind::kDictionary) return std::nullopt;
    auto table = static_cast<uint64_t>(values_.table.size());
    if (table <= values_.kind.max_keys) return std::nullopt;
    std::vector<bool> seen(table);
    uint64_t distinct = 0, slot = 0, rows = 0, row_event = 0, row_slot = 0;
    for (uint64_t e = 0; e < events() && slot < slots; ++e) {
      if (plan_.max_rep > 0 ? rep_[e] == plan_.max_rep : e % items_per_row_ == 0) {
        rows += e > 0;
        row_event = e;
        row_slot = slot;
      }
      if (!def_.empty() && def_[e] >= first_list_) continue;
      int32_t k = values_.keys[slot++];
      if (k < 0 || seen[static_cast<size_t>(k)]) continue;
      seen[static_cast<size_t>(k)] = true;
      if (++distinct <= values_.kind.max_keys) continue;
      if (rows == 0) {
        return Unsupported("field '{}': one row needs more than the {} keys of its dictionary type", column_->name,
                           values_.kind.max_keys);
      }
      return Cut{rows, row_event, row_slot};
    }
    return std::nullopt;
  }

  Status Emit(const Cut& cut, uint64_t ready_row, std::vector<EncodedPage>* out) {
    PageSlice slice;
    slice.rep = plan_.max_rep > 0 ? rep_.data() : nullptr;
    const bool plain = plain_events_ > 0;
    if (plain) def_.assign(cut.events, 0);
    slice.def = def_.data();
    slice.events = cut.events;
    slice.rows = cut.rows * items_per_row_;
    slice.slots = cut.slots;
    slice.values = &values_;
    size_t first = out->size();
    PILUM_RETURN_NOT_OK(EncodeSlice(&setup_, slice, out));
    uint64_t row = base_row_;
    for (size_t i = first; i < out->size(); ++i) {
      (*out)[i].first_row = row;
      (*out)[i].ready_row = ready_row;
      row += (*out)[i].length / items_per_row_;
    }
    base_row_ += cut.rows;
    rows_ -= cut.rows;
    if (plan_.max_rep > 0) rep_.DropFront(cut.events);
    if (plain) {
      def_ = {};
      plain_events_ -= cut.events;
    } else {
      def_.DropFront(cut.events);
    }
    values_.DropFront(cut.slots);
    return Status::OK();
  }

  const LeafColumn* column_;
  const PageWriterOptions options_;
  write::ColumnSetup setup_;
  const LevelPlan& plan_;
  const uint64_t items_per_row_;
  uint8_t first_list_ = 255;
  LevelWalk walk_;
  write::Vec<uint8_t> rep_, def_;  // `def_` is empty while there are plain events
  uint64_t plain_events_ = 0;      // events so far, none of them null
  ValueStore values_;
  uint64_t rows_ = 0, base_row_ = 0;
  int64_t step_ = 1024;
};

Status CheckColumn(const LeafColumn& column, const LeafKind& kind, const PageWriterOptions& options) {
  const bool v21 = options.version == FileVersion::kV2_1;
  for (const ShapeLayer& l : column.layers) {
    if (v21 && l.kind == ShapeLayerKind::kMap)
      return Unsupported("field '{}': maps need file version 2.2", column.name);
    if (v21 && l.kind == ShapeLayerKind::kFixedSizeList) {
      return Unsupported("field '{}': fixed-size lists of structs need file version 2.2", column.name);
    }
  }
  if (column.is_blob_v2 && column.is_blob)
    return Unsupported("field '{}': places of blobs; write their bytes", column.name);
  if (column.is_blob && column.num_list_layers() > 0) return Unsupported("field '{}': blobs inside lists", column.name);
  if (v21 && kind.packed && kind.kind == ValueKind::kVariable) {
    return Unsupported("field '{}': packed structs with strings or lists need file version 2.2", column.name);
  }
  if (kind.kind == ValueKind::kNone && column.leaf->type()->id() == arrow::Type::STRUCT &&
      (column.num_list_layers() > 0 || column.items_per_row() > 1)) {
    return Unsupported(
        "field '{}': an empty struct inside a list, which only file version 2.0 holds; write that one, or "
        "give the struct a field",
        column.name);
  }
  PILUM_RETURN_NOT_OK(CheckHasBytes(column, kind, options.version));
  if (kind.bool_items && kind.width > 100000) {
    return Unsupported("field '{}': a fixed-size list of {} bools (at most 100000)", column.name, kind.width);
  }
  return Status::OK();
}

}  // namespace

Result<std::unique_ptr<ColumnWriter>> ColumnWriter::Make(const LeafColumn* column, const arrow::Field& top_level,
                                                         const PageWriterOptions& options) {
  if (options.version != FileVersion::kV2_1 && options.version != FileVersion::kV2_2) {
    return Unsupported("writing file version {}: only 2.1 and 2.2 are written", VersionName(options.version));
  }
  PILUM_ASSIGN_OR_RETURN(LeafKind kind, LeafKind::Of(*column));
  PILUM_RETURN_NOT_OK(CheckColumn(*column, kind, options));
  PILUM_ASSIGN_OR_RETURN(auto hints, EncodingHints::Parse(*column->leaf, top_level));
  PILUM_ASSIGN_OR_RETURN(auto plan, LevelPlan::Make(*column));
  return std::make_unique<ColumnWriterImpl>(column, options, std::move(hints), std::move(plan), std::move(kind));
}

}  // namespace pilum
