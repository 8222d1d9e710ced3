// The value store: visible slots copied out of Arrow arrays and normalised, so that bytes depend on values alone.
#include <arrow/array.h>
#include <arrow/util/bit_util.h>

#include "pilum/base/utf8.h"
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

// Copies the slots of `runs` (`width` bytes each, `stride` apart in `out`) from a fixed-width array.
void CopyFixed(const arrow::ArrayData& data, std::span<const Run> runs, uint64_t width, uint8_t* out) {
  const uint8_t* src = data.buffers[1] ? data.buffers[1]->data() : nullptr;
  for (const Run& r : runs) {
    size_t n = static_cast<size_t>(r.len) * width;
    if (src)
      std::memcpy(out, src + static_cast<size_t>(data.offset + r.pos) * width, n);
    else
      std::memset(out, 0, n);
    out += n;
  }
}

template <typename Fn>  // fn(slot number within the walk, event)
void ForNulls(const LevelWalk& walk, Fn fn) {
  if (!walk.any_null) return;
  int64_t slot = 0;
  for (const Run& r : walk.runs) {
    const uint8_t* d = walk.def.data() + r.event;
    for (int64_t i = 0; i < r.len; ++i, ++slot) {
      if (d[i] != 0) fn(slot);
    }
  }
}

template <size_t kWidth>
void ZeroNulls(const LevelWalk& walk, uint8_t* out) {
  ForNulls(walk, [&](int64_t slot) { std::memset(out + static_cast<size_t>(slot) * kWidth, 0, kWidth); });
}

void ZeroNulls(const LevelWalk& walk, uint64_t width, uint8_t* out) {
  switch (width) {
    case 1: return ZeroNulls<1>(walk, out);
    case 2: return ZeroNulls<2>(walk, out);
    case 4: return ZeroNulls<4>(walk, out);
    case 8: return ZeroNulls<8>(walk, out);
    case 16: return ZeroNulls<16>(walk, out);
    default: ForNulls(walk, [&](int64_t slot) { std::memset(out + static_cast<size_t>(slot) * width, 0, width); });
  }
}

void UnpackBits(const uint8_t* bits, int64_t at, int64_t n, uint8_t* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = arrow::bit_util::GetBit(bits, at + i);
}

int64_t TotalSlots(const LevelWalk& walk) {
  int64_t n = 0;
  for (const Run& r : walk.runs) n += r.len;
  return n;
}

template <typename Offset>
void AppendOffsets(ValueStore* store, const LevelWalk& walk, const arrow::ArrayData& data, Vec<uint64_t>* ends,
                   Bytes* bytes) {
  const uint8_t* text = data.buffers[2] ? data.buffers[2]->data() : nullptr;
  for (const Run& r : walk.runs) {
    if (r.len == 0) continue;
    const Offset* o = data.GetValues<Offset>(1) + r.pos;
    const uint8_t* d = walk.def.data() + r.event;
    bool garbage = false;  // bytes under a null
    if (walk.any_null) {
      for (int64_t i = 0; i < r.len; ++i) garbage |= d[i] != 0 && o[i + 1] != o[i];
    }
    size_t first = ends->size();
    uint64_t at = bytes->size();
    ends->resize(first + static_cast<size_t>(r.len));
    uint64_t* e = ends->data() + first;
    if (!garbage) {
      for (int64_t i = 0; i < r.len; ++i) e[i] = at + static_cast<uint64_t>(o[i + 1] - o[0]);
      Append(bytes, text + o[0], static_cast<size_t>(o[r.len] - o[0]));
      continue;
    }
    for (int64_t i = 0; i < r.len; ++i) {
      if (d[i] == 0) Append(bytes, text + o[i], static_cast<size_t>(o[i + 1] - o[i]));
      e[i] = bytes->size();
    }
  }
  (void)store;
}

Status AppendBytes(ValueStore* store, const LevelWalk& walk) {
  const arrow::ArrayData& data = *walk.leaf;
  switch (StorageOf(*data.type).id()) {
    case arrow::Type::STRING:
    case arrow::Type::BINARY:
      AppendOffsets<int32_t>(store, walk, data, &store->ends, &store->bytes);
      return Status::OK();
    case arrow::Type::LARGE_STRING:
    case arrow::Type::LARGE_BINARY:
      AppendOffsets<int64_t>(store, walk, data, &store->ends, &store->bytes);
      return Status::OK();
    case arrow::Type::STRING_VIEW:
    case arrow::Type::BINARY_VIEW: {
      arrow::BinaryViewArray array(data.Copy());
      for (const Run& r : walk.runs) {
        for (int64_t i = 0; i < r.len; ++i) {
          if (walk.def[r.event + i] == 0) {
            std::string_view v = array.GetView(r.pos + i);
            Append(&store->bytes, v.data(), v.size());
          }
          store->ends.push_back(store->bytes.size());
        }
      }
      return Status::OK();
    }
    default: return Status::Invalid("not a variable-width array: ", data.type->ToString());
  }
}

