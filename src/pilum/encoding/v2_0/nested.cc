// Encodings around others: nullable, fixed-size list, and pages without any values; and MakeNode, which chooses.
#include <algorithm>
#include <cstring>

#include <arrow/type.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>

#include "pilum/base/bytes.h"
#include "pilum/encoding/leaf_array.h"
#include "pilum/encoding/v2_0/array.h"

namespace pilum::v2_0 {

using codec::BadBytes;
using codec::DataBlock;

namespace {

Result<BufferPtr> Zeros(uint64_t size, arrow::MemoryPool* pool) {
  PILUM_ASSIGN_OR_RETURN(auto buffer, codec::Allocate(size, pool));
  std::memset(buffer->mutable_data(), 0, static_cast<size_t>(buffer->size()));
  return BufferPtr(std::move(buffer));
}

// Rows of which nothing is stored: all null, or empty structs.
class NothingRead : public ArrayRead {
 public:
  explicit NothingRead(uint64_t rows) : rows_(rows) {}
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr>) override { return std::vector<ByteRange>{}; }
  Result<Values> Finish(const Work&) override {
    Values v;
    v.all_null = true;
    v.block.count = v.validity.count = rows_;
    return v;
  }

 private:
  uint64_t rows_;
};

class NothingNode : public ArrayNode {
 public:
  NothingNode(uint64_t n, uint64_t bits) : ArrayNode(n), bits_(bits) {}
  std::unique_ptr<ArrayRead> StartRead(RowSet rows) const override {
    return std::make_unique<NothingRead>(rows.size());
  }
  uint64_t estimated_bytes() const override {
    return CheckedMul(count(), std::max<uint64_t>(bits_ / 8, 8)).value_or(UINT64_MAX);
  }

 private:
  uint64_t bits_;
};

class NullableRead : public ArrayRead {
 public:
  NullableRead(std::unique_ptr<ArrayRead> validity, std::unique_ptr<ArrayRead> values) {
    group_.Add(std::move(validity));
    group_.Add(std::move(values));
  }
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    return group_.Next(std::move(fetched));
  }
  Result<Values> Finish(const Work& work) override {
    PILUM_ASSIGN_OR_RETURN(Values bits, group_[0].Finish(work));
    PILUM_ASSIGN_OR_RETURN(Values v, group_[1].Finish(work));
    if (v.all_null) return v;
    const auto n = static_cast<int64_t>(v.block.count);
    BufferPtr bitmap = bits.block.data;
    if (v.validity.bitmap) {
      PILUM_ASSIGN_OR_RETURN(bitmap, arrow::internal::BitmapAnd(work.pool, bitmap->data(), 0, v.validity.bitmap->data(),
                                                                0, n, /*out_offset=*/0));
    }
    v.validity.null_count = n - arrow::internal::CountSetBits(bitmap->data(), 0, n);
    v.validity.bitmap = v.validity.null_count > 0 ? bitmap : nullptr;
    return v;
  }

 private:
  ReadGroup group_;
};

class NullableNode : public ArrayNode {
 public:
  NullableNode(NodePtr validity, NodePtr values)
      : ArrayNode(values->count()), validity_(std::move(validity)), values_(std::move(values)) {}
  std::unique_ptr<ArrayRead> StartRead(RowSet rows) const override {
    auto validity = validity_->StartRead(rows);
    return std::make_unique<NullableRead>(std::move(validity), values_->StartRead(std::move(rows)));
  }
  uint64_t estimated_bytes() const override { return values_->estimated_bytes(); }
  uint64_t cached_bytes() const override { return values_->cached_bytes(); }

 private:
  NodePtr validity_, values_;
};

class FixedSizeListRead : public ArrayRead {
 public:
  FixedSizeListRead(std::unique_ptr<ArrayRead> items, uint64_t dimension, uint64_t item_bits)
      : items_(std::move(items)), dimension_(dimension), item_bits_(item_bits) {}
  Result<std::vector<ByteRange>> Next(std::vector<BufferPtr> fetched) override {
    return items_->Next(std::move(fetched));
  }
  Result<Values> Finish(const Work& work) override {
    PILUM_ASSIGN_OR_RETURN(Values items, items_->Finish(work));
    const uint64_t n = items.block.count;
    if (items.all_null) {
      PILUM_RETURN_NOT_OK(codec::CheckOutput(n, std::max<uint64_t>(item_bits_, 1)));
      items.block.bits = item_bits_;
      PILUM_ASSIGN_OR_RETURN(items.block.data, Zeros((n * item_bits_ + 7) / 8, work.pool));
      PILUM_ASSIGN_OR_RETURN(items.validity.bitmap, Zeros((n + 7) / 8, work.pool));
    }
    Values v;
    v.block.kind = DataBlock::Kind::kFixedSizeList;
    v.block.dimension = dimension_;
    v.block.count = v.validity.count = n / dimension_;
    v.block.validity = items.validity.bitmap;
    v.block.children.push_back(std::move(items.block));
    return v;
  }

 private:
  std::unique_ptr<ArrayRead> items_;
  uint64_t dimension_, item_bits_;
};

