// The value sinks of full-zip pages.
#include <cstring>

#include <arrow/type.h>

#include "pilum/base/bytes.h"
#include "pilum/base/utf8.h"
#include "pilum/encoding/codec/fsst.h"
#include "pilum/encoding/leaf_array.h"
#include "pilum/encoding/page/full_zip.h"

namespace pilum::full_zip {

using codec::BadBytes;
using codec::Bytes;
using codec::DataBlock;
using codec::DecodeSpec;

Status ValueSink::AppendRun(Bytes values, uint64_t n) {
  const uint64_t width = n ? values.size() / n : 0;
  for (uint64_t i = 0; i < n; ++i) PILUM_RETURN_NOT_OK(Append(values.subspan(i * width, width)));
  return Status::OK();
}

Status ValueSink::AppendValues(const uint8_t* base, std::span<const uint32_t> begins, std::span<const uint32_t> ends) {
  for (size_t i = 0; i < begins.size(); ++i) PILUM_RETURN_NOT_OK(Append(Bytes(base + begins[i], base + ends[i])));
  return Status::OK();
}

Status ValueSink::TurnTo(const CodecDesc& codec) { return Unsupported("{} behind another page", codec.ToString()); }

namespace {

// The items of a value: for each list level the bitmap of its items, then the items themselves.
class FixedSink : public ValueSink {
 public:
  Status Init(const CodecDesc& codec, uint64_t bits, const DecodeSpec& spec) {
    const CodecDesc* c = &codec;
    uint64_t items = 1, front = 0;
    for (; c->kind == CodecKind::kFixedSizeList; c = &c->children[0]) {
      auto n = CheckedMul(items, c->num_items);
      if (!n || *n > bits) return BadBytes("{} in values of {} bits", codec.ToString(), bits);
      items = *n;
      auto level = std::make_unique<Level>();
      level->dimension = c->num_items;
      level->items = items;
      if (c->has_validity) {
        level->bytes = (items + 7) / 8;
        front += level->bytes;
        DecodeSpec s = spec;
        PILUM_RETURN_NOT_OK(codec::CheckOutput(spec.max_count, items));
        s.max_count = spec.max_count * items;
        PILUM_RETURN_NOT_OK(level->validity.Init(1, s));
      }
      levels_.push_back(std::move(level));
    }
    if (c->kind == CodecKind::kPackedStruct) {
      if (!levels_.empty()) return Unsupported("{} in a full-zip page", codec.ToString());
      field_bits_ = c->field_bits;
      c = &c->children[0];
    }
    // Items that are all null: only the bitmaps are stored.
    uint64_t absent_bits = 0;
    absent_ = c->kind == CodecKind::kConstant && !c->has_bytes && AddAbsentLevels(spec, &items, &absent_bits);
    if (c->kind != CodecKind::kFlat && !absent_) return Unsupported("{} in a full-zip page", codec.ToString());
    const uint64_t value_bits = absent_ ? absent_bits : c->bits;
    auto stored_bits = CheckedMul(items, absent_ ? 0 : value_bits), item_bits = CheckedMul(items, value_bits);
    // A list of bools keeps its bits; a bool alone has a byte.
    if (!stored_bits || !item_bits || (*stored_bits + 7) / 8 + front != bits / 8)
      return BadBytes("{} in values of {} bits", codec.ToString(), bits);
    width_ = bits / 8;
    out_bits_ = value_bits;
    front_ = front;
    items_ = items;
    sub_byte_ = value_bits == 1;
    if (value_bits % 8 != 0 && !sub_byte_) return Unsupported("values of {} bits", value_bits);
    DecodeSpec s = spec;
    s.max_count = spec.max_count * items;
    PILUM_RETURN_NOT_OK(codec::CheckOutput(spec.max_count, *item_bits));
    PILUM_RETURN_NOT_OK(out_.Init(value_bits, s));
    pool_ = spec.pool;
    return Status::OK();
  }

  Status Append(Bytes value) override {
    const uint8_t* p = value.data();
    for (auto& level : levels_) {
      if (level->all_null) PILUM_RETURN_NOT_OK(AppendZeroBits(&level->validity, level->items));
      if (level->bytes == 0) continue;
      PILUM_RETURN_NOT_OK(level->validity.AppendBits(p, 0, level->items));
      p += level->bytes;
    }
    ++count_;
    if (absent_) return AppendZeros();
    if (sub_byte_) return out_.AppendBits(p, 0, items_);
    PILUM_ASSIGN_OR_RETURN(uint8_t * at, out_.Take(items_));
    std::memcpy(at, p, width_ - front_);
    return Status::OK();
  }

