// A search for words opens only the parts that may have them; segments change no answer.
#include "pilum/part/word_segments.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include <map>
#include <random>
#include <set>

#include "pilum/part/part_store.h"
#include "pilum/part/segment_cache.h"
#include "pilum/part/store_view.h"
#include "pilum/values/words.h"

namespace pilum {
namespace {

class WordSegmentsTest : public ::testing::Test {
 protected:
  // Each part has 200 rows of three random words.
  void PutParts(int parts, const char* asked = "words") {
    for (int p = 0; p < parts; ++p) {
      arrow::StringBuilder b;
      std::set<std::string> words;
      for (int i = 0; i < 200; ++i) {
        std::string text = "The";
        for (int k = 0; k < 3; ++k) text += " w" + std::to_string(rng_() % 20'000);
        if (i == 0) text += " part" + std::to_string(puts_);
        ARROW_UNUSED(b.Append(text));
        for (std::string& word : WordsOf(text, true)) words.insert(std::move(word));
      }
      auto field = arrow::field("s", arrow::utf8());
      if (*asked) field = field->WithMetadata(arrow::key_value_metadata({"pilum:index"}, {asked}));
      const auto rows = arrow::RecordBatch::Make(arrow::schema({field}), 200, {b.Finish().ValueOrDie()});
      auto reader = arrow::RecordBatchReader::Make({rows}, rows->schema()).ValueOrDie();
      const auto put = store_->Put(*reader, {}, ctx_).ValueOrDie();
      ASSERT_EQ(put.new_parts, 1u);
      held_[put.parts[0]] = std::move(words);
      ++puts_;
    }
  }
  DatasetFiles files() const { return {objects_, "d/", "d"}; }
  std::vector<PartFile> Visible() { return ListView(files(), true, ctx_).ValueOrDie().parts.visible; }
  ObjectInfo MakeSegment(size_t from = 0, std::vector<std::string>* notes = nullptr) {
    const auto visible = Visible();
    std::vector<const PartFile*> parts;
    for (size_t i = from; i < visible.size(); ++i) parts.push_back(&visible[i]);
    std::vector<std::string> own;
    return WriteSegment(files(), parts, notes ? notes : &own, ctx_).ValueOrDie();
  }
  static Probe Words(const std::string& words) {
    return {Probe::Kind::kHasWords, {{"s"}}, ValueSet::All(), true, WordsOf(words, true)};
  }
  // Units that the words leave.
  size_t Kept(const std::string& words) {
    const auto snapshot = store_->OpenSnapshot(true, ctx_).ValueOrDie();
    size_t kept = 0;
    for (const auto& unit : snapshot->units()) kept += unit->MayMatch(Words(words), ctx_).ValueOrDie();
    return kept;
  }
  // No part that has the word is lost.
  void ExpectKept(const std::string& word) {
    const auto snapshot = store_->OpenSnapshot(true, ctx_).ValueOrDie();
    for (const auto& unit : snapshot->units()) {
      const bool kept = unit->MayMatch(Words(word), ctx_).ValueOrDie();
      ASSERT_TRUE(kept || !held_.at(unit->name()).contains(word)) << word << " in " << unit->name();
    }
  }

  std::map<std::string, std::set<std::string>> held_;  // by part
  std::mt19937_64 rng_{9};
  int puts_ = 0;
  ReadContext ctx_;
  std::shared_ptr<ObjectStore> objects_ = ObjectStore::Memory();
  std::shared_ptr<PartStore> store_ = PartStore::OpenIn(objects_, "d").ValueOrDie();
};

TEST_F(WordSegmentsTest, OnlyPartsWithTheWordsAreKept) {
  PutParts(20);
  EXPECT_EQ(Kept("part7"), 20u) << "nobody knows";
  const ObjectInfo made = MakeSegment();
  EXPECT_TRUE(made.path.starts_with("d/segments/"));
  EXPECT_EQ(Kept("part7"), 1u);
  EXPECT_EQ(Kept("PART7 the"), 1u);
  EXPECT_EQ(Kept("part7 part8"), 0u);
  EXPECT_EQ(Kept("nowhere"), 0u);
  EXPECT_EQ(Kept("the"), 20u);
  for (int q = 0; q < 200; ++q) ExpectKept("w" + std::to_string(rng_() % 20'000));
  PutParts(3);
  EXPECT_EQ(Kept("part21"), 3u) << "parts that no segment has are kept";
  EXPECT_EQ(Kept("part3"), 1u + 3u);
  MakeSegment();
  EXPECT_EQ(Kept("part3"), 1u) << "the newest counts";
}

TEST_F(WordSegmentsTest, FewPartsAreAskedThemselves) {
  PutParts(5);
  MakeSegment();
  EXPECT_EQ(Kept("part3"), 5u);
}

TEST_F(WordSegmentsTest, ASearchReadsTheSegmentAndOnePart) {
  PutParts(40);
  MakeSegment();
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  const auto snapshot = store_->OpenSnapshot(true, ctx).ValueOrDie();
  const uint64_t before = stats.requests.load();
  size_t kept = 0;
  for (const auto& unit : snapshot->units()) kept += unit->MayMatch(Words("part33"), ctx).ValueOrDie();
  EXPECT_EQ(kept, 1u);
  EXPECT_LE(stats.requests.load() - before, 4u);
}

TEST_F(WordSegmentsTest, WhatCannotBeReadSaysNothing) {
  PutParts(20);
  const ObjectInfo made = MakeSegment();
  auto source = objects_->OpenSource(made.path, ctx_).ValueOrDie();
  const std::string good = source->ReadRange({0, source->size()}, ctx_).ValueOrDie()->ToString();
  const auto write = [&](const std::string& bytes) {
    auto sink = objects_->Create(made.path).ValueOrDie();
    ASSERT_TRUE(sink->Write(bytes.data(), bytes.size()).ok());
    ASSERT_TRUE(sink->Close().ok());
  };
  std::string bad = good;
  for (int i = 0; i < 60; ++i) {
    bad = good;
    bad[rng_() % bad.size()] ^= static_cast<char>(1 << rng_() % 8);
    write(bad);
    ExpectKept("part7");
    ASSERT_GE(Kept("part7"), 1u);
  }
  write(good.substr(0, 50));
  EXPECT_EQ(Kept("part7"), 20u);
  EXPECT_NE(ListSegments(files(), ctx_).ValueOrDie().at(0).note, "");
}

TEST_F(WordSegmentsTest, PartsWithoutWordsAreInNone) {
  PutParts(18, "bloom");
  std::vector<std::string> notes;
  EXPECT_EQ(MakeSegment(0, &notes).path, "");
  EXPECT_EQ(notes.size(), 18u);
  PutParts(2);
  MakeSegment();
  EXPECT_EQ(Kept("nowhere"), 18u);
}

TEST_F(WordSegmentsTest, CheckFindsALostWord) {
  PutParts(16);
  // A segment that takes one part for another.
  WordSegmentBuilder liar;
  const auto visible = Visible();
  for (size_t i = 0; i < visible.size(); ++i) {
    liar.AddPart(IdentityOf(visible[i].content_hash()));
    const auto& other = visible[i == 3 ? 4 : i];
    auto terms = SidecarReader::Open(objects_->OpenSource(files().TermsPath(other.name), ctx_).ValueOrDie(),
                                     SidecarKind::kTerms, ctx_)
                     .ValueOrDie();
    const auto words = InvertedIndex::Open(terms, terms->entries()[0], 200, ctx_).ValueOrDie();
    ASSERT_TRUE(liar.AddColumn({{"s"}}, words, ctx_).ok());
  }
  ASSERT_TRUE(objects_->PutIfAbsent("d/segments/liar.seg", liar.Finish()).ValueOrDie());
  const auto listed = ListSegments(files(), ctx_).ValueOrDie();
  for (size_t i = 0; i < visible.size(); ++i) {
    std::vector<Status> faults;
    ASSERT_TRUE(CheckSegment(files(), listed.at(0), visible[i], i, ctx_, &faults).ok());
    EXPECT_EQ(faults.size(), i == 3 ? 1u : 0u);
    if (i == 3) EXPECT_NE(faults[0].message().find("it loses the word"), std::string::npos);
  }
}

// store maintain: what is new gets a segment, what is there stays, and what has become of no use goes with a sweep.
TEST_F(WordSegmentsTest, MaintainMakesThem) {
  const auto maintain = [&](bool all = false) {
    const MaintainResult result = store_->Maintain({all}, ctx_).ValueOrDie();
    for (const CacheRefresh& one : result.caches) {
      if (one.name == "segments") return one;
    }
    return CacheRefresh{};
  };
  const auto segments = [&] { return ListSegments(files(), ctx_).ValueOrDie().size(); };
  const auto faults = [&] {
    std::vector<Status> found;
    const ListedView view = ListView(files(), true, ctx_).ValueOrDie();
    EXPECT_TRUE(MakeSegmentCache()->Check(files(), view, ctx_, &found).ok());
    return found.size();
  };
  PutParts(15);
  EXPECT_EQ(maintain().written, 0u) << "readers of so few look for none";
  PutParts(5);
  EXPECT_EQ(maintain().fresh, 20u);
  EXPECT_EQ(Kept("part7"), 1u);
  EXPECT_EQ(maintain().written, 0u) << "nothing is new";
  PutParts(4);
  EXPECT_EQ(maintain().fresh, 4u);
  EXPECT_EQ(Kept("part22"), 1u);
  EXPECT_EQ(segments(), 2u);
  EXPECT_EQ(faults(), 0u);
  for (int q = 0; q < 100; ++q) ExpectKept("w" + std::to_string(rng_() % 20'000));
  EXPECT_EQ(maintain(true).fresh, 24u);
  EXPECT_EQ(segments(), 3u);
  ASSERT_TRUE(store_->Sweep({std::chrono::microseconds(0), false}, ctx_).ok());
  EXPECT_EQ(segments(), 1u);
  EXPECT_EQ(Kept("part3"), 1u);
}

}  // namespace
}  // namespace pilum