class FixedSizeListNode : public ArrayNode {
 public:
  FixedSizeListNode(uint64_t n, NodePtr items, uint64_t dimension, uint64_t item_bits)
      : ArrayNode(n), items_(std::move(items)), dimension_(dimension), item_bits_(item_bits) {}
  std::unique_ptr<ArrayRead> StartRead(RowSet rows) const override {
    RowSet items;
    for (const RowRange& r : rows.ranges()) items.Append(r.begin * dimension_, r.end * dimension_);
    return std::make_unique<FixedSizeListRead>(items_->StartRead(std::move(items)), dimension_, item_bits_);
  }
  uint64_t estimated_bytes() const override {
    return CheckedMul(count(), CheckedMul(dimension_, item_bits_).value_or(UINT64_MAX)).value_or(UINT64_MAX) / 8;
  }

 private:
  NodePtr items_;
  uint64_t dimension_, item_bits_;
};

Result<NodePtr> MakeNothing(const NodeContext& context, uint64_t n, const arrow::DataType& type) {
  if (n > context.max_free_values) {
    return BadBytes("{} values of which no byte is stored, more than the file is said to hold", n);
  }
  return NodePtr(std::make_unique<NothingNode>(n, FixedBits(type)));
}

Result<NodePtr> MakeNullable(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                             const std::shared_ptr<arrow::DataType>& type) {
  if (desc.nulls == Nulls::kAll) return MakeNothing(context, n, *type);
  if (desc.nulls == Nulls::kNone) return MakeNode(desc.children[0], context, n, type);
  PILUM_ASSIGN_OR_RETURN(NodePtr validity, MakeFixedNode(desc.children[0], context, n, 1));
  PILUM_ASSIGN_OR_RETURN(NodePtr values, MakeNode(desc.children[1], context, n, type));
  return NodePtr(std::make_unique<NullableNode>(std::move(validity), std::move(values)));
}

// Nulls, or fixed-size lists of them.
bool AreNulls(const arrow::DataType& type) {
  const arrow::DataType* t = &StorageType(type);
  while (t->id() == arrow::Type::FIXED_SIZE_LIST) t = &StorageType(*t->field(0)->type());
  return t->id() == arrow::Type::NA;
}

Result<NodePtr> MakeFixedSizeList(const ArrayDesc& desc, NodeContext context, uint64_t n, const arrow::DataType& type) {
  const arrow::DataType& storage = StorageType(type);
  if (storage.id() != arrow::Type::FIXED_SIZE_LIST ||
      static_cast<uint64_t>(static_cast<const arrow::FixedSizeListType&>(storage).list_size()) != desc.dimension ||
      desc.dimension == 0) {
    return BadBytes("lists of {} items as {}", desc.dimension, type.ToString());
  }
  auto items = CheckedMul(n, desc.dimension);
  if (!items) return BadBytes("{} lists of {} items", n, desc.dimension);
  const auto& item_type = storage.field(0)->type();
  if (FixedBits(*item_type) == 0 && !AreNulls(*item_type))
    return Unsupported("page encoding: fixed-size lists of {}", item_type->ToString());
  context.max_free_values = CheckedMul(context.max_free_values, desc.dimension).value_or(UINT64_MAX);
  PILUM_ASSIGN_OR_RETURN(NodePtr node, MakeNode(desc.children[0], context, *items, item_type));
  return NodePtr(std::make_unique<FixedSizeListNode>(n, std::move(node), desc.dimension, FixedBits(*item_type)));
}

}  // namespace

Result<NodePtr> MakeNode(const ArrayDesc& desc, const NodeContext& context, uint64_t n,
                         const std::shared_ptr<arrow::DataType>& type) {
  const arrow::DataType& storage = StorageType(*type);
  switch (desc.kind) {
    case ArrayKind::kNullable: return MakeNullable(desc, context, n, type);
    case ArrayKind::kFlat:
    case ArrayKind::kBitpacked:
    case ArrayKind::kBitpackedForNonNeg: {
      const uint64_t bits = FixedBits(storage);
      if (bits == 0 || storage.id() == arrow::Type::FIXED_SIZE_LIST)
        return BadBytes("{} as values of type {}", desc.ToString(), type->ToString());
      return MakeFixedNode(desc, context, n, bits);
    }
    case ArrayKind::kFixedSizeList: return MakeFixedSizeList(desc, context, n, *type);
    case ArrayKind::kBinary:
    case ArrayKind::kFsst: return MakeBinaryNode(desc, context, n, *type);
    case ArrayKind::kDictionary: return MakeDictionaryNode(desc, context, n, type);
    case ArrayKind::kPackedStruct: return MakePackedStructNode(desc, context, n, *type);
    case ArrayKind::kFixedSizeBinary: return MakeFixedSizeBinaryNode(desc, context, n, *type);
    case ArrayKind::kStruct:
      if (storage.id() != arrow::Type::STRUCT || storage.num_fields() != 0)
        return BadBytes("a struct header as values of type {}", type->ToString());
      return MakeNothing(context, n, *type);
    case ArrayKind::kList: return BadBytes("list offsets as values of type {}", type->ToString());
  }
  return Unsupported("page encoding: unknown");
}

}  // namespace pilum::v2_0
