// The words of a column: which rows have them, for certain; what is cut, left out or too much is only possible.
#include "pilum/index/words_builder.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include <random>

#include "pilum/index/part_index.h"
#include "pilum/index/sidecar_builder.h"
#include "pilum/values/words.h"

namespace pilum {
namespace {

using Rng = std::mt19937_64;

SidecarBuilder::Files FilesOf(const std::shared_ptr<arrow::Array>& texts, int64_t step, const char* asked = "words") {
  auto schema = arrow::schema(
      {arrow::field("s", texts->type())->WithMetadata(arrow::key_value_metadata({"pilum:index"}, {asked}))});
  SidecarBuilder builder(*schema);
  for (int64_t at = 0; at < texts->length(); at += step) {
    const int64_t n = std::min(step, texts->length() - at);
    EXPECT_TRUE(builder.Append(*arrow::RecordBatch::Make(schema, n, {texts->Slice(at, n)})).ok());
  }
  return builder.Finish(*schema, Hash128{1}).ValueOrDie();
}

std::shared_ptr<PartIndex> OpenTerms(const std::string& bytes) {
  ReadContext ctx;
  return PartIndex::Open(MakeMemorySource("terms", arrow::Buffer::FromString(bytes)), SidecarKind::kTerms, ctx)
      .ValueOrDie();
}

std::shared_ptr<PartIndex> IndexOf(const std::shared_ptr<arrow::Array>& texts, int64_t step = 300) {
  return OpenTerms(FilesOf(texts, step).terms);
}

Candidates Ask(const PartIndex& index, const std::string& words, bool exact = true) {
  Probe probe{Probe::Kind::kHasWords, {{"s"}}, ValueSet::All(), exact, WordsOf(words, true)};
  ReadContext ctx;
  return index.Answer(probe, ctx).ValueOrDie();
}

TEST(WordsIndex, KnowsTheRowsForCertain) {
  Rng rng(1);
  static const std::vector<std::string> kWords = {"Anna",
                                                  "ANNA",
                                                  "kilo",
                                                  "é",
                                                  "É",
                                                  "検索",
                                                  "ſet",
                                                  "x",
                                                  "42",
                                                  "\xff",
                                                  "a1",
                                                  "zoo",
                                                  "\xE2\x84\xAA"
                                                  "elvin"};
  for (int round = 0; round < 8; ++round) {
    std::vector<std::optional<std::string>> texts(1 + rng() % 3000);
    arrow::StringBuilder b;
    arrow::StringDictionary32Builder coded;
    for (auto& t : texts) {
      if (rng() % 20 != 0) {
        t.emplace();
        for (uint64_t n = rng() % 4; n > 0; --n) *t += kWords[rng() % kWords.size()] + (rng() % 3 ? " " : "-");
      }
      ASSERT_TRUE(t ? b.Append(*t).ok() : b.AppendNull().ok());
      ASSERT_TRUE(t ? coded.Append(*t).ok() : coded.AppendNull().ok());
    }
    std::shared_ptr<arrow::Array> array = b.Finish().ValueOrDie();
    if (round % 2) array = coded.Finish().ValueOrDie();
    const auto index = IndexOf(array, 1 + static_cast<int64_t>(rng() % 900));
    EXPECT_EQ(FilesOf(array, 37).terms, FilesOf(array, 4000).terms) << "bytes depend on the rows alone";
    for (int q = 0; q < 40; ++q) {
      const std::string wanted = kWords[rng() % kWords.size()] + (rng() % 2 ? "" : " " + kWords[rng() % kWords.size()]);
      const WordMatcher oracle(wanted, true);
      const bool exact = q % 4 != 0;
      const auto found = Ask(*index, wanted, exact);
      for (uint64_t i = 0; i < texts.size(); ++i) {
        const bool has = texts[i] && oracle.Matches(*texts[i]);
        if (has) ASSERT_TRUE(found.possible.Contains(i)) << wanted << " in " << *texts[i];
        if (found.certain.Contains(i)) ASSERT_TRUE(has && exact) << wanted;
      }
    }
  }
}

std::shared_ptr<arrow::Array> Hay(const std::function<std::string(int)>& text) {
  arrow::StringBuilder b;
  for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(b.Append(text(i)).ok());
  return b.Finish().ValueOrDie();
}

TEST(WordsIndex, WholeWordsOnly) {
  const auto index =
      IndexOf(Hay([](int i) { return i == 5000 ? "a Needle, in it" : "needles, hay " + std::to_string(i); }));
  EXPECT_EQ(Ask(*index, "needle").certain, RowSet::Range(5000, 5001));
  EXPECT_EQ(Ask(*index, "needle in").possible, RowSet::Range(5000, 5001));
  EXPECT_TRUE(Ask(*index, "needle hay").possible.empty());
  EXPECT_TRUE(Ask(*index, "need").possible.empty()) << "no part of a word";
  EXPECT_EQ(Ask(*index, "7777").certain, RowSet::Range(7777, 7778));
  EXPECT_EQ(Ask(*index, "needle", false).certain, RowSet()) << "the question was inexact";
}

TEST(WordsIndex, WhatIsTooFrequentIsUnknownAndStillHelpsTheOthers) {
  const auto index =
      IndexOf(Hay([](int i) { return (i % 2 ? std::string("odd ") : "even ") + (i % 500 == 3 ? "rare" : "-"); }));
  EXPECT_EQ(Ask(*index, "odd").possible.size(), 10'000u) << "its rows are not listed";
  const auto both = Ask(*index, "odd rare");
  EXPECT_EQ(both.possible.size(), 20u);
  EXPECT_TRUE(both.certain.empty()) << "half of the question is unanswered";
  EXPECT_EQ(Ask(*index, "rare").certain.size(), 20u);
}

TEST(WordsIndex, LongWordsAreToldApartByTheirBeginning) {
  const std::string stem(63, 'w');
  const auto index = IndexOf(Hay([&](int i) {
    return i == 7 ? stem : i == 8 ? stem + "x1" : i == 9 ? stem + "x2" : "-";
  }));
  EXPECT_EQ(Ask(*index, stem).certain, RowSet::Range(7, 8)) << "63 bytes are whole";
  const auto cut = Ask(*index, stem + "x1");
  EXPECT_EQ(cut.possible, RowSet::Range(8, 10));
  EXPECT_TRUE(cut.certain.empty());
}

TEST(WordsIndex, IsAnObjectOfItsOwnOnlyWhereAskedFor) {
  const auto hay = Hay([](int i) { return std::to_string(i); });
  EXPECT_TRUE(FilesOf(hay, 1000, "bloom").terms.empty());
  const auto files = FilesOf(hay, 1000);
  ReadContext ctx;
  auto idx = PartIndex::Open(MakeMemorySource("idx", arrow::Buffer::FromString(files.index)), SidecarKind::kIndex, ctx)
                 .ValueOrDie();
  const FieldPath column{{"s"}}, other{{"t"}};
  EXPECT_TRUE(idx->sidecar().SaysInTerms(&column));
  EXPECT_FALSE(idx->sidecar().SaysInTerms(&other));
  EXPECT_FALSE(
      PartIndex::Open(MakeMemorySource("x", arrow::Buffer::FromString(files.index)), SidecarKind::kTerms, ctx).ok());
}

// A lookup reads the head and one block, not the dictionary.
TEST(WordsIndex, IsReadByRange) {
  Rng rng(3);
  const auto files = FilesOf(Hay([&](int) {
                               return fmt::format("{:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x}", rng(), rng(), rng(), rng(),
                                                  rng(), rng(), rng(), rng());
                             }),
                             1000);
  ASSERT_GT(files.terms.size(), 500'000u);
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  auto index =
      PartIndex::Open(MakeMemorySource("terms", arrow::Buffer::FromString(files.terms)), SidecarKind::kTerms, ctx)
          .ValueOrDie();
  Probe probe{Probe::Kind::kHasWords, {{"s"}}, ValueSet::All(), true, {"nowhere"}};
  EXPECT_TRUE(index->Answer(probe, ctx).ValueOrDie().possible.empty());
  EXPECT_LE(stats.requests.load(), 2u);
  EXPECT_LT(stats.bytes.load(), 100'000u);
}

}  // namespace
}  // namespace pilum
