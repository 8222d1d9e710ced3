// Bytes from outside: cut, changed and made up. A Status or a whole sketch, never more memory than the bytes justify.
#include <cstdlib>
#include <new>

#include "pilum/sketch/sketch_test_support.h"

namespace {
thread_local bool watching = false;
thread_local size_t largest = 0;
}  // namespace

#ifndef __SANITIZE_ADDRESS__  // which has its own
void* operator new(size_t size) {
  if (watching && size > largest) largest = size;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
#endif

namespace pilum {
namespace {

template <typename S>
std::vector<std::string> Valid() {
  std::mt19937_64 rng(7);
  std::vector<std::string> out;
  for (size_t n : {0, 1, 30, 600, 9000}) out.push_back(SketchOf<S>(Int64s(RandomRows(rng, n))).ToBytes());
  if constexpr (std::is_same_v<S, FuseFilter>) {
    FuseFilter s = SketchOf<S>(Int64s(RandomRows(rng, 500)));
    EXPECT_TRUE(s.Seal().ok());
    out.push_back(s.ToBytes());
  }
  if constexpr (std::is_same_v<S, TDigest> || std::is_same_v<S, Kll>) {
    out.push_back(SketchOf<S>(Doubles({1, -0.0, INFINITY, -INFINITY, NAN, 1e308, -1e308, 5e-324})).ToBytes());
  }
  if constexpr (std::is_same_v<S, Moments>) {
    Moments m = Moments::Empty({Domain::kFloat, 0}).ValueOrDie();
    EXPECT_TRUE(m.Update(*Doubles({1, INFINITY, NAN, 1e308, 5e-324, -3})).ok());
    out.push_back(m.ToBytes());
    Moments t = Moments::Empty({Domain::kText, 0}).ValueOrDie();
    EXPECT_TRUE(t.Update(*Texts({1, 2, 3})).ok());
    out.push_back(t.ToBytes());
  }
  if constexpr (std::is_same_v<S, HeavyHitters>) {
    S s = SketchOf<S>(Texts({1, 1, 2, 3}));
    EXPECT_TRUE(s.Update(*Doubles({0.5, NAN})).ok());
    out.push_back(s.ToBytes());
  }
  return out;
}

// What decodes must be usable and keep its bytes.
template <typename S>
void Try(const std::string& bytes) {
  largest = 0;
  watching = true;
  auto s = S::FromBytes(bytes, "hostile");
  watching = false;
  ASSERT_LE(largest, 64 * bytes.size() + (1u << 16)) << S::kName << " of " << bytes.size() << " bytes";
  if (!s.ok()) {
    const ErrorKind kind = KindOf(s.status());
    ASSERT_TRUE(kind == ErrorKind::kCorrupt || kind == ErrorKind::kUnsupported) << s.status().message();
    return;
  }
  const std::string kept = s->ToBytes();
  ASSERT_EQ(S::FromBytes(kept, "again").ValueOrDie().ToBytes(), kept) << S::kName;
  S other = *s;
  (void)other.Merge(*s);
  (void)other.Update(*Int64s({1, 2, 3}));
  (void)other.ToBytes();
}

template <typename S>
class HostileBytes : public testing::Test {};
TYPED_TEST_SUITE(HostileBytes, AllSketches);

TYPED_TEST(HostileBytes, CutAnywhere) {
  for (const std::string& bytes : Valid<TypeParam>()) {
    for (size_t n = 0; n < bytes.size(); n += n < 200 ? 1 : 61) {
      ASSERT_FALSE(TypeParam::FromBytes(bytes.substr(0, n), "x").ok()) << n << " of " << bytes.size();
    }
    ASSERT_FALSE(TypeParam::FromBytes(bytes + '\0', "x").ok());
  }
}

TYPED_TEST(HostileBytes, Changed) {
  std::mt19937_64 rng(8);
  for (const std::string& bytes : Valid<TypeParam>()) {
    for (size_t i = 0; i < SketchHeader::kBytes * 8; ++i) {  // every bit of the header
      std::string bad = bytes;
      bad[i / 8] = static_cast<char>(bad[i / 8] ^ 1 << i % 8);
      Try<TypeParam>(bad);
    }
    for (int round = 0; round < 400; ++round) {
      std::string bad = bytes;
      for (uint64_t n = 1 + rng() % 4; n > 0; --n) {
        const size_t at = 8 + rng() % (rng() % 2 == 0 ? std::min<size_t>(80, bad.size() - 8) : bad.size() - 8);
        const uint64_t kind = rng() % 4;
        bad[at] = static_cast<char>(kind == 0 ? 0 : kind == 1 ? 0xFF : kind == 2 ? rng() : bad[at] ^ 1 << rng() % 8);
      }
      if (rng() % 8 == 0) bad.resize(8 + rng() % (bad.size() - 8));
      Try<TypeParam>(bad);
      if (this->HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace pilum
