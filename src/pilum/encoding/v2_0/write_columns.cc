#include "pilum/encoding/v2_0/write_columns.h"

#include <algorithm>
#include <array>
#include <optional>

#include <arrow/array.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/encoding/v2_0/write_page.h"

namespace pilum::v2_0 {

using write::LeafKind;
using write::LevelPlan;
using write::LevelWalk;
using write::ValueKind;
using write::ValueStore;

namespace {

enum class Role { kHeader, kList, kLeaf };

// Walks as the writers of the later versions do, with its own column as the leaf; an event with a slot is an entry.
class Writer : public ColumnWriter {
 public:
  Writer(Role role, LeafColumn column, const PageWriterOptions& options, EncodingHints hints, LevelPlan plan,
         LeafKind kind)
      : role_(role), column_(std::move(column)), options_(options), hints_(std::move(hints)), plan_(std::move(plan)) {
    values_.kind = std::move(kind);
    for (size_t i = 0; i < plan_.layers.size(); ++i) {
      const write::CodeLayer& l = plan_.layers[i];
      if (l.is_list) {
        first_list_ = std::min(first_list_, l.null_code);
      } else if (i > 0 || role_ == Role::kHeader || column_.leaf->type()->id() == arrow::Type::STRUCT) {
        struct_codes_[l.null_code] = true;
      }
    }
  }

  Status Append(const std::shared_ptr<arrow::Array>& top_level, std::vector<EncodedPage>* out) override {
    const auto& data = top_level->data();
    for (int64_t at = 0; at < data->length;) {
      const int64_t n = std::min(step_, data->length - at);
      const uint64_t before = entries_, cost = Cost(entries_);
      PILUM_RETURN_NOT_OK(walk_.Walk(column_, plan_, data, at, n));
      PILUM_RETURN_NOT_OK(CheckStructs());
      PILUM_RETURN_NOT_OK(AppendEntries());
      at += n;
      const uint64_t added = Cost(entries_) - cost;  // the step is about memory only
      if (added > options_.page_bytes / 4 && step_ > 1)
        step_ /= 2;
      else if (added < options_.page_bytes / 16 && step_ < kMaxStep)
        step_ *= 2;
      PILUM_RETURN_NOT_OK(CutPages(before, out));
      rows_ += static_cast<uint64_t>(n);
    }
    return Status::OK();
  }

  Status Finish(std::vector<EncodedPage>* out) override {
    // Of a column of items that has none pylance wants a page of none.
    if (entries_ > 0 || (rows_ > 0 && !emitted_)) Emit(entries_, rows_, out);
    return Status::OK();
  }

  uint64_t buffered_bytes() const override { return nulls_.capacity() + ends_.capacity() * 8 + values_.memory(); }

 private:
  static constexpr int64_t kMaxStep = 65536;

  // Structs store no validity: what is null in one, or inside one that is null, would come back as values.
  Status CheckStructs() const {
    if (!walk_.any_null) return Status::OK();
    for (size_t e = 0; e < walk_.def.size(); ++e) {
      if (!struct_codes_[walk_.def[e]]) continue;
      uint64_t row = e;
      if (plan_.max_rep > 0) {
        row =
            static_cast<uint64_t>(std::count(walk_.rep.begin(), walk_.rep.begin() + static_cast<std::ptrdiff_t>(e) + 1,
                                             static_cast<uint8_t>(plan_.max_rep))) -
            1;
      }
      return Unsupported(
          "field '{}': a struct that is null in row {}: file version 2.0 stores no nulls of structs; write version 2.1 "
          "or later, or give the struct a value and its fields nulls",
          column_.name, rows_ + row);
    }
    return Status::OK();
  }

  Status AppendEntries() {
    if (plan_.max_rep == 0) {
      const size_t at = nulls_.size();
      nulls_.resize(at + walk_.def.size());
      for (size_t e = 0; e < walk_.def.size(); ++e) nulls_[at + e] = walk_.def[e] != 0;
    } else {
      for (uint8_t d : walk_.def) {
        if (d < first_list_) nulls_.push_back(d != 0);
      }
    }
    entries_ = nulls_.size();
    if (role_ == Role::kHeader) return Status::OK();
    if (role_ == Role::kList) {
      column_.leaf->type()->id() == arrow::Type::LARGE_LIST ? AppendLists<int64_t>() : AppendLists<int32_t>();
      return Status::OK();
    }
    Status st = values_.AppendRuns(walk_, column_);
    if (!st.ok()) return WithContext(fmt::format("column '{}', rows {} and on", column_.name, rows_), st);
    return Status::OK();
  }

