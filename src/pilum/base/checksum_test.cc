#include "pilum/base/checksum.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace pilum {
namespace {

// XXH3 branches at 0, 4, 9, 17, 129 and 241 bytes, and at stripes of 64 and blocks of 1024.
TEST(Checksum, AllKernelsAgreeAtAllLengths) {
  std::mt19937_64 rng(7);
  std::string bytes(70'000, '\0');
  for (char& c : bytes) c = static_cast<char>(rng());
  for (size_t n = 0; n < bytes.size(); n < 2200 ? ++n : n += 997) {
    const char* at = bytes.data() + n % 5;
    const size_t size = std::min(n, bytes.size() - n % 5);
    const uint64_t want = Checksum64Scalar(at, size);
    ASSERT_EQ(Checksum64(at, size), want) << n;
    for (ChecksumFn f : {Checksum64Avx2(), Checksum64Avx512()}) {
      if (f != nullptr) {
        ASSERT_EQ(f(at, size), want) << n;
      }
    }
  }
}

// From the reference implementation (xxhsum -H3).
TEST(Checksum, PublishedValues) {
  EXPECT_EQ(Checksum64("", 0), 0x2d06800538d394c2u);
  EXPECT_EQ(Checksum64("a", 1), 0xe6c632b61e964e1fu);
  EXPECT_EQ(Checksum64("abc", 3), 0x78af5f94892f3950u);
}

}  // namespace
}  // namespace pilum
