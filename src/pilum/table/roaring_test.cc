#include "pilum/table/roaring.h"

#include <random>

#include <gtest/gtest.h>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

template <typename... V>
std::string Words(V... v) {
  std::string out;
  (AppendLE(&out, v), ...);
  return out;
}

using U16 = uint16_t;

// One array container of {1, 5} at key 0 and one of {7} at key 2.
std::string Arrays() {
  return Words(uint32_t{12346}, uint32_t{2}, U16{0}, U16{1}, U16{2}, U16{0}, uint32_t{24}, uint32_t{28}, U16{1}, U16{5},
               U16{7});
}

// A run container at key 1: 10 to 19 and 30.
std::string Runs() {
  return Words(uint32_t{12347}, uint8_t{1}, U16{1}, U16{10}, U16{2}, U16{10}, U16{9}, U16{30}, U16{0});
}

std::string Bitmap(uint16_t cardinality) {
  std::string bits(8192, '\0');
  for (int i = 0; i < 625; ++i) bits[static_cast<size_t>(i)] = '\xff';  // 0 to 4999
  bits[8191] = '\x80';                                                  // 65535
  return Words(uint32_t{12346}, uint32_t{1}, U16{0}, U16(cardinality - 1), uint32_t{16}) + bits;
}

TEST(Roaring, AllContainers) {
  EXPECT_EQ(ParseRoaring32(Arrays()).ValueOrDie(), RowSet::FromSorted({1, 5, (2 << 16) + 7}));
  RowSet runs;
  runs.Append(65536 + 10, 65536 + 20);
  runs.Append(65536 + 30, 65536 + 31);
  EXPECT_EQ(ParseRoaring32(Runs()).ValueOrDie(), runs);
  RowSet bitmap = RowSet::Range(0, 5000);
  bitmap.Append(65535, 65536);
  EXPECT_EQ(ParseRoaring32(Bitmap(5001)).ValueOrDie(), bitmap);
  EXPECT_TRUE(ParseRoaring32(Words(uint32_t{12346}, uint32_t{0})).ValueOrDie().empty());
}

TEST(Roaring, DamageIsAnError) {
  for (const std::string& whole : {Arrays(), Runs(), Bitmap(5001)}) {
    for (size_t n = 0; n < whole.size(); ++n) {
      EXPECT_EQ(KindOf(ParseRoaring32(std::string_view(whole).substr(0, n)).status()), ErrorKind::kCorrupt) << n;
    }
    EXPECT_FALSE(ParseRoaring32(whole + "x").ok());
  }
  EXPECT_FALSE(ParseRoaring32(Bitmap(5002)).ok()) << "fewer bits than it says";
  EXPECT_FALSE(ParseRoaring32(Words(uint32_t{12346}, UINT32_MAX)).ok());
  std::string unsorted = Arrays();
  std::swap(unsorted[24], unsorted[26]);
  EXPECT_FALSE(ParseRoaring32(unsorted).ok());
  // Bytes changed one at a time: any answer but a crash.
  for (const std::string& whole : {Arrays(), Runs()}) {
    for (size_t i = 0; i < whole.size(); ++i) {
      for (int byte = 0; byte < 256; ++byte) {
        std::string changed = whole;
        changed[i] = static_cast<char>(byte);
        (void)ParseRoaring32(changed).ok();
      }
    }
  }
}

TEST(Roaring, WritesWhatItReads) {
  std::mt19937_64 rng(7);
  std::vector<RowSet> sets = {RowSet(), RowSet::Range(0, 1), RowSet::Range(5, 70000), RowSet::Range(0, 65536),
                              RowSet::Range(UINT32_MAX - 2, uint64_t{UINT32_MAX} + 1)};
  for (int i = 0; i < 100; ++i) {
    std::vector<uint64_t> values;
    uint64_t at = rng() % 100000;
    const uint64_t gap = 1 + (uint64_t{1} << (rng() % 14));
    for (uint64_t n = rng() % 9000; n > 0; --n) values.push_back(at += 1 + (rng() % 2 == 0 ? rng() % gap : 0));
    sets.push_back(RowSet::FromSorted(values));
  }
  for (const RowSet& set : sets) {
    auto back = ParseRoaring32(SerializeRoaring32(set));
    ASSERT_TRUE(back.ok()) << back.status().ToString();
    EXPECT_EQ(*back, set);
  }
}

}  // namespace
}  // namespace pilum