  Status AppendRun(Bytes values, uint64_t n) override {
    if (front_ > 0 || sub_byte_ || absent_) return ValueSink::AppendRun(values, n);
    PILUM_ASSIGN_OR_RETURN(uint8_t * at, out_.Take(items_ * n));
    std::memcpy(at, values.data(), values.size());
    count_ += n;
    return Status::OK();
  }

  Result<DataBlock> Finish() override {
    PILUM_ASSIGN_OR_RETURN(DataBlock block, out_.Finish());
    if (!field_bits_.empty()) return codec::SplitPackedRows(block, field_bits_, pool_);
    for (auto it = levels_.rbegin(); it != levels_.rend(); ++it) {
      DataBlock list;
      list.kind = DataBlock::Kind::kFixedSizeList;
      list.dimension = (*it)->dimension;
      list.count = block.count / list.dimension;
      if ((*it)->bytes || (*it)->all_null) {
        PILUM_ASSIGN_OR_RETURN(DataBlock v, (*it)->validity.Finish());
        list.validity = v.data;
      }
      list.children.push_back(std::move(block));
      block = std::move(list);
    }
    return block;
  }

 private:
  // The lists of the type below the codec's, which then end in a constant: their dimensions, and the bits of the
  // innermost.
  bool AddAbsentLevels(const DecodeSpec& spec, uint64_t* items, uint64_t* bits) {
    if (spec.leaf_type == nullptr) return false;
    const bool no_bitmaps = levels_.empty();
    size_t depth = 0;
    const arrow::DataType* type = &StorageType(*spec.leaf_type);
    for (; type->id() == arrow::Type::FIXED_SIZE_LIST; type = &StorageType(*type->field(0)->type())) {
      if (depth++ < levels_.size()) continue;
      auto level = std::make_unique<Level>();
      level->dimension = static_cast<uint64_t>(static_cast<const arrow::FixedSizeListType&>(*type).list_size());
      auto n = CheckedMul(*items, level->dimension);
      if (!n || level->dimension == 0) return false;
      *items = level->items = *n;
      levels_.push_back(std::move(level));
    }
    const bool nulls = type->id() == arrow::Type::NA;  // these have no values even of their own
    if (depth < levels_.size() || (type->bit_width() <= 0 && !nulls)) return false;
    if (no_bitmaps && !levels_.empty()) {  // then it is the items of the outermost list that are null
      Level& level = *levels_.front();
      level.all_null = true;
      DecodeSpec s = spec;
      if (!codec::CheckOutput(spec.max_count, *items).ok()) return false;
      s.max_count = spec.max_count * level.items;
      if (!level.validity.Init(1, s).ok()) return false;
    }
    *bits = nulls ? 0 : static_cast<uint64_t>(type->bit_width());
    return true;
  }

  Status AppendZeros() {
    if (!sub_byte_) {
      PILUM_ASSIGN_OR_RETURN(uint8_t * at, out_.Take(items_));
      std::memset(at, 0, items_ * (out_bits_ / 8));
      return Status::OK();
    }
    return AppendZeroBits(&out_, items_);
  }

  static Status AppendZeroBits(codec::FixedOut* out, uint64_t count) {
    static constexpr uint8_t kZeros[64] = {};
    for (uint64_t left = count; left > 0;) {
      uint64_t n = std::min<uint64_t>(left, 8 * sizeof kZeros / 2);
      PILUM_RETURN_NOT_OK(out->AppendBits(kZeros, 0, n));
      left -= n;
    }
    return Status::OK();
  }

  struct Level {
    uint64_t dimension = 0, items = 0, bytes = 0;
    bool all_null = false;  // no bitmap is stored
    codec::FixedOut validity;
  };
  std::vector<std::unique_ptr<Level>> levels_;  // outermost first
  std::vector<uint64_t> field_bits_;
  uint64_t width_ = 0, front_ = 0, items_ = 1, count_ = 0;
  uint64_t out_bits_ = 0;
  bool sub_byte_ = false, absent_ = false;
  codec::FixedOut out_;
  arrow::MemoryPool* pool_ = nullptr;
};

// What happens to the bytes of one value, outermost first: general and fsst steps around variable.
class ValueChain {
 public:
  // `type`: of the values.
  Status Init(const CodecDesc& codec, const arrow::DataType& type, arrow::MemoryPool* pool) {
    pool_ = pool;
    steps_.clear();
    text_ = arrow::is_string(StorageType(type).id());
    const CodecDesc* c = &codec;
    for (; c->kind != CodecKind::kVariable; c = &c->children[0]) {
      Step s;
      s.kind = c->kind;
      s.scheme = c->scheme;
      if (c->kind == CodecKind::kFsst) {
        PILUM_ASSIGN_OR_RETURN(s.table, codec::FsstTable::Parse(c->bytes));
      } else if (c->kind != CodecKind::kGeneral) {
        return Unsupported("{} in a full-zip page", codec.ToString());
      }
      steps_.push_back(std::move(s));
    }
    return Status::OK();
  }

