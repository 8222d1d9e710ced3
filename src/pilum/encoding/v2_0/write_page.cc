// Pages of 2.0 columns. Each type has one form, with nulls where the form has a place for them; strings have three
// more: a dictionary where few values repeat, symbols (FSST) or compression where the field's metadata asks for them.
#include "pilum/encoding/v2_0/write_page.h"

#include <algorithm>
#include <cstring>

#include "pilum/encoding/v2_0/descriptor.h"

namespace pilum::v2_0 {

using write::Bytes;
using write::ValueKind;

namespace {

constexpr uint64_t kDictionaryFrom = 100;              // values
constexpr uint64_t kMostItems = 255;                   // of keys of 8 bits, of which 0 is null
constexpr uint64_t kCompressUpTo = uint64_t{1} << 30;  // bytes: what all of the schemes can take

ArrayDesc Flat(uint64_t bits, uint32_t buffer) {
  ArrayDesc d;
  d.bits = bits;
  d.buffer = buffer;
  return d;
}

ArrayDesc Of(ArrayKind kind, std::vector<ArrayDesc> children) {
  ArrayDesc d;
  d.kind = kind;
  d.children = std::move(children);
  return d;
}

ArrayDesc NoNulls(ArrayDesc values) {
  ArrayDesc d = Of(ArrayKind::kNullable, {});
  d.children.push_back(std::move(values));
  return d;
}

ArrayDesc AllNulls() {
  ArrayDesc d = Of(ArrayKind::kNullable, {});
  d.nulls = Nulls::kAll;
  return d;
}

bool AnySet(const uint8_t* flags, uint64_t n) { return n > 0 && std::memchr(flags, 1, n) != nullptr; }

Bytes BitsOf(const uint8_t* flags, uint64_t n) {
  Bytes bits;
  write::AppendBits(flags, n, &bits);
  return bits;
}

class Encoder {
 public:
  explicit Encoder(const PageValues& page) : page_(page), v_(*page.values), n_(page.count) {}

  EncodedPage Run() {
    ArrayDesc desc = Leaf();
    return Finish(std::move(desc), n_, std::move(why_));
  }

  // Of pages that are not made from a value store.
  EncodedPage Finish(ArrayDesc desc, uint64_t length, std::string why) {
    EncodedPage out;
    uint64_t bytes = 0;
    for (const BufferPtr& b : buffers_) bytes += static_cast<uint64_t>(b->size());
    out.buffers = std::move(buffers_);
    out.length = length;
    out.choice.estimated_size = bytes;
    out.choice.why = std::move(why);
    out.array = std::make_shared<const ArrayDesc>(std::move(desc));
    return out;
  }

  uint32_t Add(Bytes bytes) {
    buffers_.push_back(write::ToBuffer(std::move(bytes)));
    return static_cast<uint32_t>(buffers_.size() - 1);
  }
  template <typename T>
  uint32_t AddCopy(const T* data, uint64_t n) {
    Bytes bytes;
    write::Append(&bytes, data, n * sizeof(T));
    return Add(std::move(bytes));
  }

 private:
  ArrayDesc Leaf() {
    const arrow::DataType& type = write::StorageOf(*page_.column->leaf->type());
    switch (v_.kind.kind) {
      case ValueKind::kVariable: return v_.kind.packed ? Packed(type) : Strings(type);
      case ValueKind::kDictionary: return Dictionary();
      case ValueKind::kNone:
        if (type.id() == arrow::Type::STRUCT) return Of(ArrayKind::kStruct, {});
        return AllNulls();
      case ValueKind::kFixed:
        if (v_.kind.packed) return Packed(type);
        [[fallthrough]];
      case ValueKind::kBool:
      case ValueKind::kFixedSizeList: break;
    }
    if (n_ == 0 || std::memchr(page_.nulls, 0, n_) == nullptr) return AllNulls();
    if (!AnySet(page_.nulls, n_)) return NoNulls(Fixed(type));
    ArrayDesc validity = Validity(page_.nulls, n_);
    return SomeNulls(std::move(validity), Fixed(type));
  }

