// Dictionaries, which mean two things. A column of a dictionary type: keys into the items, and a null is a key of a
// null item. Any other column (the writer's own choice, for strings): key 0 is null, key k is item k - 1.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/type.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/dictionary_keys.h"
#include "pilum/encoding/leaf_array.h"
#include "pilum/encoding/v2_0/array.h"

namespace pilum::v2_0 {

using codec::BadBytes;
using codec::DataBlock;

namespace {

constexpr uint64_t kNullKey = UINT64_MAX;
constexpr uint64_t kMaxFreeItems = uint64_t{1} << 20;  // items of which nothing is stored

// The items of one page, decoded once.
struct Items {
  DataBlock block;                           // plain columns
  std::shared_ptr<arrow::Array> dictionary;  // dictionary columns: without null items
  std::vector<uint64_t> key_of;              // stored key -> index of the item, or kNullKey
  uint64_t count = 0, bytes = 0;
};

class DictionaryNode : public ArrayNode {
 public:
  DictionaryNode(NodePtr keys, uint64_t key_bits, NodePtr items, std::shared_ptr<arrow::DataType> item_type,
                 bool is_dictionary, bool signed_keys)
      : ArrayNode(keys->count()),
        keys_(std::move(keys)),
        key_bits_(key_bits),
        items_(std::move(items)),
        item_type_(std::move(item_type)),
        is_dictionary_(is_dictionary),
        signed_keys_(signed_keys) {}

  std::unique_ptr<ArrayRead> StartRead(RowSet rows) const override;
  uint64_t estimated_bytes() const override {
    const uint64_t key_bytes = count() * 8;
    if (is_dictionary_ || items_ == nullptr) return key_bytes;
    const uint64_t item = items_->estimated_bytes() / std::max<uint64_t>(1, items_->count()) + 1;
    return CheckedAdd(key_bytes, CheckedMul(count(), item).value_or(UINT64_MAX)).value_or(UINT64_MAX);
  }
  uint64_t cached_bytes() const override {
    std::lock_guard lock(mutex_);
    return cache_ ? cache_->bytes : 0;
  }

  std::shared_ptr<const Items> cached() const {
    std::lock_guard lock(mutex_);
    return cache_;
  }
  // `read`: a finished read of all items; none where there are none.
  Result<std::shared_ptr<const Items>> MakeItems(ArrayRead* read, const Work& work) const;

  const ArrayNode& keys() const { return *keys_; }
  const ArrayNode* items() const { return items_.get(); }
  uint64_t key_bits() const { return key_bits_; }
  uint64_t max_key() const { return UINT64_MAX >> (64 - key_bits_ + (signed_keys_ ? 1 : 0)); }

 private:
  Status DropNulls(const arrow::Array& all, Items* out, arrow::MemoryPool* pool) const;

  NodePtr keys_;
  uint64_t key_bits_;
  NodePtr items_;  // null: there are none
  std::shared_ptr<arrow::DataType> item_type_;
  bool is_dictionary_, signed_keys_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Items> cache_;
};

class DictionaryRead : public ArrayRead {
 public:
  DictionaryRead(const DictionaryNode& node, RowSet rows) : node_(node), items_(node.cached()) {
    group_.Add(node.keys().StartRead(std::move(rows)));
    if (items_ || node.items() == nullptr) return;
    group_.Add(node.items()->StartRead(RowSet::All(node.items()->count())));
  }
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    return group_.Next(std::move(fetched));
  }

  Result<Values> Finish(const Work& work) override {
    PILUM_ASSIGN_OR_RETURN(Values keys, group_[0].Finish(work));
    if (!items_) {
      PILUM_ASSIGN_OR_RETURN(items_, node_.MakeItems(group_.size() > 1 ? &group_[1] : nullptr, work));
    }
    Values v;
    PILUM_RETURN_NOT_OK(Translate(keys.block, work, &v));
    if (items_->dictionary) {
      v.dictionary = items_->dictionary;
    } else {
      PILUM_ASSIGN_OR_RETURN(v.block,
                             GatherDictionary(v.block, items_->block, v.validity, work.pool, nullptr, work.stop));
    }
    return v;
  }

 private:
  // Stored keys -> indexes of items, and which are null.
  Status Translate(const DataBlock& stored, const Work& work, Values* out) const {
    PILUM_ASSIGN_OR_RETURN(auto keys, ToUint64(stored));
    PILUM_ASSIGN_OR_RETURN(auto data, codec::Allocate(stored.count * (node_.key_bits() / 8), work.pool));
    Extents nulls;
    nulls.lengths.resize(keys.size());
    nulls.valid.resize(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] >= items_->key_of.size())
        return BadBytes("a key of {} reaches past the {} items of the dictionary", keys[i], items_->count);
      uint64_t key = items_->key_of[keys[i]];
      nulls.valid[i] = key != kNullKey;
      if (key != kNullKey && key > node_.max_key())
        return BadBytes("{} items, more than keys of {} bits can name", items_->count, node_.key_bits());
      if (key == kNullKey) ++nulls.null_count, key = 0;
      std::memcpy(data->mutable_data() + i * (node_.key_bits() / 8), &key, node_.key_bits() / 8);
    }
    out->block.count = stored.count;
    out->block.bits = node_.key_bits();
    out->block.data = std::move(data);
    PILUM_ASSIGN_OR_RETURN(out->validity, nulls.MakeValidity(work.pool));
    return Status::OK();
  }

  const DictionaryNode& node_;
  std::shared_ptr<const Items> items_;
  ReadGroup group_;
};