  // The table, where FSST is the only step.
  const codec::FsstTable* only_fsst() const {
    return steps_.size() == 1 && steps_[0].table && steps_[0].table->active() ? steps_[0].table.get() : nullptr;
  }

  // Bytes that the values will take, as far as they say so and can be believed; else 0.
  uint64_t SizeOf(const uint8_t* base, std::span<const uint32_t> begins, std::span<const uint32_t> ends) const {
    if (steps_.size() != 1 || steps_[0].kind != CodecKind::kGeneral) return 0;
    uint64_t stored = 0, total = 0;
    for (size_t i = 0; i < begins.size(); ++i) {
      auto size = codec::DecompressedSize(steps_[0].scheme, Bytes(base + begins[i], base + ends[i]));
      if (!size.ok()) return 0;  // the value will fail by itself
      stored += ends[i] - begins[i];
      total += *size;
    }
    return total <= stored * kLikelyRatio ? total : 0;
  }

  // Decodes into `out`, the last step straight into its place.
  Status Append(Bytes value, codec::VariableOut* out) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Step& s = steps_[i];
      if (value.empty() || (s.kind == CodecKind::kFsst && !s.table->active())) continue;
      bool last = i + 1 == steps_.size();
      uint64_t size = s.table ? s.table->MaxSize(value.size()) : 0;
      if (s.kind == CodecKind::kGeneral) {
        PILUM_ASSIGN_OR_RETURN(size, codec::DecompressedSize(s.scheme, value));
      }
      uint8_t* to = nullptr;
      if (last) {
        PILUM_ASSIGN_OR_RETURN(to, out->Reserve(size));
      } else {
        PILUM_ASSIGN_OR_RETURN(auto buffer, codec::Allocate(size, pool_));
        to = buffer->mutable_data();
        scratch_[i % 2] = std::move(buffer);
      }
      if (s.kind == CodecKind::kGeneral) {
        PILUM_RETURN_NOT_OK(codec::DecompressInto(s.scheme, value, to, size));
      } else {
        PILUM_ASSIGN_OR_RETURN(size, s.table->Decode(value, to));
      }
      if (last) {
        out->Push(size, text_ && IsAscii(to, size));
        return Status::OK();
      }
      value = Bytes(to, size);
    }
    return out->Append(value);
  }

 private:
  struct Step {
    CodecKind kind;
    Compression scheme;
    std::shared_ptr<const codec::FsstTable> table;
  };
  static constexpr uint64_t kLikelyRatio = 64;  // room is made at once for values that claim to have shrunk so far
  std::vector<Step> steps_;
  bool text_ = false;
  BufferPtr scratch_[2];
  arrow::MemoryPool* pool_ = nullptr;
};

class VariableSink : public ValueSink {
 public:
  Status Init(const CodecDesc& codec, const DecodeSpec& spec) {
    spec_ = spec;
    PILUM_RETURN_NOT_OK(TurnTo(codec));
    const uint64_t bytes = codec.kind == CodecKind::kVariable  ? spec.input_bytes
                           : codec.kind == CodecKind::kGeneral ? 0  // the values say it
                                                               : codec::VariableOut::kUnknown;
    out_.ExpectInput(spec.input_bytes);
    return out_.Init(spec.wide, spec.max_count, bytes, spec.pool);
  }
  Status TurnTo(const CodecDesc& codec) override { return chain_.Init(codec, *spec_.leaf_type, spec_.pool); }
  Status Append(Bytes value) override {
    if (out_.count() >= spec_.max_count) return BadBytes("more values than the page holds");
    return chain_.Append(value, &out_);
  }
  Status AppendValues(const uint8_t* base, std::span<const uint32_t> begins, std::span<const uint32_t> ends) override {
    if (const codec::FsstTable* table = chain_.only_fsst()) return table->DecodeValues(base, begins, ends, &out_);
    PILUM_RETURN_NOT_OK(out_.Reserve(RoomFor(base, begins, ends)).status());
    return ValueSink::AppendValues(base, begins, ends);
  }
  Result<DataBlock> Finish() override { return out_.Finish(); }

 private:
  // What these values say they take; of the first ones, as much for each byte of all.
  uint64_t RoomFor(const uint8_t* base, std::span<const uint32_t> begins, std::span<const uint32_t> ends) const {
    const uint64_t size = chain_.SizeOf(base, begins, ends);
    uint64_t stored = 0;
    if (size == 0 || out_.count() > 0) return size;
    for (size_t i = 0; i < begins.size(); ++i) stored += ends[i] - begins[i];
    if (stored == 0 || stored >= spec_.input_bytes) return size;
    const double all = static_cast<double>(size) * static_cast<double>(spec_.input_bytes) / static_cast<double>(stored);
    return std::max(size, std::min(static_cast<uint64_t>(all * 1.03), codec::kMaxOutputBytes));
  }