  static ArrayDesc SomeNulls(ArrayDesc validity, ArrayDesc values) {
    ArrayDesc d = Of(ArrayKind::kNullable, {});
    d.nulls = Nulls::kSome;
    d.children.push_back(std::move(validity));
    d.children.push_back(std::move(values));
    return d;
  }

  ArrayDesc Validity(const uint8_t* nulls, uint64_t n) {
    Bytes valid(n);
    for (uint64_t i = 0; i < n; ++i) valid[i] = nulls[i] == 0;
    return Flat(1, Add(BitsOf(valid.data(), n)));
  }

  ArrayDesc Fixed(const arrow::DataType& type) {
    const uint8_t* bytes = v_.bytes.data();
    if (v_.kind.kind == ValueKind::kBool) return Flat(1, Add(BitsOf(bytes, n_)));
    if (v_.kind.kind == ValueKind::kFixedSizeList) return List(type, 0, n_);
    return Flat(v_.kind.width * 8, AddCopy(bytes, n_ * v_.kind.width));
  }

  // Level `level` of nested fixed-size lists, of which there are n.
  ArrayDesc List(const arrow::DataType& type, size_t level, uint64_t n) {
    ArrayDesc list = Of(ArrayKind::kFixedSizeList, {});
    list.dimension = static_cast<uint64_t>(v_.kind.dims[level]);
    const uint64_t items = n * list.dimension;
    const uint8_t* valid =
        v_.item_valid.empty() || v_.item_valid[level].empty() ? nullptr : v_.item_valid[level].data();
    const bool nulls = valid && std::memchr(valid, 0, items) != nullptr;
    ArrayDesc validity;
    if (nulls) validity = Flat(1, Add(BitsOf(valid, items)));
    ArrayDesc inner;
    if (v_.kind.null_items && level + 1 == v_.kind.dims.size()) {
      list.children.push_back(AllNulls());
      return list;
    }
    if (level + 1 < v_.kind.dims.size()) {
      inner = List(type, level + 1, items);
    } else if (v_.kind.bool_items) {
      inner = Flat(1, Add(BitsOf(v_.bytes.data(), items)));
    } else {
      const uint64_t width = v_.kind.width / static_cast<uint64_t>(v_.kind.items_per_slot());
      inner = Flat(width * 8, AddCopy(v_.bytes.data(), items * width));
    }
    list.children.push_back(nulls ? SomeNulls(std::move(validity), std::move(inner)) : NoNulls(std::move(inner)));
    return list;
  }

  static ArrayDesc FieldOfPacked(const arrow::DataType& field) {
    const arrow::DataType& type = write::StorageOf(field);
    if (type.id() != arrow::Type::FIXED_SIZE_LIST)
      return NoNulls(Flat(static_cast<uint64_t>(static_cast<const arrow::FixedWidthType&>(type).bit_width()), 0));
    const auto& list = static_cast<const arrow::FixedSizeListType&>(type);
    ArrayDesc d = Of(ArrayKind::kFixedSizeList, {});
    d.dimension = static_cast<uint64_t>(list.list_size());
    d.children.push_back(FieldOfPacked(*list.value_type()));
    return NoNulls(std::move(d));
  }

  ArrayDesc Packed(const arrow::DataType& type) {
    ArrayDesc d = Of(ArrayKind::kPackedStruct, {});
    for (const auto& field : type.fields()) d.children.push_back(FieldOfPacked(*field->type()));
    const uint64_t bytes = v_.kind.kind == ValueKind::kVariable ? (n_ ? v_.ends[n_ - 1] : 0) : n_ * v_.kind.width;
    d.buffer = AddCopy(v_.bytes.data(), bytes);
    return d;
  }

  // ---- strings and binary

