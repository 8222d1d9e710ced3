#include "pilum/encoding/dictionary_keys.h"

#include <arrow/memory_pool.h>

#include "pilum/base/recycling_pool.h"
#include "pilum/encoding/bench.h"

namespace pilum {

PILUM_BENCH(DictionaryKeys) {
  constexpr uint64_t kRows = 1 << 16;
  auto* pool = DefaultReadPool();
  for (uint64_t items : {5, 200, 6000}) {
    codec::VariableOut strings;
    if (!strings.Init(false, items, 0, pool).ok()) return;
    for (uint64_t i = 0; i < items; ++i) {
      const std::string s(4 + i * 7 % 18, static_cast<char>('a' + i % 26));
      if (!strings.Append({reinterpret_cast<const uint8_t*>(s.data()), s.size()}).ok()) return;
    }
    const codec::DataBlock block = strings.Finish().ValueOrDie();
    codec::DataBlock keys;
    keys.count = kRows;
    keys.bits = 32;
    auto data = codec::Allocate(kRows * 4, pool).ValueOrDie();
    uint32_t state = 1;
    for (uint64_t i = 0; i < kRows; ++i) {
      state = state * 1664525 + 1013904223;
      reinterpret_cast<uint32_t*>(data->mutable_data())[i] = (state >> 8) % static_cast<uint32_t>(items);
    }
    keys.data = std::move(data);
    const Validity all{kRows, nullptr, 0};
    const LazyItemTable lazy;
    for (const LazyItemTable* table : {static_cast<const LazyItemTable*>(nullptr), &lazy}) {
      bench::Measure(fmt::format("{} keys of {} strings{}", kRows, items, table ? ", by table" : ""), kRows * 16.0,
                     [&] {
                       auto block_out = GatherDictionary(keys, block, all, pool, table);
                       bench::Keep(&block_out);
                     });
    }
  }
}

}  // namespace pilum
