// Items of a dictionary in slots of one size: a row is one load and one store.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "pilum/base/bytes.h"
#include "pilum/base/recycling_pool.h"
#include "pilum/encoding/dictionary_keys.h"
#include "pilum/encoding/gathered.h"

namespace pilum {

using codec::Allocate;
using codec::CheckOutput;
using codec::DataBlock;

namespace {

constexpr uint64_t kSmallSlot = 16, kLargeSlot = 32;
constexpr uint64_t kMostTableBytes = 1 << 20;
constexpr uint64_t kMostRoom = 4 << 20;

struct ItemSlots {
  uint64_t slot;  // bytes of one
  const uint8_t *slots, *lengths;
  bool equal;  // all lengths are
  uint64_t longest;
  bool alike;  // the longest is at most twice the mean
};

template <typename Offset>
const Offset* OffsetsOf(const DataBlock& items) {
  return reinterpret_cast<const Offset*>(items.offsets->data());
}

template <typename Offset>
uint64_t Longest(const DataBlock& items) {
  const Offset* at = OffsetsOf<Offset>(items);
  Offset longest = 0;
  for (uint64_t i = 0; i < items.count; ++i) longest = std::max(longest, at[i + 1] - at[i]);
  return static_cast<uint64_t>(longest);
}

template <typename Offset>
void Widen(const DataBlock& items, uint64_t slot, uint8_t* slots, uint8_t* lengths) {
  const Offset* at = OffsetsOf<Offset>(items);
  for (uint64_t i = 0; i < items.count; ++i) {
    lengths[i] = static_cast<uint8_t>(at[i + 1] - at[i]);
    if (lengths[i] > 0) std::memcpy(slots + i * slot, items.data->data() + at[i], lengths[i]);
  }
}

template <typename Key>
uint64_t SumLengths(const Key* keys, uint64_t n, const uint8_t* lengths) {
  uint64_t a = 0, b = 0, c = 0, d = 0, i = 0;
  for (; i + 4 <= n; i += 4) {
    a += lengths[keys[i]];
    b += lengths[keys[i + 1]];
    c += lengths[keys[i + 2]];
    d += lengths[keys[i + 3]];
  }
  for (; i < n; ++i) a += lengths[keys[i]];
  return a + b + c + d;
}

// One load and one store where the machine has such wide ones (a memcpy becomes two halves).
template <uint64_t kSlot>
inline __attribute__((always_inline)) void CopySlot(uint8_t* to, const uint8_t* from) {
  using Slot [[gnu::vector_size(kSlot), gnu::aligned(1), gnu::may_alias]] = uint8_t;
  *reinterpret_cast<Slot*>(to) = *reinterpret_cast<const Slot*>(from);
}

// Both are below 2^31 where offsets have 32 bits.
template <typename Offset>
inline __attribute__((always_inline)) void StorePair(Offset* at, uint64_t first, uint64_t second) {
  if constexpr (sizeof(Offset) == 4) {
    const uint64_t both = first | second << 32;
    std::memcpy(at, &both, 8);
  } else {
    at[0] = static_cast<Offset>(first);
    at[1] = static_cast<Offset>(second);
  }
}

// Each store writes a whole slot: what is past the item, the next one writes over, or it lies in the block's slack.
// offsets[begin] is there; those of the rows behind it are added. Four rows a step: their places are known together, and
// narrow offsets are stored two at a time.
template <uint64_t kSlot, typename Key, typename Offset>
inline __attribute__((always_inline)) void Fill(const Key* keys, uint64_t begin, uint64_t end, const ItemSlots& s,
                                                Offset* offsets, uint8_t* out) {
  auto at = static_cast<uint64_t>(offsets[begin]);
  const uint8_t *slots = s.slots, *lengths = s.lengths;
  uint64_t i = begin;
  for (; i + 4 <= end; i += 4) {
    const uint64_t k0 = keys[i], k1 = keys[i + 1], k2 = keys[i + 2], k3 = keys[i + 3];
    const uint64_t a = at + lengths[k0], b = a + lengths[k1], c = b + lengths[k2], d = c + lengths[k3];
    CopySlot<kSlot>(out + at, slots + k0 * kSlot);
    CopySlot<kSlot>(out + a, slots + k1 * kSlot);
    CopySlot<kSlot>(out + b, slots + k2 * kSlot);
    CopySlot<kSlot>(out + c, slots + k3 * kSlot);
    StorePair(offsets + i + 1, a, b);
    StorePair(offsets + i + 3, c, d);
    at = d;
  }
  for (; i < end; ++i) {
    const uint64_t key = keys[i];
    CopySlot<kSlot>(out + at, slots + key * kSlot);
    at += lengths[key];
    offsets[i + 1] = static_cast<Offset>(at);
  }
}

// Where all items are of one length, no row waits for the one before it.
template <uint64_t kSlot, typename Key>
inline __attribute__((always_inline)) void FillEqual(const Key* keys, uint64_t begin, uint64_t end, const ItemSlots& s,
                                                     uint8_t* out) {
  const uint64_t length = s.lengths[0];
  const uint8_t* slots = s.slots;
  for (uint64_t i = begin; i < end; ++i) CopySlot<kSlot>(out + i * length, slots + keys[i] * kSlot);
}

// offsets[i] for begin < i <= end.
template <typename Offset>
PILUM_VECTORIZE void FillMultiples(uint64_t begin, uint64_t end, uint64_t length, Offset* offsets) {
  for (uint64_t i = begin + 1; i <= end; ++i) offsets[i] = static_cast<Offset>(i * length);
}

template <uint64_t kSlot, typename Key, typename Offset>
inline __attribute__((always_inline)) void FillSlots(const Key* keys, uint64_t begin, uint64_t end, const ItemSlots& s,
                                                     Offset* offsets, uint8_t* out) {
  if (!s.equal) return Fill<kSlot>(keys, begin, end, s, offsets, out);
  FillMultiples(begin, end, s.longest, offsets);
  FillEqual<kSlot>(keys, begin, end, s, out);
}

// A large slot in one store, not two that overlap those of the rows before and after.
template <typename Key, typename Offset>
__attribute__((target("avx2"))) void FillLargeAvx2(const Key* keys, uint64_t begin, uint64_t end, const ItemSlots& s,
                                                   Offset* offsets, uint8_t* out) {
  FillSlots<kLargeSlot>(keys, begin, end, s, offsets, out);
}

template <typename Key, typename Offset>
void FillAny(const Key* keys, uint64_t begin, uint64_t end, const ItemSlots& s, Offset* offsets, uint8_t* out) {
  static const bool avx2 = __builtin_cpu_supports("avx2");
  if (s.slot == kSmallSlot) return FillSlots<kSmallSlot>(keys, begin, end, s, offsets, out);
  if (avx2) return FillLargeAvx2(keys, begin, end, s, offsets, out);
  FillSlots<kLargeSlot>(keys, begin, end, s, offsets, out);
}

// A block with a copy of `data` that takes no more room than it needs.
template <typename Offset>
Result<DataBlock> Shrunk(uint64_t n, BufferPtr offsets, const arrow::Buffer& data, arrow::MemoryPool* pool) {
  PILUM_ASSIGN_OR_RETURN(auto small, Allocate(static_cast<uint64_t>(data.size()), pool));
  std::memcpy(small->mutable_data(), data.data(), static_cast<size_t>(data.size()));
  return VariableBlock(n, sizeof(Offset) == 8, std::move(offsets), std::move(small));
}

template <typename Offset, typename Key>
Result<DataBlock> GatherSlots(const Key* keys, uint64_t n, const ItemSlots& s, arrow::MemoryPool* pool,
                              StopCheck* stop) {
  PILUM_RETURN_NOT_OK(CheckOutput(n + 1, sizeof(Offset) * 8));
  // Room for the longest is had at once where that is not much more; else the lengths are added up first.
  const bool roomy = !s.equal && s.alike && n * s.longest <= kMostRoom;
  uint64_t room = s.equal || roomy ? n * s.longest : 0;
  if (!s.equal && !roomy) {
    PILUM_RETURN_NOT_OK(InPieces(stop, n, n * sizeof(Key), [&](uint64_t begin, uint64_t end) {
      room += SumLengths(keys + begin, end - begin, s.lengths);
    }));
  }
  PILUM_RETURN_NOT_OK(CheckGathered(n, room, sizeof(Offset)));
  PILUM_ASSIGN_OR_RETURN(auto offsets, Allocate((n + 1) * sizeof(Offset), pool));
  PILUM_ASSIGN_OR_RETURN(auto data, Allocate(room, pool));
  auto* ends = reinterpret_cast<Offset*>(offsets->mutable_data());
  uint8_t* out = data->mutable_data();
  ends[0] = 0;
  PILUM_RETURN_NOT_OK(InPieces(stop, n, room + n * sizeof(Offset),
                               [&](uint64_t begin, uint64_t end) { FillAny(keys, begin, end, s, ends, out); }));
  if (roomy) {
    const auto total = static_cast<uint64_t>(ends[n]);
    PILUM_RETURN_NOT_OK(data->Resize(static_cast<int64_t>(total), /*shrink_to_fit=*/false));
    if (total < room / 2) return Shrunk<Offset>(n, std::move(offsets), *data, pool);
  }
  return VariableBlock(n, sizeof(Offset) == 8, std::move(offsets), std::move(data));
}

}  // namespace

std::unique_ptr<const ItemTable> ItemTable::Make(const DataBlock& items, arrow::MemoryPool* pool) {
  if (items.kind != DataBlock::Kind::kVariable || items.count == 0) return nullptr;
  const uint64_t longest = items.wide ? Longest<int64_t>(items) : Longest<int32_t>(items);
  const uint64_t slot = longest <= kSmallSlot ? kSmallSlot : kLargeSlot;
  if (longest > kLargeSlot || items.count > kMostTableBytes / slot) return nullptr;
  auto slots = Allocate(items.count * slot, pool), lengths = Allocate(items.count, pool);
  if (!slots.ok() || !lengths.ok()) return nullptr;
  uint8_t *to = (*slots)->mutable_data(), *sizes = (*lengths)->mutable_data();
  std::memset(to, 0, items.count * slot);  // what is behind an item is given out, past the end of a block
  if (items.wide)
    Widen<int64_t>(items, slot, to, sizes);
  else
    Widen<int32_t>(items, slot, to, sizes);
  auto t = std::make_unique<ItemTable>();
  t->wide_ = items.wide;
  t->slot_ = slot;
  t->longest_ = longest;
  const auto total = std::accumulate(sizes, sizes + items.count, uint64_t{0});
  t->alike_ = longest * items.count <= 2 * total;
  t->equal_ = std::all_of(sizes, sizes + items.count, [&](uint8_t n) { return n == sizes[0]; });
  t->slots_ = *std::move(slots);
  t->lengths_ = *std::move(lengths);
  return t;
}

Result<DataBlock> ItemTable::Gather(const DataBlock& keys, arrow::MemoryPool* pool, StopCheck* stop) const {
  const ItemSlots slots{slot_, slots_->data(), lengths_->data(), equal_, longest_, alike_};
  auto by = [&](const auto* k) {
    return wide_ ? GatherSlots<int64_t>(k, keys.count, slots, pool, stop)
                 : GatherSlots<int32_t>(k, keys.count, slots, pool, stop);
  };
  const uint8_t* data = keys.data->data();
  switch (keys.bits) {
    case 8: return by(data);
    case 16: return by(reinterpret_cast<const uint16_t*>(data));
    case 32: return by(reinterpret_cast<const uint32_t*>(data));
    default: return by(reinterpret_cast<const uint64_t*>(data));
  }
}

const ItemTable* LazyItemTable::For(const DataBlock& items, uint64_t rows) const {
  if (rows < items.count / 4) return nullptr;  // too few to pay for it
  std::call_once(once_, [&] { table_ = ItemTable::Make(items, DefaultReadPool()); });
  return table_.get();
}

}  // namespace pilum