  ArrayDesc Strings(const arrow::DataType& type) {
    if (type.id() == arrow::Type::STRING && n_ >= kDictionaryFrom) {
      if (auto dictionary = Repeating()) return AutoDictionary(*dictionary);
    }
    const uint64_t total = n_ ? v_.ends[n_ - 1] : 0;
    if (page_.hints->fsst && !v_.kind.large) {  // pylance 14 neither writes nor reads symbols of large types
      if (auto symbols = Symbols(total)) return *std::move(symbols);
    }
    const Compression asked = page_.hints->compression.value_or(Compression::kNone);
    if (asked == Compression::kNone || total == 0 || total > kCompressUpTo)
      return Binary(v_.bytes.data(), v_.ends.data(), page_.nulls, n_);
    Bytes small;
    const Status made =
        write::AppendCompressed({asked, page_.hints->compression_level}, v_.bytes.data(), total, &small);
    if (!made.ok() || small.size() >= total) {
      why_ = "compression was asked for but does not shrink it";
      return Binary(v_.bytes.data(), v_.ends.data(), page_.nulls, n_);
    }
    why_ = "compression asked for by the field's metadata";
    ArrayDesc indices = Ends(v_.ends.data(), page_.nulls, n_);
    ArrayDesc bytes = Flat(8, Add(std::move(small)));
    bytes.compression = asked;
    return BinaryOf(std::move(indices), std::move(bytes), total);
  }

  // End offsets; of nulls, more by all bytes and 1.
  ArrayDesc Ends(const uint64_t* ends, const uint8_t* nulls, uint64_t n) {
    Bytes out(n * 8);
    const uint64_t adjustment = (n ? ends[n - 1] : 0) + 1;
    for (uint64_t i = 0; i < n; ++i) StoreLE<uint64_t>(out.data() + i * 8, ends[i] + (nulls[i] ? adjustment : 0));
    return NoNulls(Flat(64, Add(std::move(out))));
  }

  static ArrayDesc BinaryOf(ArrayDesc indices, ArrayDesc bytes, uint64_t total) {
    ArrayDesc d = Of(ArrayKind::kBinary, {});
    d.null_adjustment = total + 1;
    d.children.push_back(std::move(indices));
    d.children.push_back(std::move(bytes));
    return d;
  }

  ArrayDesc Binary(const uint8_t* bytes, const uint64_t* ends, const uint8_t* nulls, uint64_t n) {
    const uint64_t total = n ? ends[n - 1] : 0;
    ArrayDesc indices = Ends(ends, nulls, n);
    return BinaryOf(std::move(indices), Flat(8, AddCopy(bytes, total)), total);
  }

  // The page as the writer of the later versions sees it: for what both do alike.
  write::PageContext AsContext() const {
    write::PageContext c;
    c.column = page_.column;
    c.hints = page_.hints;
    c.slice = {nullptr, nullptr, n_, n_, 0, n_, &v_};
    if (AnySet(page_.nulls, n_)) c.null_slot.assign(page_.nulls, page_.nulls + n_);
    return c;
  }

  std::optional<ArrayDesc> Symbols(uint64_t total) {
    if (total == 0) return std::nullopt;
    write::SymbolMemory fresh;
    write::PageContext context = AsContext();
    context.symbols = &fresh;
    uint64_t estimate = 0;
    const write::EncodedValues codes = write::FsstValues(context, *write::SymbolsFor(context, &estimate));
    if (codes.store.ends[n_ - 1] + write::FsstEncoder::kTableBytes >= total) {
      why_ = "symbols were asked for but do not shrink it";
      return std::nullopt;
    }
    why_ = "symbols asked for by the field's metadata";
    ArrayDesc d = Of(ArrayKind::kFsst, {});
    d.symbol_table = codes.wrap.bytes;
    d.children.push_back(Binary(codes.store.bytes.data(), codes.store.ends.data(), page_.nulls, n_));
    return d;
  }

  // ---- dictionaries