// Readers rely on text being UTF-8, so what is not must not get into a file. Looks at the values from `first_end` on.
Status CheckText(const ValueStore& store, size_t first_end, size_t first_byte) {
  const uint8_t* text = store.bytes.data();
  const size_t n = store.bytes.size();
  // All the bytes together are UTF-8 and no value starts inside a character: then each value is UTF-8.
  bool ok = IsUtf8({reinterpret_cast<const char*>(text) + first_byte, n - first_byte});
  for (size_t i = first_end; ok && i < store.ends.size(); ++i) {
    ok = store.ends[i] == n || (text[store.ends[i]] & 0xC0) != 0x80;
  }
  return ok ? Status::OK() : MakeError(ErrorKind::kUsage, kNotUtf8);
}

Status AppendVariable(ValueStore* store, const LevelWalk& walk) {
  const size_t first_end = store->ends.size(), first_byte = store->bytes.size();
  PILUM_RETURN_NOT_OK(AppendBytes(store, walk));
  const arrow::Type::type id = StorageOf(*walk.leaf->type).id();
  const bool text = id == arrow::Type::STRING || id == arrow::Type::LARGE_STRING || id == arrow::Type::STRING_VIEW;
  return text ? CheckText(*store, first_end, first_byte) : Status::OK();
}

// Items of (nested) fixed-size lists. `level` 0 is the rows' own list, whose nulls are in the levels.
void AppendItems(ValueStore* store, const LevelWalk& walk, int64_t slots) {
  const LeafKind& kind = store->kind;
  const uint64_t before = store->slots;
  std::vector<Run> runs = walk.runs;
  const arrow::ArrayData* data = walk.leaf.get();
  store->item_valid.resize(kind.dims.size());
  uint64_t per_slot = 1;
  for (size_t level = 0; level < kind.dims.size(); ++level) {
    for (Run& r : runs) r = {r.event, (r.pos + data->offset) * kind.dims[level], r.len * kind.dims[level]};
    per_slot *= static_cast<uint64_t>(kind.dims[level]);
    data = data->child_data[0].get();
    Bytes& valid = store->item_valid[level];
    if (kind.null_items && level + 1 == kind.dims.size()) break;
    bool nulls = data->buffers[0] && data->GetNullCount() > 0;
    if (!nulls && valid.empty()) continue;
    if (valid.size() < before * per_slot) valid.assign(before * per_slot, 1);
    size_t at = valid.size();
    valid.resize(at + static_cast<size_t>(slots) * per_slot);
    uint8_t* out = valid.data() + at;
    if (!nulls) std::memset(out, 1, static_cast<size_t>(slots) * per_slot);
    for (const Run& r : runs) {
      if (!nulls) break;
      UnpackBits(data->buffers[0]->data(), data->offset + r.pos, r.len, out);
      out += r.len;
    }
    ForNulls(walk, [&](int64_t s) { std::memset(valid.data() + at + static_cast<size_t>(s) * per_slot, 1, per_slot); });
  }
  if (kind.null_items) {
    store->item_valid.back().resize((before + static_cast<uint64_t>(slots)) * per_slot, 0);
    return;
  }
  size_t at = store->bytes.size();
  store->bytes.resize(at + static_cast<size_t>(slots) * kind.width);
  uint8_t* out = store->bytes.data() + at;
  uint64_t item = kind.width / per_slot;
  if (kind.bool_items) {
    uint8_t* p = out;
    for (const Run& r : runs) {
      UnpackBits(data->buffers[1]->data(), data->offset + r.pos, r.len, p);
      p += r.len;
    }
  } else {
    CopyFixed(*data, runs, item, out);
  }
  ZeroNulls(walk, kind.width, out);
  // Under a null inner list or item: valid below, zero bytes.
  per_slot = 1;
  for (size_t level = 0; level < kind.dims.size(); ++level) {
    per_slot *= static_cast<uint64_t>(kind.dims[level]);
    const Bytes& valid = store->item_valid[level];
    if (valid.empty()) continue;
    uint64_t width = kind.width / per_slot, below = 1;
    const uint8_t* flags = valid.data() + before * per_slot;
    for (uint64_t i = 0; i < static_cast<uint64_t>(slots) * per_slot; ++i) {
      if (flags[i]) continue;
      std::memset(out + i * width, 0, width);
      below = 1;
      for (size_t deeper = level + 1; deeper < kind.dims.size(); ++deeper) {
        below *= static_cast<uint64_t>(kind.dims[deeper]);
        Bytes& v = store->item_valid[deeper];
        if (!v.empty()) std::memset(v.data() + (before * per_slot + i) * below, 1, below);
      }
    }
  }
}

