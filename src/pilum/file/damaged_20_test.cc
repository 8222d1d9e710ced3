// Files of versions 2.0 and 2.3 with bytes changed: a result or an error that names the file, and nothing else. A short run of
// what tests/fuzz does at length; PILUM_DAMAGE_CASES sets how many changes each file gets.
#include <cstdlib>
#include <cstring>
#include <random>

#include <arrow/api.h>
#include <gtest/gtest.h>

#include "pilum/file/file_reader.h"
#include "pilum/io/byte_source.h"
#include "tests/support/capped_pool.h"
#include "tests/support/lance_test_files.h"

namespace pilum {
namespace {

std::string Damage(std::string b, std::mt19937_64& random) {
  const uint64_t values[] = {0, 1, 7, 255, 65535, 1ull << 31, 1ull << 40, ~0ull};
  for (uint64_t n = 1 + random() % 3; n > 0; --n) {
    const size_t back = random() % 2 ? b.size() : std::min<size_t>(b.size(), 900);  // half in the metadata
    const size_t at = b.size() - 1 - random() % back;
    switch (random() % 4) {
      case 0: b[at] = static_cast<char>(b[at] ^ 1 << random() % 8); break;
      case 1: b[at] = static_cast<char>(random()); break;
      case 2:
        std::memcpy(&b[at], &values[random() % 8], std::min<size_t>(size_t{1} << random() % 4, b.size() - at));
        break;
      default: b[at] = static_cast<char>(b[at] + (random() % 2 ? 1 : -1)); break;
    }
  }
  return b;
}

void ReadAll(const std::string& name, const std::string& bytes, std::mt19937_64& random) {
  test::CappedPool pool(512ll << 20);
  ReadContext ctx;
  ctx.pool = &pool;
  ctx.allow_unstable = true;
  auto expect_named = [&](const Status& st) { EXPECT_NE(st.message().find(name), std::string::npos) << st; };
  auto reader = FileReader::Open(MakeMemorySource(name, arrow::Buffer::FromString(bytes)), ctx);
  if (!reader.ok()) return expect_named(reader.status());
  const uint64_t rows = std::min<uint64_t>((*reader)->num_rows(), 20'000);
  auto stream = (*reader)->Read(std::nullopt, RowSet::All(rows), {.rows = 1 + random() % 3000}, ctx);
  if (!stream.ok()) return expect_named(stream.status());
  while (true) {
    auto batch = (*stream)->Next();
    if (!batch.ok()) expect_named(batch.status());
    if (!batch.ok() || !*batch) break;
    EXPECT_TRUE((*batch)->Validate().ok());
  }
  if (rows > 0) {
    auto taken = (*reader)->Take(std::nullopt, {random() % rows, rows - 1, 0}, ctx);
    if (!taken.ok()) return expect_named(taken.status());
    EXPECT_TRUE((*taken)->Validate().ok());
  }
  EXPECT_FALSE(pool.over()) << pool.worst() << " bytes at once for a file of " << bytes.size();
}

void DamageFolder(const std::string& folder) {
  const char* wanted = std::getenv("PILUM_DAMAGE_CASES");
  const int cases = wanted ? std::atoi(wanted) : 25;
  const std::string more = testing::CorpusDir();
  auto files = testing::LanceFilesIn(testing::GoldenDir() + "/file/" + folder);
  if (wanted && !more.empty()) files = testing::LanceFilesIn(more + "/" + folder);
  ASSERT_FALSE(files.empty());
  for (const std::string& path : files) {
    const std::string good = *testing::ReadBytes(path);
    if (good.size() > 200'000) continue;
    for (int i = 0; i < cases && !::testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(fmt::format("{} case {}", path, i));
      std::mt19937_64 random(static_cast<uint64_t>(i) * 7919 + good.size());
      ReadAll("x.lance", Damage(good, random), random);
    }
  }
}

TEST(Damaged20, ResultOrNamedError) { DamageFolder("v2_0"); }
TEST(Damaged23, ResultOrNamedError) { DamageFolder("unstable_v2_3"); }

}  // namespace
}  // namespace pilum