  // Of strings, where that is smaller.
  std::optional<write::PageDictionary> Repeating() const {
    auto dictionary = write::BuildDictionary(AsContext(), kMostItems, UINT64_MAX);
    if (!dictionary) return std::nullopt;
    const uint64_t with = n_ + dictionary->items.data_bytes() + 8 * static_cast<uint64_t>(dictionary->items.size());
    if (dictionary->items.size() == 0 || with >= v_.ends[n_ - 1] + 8 * n_) return std::nullopt;
    return dictionary;
  }

  ArrayDesc AutoDictionary(const write::PageDictionary& dictionary) {
    why_ = fmt::format("{} distinct of {} values", dictionary.items.size(), n_);
    Bytes keys(n_);  // 0: null
    for (uint64_t i = 0; i < n_; ++i) {
      keys[i] = page_.nulls[i] ? uint8_t{0} : static_cast<uint8_t>(dictionary.keys[i] + 1);
    }
    ArrayDesc indices = NoNulls(Flat(8, Add(std::move(keys))));
    return DictionaryOf(std::move(indices), StringItems(dictionary.items, false),
                        static_cast<uint64_t>(dictionary.items.size()));
  }

  static ArrayDesc DictionaryOf(ArrayDesc indices, ArrayDesc items, uint64_t num_items) {
    ArrayDesc d = Of(ArrayKind::kDictionary, {});
    d.num_items = num_items;
    d.children.push_back(std::move(indices));
    d.children.push_back(std::move(items));
    return d;
  }

  // A dictionary array: keys of its own type; null keys point at a null item behind the others.
  ArrayDesc Dictionary() {
    const write::PageDictionary dictionary = *write::BuildDictionary(AsDictionaryContext(), UINT64_MAX, UINT64_MAX);
    const bool null_item = AnySet(page_.nulls, n_);
    const auto count = static_cast<uint64_t>(dictionary.items.size());
    const uint64_t width = v_.kind.key_bits / 8;
    Bytes keys(n_ * width);
    for (uint64_t i = 0; i < n_; ++i) {
      const uint64_t key = page_.nulls[i] ? count : static_cast<uint64_t>(dictionary.keys[i]);
      std::memcpy(keys.data() + i * width, &key, width);
    }
    ArrayDesc indices = NoNulls(Flat(v_.kind.key_bits, Add(std::move(keys))));
    const auto id = write::StorageOf(*v_.kind.dict_value).id();
    const bool strings = arrow::is_base_binary_like(id) || arrow::is_binary_view_like(id);
    return DictionaryOf(std::move(indices),
                        strings ? StringItems(dictionary.items, null_item) : FixedItems(dictionary.items, null_item),
                        count + null_item);
  }

  write::PageContext AsDictionaryContext() const {
    write::PageContext c = AsContext();
    c.null_slot.clear();  // null keys are -1 in the store
    return c;
  }

  ArrayDesc StringItems(const write::ByteTable& items, bool null_item) {
    Bytes bytes, nulls(static_cast<size_t>(items.size()) + null_item, uint8_t{0});
    write::Vec<uint64_t> ends;
    for (int32_t i = 0; i < items.size(); ++i) {
      write::Append(&bytes, items.at(i).data(), items.at(i).size());
      ends.push_back(bytes.size());
    }
    if (null_item) {
      ends.push_back(bytes.size());
      nulls.back() = 1;
    }
    return Binary(bytes.data(), ends.data(), nulls.data(), ends.size());
  }