// A field of a packed struct for one slot.
struct PackedField {
  const arrow::ArrayData* data;
  uint64_t width = 0;  // fixed
  int64_t scale = 1;   // items of `data` a slot (fixed-size lists)
  int64_t base = 0;    // slot 0's first item
  bool large = false, variable = false;
};

Result<std::vector<PackedField>> PackedFields(const LevelWalk& walk, const LeafColumn& column) {
  const arrow::ArrayData& data = *walk.leaf;
  std::vector<PackedField> out;
  for (size_t f = 0; f < data.child_data.size(); ++f) {
    PackedField field;
    field.data = data.child_data[f].get();
    field.base = data.offset;
    auto refuse = [&] {
      return Unsupported("field '{}.{}': a packed struct holds no nulls in its fields", column.name,
                         StorageOf(*data.type).field(static_cast<int>(f))->name());
    };
    if (field.data->buffers[0] && field.data->GetNullCount() > 0) {
      for (const Run& r : walk.runs) {
        for (int64_t i = 0; i < r.len; ++i) {
          if (walk.def[r.event + i] == 0 &&
              !arrow::bit_util::GetBit(field.data->buffers[0]->data(), field.data->offset + field.base + r.pos + i)) {
            return refuse();
          }
        }
      }
    }
    while (StorageOf(*field.data->type).id() == arrow::Type::FIXED_SIZE_LIST) {
      int64_t dim = static_cast<const arrow::FixedSizeListType&>(StorageOf(*field.data->type)).list_size();
      field.base = (field.base + field.data->offset) * dim;
      field.scale *= dim;
      field.data = field.data->child_data[0].get();
      if (field.data->buffers[0] && field.data->GetNullCount() > 0) return refuse();
    }
    const arrow::DataType& type = StorageOf(*field.data->type);
    field.large = arrow::is_large_binary_like(type.id());
    field.variable = field.large || arrow::is_binary_like(type.id());
    if (!field.variable)
      field.width = static_cast<uint64_t>(static_cast<const arrow::FixedWidthType&>(type).bit_width()) / 8;
    if (arrow::is_binary_view_like(type.id()))
      return Unsupported("field '{}': view types in a packed struct", column.name);
    out.push_back(field);
  }
  return out;
}

Status AppendPackedFixed(ValueStore* store, const LevelWalk& walk, const LeafColumn& column, int64_t slots) {
  PILUM_ASSIGN_OR_RETURN(auto fields, PackedFields(walk, column));
  const uint64_t width = store->kind.width;
  size_t at = store->bytes.size();
  store->bytes.resize(at + static_cast<size_t>(slots) * width);
  uint8_t* column_start = store->bytes.data() + at;
  for (const PackedField& f : fields) {
    const uint8_t* src = f.data->buffers[1] ? f.data->buffers[1]->data() : nullptr;
    uint8_t* out = column_start;
    for (const Run& r : walk.runs) {
      for (int64_t i = 0; i < r.len; ++i, out += width) {
        std::memcpy(out, src + static_cast<size_t>(f.data->offset + f.base + r.pos + i) * f.width, f.width);
      }
    }
    column_start += f.width;
  }
  ZeroNulls(walk, width, store->bytes.data() + at);
  return Status::OK();
}

Status AppendPackedVariable(ValueStore* store, const LevelWalk& walk, const LeafColumn& column) {
  PILUM_ASSIGN_OR_RETURN(auto fields, PackedFields(walk, column));
  for (const Run& r : walk.runs) {
    for (int64_t i = 0; i < r.len; ++i) {
      if (walk.def[r.event + i] != 0) {
        store->ends.push_back(store->bytes.size());
        continue;
      }
      for (const PackedField& f : fields) {
        int64_t item = f.data->offset + f.base + (r.pos + i) * f.scale;
        if (!f.variable) {
          Append(&store->bytes, f.data->buffers[1]->data() + static_cast<size_t>(item) * f.width,
                 f.width * static_cast<size_t>(f.scale));
          continue;
        }
        const uint8_t* o = f.data->buffers[1]->data();
        int64_t begin = f.large ? LoadLE<int64_t>(o + item * 8) : LoadLE<int32_t>(o + item * 4);
        int64_t end = f.large ? LoadLE<int64_t>(o + item * 8 + 8) : LoadLE<int32_t>(o + item * 4 + 4);
        if (f.large)
          AppendInt<uint64_t>(&store->bytes, static_cast<uint64_t>(end - begin));
        else
          AppendInt<uint32_t>(&store->bytes, static_cast<uint32_t>(end - begin));
        if (end > begin) Append(&store->bytes, f.data->buffers[2]->data() + begin, static_cast<size_t>(end - begin));
      }
      store->ends.push_back(store->bytes.size());
    }
  }
  return Status::OK();
}

}  // namespace

