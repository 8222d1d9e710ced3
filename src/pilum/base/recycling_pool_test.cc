#include "pilum/base/recycling_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace pilum {
namespace {

constexpr int64_t kMiB = 1 << 20;

uint8_t* Get(RecyclingPool* pool, int64_t size) {
  uint8_t* out = nullptr;
  EXPECT_TRUE(pool->Allocate(size, 64, &out).ok());
  return out;
}

TEST(RecyclingPool, GivesABlockOfAboutTheSameSizeAgain) {
  RecyclingPool pool(arrow::default_memory_pool(), 8 * kMiB);
  uint8_t* first = Get(&pool, 1000000);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  EXPECT_EQ(pool.bytes_allocated(), 1000000);
  pool.Free(first, 1000000, 64);
  EXPECT_EQ(pool.bytes_allocated(), 0);
  EXPECT_GE(pool.bytes_kept(), 1000000);
  EXPECT_EQ(Get(&pool, 990000), first);
  EXPECT_EQ(pool.bytes_kept(), 0);
  pool.Free(first, 990000, 64);
  EXPECT_EQ(pool.max_memory(), 1000000);
  EXPECT_EQ(pool.total_bytes_allocated(), 1990000);
  EXPECT_EQ(pool.num_allocations(), 2);
}

TEST(RecyclingPool, SmallAndHugeBlocksAreNotKept) {
  RecyclingPool pool(arrow::default_memory_pool(), 1000 * kMiB);
  for (int64_t size : {int64_t{0}, int64_t{100}, int64_t{4095}, 65 * kMiB}) {
    uint8_t* block = Get(&pool, size);
    pool.Free(block, size, 64);
    EXPECT_EQ(pool.bytes_kept(), 0) << size;
  }
  uint8_t* wide = nullptr;  // an alignment that kept blocks do not promise
  ASSERT_TRUE(pool.Allocate(kMiB, 4096, &wide).ok());
  pool.Free(wide, kMiB, 4096);
  EXPECT_EQ(pool.bytes_kept(), 0);
}

TEST(RecyclingPool, EverySizeFitsItsBlock) {
  RecyclingPool pool(arrow::default_memory_pool(), 300 * kMiB);
  std::vector<int64_t> sizes;
  for (int64_t p = 1 << 11; p <= 64 * kMiB; p *= 2) {
    for (int64_t step = 4; step < 8; ++step) {
      for (int64_t by : {-1, 0, 1}) sizes.push_back(p / 4 * step + by);
    }
  }
  for (int64_t size : sizes) {
    uint8_t* block = Get(&pool, size);
    block[0] = 1;
    block[size - 1] = 2;  // past a block that is too small, AddressSanitizer complains
    pool.Free(block, size, 64);
    const int64_t kept = pool.bytes_kept();
    EXPECT_TRUE(kept == 0 || (kept >= size && kept <= size + size / 4 + 1)) << size << " in " << kept;
    pool.ReleaseUnused();
  }
}

TEST(RecyclingPool, KeepsNoMoreThanItsBound) {
  RecyclingPool pool(arrow::default_memory_pool(), 3 * kMiB);
  const int64_t below = arrow::default_memory_pool()->bytes_allocated();
  std::vector<uint8_t*> blocks;
  for (int i = 0; i < 10; ++i) blocks.push_back(Get(&pool, kMiB));
  for (uint8_t* b : blocks) pool.Free(b, kMiB, 64);
  EXPECT_EQ(pool.bytes_kept(), 3 * kMiB);
  EXPECT_EQ(arrow::default_memory_pool()->bytes_allocated() - below, 3 * kMiB);
  // Sizes that are wanted now push out those that are not.
  uint8_t* other = Get(&pool, 2 * kMiB);
  pool.Free(other, 2 * kMiB, 64);
  EXPECT_EQ(pool.bytes_kept(), 3 * kMiB);
  EXPECT_EQ(Get(&pool, 2 * kMiB), other);
  pool.Free(other, 2 * kMiB, 64);
  pool.ReleaseUnused();
  EXPECT_EQ(pool.bytes_kept(), 0);
  EXPECT_EQ(arrow::default_memory_pool()->bytes_allocated(), below);
}

TEST(RecyclingPool, ReallocateKeepsTheBytes) {
  RecyclingPool pool(arrow::default_memory_pool(), 8 * kMiB);
  int64_t size = 100;
  uint8_t* block = Get(&pool, size);
  std::memset(block, 7, size);
  for (int64_t to : {int64_t{20000}, int64_t{20100}, kMiB, int64_t{70} * kMiB, int64_t{30000}, int64_t{50}}) {
    ASSERT_TRUE(pool.Reallocate(size, to, 64, &block).ok());
    for (int64_t i = 0; i < 50; ++i) ASSERT_EQ(block[i], 7) << to;
    EXPECT_EQ(pool.bytes_allocated(), to);
    size = to;
  }
  pool.Free(block, size, 64);
  EXPECT_EQ(pool.bytes_allocated(), 0);
}

TEST(RecyclingPool, ManyThreadsNeverShareABlock) {
  RecyclingPool pool(arrow::default_memory_pool(), 2 * kMiB);
  std::vector<std::thread> threads;
  std::atomic<int> faults{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < 2000; ++i) {
        const int64_t size = 16384 + random() % 100000;
        uint8_t* block = Get(&pool, size);
        std::memset(block, t, static_cast<size_t>(size));
        if (i % 16 == 0) std::this_thread::yield();
        for (int64_t at = 0; at < size; at += 997) faults += block[at] != t;
        pool.Free(block, size, 64);
      }
    });
  }
  for (auto& t : threads) t.join();
  EXPECT_EQ(faults, 0);
  EXPECT_EQ(pool.bytes_allocated(), 0);
  EXPECT_LE(pool.bytes_kept(), 2 * kMiB);
}

TEST(RecyclingPool, AChildProcessCanUseTheDefaultOne) {
  // The pool below is Arrow's, whose mimalloc may keep a lock in a child that is forked while it allocates: what is tested is
  // ours, so there is a block on the shelf before anybody forks.
  DefaultReadPool()->Free(Get(DefaultReadPool(), kMiB), kMiB, 64);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      uint8_t* block = Get(DefaultReadPool(), kMiB);
      DefaultReadPool()->Free(block, kMiB, 64);
    }
  });
  for (int i = 0; i < 20; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a lock that nobody holds any more would block for ever
      uint8_t* block = nullptr;
      const bool ok = DefaultReadPool()->Allocate(kMiB, 64, &block).ok();
      _exit(ok ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

}  // namespace
}  // namespace pilum