std::unique_ptr<ArrayRead> DictionaryNode::StartRead(RowSet rows) const {
  return std::make_unique<DictionaryRead>(*this, std::move(rows));
}

uint64_t BytesIn(const arrow::ArrayData& data) {
  uint64_t n = 0;
  for (const auto& b : data.buffers) n += b ? static_cast<uint64_t>(b->size()) : 0;
  for (const auto& c : data.child_data) n += BytesIn(*c);
  return n;
}

Result<std::shared_ptr<const Items>> DictionaryNode::MakeItems(ArrayRead* read, const Work& work) const {
  auto out = std::make_shared<Items>();
  std::shared_ptr<arrow::ArrayData> all;
  if (read) {
    PILUM_ASSIGN_OR_RETURN(Values v, read->Finish(work));
    out->block = v.block;
    out->count = v.block.count;
    const bool plain = !v.all_null;
    PILUM_ASSIGN_OR_RETURN(all, ToArrayData(std::move(v), item_type_, work.pool));
    if (!plain && !is_dictionary_) return BadBytes("a dictionary of nulls");
  } else {
    PILUM_ASSIGN_OR_RETURN(all, MakeNulls(item_type_, 0, work.pool));
    const bool variable = arrow::is_base_binary_like(StorageType(*item_type_).id());
    out->block.kind = variable ? DataBlock::Kind::kVariable : DataBlock::Kind::kFixed;
    out->block.wide = IsWide(*item_type_);
    out->block.bits = FixedBits(*item_type_);
  }
  auto array = arrow::MakeArray(all);
  if (is_dictionary_) {
    PILUM_RETURN_NOT_OK(DropNulls(*array, out.get(), work.pool));
    out->bytes = BytesIn(*out->dictionary->data());
  } else {
    out->key_of.push_back(kNullKey);
    for (uint64_t i = 0; i < out->count; ++i) {
      out->key_of.push_back(array->IsNull(static_cast<int64_t>(i)) ? kNullKey : i);
    }
    out->bytes = BytesIn(*all);
  }
  out->bytes += out->key_of.size() * 8;
  std::lock_guard lock(mutex_);
  if (!cache_) cache_ = std::move(out);
  return cache_;
}

// Null items leave the dictionary and their keys become null: kernels that unify dictionaries want it so.
Status DictionaryNode::DropNulls(const arrow::Array& all, Items* out, arrow::MemoryPool* pool) const {
  arrow::ArrayVector runs;
  uint64_t kept = 0;
  for (int64_t i = 0, begin = 0; i <= all.length(); ++i) {
    const bool end = i == all.length() || all.IsNull(i);
    if (!end) {
      out->key_of.push_back(kept++);
      continue;
    }
    if (i > begin) runs.push_back(all.Slice(begin, i - begin));
    begin = i + 1;
    if (i < all.length()) out->key_of.push_back(kNullKey);
  }
  if (runs.empty()) runs.push_back(all.Slice(0, 0));
  PILUM_ASSIGN_OR_RETURN(out->dictionary, arrow::Concatenate(runs, pool));
  return Status::OK();
}

}  // namespace

Result<NodePtr> MakeDictionaryNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                                   const std::shared_ptr<arrow::DataType>& type) {
  const arrow::DataType& storage = StorageType(*type);
  const bool is_dictionary = storage.id() == arrow::Type::DICTIONARY;
  std::shared_ptr<arrow::DataType> item_type = type;
  uint64_t key_bits = 0;
  bool signed_keys = false;
  if (is_dictionary) {
    const auto& dictionary = static_cast<const arrow::DictionaryType&>(storage);
    item_type = dictionary.value_type();
    key_bits = FixedBits(*dictionary.index_type());
    signed_keys = arrow::is_signed_integer(dictionary.index_type()->id());
  }
  const bool nested = arrow::is_nested(StorageType(*item_type).id());
  if (nested || StorageType(*item_type).id() == arrow::Type::DICTIONARY ||
      (!is_dictionary && FixedBits(*type) % 8 != 0)) {
    return Unsupported("page encoding: a dictionary of {}", item_type->ToString());
  }
  PILUM_ASSIGN_OR_RETURN(NodePtr keys, MakeFixedNode(desc.children[0], context, n, key_bits));
  if (key_bits == 0) key_bits = WithoutNullable(desc.children[0]).bits;
  NodePtr items;
  if (desc.num_items > 0) {
    NodeContext of_items = context;
    of_items.max_free_values = std::min(context.max_free_values, kMaxFreeItems);
    PILUM_ASSIGN_OR_RETURN(items, MakeNode(desc.children[1], of_items, desc.num_items, item_type));
  }
  return NodePtr(std::make_unique<DictionaryNode>(std::move(keys), key_bits, std::move(items), std::move(item_type),
                                                  is_dictionary, signed_keys));
}

}  // namespace pilum::v2_0
