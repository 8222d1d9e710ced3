// Postings, and inverted indexes read by range: every type, cost, what is left out, hostile bytes.
#include "pilum/index/inverted_index.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "pilum/index/index_test_data.h"
#include "pilum/index/inverted_builder.h"

namespace pilum {
namespace {

using testdata::Rng;
using testdata::Spread;

struct Built {
  std::shared_ptr<const SidecarReader> reader;
  std::optional<InvertedIndex> index;
  uint64_t distinct = 0;
};

Built Open(const SidecarWriter::Section& section, uint64_t rows) {
  SidecarWriter writer;
  writer.Add(section);
  const std::string bytes = writer.Finish(SidecarKind::kIndex, {{}, {}, rows});
  ReadContext ctx;
  Built out;
  out.reader = SidecarReader::Open(MakeMemorySource("mem", arrow::Buffer::FromString(bytes)), SidecarKind::kIndex, ctx)
                   .ValueOrDie();
  out.index.emplace(InvertedIndex::Open(out.reader, out.reader->entries()[0], rows, ctx).ValueOrDie());
  return out;
}

Built Build(const arrow::Array& array, int64_t step = 1000) {
  auto builder = InvertedBuilder::Make(*array.type(), true);
  for (int64_t at = 0; at < array.length(); at += step) {
    EXPECT_TRUE(builder->Append(*array.Slice(at, std::min(step, array.length() - at))).ok());
  }
  EXPECT_FALSE(builder->gave_up()) << builder->why();
  const uint64_t distinct = builder->distinct();
  Built out = Open(builder->Finish({{"c"}}, SectionFamily::kInverted), static_cast<uint64_t>(array.length()));
  out.distinct = distinct;
  return out;
}

std::shared_ptr<arrow::Array> Ints(const std::vector<int64_t>& v) {
  arrow::Int64Builder b;
  EXPECT_TRUE(b.AppendValues(v).ok());
  return b.Finish().ValueOrDie();
}

TEST(Postings, ComeBackAsTheyWere) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const uint64_t n = 1 + rng() % 5000;
    PostingsBuilder builder;
    RowSet rows;
    const uint64_t density = 1 + rng() % 40;
    for (uint64_t i = 0; i < n; ++i) {
      if (rng() % 40 >= density) continue;
      builder.Add(i);
      if (rng() % 4 == 0) builder.Add(i);  // once more, of a list
      rows.Append(i, i + 1);
    }
    EXPECT_EQ(builder.rows(), rows.size());
    EXPECT_EQ(builder.runs(), rows.ranges().size());
    const std::string bytes = builder.Finish();
    EXPECT_EQ(bytes, PostingsOf(rows));
    std::vector<RowRange> back;
    ASSERT_TRUE(ReadPostings(bytes, n, &back));
    EXPECT_EQ(RowSet::FromRanges(back), rows);
    back.clear();
    if (!rows.empty()) {
      EXPECT_FALSE(ReadPostings(bytes, rows.ranges().back().end - 1, &back)) << "a row past the part";
    }
  }
}

TEST(Postings, UnionsOfManyRunsAreThoseOfSortedOnes) {
  Rng rng(11);
  for (int round = 0; round < 200; ++round) {
    const uint64_t n = 1 + rng() % 3000;
    std::vector<RowRange> runs;
    for (uint64_t k = rng() % (round % 3 ? 400 : 8); k > 0; --k) {
      const uint64_t begin = rng() % n;
      runs.push_back({begin, std::min(n, begin + 1 + rng() % (round % 2 ? 3 : 200))});
    }
    EXPECT_EQ(UnionOfRuns(runs, n), RowSet::FromRanges(runs));
  }
}

TEST(Postings, HostileBytesAreRefusedOrRowsOfThePart) {
  Rng rng(2);
  for (int i = 0; i < 20000; ++i) {
    std::string bytes(rng() % 30, 0);
    for (char& c : bytes) c = static_cast<char>(rng() % 3 ? rng() % 8 : rng());
    std::vector<RowRange> runs;
    if (!ReadPostings(bytes, 1000, &runs)) continue;
    EXPECT_TRUE(RowSet::FromRanges(runs).IsSubsetOf(RowSet::All(1000)));
  }
}