  template <typename Offset>
  void AppendLists() {
    uint64_t end = ends_.empty() ? 0 : ends_.back();
    for (const write::Run& r : walk_.runs) {
      const Offset* offsets = walk_.leaf->GetValues<Offset>(1) + r.pos;
      for (int64_t i = 0; i < r.len; ++i) {
        if (walk_.def[r.event + i] == 0) end += static_cast<uint64_t>(offsets[i + 1] - offsets[i]);
        ends_.push_back(end);
      }
    }
  }

  // Arrow bytes that the first n entries count for.
  uint64_t Cost(uint64_t n) const {
    switch (role_) {
      case Role::kHeader: return 0;
      case Role::kList: return n * 8;
      case Role::kLeaf: return values_.BytesOfFront(n);
    }
    return 0;
  }

  // Pages end at the entry that fills them. The last step, from entry `before` on, brought that entry.
  Status CutPages(uint64_t before, std::vector<EncodedPage>* out) {
    Rows rows(*this, before);
    while (entries_ > 0) {
      std::optional<uint64_t> full;
      if (Cost(entries_) >= options_.page_bytes) full = FirstFull();
      if (auto keys = CutKeys(full.value_or(entries_))) {
        rows.Drop(*keys);
        Emit(*keys, rows_ + rows.Of(0) + 1, out);  // the entry behind it told
      } else if (full) {
        const uint64_t ready = rows_ + rows.Of(*full - 1) + 1;
        rows.Drop(*full);
        Emit(*full, ready, out);
      } else {
        break;
      }
    }
    return Status::OK();
  }

  // Which row of the step an entry is in. Asked in ascending order.
  class Rows {
   public:
    Rows(const Writer& w, uint64_t before) : w_(w), offset_(-static_cast<int64_t>(before)) {}
    void Drop(uint64_t entries) { offset_ += static_cast<int64_t>(entries); }
    uint64_t Of(uint64_t entry) {
      const int64_t want = static_cast<int64_t>(entry) + offset_;  // of the step
      if (w_.plan_.max_rep == 0) return static_cast<uint64_t>(want);
      while (slot_ < want) {
        row_ += w_.walk_.rep[event_] == w_.plan_.max_rep;
        slot_ += w_.walk_.def[event_] < w_.first_list_;
        ++event_;
      }
      return static_cast<uint64_t>(row_);
    }

   private:
    const Writer& w_;
    int64_t offset_, slot_ = -1, row_ = -1;
    size_t event_ = 0;
  };

  uint64_t FirstFull() const {
    uint64_t low = 1, high = entries_;
    while (low < high) {
      const uint64_t mid = (low + high) / 2;
      if (Cost(mid) >= options_.page_bytes)
        high = mid;
      else
        low = mid + 1;
    }
    return low;
  }

  // Dictionary columns: the entries before the one that would need one key more than the key type has; one key is kept
  // for null.
  std::optional<uint64_t> CutKeys(uint64_t entries) const {
    if (values_.kind.kind != ValueKind::kDictionary) return std::nullopt;
    const uint64_t most = values_.kind.max_keys - 1;
    if (static_cast<uint64_t>(values_.table.size()) <= most) return std::nullopt;
    std::vector<bool> seen(static_cast<size_t>(values_.table.size()));
    uint64_t distinct = 0;
    for (uint64_t i = 0; i < entries; ++i) {
      const int32_t k = values_.keys[i];
      if (k < 0 || seen[static_cast<size_t>(k)]) continue;
      seen[static_cast<size_t>(k)] = true;
      if (++distinct > most) return i;
    }
    return std::nullopt;
  }

  EncodedPage Encode(uint64_t n) const {
    if (role_ == Role::kHeader) return EncodeHeaderPage(n);
    if (role_ == Role::kList) return EncodeListPage(ends_.data(), nulls_.data(), n);
    return EncodeLeafPage({&column_, &hints_, &values_, nulls_.data(), n});
  }

  void Emit(uint64_t n, uint64_t ready_row, std::vector<EncodedPage>* out) {
    out->push_back(Encode(n));
    out->back().ready_row = ready_row;
    emitted_ = true;
    nulls_.DropFront(n);
    entries_ -= n;
    if (role_ == Role::kLeaf) values_.DropFront(n);
    if (role_ != Role::kList) return;
    const uint64_t base = n ? ends_[n - 1] : 0;
    ends_.DropFront(n);
    for (uint64_t& e : ends_) e -= base;
  }

