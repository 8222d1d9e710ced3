// Trigrams over blocks of rows: no text that contains a needle is lost; short needles cannot be helped.
#include "pilum/index/trigram_builder.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include <random>

#include "pilum/index/part_index.h"
#include "pilum/index/sidecar_builder.h"
#include "pilum/values/text.h"

namespace pilum {
namespace {

using Rng = std::mt19937_64;

std::string Word(Rng& rng) {
  static const std::vector<std::string> kWords = {"Anna",
                                                  "kilo",
                                                  "STORE",
                                                  "é",
                                                  "検索",
                                                  "\xE2\x84\xAA"
                                                  "elvin",
                                                  "mi\xC5\xBF"
                                                  "t",
                                                  "x",
                                                  "",
                                                  "\xff",
                                                  "ab",
                                                  "abc",
                                                  "line\nbreak",
                                                  "12345",
                                                  "zoo",
                                                  "\xE2"};
  return kWords[rng() % kWords.size()];
}

std::shared_ptr<PartIndex> IndexOf(const std::shared_ptr<arrow::Array>& texts, int64_t step = 300) {
  auto schema = arrow::schema(
      {arrow::field("s", texts->type())->WithMetadata(arrow::key_value_metadata({"pilum:index"}, {"trigrams"}))});
  SidecarBuilder builder(*schema);
  for (int64_t at = 0; at < texts->length(); at += step) {
    const int64_t n = std::min(step, texts->length() - at);
    EXPECT_TRUE(builder.Append(*arrow::RecordBatch::Make(schema, n, {texts->Slice(at, n)})).ok());
  }
  const auto files = builder.Finish(*schema, Hash128{1}).ValueOrDie();
  ReadContext ctx;
  return PartIndex::Open(MakeMemorySource("idx", arrow::Buffer::FromString(files.index)), SidecarKind::kIndex, ctx)
      .ValueOrDie();
}

Candidates Ask(const PartIndex& index, std::vector<std::string> needles, bool folded) {
  Probe probe;
  probe.kind = Probe::Kind::kContains;
  probe.column = {{"s"}};
  probe.set = ValueSet::All();
  probe.exact = false;
  probe.needles = std::move(needles);
  probe.folded = folded;
  ReadContext ctx;
  return index.Answer(probe, ctx).ValueOrDie();
}

TEST(Trigrams, NoTextIsLost) {
  Rng rng(1);
  for (int round = 0; round < 6; ++round) {
    std::vector<std::optional<std::string>> texts(1 + rng() % 3000);
    arrow::StringBuilder b;
    for (auto& t : texts) {
      if (rng() % 20 != 0) {
        t.emplace();
        for (uint64_t n = rng() % 6; n > 0; --n) *t += Word(rng) + (rng() % 2 ? " " : "");
      }
      ASSERT_TRUE(t ? b.Append(*t).ok() : b.AppendNull().ok());
    }
    std::shared_ptr<arrow::Array> array = b.Finish().ValueOrDie();
    if (round % 2) array = array->View(arrow::utf8()).ValueOrDie();
    const auto index = IndexOf(array, 1 + static_cast<int64_t>(rng() % 900));
    for (int q = 0; q < 60; ++q) {
      const bool folded = q % 2;
      std::string needle = Word(rng) + (rng() % 2 ? " " : "") + Word(rng);
      if (folded) needle = FoldCase(needle);
      const auto found = Ask(*index, {needle}, folded);
      EXPECT_TRUE(found.certain.empty());
      for (uint64_t i = 0; i < texts.size(); ++i) {
        if (!texts[i]) continue;
        const std::string text = folded ? FoldCase(*texts[i]) : *texts[i];
        if (text.find(needle) == std::string::npos) continue;
        ASSERT_TRUE(found.possible.Contains(i)) << i << " '" << needle << "' in '" << *texts[i] << "'";
      }
    }
  }
}

TEST(Trigrams, BlocksWithoutTheNeedleAreOut) {
  arrow::StringBuilder b;
  for (int i = 0; i < 10'000; ++i)
    ASSERT_TRUE(b.Append(i == 5000 ? "a needle in it" : "just some hay number " + std::to_string(i)).ok());
  const auto index = IndexOf(b.Finish().ValueOrDie());
  EXPECT_EQ(Ask(*index, {"needle"}, false).possible, RowSet::Range(4992, 5120));
  EXPECT_EQ(Ask(*index, {"NEEDLE"}, false).possible, RowSet::Range(4992, 5120)) << "case is checked again";
  EXPECT_EQ(Ask(*index, {"needle"}, true).possible, RowSet::Range(4992, 5120));
  EXPECT_TRUE(Ask(*index, {"needle", "absent!"}, false).possible.empty());
  EXPECT_EQ(Ask(*index, {"ne"}, false).possible.size(), 10'000u) << "too short to tell";
  EXPECT_EQ(Ask(*index, {"kiss"}, true).possible.size(), 10'000u) << "k and s may be other letters in folded case";
}

TEST(Trigrams, OfDictionaries) {
  arrow::StringDictionary32Builder b;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(b.Append(i == 700 ? "needle" : "hay").ok());
  const auto index = IndexOf(b.Finish().ValueOrDie());
  EXPECT_EQ(Ask(*index, {"needle"}, false).possible, RowSet::Range(640, 768));
}

}  // namespace
}  // namespace pilum