TEST(Inverted, EachValueOfEveryTypeHasItsRows) {
  Rng rng(3);
  for (const auto& type : testdata::OrderedTypes()) {
    for (const auto spread : {Spread::kFew, Spread::kMany, Spread::kAscending}) {
      const auto array = testdata::RandomArray(rng, type, 3000, spread, 5);
      const Built built = Build(*array, 1 + static_cast<int64_t>(rng() % 3000));
      std::vector<std::optional<Value>> values;
      for (int64_t i = 0; i < array->length(); ++i) values.push_back(ValueAt(*array, i).ValueOrDie());
      auto rows_of = [&](const ValueSet& set) {
        RowSet rows;
        for (uint64_t i = 0; i < values.size(); ++i) {
          if (values[i] && set.Contains(*values[i])) rows.Append(i, i + 1);
        }
        return rows;
      };
      ReadContext ctx;
      uint64_t seen = 0;
      ASSERT_TRUE(built.index
                      ->ForEach(
                          [&](const Value& v, const RowSet& rows) {
                            ++seen;
                            if (seen % 50 == 0) {
                              EXPECT_EQ(rows, rows_of(ValueSet::Point(v))) << type->ToString();
                            }
                          },
                          ctx)
                      .ok());
      EXPECT_LE(seen, built.distinct);
      for (int q = 0; q < 30; ++q) {
        const auto &a = values[rng() % values.size()], &b = values[rng() % values.size()];
        if (!a || !b) continue;
        const bool swap = Compare(*a, *b) > 0;
        ValueSet set = q % 3 == 0   ? ValueSet::Point(*a)
                       : q % 3 == 1 ? ValueSet::Points({*a, *b})
                                    : ValueSet::Of({Bound{swap ? *b : *a, q % 2 == 0}, Bound{swap ? *a : *b, true}});
        if (q % 5 == 0) set = set.Complement();
        const auto answer = built.index->Rows(set, 1u << 30, true, ctx).ValueOrDie();
        if (!answer) continue;  // postings of a value that is nearly everywhere are left out
        EXPECT_EQ(answer->rows, rows_of(answer->outside ? set.Complement() : set))
            << type->ToString() << set.ToString();
      }
    }
  }
}

