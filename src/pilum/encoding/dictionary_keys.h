// Dictionary keys -> values. For the page decoders of this folder. Keys come from outside: they are checked here.
#pragma once

#include <memory>
#include <mutex>

#include <arrow/type_fwd.h>

#include "pilum/encoding/codec/codec.h"
#include "pilum/encoding/rep_def.h"
#include "pilum/encoding/stop_check.h"

namespace pilum {

// Are they 8, 16, 32 or 64 bits each?
Status CheckKeyBits(const codec::DataBlock& keys);
// Keys of valid slots must be below `items`; those of nulls may be anything and become 0. Changes `keys` in place: a
// block that a decoder made and nobody else has.
Status CheckKeys(const codec::DataBlock& keys, uint64_t items, const Validity& validity);

// Short strings widened to slots of one size, so that a row is one load, one store and no branch. Immutable.
class ItemTable {
 public:
  // nullptr where the items are not such, or take more room than stays near the processor (or than there is).
  static std::unique_ptr<const ItemTable> Make(const codec::DataBlock& items, arrow::MemoryPool* pool);
  // The items of `keys`, which were checked, as a block of their bytes.
  Result<codec::DataBlock> Gather(const codec::DataBlock& keys, arrow::MemoryPool* pool,
                                  StopCheck* stop = nullptr) const;

 private:
  bool wide_ = false, equal_ = false, alike_ = false;  // 64-bit offsets; items of one length; of lengths not far apart
  uint64_t slot_ = 0, longest_ = 0;                    // 16 or 32 bytes; bytes of the longest item
  BufferPtr slots_, lengths_;                          // one an item
};

// The table of a page's dictionary, made when the first read that is large enough to gain by it asks. Thread-safe.
class LazyItemTable {
 public:
  const ItemTable* For(const codec::DataBlock& items, uint64_t rows) const;

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<const ItemTable> table_;
};

// `items` at `indices` (8 to 64 bits) as a plain block. `table`: of these items, or null. `stop`, unless
// it is null, is asked now and then.
Result<codec::DataBlock> GatherDictionary(const codec::DataBlock& indices, const codec::DataBlock& items,
                                          const Validity& validity, arrow::MemoryPool* pool,
                                          const LazyItemTable* table = nullptr, StopCheck* stop = nullptr);

}  // namespace pilum