// (dictionary.cc) keys of a dictionary array, renumbered into the store's table.
Status AppendDictionaryKeys(ValueStore* store, const LevelWalk& walk);

Status ValueStore::AppendRuns(const LevelWalk& walk, const LeafColumn& column) {
  const int64_t n = TotalSlots(walk);
  switch (kind.kind) {
    case ValueKind::kNone: break;
    case ValueKind::kFixed: {
      if (kind.packed) {
        PILUM_RETURN_NOT_OK(AppendPackedFixed(this, walk, column, n));
        break;
      }
      if (kind.width == 0) break;  // `bytes` may be no memory at all then
      size_t at = bytes.size();
      bytes.resize(at + static_cast<size_t>(n) * kind.width);
      CopyFixed(*walk.leaf, walk.runs, kind.width, bytes.data() + at);
      ZeroNulls(walk, kind.width, bytes.data() + at);
      break;
    }
    case ValueKind::kBool: {
      size_t at = bytes.size();
      bytes.resize(at + static_cast<size_t>(n));
      uint8_t* out = bytes.data() + at;
      for (const Run& r : walk.runs) {
        if (walk.leaf->buffers[1])
          UnpackBits(walk.leaf->buffers[1]->data(), walk.leaf->offset + r.pos, r.len, out);
        else
          std::memset(out, 0, static_cast<size_t>(r.len));
        out += r.len;
      }
      ZeroNulls(walk, 1, bytes.data() + at);
      break;
    }
    case ValueKind::kVariable:
      PILUM_RETURN_NOT_OK(kind.packed ? AppendPackedVariable(this, walk, column) : AppendVariable(this, walk));
      break;
    case ValueKind::kFixedSizeList: AppendItems(this, walk, n); break;
    case ValueKind::kDictionary: PILUM_RETURN_NOT_OK(AppendDictionaryKeys(this, walk)); break;
  }
  slots += static_cast<uint64_t>(n);
  return Status::OK();
}

void ValueStore::DropFront(uint64_t n) {
  slots -= n;
  switch (kind.kind) {
    case ValueKind::kNone: break;
    case ValueKind::kFixed: bytes.DropFront(n * kind.width); break;
    case ValueKind::kBool: bytes.DropFront(n); break;
    case ValueKind::kFixedSizeList: {
      bytes.DropFront(n * kind.width);
      uint64_t per_slot = 1;
      for (size_t i = 0; i < item_valid.size(); ++i) {
        per_slot *= static_cast<uint64_t>(kind.dims[i]);
        if (item_valid[i].empty()) continue;
        item_valid[i].DropFront(n * per_slot);
        bool all = std::memchr(item_valid[i].data(), 0, item_valid[i].size()) == nullptr;
        if (all) item_valid[i].clear();
      }
      break;
    }
    case ValueKind::kVariable: {
      uint64_t base = n ? ends[n - 1] : 0;
      ends.DropFront(n);
      for (uint64_t& e : ends) e -= base;
      bytes.DropFront(base);
      break;
    }
    case ValueKind::kDictionary: {
      keys.DropFront(n);
      if (!keys.empty() && static_cast<uint64_t>(table.size()) <= 2 * keys.size() + 1024) break;
      ByteTable fresh;  // keep only what the remaining slots use
      for (int32_t& k : keys) {
        if (k >= 0) k = fresh.Insert(table.at(k));
      }
      table = std::move(fresh);
      last_dictionary = nullptr;
      last_map.clear();
      break;
    }
  }
}

uint64_t ValueStore::BytesOfFront(uint64_t n) const {
  switch (kind.kind) {
    case ValueKind::kNone:
    case ValueKind::kBool: return n;
    case ValueKind::kFixed:
    case ValueKind::kFixedSizeList: return n * std::max<uint64_t>(kind.width, 1);
    case ValueKind::kVariable: return (n ? ends[n - 1] : 0) + n * (kind.large ? 8 : 4);
    case ValueKind::kDictionary: return n * 4;
  }
  return 0;
}

uint64_t ValueStore::memory() const {
  uint64_t n =
      bytes.capacity() + ends.capacity() * 8 + keys.capacity() * 4 + table.data_bytes() + last_map.capacity() * 4;
  for (const Bytes& v : item_valid) n += v.capacity();
  return n;
}

}  // namespace pilum::write