TEST(Inverted, ALookupReadsItsBlockAlone) {
  std::vector<int64_t> v(400'000);
  Rng rng(4);
  for (auto& x : v) x = static_cast<int64_t>(rng() % 50'000);
  const Built built = Build(*Ints(v));
  EXPECT_GT(built.distinct, 49'000u);
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  const auto answer = built.index->Rows(ValueSet::Point(Value::Int(40'777)), v.size(), true, ctx).ValueOrDie();
  ASSERT_TRUE(answer);
  RowSet exact;
  for (uint64_t i = 0; i < v.size(); ++i) {
    if (v[i] == 40'777) exact.Append(i, i + 1);
  }
  EXPECT_EQ(answer->rows, exact);
  EXPECT_EQ(stats.requests, 1u);
  EXPECT_LT(stats.bytes, 40'000u) << "of " << built.reader->entries()[0].length;
  // Thousands of values at once: still exact, where they do not touch every block.
  std::vector<Value> many;
  for (int64_t i = 20'000; i < 22'000; ++i) many.push_back(Value::Int(i));
  const auto in_list = built.index->Rows(ValueSet::Points(many), v.size(), true, ctx).ValueOrDie();
  ASSERT_TRUE(in_list);
  RowSet wanted;
  for (uint64_t i = 0; i < v.size(); ++i) {
    if (v[i] >= 20'000 && v[i] < 22'000) wanted.Append(i, i + 1);
  }
  EXPECT_EQ(in_list->rows, wanted);
  many.clear();
  for (int64_t i = 0; i < 50'000; i += 25) many.push_back(Value::Int(i));
  EXPECT_FALSE(built.index->Rows(ValueSet::Points(many), v.size(), true, ctx).ValueOrDie())
      << "all of the index would cost more than the column";
}

TEST(Inverted, WhatWouldNotPayIsNotRead) {
  std::vector<int64_t> v(100'000);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int64_t>(i % 2);
  const Built built = Build(*Ints(v));
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  EXPECT_FALSE(built.index->Rows(ValueSet::Point(Value::Int(1)), v.size(), true, ctx).ValueOrDie());
  EXPECT_EQ(stats.requests, 0u);
  EXPECT_FALSE(built.index->Rows(ValueSet::Point(Value::Text("x")), v.size(), true, ctx).ValueOrDie());
}

TEST(Inverted, TooMuchSaysItCannotHelp) {
  std::vector<int64_t> v(InvertedBuilder::kMaxDistinct + 1);
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<int64_t>(i);
  auto full = InvertedBuilder::Make(*arrow::int64(), true);
  ASSERT_TRUE(full->Append(*Ints(v)->Slice(1)).ok());
  EXPECT_FALSE(full->gave_up());
  ASSERT_TRUE(full->Append(*Ints({-1})).ok());
  EXPECT_TRUE(full->gave_up());
  auto unasked = InvertedBuilder::Make(*arrow::int64(), false);
  ASSERT_TRUE(unasked->Append(*Ints(v)).ok());
  EXPECT_TRUE(unasked->gave_up());
  EXPECT_EQ(unasked->why(), "nearly all of its values are distinct");
  // Values that come again soon enough are not taken for keys by the first rows.
  std::vector<int64_t> repeats(200'000);
  Rng rng(11);
  for (int64_t& x : repeats) x = static_cast<int64_t>(rng() % 60'000);
  auto kept = InvertedBuilder::Make(*arrow::int64(), false);
  ASSERT_TRUE(kept->Append(*Ints(repeats)).ok());
  EXPECT_FALSE(kept->gave_up()) << kept->why();
  arrow::StringBuilder long_text;
  ASSERT_TRUE(long_text.Append(std::string(1025, 'x')).ok());
  auto text = InvertedBuilder::Make(*arrow::utf8(), true);
  ASSERT_TRUE(text->Append(*long_text.Finish().ValueOrDie()).ok());
  EXPECT_TRUE(text->gave_up());
  EXPECT_EQ(InvertedBuilder::Make(*arrow::list(arrow::int8()), true), nullptr);
}

TEST(Inverted, Lists) {
  const auto lists =
      arrow::json::ArrayFromJSONString(arrow::list(arrow::utf8()), R"([["a", "b", "a"], null, [], [null, "a"], ["c"]])")
          .ValueOrDie();
  auto builder = InvertedBuilder::Make(*arrow::utf8(), true);
  ASSERT_TRUE(builder->AppendLists(*lists->Slice(0, 2)).ok());
  ASSERT_TRUE(builder->AppendLists(*lists->Slice(2)).ok());
  const Built built = Open(builder->Finish({{"l"}}, SectionFamily::kMembers), 5);
  ReadContext ctx;
  auto rows = [&](const char* v) {
    return built.index->Rows(ValueSet::Point(Value::Text(v)), 5, false, ctx).ValueOrDie()->rows;
  };
  EXPECT_EQ(rows("a"), RowSet::FromSorted({0, 3}));
  EXPECT_EQ(rows("b"), RowSet::FromSorted({0}));
  EXPECT_EQ(rows("z"), RowSet());
}

// Sections whose hashes are right and whose contents are not.
TEST(Inverted, HostileBytes) {
  Rng rng(5);
  for (const auto& type : {arrow::int32(), arrow::utf8(), arrow::decimal128(20, 3), arrow::float64()}) {
    const auto array = testdata::RandomArray(rng, type, 2000, Spread::kFew, 5);
    auto builder = InvertedBuilder::Make(*type, true);
    ASSERT_TRUE(builder->Append(*array).ok());
    const auto good = builder->Finish({{"c"}}, SectionFamily::kInverted);
    const Built whole = Open(good, 2000);
    ReadContext ctx;
    const BlockRoot root = whole.reader->ReadRoot(whole.reader->entries()[0], ctx).ValueOrDie();
    const auto blocks = whole.reader->ReadBlocks(root.blocks, ctx).ValueOrDie();
    auto harmed = [&](std::string b) {
      for (int n = 1 + static_cast<int>(rng() % 3); n > 0 && !b.empty(); --n) {
        const size_t at = rng() % b.size();
        if (rng() % 8 == 0)
          b.resize(at);
        else if (rng() % 4 == 0)
          b.insert(at, std::string(1 + rng() % 9, static_cast<char>(rng())));
        else
          b[at] = static_cast<char>(rng() % 2 ? rng() : b[at] ^ (1 << rng() % 8));
      }
      return b;
    };
    int opened = 0;
    for (int i = 0; i < 3000; ++i) {
      BlockSection section;
      for (const auto& b : blocks) section.AddBlock(i % 2 ? harmed(b) : b);
      SidecarWriter writer;
      writer.Add(SidecarWriter::PackBlocks({{{"c"}}}, SectionFamily::kInverted, section,
                                           i % 2 ? root.family : harmed(root.family)));
      const std::string bytes = writer.Finish(SidecarKind::kIndex, {{}, {}, 2000});
      auto reader =
          SidecarReader::Open(MakeMemorySource("mem", arrow::Buffer::FromString(bytes)), SidecarKind::kIndex, ctx)
              .ValueOrDie();
      auto index = InvertedIndex::Open(reader, reader->entries()[0], 2000, ctx);
      if (!index.ok()) continue;
      ++opened;
      for (int q = 0; q < 4; ++q) {
        const auto v = ValueAt(*array, static_cast<int64_t>(rng() % 2000)).ValueOrDie();
        if (!v) continue;
        ValueSet set = q % 2 ? ValueSet::Point(*v) : ValueSet::Of({Bound{*v, true}, std::nullopt});
        auto answer = index->Rows(set, 1u << 20, true, ctx);
        if (!answer.ok() || !*answer) continue;
        EXPECT_TRUE((*answer)->rows.IsSubsetOf(RowSet::All(2000)));
      }
      (void)index->ForEach([](const Value&, const RowSet&) {}, ctx);
    }
    EXPECT_GT(opened, 100) << type->ToString();
  }
}

}  // namespace
}  // namespace pilum