  ArrayDesc FixedItems(const write::ByteTable& items, bool null_item) {
    const arrow::DataType& type = write::StorageOf(*v_.kind.dict_value);
    const bool boolean = type.id() == arrow::Type::BOOL;  // a byte an item
    const uint64_t bits = static_cast<uint64_t>(static_cast<const arrow::FixedWidthType&>(type).bit_width());
    const auto count = static_cast<uint64_t>(items.size()) + null_item;
    Bytes bytes;
    for (int32_t i = 0; i < items.size(); ++i) write::Append(&bytes, items.at(i).data(), items.at(i).size());
    if (null_item) bytes.resize(bytes.size() + (boolean ? 1 : bits / 8), uint8_t{0});
    if (boolean) bytes = BitsOf(bytes.data(), count);
    if (!null_item) return NoNulls(Flat(bits, Add(std::move(bytes))));
    Bytes nulls(count, uint8_t{0});
    nulls.back() = 1;
    ArrayDesc validity = Validity(nulls.data(), count);
    return SomeNulls(std::move(validity), Flat(bits, Add(std::move(bytes))));
  }

  const PageValues& page_;
  const write::ValueStore& v_;
  const uint64_t n_;
  std::vector<BufferPtr> buffers_;
  std::string why_ = "as this type is stored";
};

// The payloads go into the file just before the page: rows of (position, size), (0, 0) empty, (1, 0) null.
EncodedPage BlobPage(const PageValues& page) {
  struct Pending {
    Bytes bytes, nulls;
    write::Vec<uint64_t> ends;
  };
  auto pending = std::make_shared<Pending>();
  const write::ValueStore& v = *page.values;
  pending->ends.assign(v.ends.begin(), v.ends.begin() + static_cast<std::ptrdiff_t>(page.count));
  pending->nulls.assign(page.nulls, page.nulls + page.count);
  write::Append(&pending->bytes, v.bytes.data(), page.count ? pending->ends.back() : 0);
  EncodedPage out;
  out.length = page.count;
  out.choice.estimated_size = page.count * 16;
  out.choice.why = "blob column";
  ArrayDesc rows = Of(ArrayKind::kPackedStruct, {NoNulls(Flat(64, 0)), NoNulls(Flat(64, 0))});
  out.array = std::make_shared<const ArrayDesc>(std::move(rows));
  out.seal = [pending](BlobSink* sink, EncodedPage* sealed) -> Status {
    Bytes rows;
    uint64_t begin = 0;
    for (size_t i = 0; i < pending->ends.size(); ++i) {
      const uint64_t size = pending->ends[i] - begin;
      uint64_t position = pending->nulls[i];
      if (size > 0) {
        PILUM_ASSIGN_OR_RETURN(
            position, sink->WritePayload({reinterpret_cast<const char*>(pending->bytes.data()) + begin, size}));
      }
      write::AppendInt<uint64_t>(&rows, position);
      write::AppendInt<uint64_t>(&rows, size);
      begin = pending->ends[i];
    }
    sealed->buffers = {write::ToBuffer(std::move(rows))};
    return Status::OK();
  };
  return out;
}

}  // namespace

EncodedPage EncodeLeafPage(const PageValues& page) {
  return page.values->kind.blob ? BlobPage(page) : Encoder(page).Run();
}

EncodedPage EncodeListPage(const uint64_t* ends, const uint8_t* nulls, uint64_t count) {
  const write::ValueStore none;
  Encoder encoder({nullptr, nullptr, &none, nulls, count});
  ArrayDesc list = Of(ArrayKind::kList, {});
  list.num_items = count ? ends[count - 1] : 0;
  list.null_adjustment = list.num_items + 1;
  Bytes offsets(count * 8);
  for (uint64_t i = 0; i < count; ++i)
    StoreLE<uint64_t>(offsets.data() + i * 8, ends[i] + (nulls[i] ? list.null_adjustment : 0));
  list.children.push_back(NoNulls(Flat(64, encoder.Add(std::move(offsets)))));
  return encoder.Finish(std::move(list), count, "list offsets");
}

EncodedPage EncodeHeaderPage(uint64_t count) {
  const write::ValueStore none;
  return Encoder({nullptr, nullptr, &none, nullptr, 0}).Finish(Of(ArrayKind::kStruct, {}), count, "struct header");
}

}  // namespace pilum::v2_0
