#include "pilum/encoding/dictionary_keys.h"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <random>

namespace pilum {
namespace {

codec::DataBlock Strings(const std::vector<std::string>& values, bool wide) {
  codec::VariableOut out;
  EXPECT_TRUE(out.Init(wide, values.size(), 0, arrow::default_memory_pool()).ok());
  for (const auto& v : values) {
    EXPECT_TRUE(out.Append({reinterpret_cast<const uint8_t*>(v.data()), v.size()}).ok());
  }
  return out.Finish().ValueOrDie();
}

codec::DataBlock Keys(const std::vector<uint64_t>& keys, uint64_t bits) {
  codec::DataBlock b;
  b.count = keys.size();
  b.bits = bits;
  auto data = codec::Allocate(keys.size() * bits / 8, arrow::default_memory_pool()).ValueOrDie();
  for (size_t i = 0; i < keys.size(); ++i) std::memcpy(data->mutable_data() + i * bits / 8, &keys[i], bits / 8);
  b.data = std::move(data);
  return b;
}

std::vector<std::string> Values(const codec::DataBlock& b) {
  std::vector<std::string> out;
  auto offset = [&](uint64_t i) {
    return b.wide ? reinterpret_cast<const int64_t*>(b.offsets->data())[i]
                  : int64_t{reinterpret_cast<const int32_t*>(b.offsets->data())[i]};
  };
  const char* bytes = reinterpret_cast<const char*>(b.data->data());
  for (uint64_t i = 0; i < b.count; ++i) out.emplace_back(bytes + offset(i), bytes + offset(i + 1));
  EXPECT_EQ(b.data->size(), offset(b.count));
  return out;
}

TEST(DictionaryKeys, TheTableGivesWhatPlainGatheringGives) {
  std::mt19937 random(1);
  for (uint64_t longest : {0, 1, 16, 17, 32, 33, 80}) {
    for (bool wide : {false, true}) {
      std::vector<std::string> items(200);
      for (auto& s : items) s = std::string(random() % (longest + 1), static_cast<char>('a' + random() % 26));
      items[7] = std::string(longest, 'z');
      const auto block = Strings(items, wide);
      EXPECT_EQ(ItemTable::Make(block, arrow::default_memory_pool()) != nullptr, longest <= 32) << longest;
      for (uint64_t bits : {8, 16, 32, 64}) {
        for (size_t n : {0, 1, 3, 998, 1000}) {
          std::vector<uint64_t> keys(n);
          std::vector<std::string> want;
          for (auto& k : keys) want.push_back(items[k = random() % items.size()]);
          const Validity valid{n, nullptr, 0};
          LazyItemTable table;
          auto* pool = arrow::default_memory_pool();
          auto with = GatherDictionary(Keys(keys, bits), block, valid, pool, &table);
          auto without = GatherDictionary(Keys(keys, bits), block, valid, pool);
          ASSERT_TRUE(with.ok() && without.ok());
          EXPECT_EQ(Values(*with), want);
          EXPECT_EQ(Values(*without), want);
        }
      }
    }
  }
}

TEST(DictionaryKeys, ItemsOfOneLength) {
  for (uint64_t length : {0, 5, 16, 21, 32}) {
    for (bool wide : {false, true}) {
      std::vector<std::string> items;
      for (char c = 'a'; c <= 'z'; ++c) items.emplace_back(length, c);
      std::vector<uint64_t> keys;
      std::vector<std::string> want;
      for (uint64_t i = 0; i < 500; ++i) keys.push_back(i * 7 % 26), want.push_back(items[keys.back()]);
      LazyItemTable table;
      auto got = GatherDictionary(Keys(keys, 16), Strings(items, wide), Validity{500, nullptr, 0},
                                  arrow::default_memory_pool(), &table);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(Values(*got), want);
    }
  }
}

// Room for the longest item a row is not kept where rows turn out to be short.
TEST(DictionaryKeys, RoomIsGivenBack) {
  const std::vector<std::string> items = {std::string(8, 'a'), std::string(20, 'b'), std::string(20, 'c')};
  for (bool wide : {false, true}) {
    for (uint64_t every : {1, 3, 1000000}) {  // how often a long item comes
      std::vector<uint64_t> keys;
      std::vector<std::string> want;
      for (uint64_t i = 1; i <= 20000; ++i) {
        keys.push_back(i % every == 0 ? 1 + i % 2 : 0);
        want.push_back(items[keys.back()]);
      }
      LazyItemTable table;
      auto got = GatherDictionary(Keys(keys, 32), Strings(items, wide), Validity{keys.size(), nullptr, 0},
                                  arrow::default_memory_pool(), &table);
      ASSERT_TRUE(got.ok()) << got.status();
      EXPECT_EQ(Values(*got), want);
      EXPECT_LE(got->data->capacity(), 2 * got->data->size() + 1024);
    }
  }
}

TEST(DictionaryKeys, KeysPastTheItemsAreRefusedUnlessNull) {
  const auto items = Strings({"a", "b", "c"}, false);
  uint8_t bits = 0b11011;  // slot 2 is null
  const Validity some{5, std::make_shared<arrow::Buffer>(&bits, 1), 1}, all{5, nullptr, 0};
  auto* pool = arrow::default_memory_pool();
  for (uint64_t width : {8, 16, 32, 64}) {
    const std::vector<uint64_t> keys = {0, 2, 200, 1, 1};
    for (const bool use_table : {false, true}) {
      LazyItemTable lazy;
      const LazyItemTable* table = use_table ? &lazy : nullptr;
      auto ok = GatherDictionary(Keys(keys, width), items, some, pool, table);
      ASSERT_TRUE(ok.ok()) << ok.status();
      EXPECT_EQ(Values(*ok), (std::vector<std::string>{"a", "c", "a", "b", "b"}));
      EXPECT_EQ(KindOf(GatherDictionary(Keys(keys, width), items, all, pool, table).status()), ErrorKind::kCorrupt);
      EXPECT_EQ(KindOf(GatherDictionary(Keys({0, 3, 0, 0, 0}, width), items, some, pool, table).status()),
                ErrorKind::kCorrupt);
    }
  }
}

// A key past the end wherever it lies in a vector's width, in blocks of any length.
TEST(DictionaryKeys, EveryPlaceIsLookedAt) {
  for (size_t n = 1; n < 140; ++n) {
    for (size_t bad = 0; bad < n; bad += 1 + n / 9) {
      std::vector<uint64_t> keys(n, 9);
      const Validity all{n, nullptr, 0};
      for (uint64_t width : {8, 16, 32, 64}) {
        EXPECT_TRUE(CheckKeys(Keys(keys, width), 10, all).ok());
        auto wrong = keys;
        wrong[bad] = 10;
        EXPECT_FALSE(CheckKeys(Keys(wrong, width), 10, all).ok()) << n << " " << bad << " " << width;
        wrong[bad] = width == 64 ? UINT64_MAX : (uint64_t{1} << width) - 1;
        EXPECT_FALSE(CheckKeys(Keys(wrong, width), 10, all).ok()) << n << " " << bad << " " << width;
      }
    }
  }
}

}  // namespace
}  // namespace pilum
