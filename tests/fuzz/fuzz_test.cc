// Hostile bytes: replays the committed corpora (tests/fuzz/corpus, tests/golden), then mutates them until the budget is
// spent. A case passes when the answer is a result or an error that names the file; crashes, reads out of bounds (under
// the sanitizers), hangs and allocations out of proportion fail. Run: pilum_fuzz_test --seconds 120 [--seed S].
// Seeds are made by: pilum_fuzz_test --make-seeds FROM TO. README.md tells of libFuzzer.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <arrow/api.h>
#include <unistd.h>

#include "pilum/encoding/descriptor.h"
#include "pilum/file/file_reader.h"
#include "pilum/file/schema_wire.h"
#include "pilum/query/query.h"
#include "tests/fuzz/make_seeds.h"
#include "tests/fuzz/page_input.h"
#include "tests/fuzz/targets.h"
#include "tests/support/budget.h"
#include "tests/support/capped_pool.h"
#include "tests/support/paths/source_dir.h"

namespace pilum {
namespace {

namespace fs = std::filesystem;
test::Budget budget;

struct Seed {
  std::string name, bytes;
};

std::vector<Seed> Corpus() {
  std::vector<fs::path> roots = {fs::path(testing::SourceDir()) / "tests" / "golden"};
  fs::path shared = fs::path(testing::SourceDir()).parent_path() / "shared" / "fixtures" / "file";
  if (fs::exists(shared)) roots.push_back(shared);
  std::vector<Seed> out;
  for (const auto& root : roots) {
    if (!fs::exists(root)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".lance" || !entry.is_regular_file() || entry.file_size() > (1 << 20)) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      out.push_back({entry.path().filename().string(), {std::istreambuf_iterator<char>(in), {}}});
    }
  }
  std::sort(out.begin(), out.end(), [](const Seed& a, const Seed& b) { return a.name < b.name; });
  return out;
}

std::string Mutate(std::string b, std::mt19937_64& rng) {
  static const uint64_t kInteresting[] = {
      0, 1, 2, 7, 8, 64, 255, 256, 65535, 65536, 1ull << 31, (1ull << 32) - 1, 1ull << 40, 1ull << 60, ~0ull};
  for (int n = 1 + rng() % 4; n > 0 && !b.empty(); --n) {
    // Half of the damage goes to the tail, where the metadata is.
    size_t at = rng() % 2 ? rng() % b.size() : b.size() - 1 - rng() % std::min<size_t>(b.size(), 600);
    switch (rng() % 7) {
      case 0: b[at] ^= static_cast<char>(1 << rng() % 8); break;
      case 1: b[at] = static_cast<char>(rng()); break;
      case 2: {
        uint64_t v = kInteresting[rng() % std::size(kInteresting)];
        size_t width = size_t{1} << rng() % 4;
        std::memcpy(&b[at], &v, std::min(width, b.size() - at));
        break;
      }
      case 3: b.resize(at); break;
      case 4: b.erase(at, 1 + rng() % 16); break;
      case 5: b.insert(at, std::string(1 + rng() % 16, static_cast<char>(rng()))); break;
      case 6: {
        size_t from = rng() % b.size(), len = std::min<size_t>({1 + rng() % 64, b.size() - from, b.size() - at});
        b.replace(at, len, b.substr(from, len));
        break;
      }
    }
  }
  return b;
}

// The name must be in every error, so that a user knows which of a thousand files it is.
void ExpectNamed(const Status& st, const std::string& name) {
  EXPECT_NE(st.message().find(name), std::string::npos) << st.ToString();
}

void ReadWhole(const std::string& name, const std::string& bytes, std::mt19937_64& rng) {
  test::CappedPool pool(512ll << 20);
  ReadContext ctx;
  ctx.pool = &pool;
  ctx.allow_unstable = true;
  auto opened = FileReader::Open(MakeMemorySource(name, arrow::Buffer::FromString(bytes)), ctx);
  if (!opened.ok()) return ExpectNamed(opened.status(), name);
  const auto& reader = *opened;
  uint64_t rows = std::min<uint64_t>(reader->num_rows(), 100'000);  // a constant page may claim any number of rows
  auto stream = reader->Read(std::nullopt, RowSet::Range(0, rows), {.rows = 1 + rng() % 5000}, ctx);
  if (!stream.ok()) return ExpectNamed(stream.status(), name);
  for (;;) {
    auto batch = (*stream)->Next();
    if (!batch.ok()) {
      ExpectNamed(batch.status(), name);
      break;
    }
    if (!*batch) break;
    Status valid = (*batch)->Validate();
    EXPECT_TRUE(valid.ok()) << valid.ToString();
  }
  if (rows > 0) {
    auto taken = reader->Take(std::nullopt, {rng() % rows, rng() % rows, 0}, ctx);
    if (taken.ok()) {
      EXPECT_TRUE((*taken)->Validate().ok());
    } else
      ExpectNamed(taken.status(), name);
  }
  EXPECT_FALSE(pool.over()) << "asked for " << pool.worst() << " bytes at once for a file of " << bytes.size();
}

void OnHang(int) {
  constexpr char kText[] = "hang: one case took over 20 s\n";
  [[maybe_unused]] auto n = write(2, kText, sizeof kText - 1);
  _exit(3);
}

TEST(Fuzz, CorpusThenMutations) {
  std::signal(SIGALRM, OnHang);
  auto corpus = Corpus();
  ASSERT_FALSE(corpus.empty());
  std::mt19937_64 rng(budget.seed);
  for (const Seed& s : corpus) {
    SCOPED_TRACE(s.name);
    alarm(20);
    ReadWhole(s.name, s.bytes, rng);
  }
  test::Budget half = budget;  // the targets have the other half
  half.start = std::chrono::steady_clock::now();
  half.seconds /= 2;
  while (half.Next()) {
    const Seed& s = corpus[rng() % corpus.size()];
    uint64_t case_seed = rng();
    std::mt19937_64 own(case_seed);
    std::string bytes = Mutate(s.bytes, own);
    SCOPED_TRACE(fmt::format("{} case seed {}", s.name, case_seed));
    alarm(20);
    // The case is on disk while it runs, so that a crash leaves its input behind.
    if (const char* dir = std::getenv("PILUM_FUZZ_KEEP"))
      std::ofstream(std::string(dir) + "/last.lance", std::ios::binary) << bytes;
    ReadWhole(s.name, bytes, own);
    if (::testing::Test::HasFailure()) break;
  }
  alarm(0);
  half.Report("file mutations");
}

std::vector<std::string> CorpusOf(const std::string& target) {
  std::vector<fs::path> paths;
  const auto folder = fs::path(testing::SourceDir()) / "tests" / "fuzz" / "corpus" / target;
  if (fs::exists(folder)) paths.assign(fs::directory_iterator(folder), fs::directory_iterator());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> out;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    out.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return out;
}

// Every target: its corpus as it is, then mutated, an equal share of half the budget each.
TEST(Fuzz, Targets) {
  std::signal(SIGALRM, OnHang);
  const auto& targets = fuzz::Targets();
  for (const fuzz::Target& target : targets) {
    SCOPED_TRACE(target.name);
    const auto corpus = CorpusOf(target.name);
    EXPECT_FALSE(corpus.empty()) << target.name << " has no seeds";
    auto run = [&](const std::string& bytes) {
      alarm(20);
      if (const char* dir = std::getenv("PILUM_FUZZ_KEEP"))
        std::ofstream(fmt::format("{}/last.{}", dir, target.name), std::ios::binary) << bytes;
      return target.run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    };
    for (const std::string& bytes : corpus) EXPECT_EQ(run(bytes), 0) << "a seed that is not of this target";
    if (corpus.empty()) continue;
    test::Budget own = budget;
    own.start = std::chrono::steady_clock::now();
    own.done = 0;
    own.seconds = budget.seconds / 2 / static_cast<double>(targets.size());
    if (own.cases != ~0ull) own.cases = own.cases / targets.size() + 1;
    std::mt19937_64 rng(own.seed);
    while (own.Next()) {
      const std::string& seed = corpus[rng() % corpus.size()];
      auto change = [&](std::string piece) { return Mutate(std::move(piece), rng); };
      run(target.page ? fuzz::ChangePiece(seed, rng(), change) : change(seed));
    }
    own.Report(target.name.c_str());
  }
  alarm(0);
}

TEST(Fuzz, SchemaAndLayoutBytes) {
  std::mt19937_64 rng(budget.seed + 1);
  auto schema = arrow::schema({arrow::field("a", arrow::int32()),
                               arrow::field("l", arrow::list(arrow::struct_({arrow::field("x", arrow::utf8())}))),
                               arrow::field("d", arrow::dictionary(arrow::int8(), arrow::utf8())),
                               arrow::field("t", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"))});
  std::string good = SerializeFileDescriptor(*schema, 7).ValueOrDie();
  PageLayout layout;
  layout.kind = LayoutKind::kMiniBlock;
  layout.layers = {RepDefLayer::kNullableItem, RepDefLayer::kNullAndEmptyList};
  layout.value_codec = CodecDesc{.kind = CodecKind::kFlat, .bits = 32};
  layout.def_codec = layout.rep_codec = CodecDesc{.kind = CodecKind::kFlat, .bits = 16};
  layout.num_buffers = 1;
  layout.num_items = 5;
  std::string good_layout = SerializePageLayout(layout);
  for (int i = 0; i < 20'000; ++i) {
    (void)ParseFileDescriptor(Mutate(good, rng));
    (void)ParsePageLayout(Mutate(good_layout, rng), i % 2 ? FileVersion::kV2_1 : FileVersion::kV2_2);
  }
}

TEST(Fuzz, QueryText) {
  std::mt19937_64 rng(budget.seed + 2);
  auto schema =
      arrow::schema({arrow::field("a", arrow::int32()), arrow::field("s", arrow::utf8()),
                     arrow::field("t", arrow::timestamp(arrow::TimeUnit::MICRO, "UTC")),
                     arrow::field("l", arrow::list(arrow::int64())), arrow::field("dc", arrow::decimal128(10, 2)),
                     arrow::field("f", arrow::float64()), arrow::field("b", arrow::boolean())});
  const std::vector<std::string> good = {
      "a = 1 AND s LIKE 'x%' OR NOT (f > 1.5e3)",   "t BETWEEN timestamp '2024-01-01 00:00:00Z' AND '2024-02-01'",
      "array_has(l, 3) AND b IS NOT TRUE",          "dc IN (1.10, 2, NULL) OR a % 3 = CASE WHEN b THEN 1 ELSE -1 END",
      "\"a\" IS DISTINCT FROM cast(s as int) -- x", "s = 'O''Brien' and starts_with(s, $1)"};
  std::vector<std::shared_ptr<arrow::Array>> columns;
  for (const auto& f : schema->fields()) columns.push_back(arrow::MakeArrayOfNull(f->type(), 3).ValueOrDie());
  auto batch = arrow::RecordBatch::Make(schema, 3, columns);
  ReadContext ctx;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = Mutate(good[rng() % good.size()], rng);
    auto bound = BindPredicate(text, *schema, {});
    if (bound.ok()) {
      (void)(*bound)->Evaluate(*batch, ctx);
    }
  }
}

}  // namespace
}  // namespace pilum

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--make-seeds") return pilum::fuzz::MakeSeeds(argv[2], argv[3]) == 0;
  ::testing::InitGoogleTest(&argc, argv);
  pilum::budget.Parse(argc, argv);
  return RUN_ALL_TESTS();
}
