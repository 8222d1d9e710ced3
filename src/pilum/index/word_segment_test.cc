// Parts by word: no part that has the words is lost; what is not covered is possible; nothing in it is trusted.
#include "pilum/index/word_segment.h"

#include <gtest/gtest.h>

#include <arrow/api.h>

#include <random>
#include <set>

#include "pilum/index/words_builder.h"

namespace pilum {
namespace {

const FieldPath kText{{"s"}}, kOther{{"t"}};

std::shared_ptr<const SidecarReader> TermsOf(const std::vector<std::string>& texts) {
  arrow::StringBuilder b;
  for (const auto& t : texts) EXPECT_TRUE(b.Append(t).ok());
  auto words = WordsBuilder::Make(*arrow::utf8());
  EXPECT_TRUE(words->Append(*b.Finish().ValueOrDie()).ok());
  SidecarWriter writer;
  writer.Add(words->Finish(kText));
  ReadContext ctx;
  const auto bytes = writer.Finish(SidecarKind::kTerms, {Hash128{1}, Hash128{2}, texts.size()});
  return SidecarReader::Open(MakeMemorySource("terms", arrow::Buffer::FromString(bytes)), SidecarKind::kTerms, ctx)
      .ValueOrDie();
}

void AddTerms(WordSegmentBuilder* to, const std::vector<std::string>& texts) {
  ReadContext ctx;
  const auto terms = TermsOf(texts);
  const auto index = InvertedIndex::Open(terms, terms->entries()[0], texts.size(), ctx).ValueOrDie();
  ASSERT_TRUE(to->AddColumn(kText, index, ctx).ok());
}

Hash128 Id(uint8_t i) { return Hash128{i, 7}; }

std::shared_ptr<const WordSegment> Opened(const std::string& bytes) {
  ReadContext ctx;
  return WordSegment::Open(MakeMemorySource("seg", arrow::Buffer::FromString(bytes)), ctx).ValueOrDie();
}

TEST(WordSegment, KnowsThePartsOfEachWord) {
  std::mt19937_64 rng(4);
  WordSegmentBuilder builder;
  std::vector<std::set<std::string>> held;
  for (uint8_t p = 0; p < 60; ++p) {
    builder.AddPart(Id(p));
    held.emplace_back();
    if (p % 9 == 4) continue;  // its words are not known
    std::vector<std::string> texts;
    for (int i = 0; i < 40; ++i) {
      const std::string word = "w" + std::to_string(rng() % 3000);
      texts.push_back("The " + word + ", " + std::string(i == 7 ? 80 : 1, 'L'));
      held.back().insert(word);
    }
    AddTerms(&builder, texts);
  }
  const auto segment = Opened(builder.Finish());
  ASSERT_EQ(segment->parts().size(), 60u);
  EXPECT_EQ(segment->parts()[3], Id(3));
  ReadContext ctx;
  for (int q = 0; q < 500; ++q) {
    const std::string word = "w" + std::to_string(rng() % 3000);
    RowSet wanted;
    for (uint64_t p = 0; p < 60; ++p) {
      if (p % 9 == 4 || held[p].contains(word)) wanted.Append(p, p + 1);
    }
    EXPECT_EQ(segment->MayHold(kText, {word}, ctx).ValueOrDie(), wanted) << word;
    EXPECT_EQ(segment->MayHold(kText, {word, "the"}, ctx).ValueOrDie(), wanted) << "the frequent word says nothing";
  }
  EXPECT_EQ(segment->MayHold(kOther, {"w1"}, ctx).ValueOrDie().size(), 60u) << "no such column";
  EXPECT_EQ(segment->MayHold(kText, {std::string(80, 'l')}, ctx).ValueOrDie().size(), 60u);
  EXPECT_EQ(segment->MayHold(kText, {std::string(70, 'x')}, ctx).ValueOrDie().size(), 7u)
      << "parts that are not covered";
}

TEST(WordSegment, DamageIsFoundOrForgiven) {
  WordSegmentBuilder builder;
  for (uint8_t p = 0; p < 10; ++p) {
    builder.AddPart(Id(p));
    AddTerms(&builder, {"alpha " + std::to_string(p), "beta"});
  }
  const std::string good = builder.Finish();
  std::mt19937_64 rng(5);
  ReadContext ctx;
  int opened = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    bad[rng() % bad.size()] ^= static_cast<char>(1 << rng() % 8);
    if (i % 5 == 0) bad.resize(rng() % bad.size());
    auto segment = WordSegment::Open(MakeMemorySource("seg", arrow::Buffer::FromString(bad)), ctx);
    if (!segment.ok()) continue;
    ++opened;
    const RowSet may = (*segment)->MayHold(kText, {"3"}, ctx).ValueOrDie();
    EXPECT_TRUE(may.Contains(3)) << "a segment that is damaged says nothing";
    EXPECT_TRUE(may.IsSubsetOf(RowSet::All(10)));
  }
  EXPECT_GT(opened, 300);
}

}  // namespace
}  // namespace pilum
