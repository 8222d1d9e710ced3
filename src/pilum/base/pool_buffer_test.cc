#include "pilum/base/pool_buffer.h"

#include <cstring>

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <gtest/gtest.h>

#include "pilum/base/budget_pool.h"

namespace pilum {
namespace {

TEST(PoolBuffer, HoldsItsBytesWhateverItIsResizedTo) {
  arrow::ProxyMemoryPool pool(arrow::default_memory_pool());
  {
    auto buffer = MakePoolBuffer(100, 64, &pool).ValueOrDie();
    EXPECT_EQ(buffer->size(), 100);
    EXPECT_GE(buffer->capacity(), 164);
    EXPECT_TRUE(buffer->is_mutable() && buffer->is_cpu());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    EXPECT_EQ(pool.bytes_allocated(), buffer->capacity());
    std::memset(buffer->mutable_data(), 7, 164);
    for (int64_t size : {10'000, 50, 0, 300}) {
      ASSERT_TRUE(buffer->Resize(size, size < 100).ok());
      EXPECT_EQ(buffer->size(), size);
      EXPECT_EQ(pool.bytes_allocated(), buffer->capacity());
      if (size == 10'000) EXPECT_EQ(buffer->data()[99], 7);
    }
    EXPECT_LT(buffer->capacity(), 1000) << "it was shrunk";
    EXPECT_FALSE(buffer->Reserve(-1).ok());
  }
  EXPECT_EQ(pool.bytes_allocated(), 0);
}

TEST(PoolBuffer, APoolThatRefusesIsAnError) {
  auto pool = BudgetPool::Make(arrow::default_memory_pool(), 1000);
  auto small = MakePoolBuffer(100, 64, pool.get()).ValueOrDie();
  EXPECT_EQ(KindOf(MakePoolBuffer(2000, 64, pool.get()).status()), ErrorKind::kMemory);
  EXPECT_EQ(KindOf(small->Resize(5000, false)), ErrorKind::kMemory);
  EXPECT_EQ(small->size(), 100);
}

}  // namespace
}  // namespace pilum