  ValueChain chain_;
  DecodeSpec spec_;
  codec::VariableOut out_;
};

// A row: its fields in order, fixed ones as they are, variable ones behind their length.
class PackedRowSink : public ValueSink {
 public:
  Status Init(const CodecDesc& codec, const arrow::DataType& type, const DecodeSpec& spec) {
    if (static_cast<int>(codec.var_fields.size()) != type.num_fields()) {
      return BadBytes("{} packed fields for {}", codec.var_fields.size(), type.ToString());
    }
    for (size_t i = 0; i < codec.var_fields.size(); ++i) {
      auto f = std::make_unique<Field>();
      f->layout = codec.var_fields[i];
      DecodeSpec s = spec;
      s.wide = IsWide(*type.field(static_cast<int>(i))->type());
      if (f->layout.is_variable) {
        PILUM_RETURN_NOT_OK(f->chain.Init(codec.children[i], *type.field(static_cast<int>(i))->type(), spec.pool));
        PILUM_RETURN_NOT_OK(f->variable.Init(s.wide, s.max_count, 0, s.pool));
      } else {
        if (f->layout.bits % 8 != 0) return Unsupported("packed struct fields of {} bits", f->layout.bits);
        PILUM_RETURN_NOT_OK(f->fixed.Init(f->layout.bits, s));
      }
      fields_.push_back(std::move(f));
    }
    max_count_ = spec.max_count;
    return Status::OK();
  }

  Status Append(Bytes row) override {
    if (count_ >= max_count_) return BadBytes("more values than the page holds");
    ++count_;
    // A null row holds no bytes: each field gets an empty value.
    const bool null = row.empty();
    for (auto& f : fields_) {
      uint64_t size = f->layout.bits / 8;
      if (f->layout.is_variable && !null) {
        if (row.size() < size) return BadBytes("a packed row ends inside a length");
        uint64_t length = size == 4 ? LoadLE<uint32_t>(row.data()) : LoadLE<uint64_t>(row.data());
        row = row.subspan(size);
        size = length;
      }
      if (null) size = 0;
      if (size > row.size()) return BadBytes("a packed row ends inside a field");
      if (f->layout.is_variable) {
        PILUM_RETURN_NOT_OK(f->chain.Append(row.first(size), &f->variable));
      } else {
        PILUM_ASSIGN_OR_RETURN(uint8_t * at, f->fixed.Take(1));
        if (null)
          std::memset(at, 0, f->layout.bits / 8);
        else
          std::memcpy(at, row.data(), size);
      }
      row = row.subspan(size);
    }
    if (!row.empty()) return BadBytes("a packed row has {} bytes too many", row.size());
    return Status::OK();
  }

  Result<DataBlock> Finish() override {
    DataBlock b;
    b.kind = DataBlock::Kind::kStruct;
    b.count = count_;
    for (auto& f : fields_) {
      PILUM_ASSIGN_OR_RETURN(DataBlock child, f->layout.is_variable ? f->variable.Finish() : f->fixed.Finish());
      b.children.push_back(std::move(child));
    }
    return b;
  }

 private:
  struct Field {
    CodecDesc::VarField layout;
    ValueChain chain;
    codec::VariableOut variable;
    codec::FixedOut fixed;
  };
  std::vector<std::unique_ptr<Field>> fields_;
  uint64_t count_ = 0, max_count_ = 0;
};

}  // namespace

Result<std::unique_ptr<ValueSink>> MakeFixedSink(const CodecDesc& codec, uint64_t bits, const DecodeSpec& spec) {
  auto sink = std::make_unique<FixedSink>();
  PILUM_RETURN_NOT_OK(sink->Init(codec, bits, spec));
  return std::unique_ptr<ValueSink>(std::move(sink));
}

Result<std::unique_ptr<ValueSink>> MakeVariableSink(const CodecDesc& codec, const DecodeSpec& spec) {
  auto sink = std::make_unique<VariableSink>();
  PILUM_RETURN_NOT_OK(sink->Init(codec, spec));
  return std::unique_ptr<ValueSink>(std::move(sink));
}

Result<std::unique_ptr<ValueSink>> MakePackedRowSink(const CodecDesc& codec, const arrow::DataType& struct_type,
                                                     const DecodeSpec& spec) {
  auto sink = std::make_unique<PackedRowSink>();
  PILUM_RETURN_NOT_OK(sink->Init(codec, struct_type, spec));
  return std::unique_ptr<ValueSink>(std::move(sink));
}

}  // namespace pilum::full_zip