  const Role role_;
  const LeafColumn column_;  // down to this column's own field
  const PageWriterOptions options_;
  const EncodingHints hints_;
  const LevelPlan plan_;
  uint8_t first_list_ = 255;  // codes from here on have no entry
  std::array<bool, 256> struct_codes_{};
  LevelWalk walk_;
  write::Vec<uint8_t> nulls_;  // one an entry
  write::Vec<uint64_t> ends_;  // lists: of their items
  ValueStore values_;          // leaves
  uint64_t entries_ = 0;       // not yet in a page
  uint64_t rows_ = 0;          // top-level, before this step
  bool emitted_ = false;       // some page
  int64_t step_ = 1024;
};

// Of the metadata only what asks for compression means anything in 2.0.
Result<EncodingHints> HintsOf(const arrow::Field& leaf) {
  auto kept = std::make_shared<arrow::KeyValueMetadata>();
  for (const char* key : {"lance-encoding:compression", "lance-encoding:compression-level"}) {
    if (!leaf.metadata()) break;
    if (auto value = leaf.metadata()->Get(key); value.ok()) kept->Append(key, *value);
  }
  const auto field = leaf.WithMetadata(kept);
  return EncodingHints::Parse(*field, *field);
}

Status Needs22(const LeafColumn& c, std::string_view what) {
  return Unsupported("field '{}': {}, which file version 2.0 cannot hold; write version 2.2", c.name, what);
}

Status CheckLayers(const LeafColumn& c) {
  for (const ShapeLayer& l : c.layers) {
    if (l.kind == ShapeLayerKind::kMap) return Needs22(c, "a map");
    if (l.kind == ShapeLayerKind::kFixedSizeList) return Needs22(c, "a fixed-size list of structs");
  }
  return Status::OK();
}

Status CheckLeaf(const LeafColumn& c, const LeafKind& kind) {
  if (c.is_blob_v2) return Unsupported("field '{}': blob structs are written by datasets only", c.name);
  if (kind.packed && std::any_of(kind.var_fields.begin(), kind.var_fields.end(), [](auto& f) { return f.is_variable; }))
    return Needs22(c, "a packed struct with strings");
  return write::CheckHasBytes(c, kind, FileVersion::kV2_0);
}

// Layers that two leaves, one after the other, hang in together.
size_t SharedLayers(const LeafColumn& a, const LeafColumn& b) {
  size_t n = 0;
  while (a.top_level == b.top_level && n < a.layers.size() && n < b.layers.size()) {
    const bool same_child = a.layers[n].child == b.layers[n].child;
    ++n;
    if (!same_child) break;
  }
  return n;
}

Result<ColumnToWrite> Make(Role role, LeafColumn column, const PageWriterOptions& options) {
  LeafKind kind;
  kind.kind = ValueKind::kNone;
  EncodingHints hints;
  if (role == Role::kLeaf) {
    PILUM_ASSIGN_OR_RETURN(kind, LeafKind::Of(column));
    PILUM_RETURN_NOT_OK(CheckLeaf(column, kind));
    PILUM_ASSIGN_OR_RETURN(hints, HintsOf(*column.leaf));
  }
  PILUM_ASSIGN_OR_RETURN(LevelPlan plan, LevelPlan::Make(column));
  ColumnToWrite out{column.top_level, column.is_blob, nullptr};
  out.writer =
      std::make_unique<Writer>(role, std::move(column), options, std::move(hints), std::move(plan), std::move(kind));
  return out;
}

}  // namespace

Result<std::vector<ColumnToWrite>> MakeColumnWriters(const std::vector<LeafColumn>& leaves,
                                                     const PageWriterOptions& options) {
  std::vector<ColumnToWrite> out;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const LeafColumn& leaf = leaves[i];
    PILUM_RETURN_NOT_OK(CheckLayers(leaf));
    for (size_t l = i == 0 ? 0 : SharedLayers(leaves[i - 1], leaf); l < leaf.layers.size(); ++l) {
      LeafColumn above;
      above.layers.assign(leaf.layers.begin(), leaf.layers.begin() + static_cast<std::ptrdiff_t>(l));
      above.leaf = leaf.layers[l].field;
      for (size_t k = 0; k <= l; ++k) above.name += (k ? "." : "") + leaf.layers[k].field->name();
      above.top_level = leaf.top_level;
      const bool header = leaf.layers[l].kind == ShapeLayerKind::kStruct;
      PILUM_ASSIGN_OR_RETURN(auto column, Make(header ? Role::kHeader : Role::kList, std::move(above), options));
      out.push_back(std::move(column));
    }
    PILUM_ASSIGN_OR_RETURN(auto column, Make(Role::kLeaf, leaf, options));
    out.push_back(std::move(column));
  }
  return out;
}

}  // namespace pilum::v2_0
