// Indexes over pairs of columns: the rows of both values at once, for certain; which pairs are built.
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/index/index_test_data.h"
#include "pilum/index/part_index.h"
#include "pilum/index/sidecar_builder.h"

namespace pilum {
namespace {

using testdata::Rng;
using testdata::Spread;

struct Built {
  std::shared_ptr<PartIndex> index, header;
  std::vector<BuildDecision> decisions;
};

Built BuildOf(const std::shared_ptr<arrow::RecordBatch>& rows, int64_t step = 1000) {
  SidecarBuilder builder(*rows->schema());
  for (int64_t at = 0; at < rows->num_rows(); at += step) EXPECT_TRUE(builder.Append(*rows->Slice(at, step)).ok());
  const auto files = builder.Finish(*rows->schema(), Hash128{1}).ValueOrDie();
  ReadContext ctx;
  const auto open = [&](const std::string& bytes, SidecarKind kind) {
    return PartIndex::Open(MakeMemorySource("mem", arrow::Buffer::FromString(bytes)), kind, ctx).ValueOrDie();
  };
  return {open(files.index, SidecarKind::kIndex), open(files.header, SidecarKind::kHeader),
          open(files.stats, SidecarKind::kStats)->Decisions(ctx).ValueOrDie()};
}

std::shared_ptr<arrow::RecordBatch> Rows(arrow::ArrayVector columns, bool paired = true) {
  arrow::FieldVector fields;
  for (size_t i = 0; i < columns.size(); ++i) {
    auto field = arrow::field(std::string(1, static_cast<char>('a' + i)), columns[i]->type());
    if (paired && i == 0) field = field->WithMetadata(arrow::key_value_metadata({"pilum:pair"}, {"b\nmissing\n"}));
    fields.push_back(field);
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), columns[0]->length(), columns);
}

Candidates Ask(const PartIndex& index, const char* a, ValueSet as, const char* b, ValueSet bs) {
  Probe probe{Probe::Kind::kInPair, {{a}}, std::move(as)};
  probe.second = {{b}};
  probe.second_set = std::move(bs);
  ReadContext ctx;
  return index.Answer(probe, ctx).ValueOrDie();
}

bool Has(const PartIndex& index, SectionFamily family) {
  return index.sidecar().FindPair(family, {{"a"}}, {{"b"}}) != nullptr;
}

TEST(Pairs, KnowTheRowsForCertainInEveryType) {
  Rng rng(17);
  const auto types = testdata::OrderedTypes();
  for (size_t t = 0; t < types.size(); ++t) {
    const auto other = types[rng() % types.size()];
    const int64_t n = 1500;
    const auto a = testdata::RandomArray(rng, types[t], n, Spread::kFew, 10);
    const auto b = testdata::RandomArray(rng, other, n, Spread::kFew, 10);
    const auto built = BuildOf(Rows({a, b}), 1 + static_cast<int64_t>(rng() % 700));
    ASSERT_TRUE(Has(*built.index, SectionFamily::kPairs)) << types[t]->ToString() << " " << other->ToString();
    std::vector<std::optional<Value>> as, bs;
    for (int64_t i = 0; i < n; ++i) {
      as.push_back(ValueAt(*a, i).ValueOrDie());
      bs.push_back(ValueAt(*b, i).ValueOrDie());
    }
    for (int q = 0; q < 20; ++q) {
      std::vector<Value> va, vb;
      for (int k = 0; k <= q % 3; ++k) {
        if (const auto& v = as[rng() % as.size()]) va.push_back(*v);
        if (const auto& v = bs[rng() % bs.size()]) vb.push_back(*v);
      }
      const ValueSet sa = ValueSet::Points(va), sb = ValueSet::Points(vb);
      RowSet exact;
      for (uint64_t i = 0; i < as.size(); ++i) {
        if (as[i] && bs[i] && sa.Contains(*as[i]) && sb.Contains(*bs[i])) exact.Append(i, i + 1);
      }
      for (const bool swapped : {false, true}) {
        const auto found = swapped ? Ask(*built.index, "b", sb, "a", sa) : Ask(*built.index, "a", sa, "b", sb);
        EXPECT_TRUE(exact.IsSubsetOf(found.possible)) << types[t]->ToString() << " " << other->ToString();
        EXPECT_TRUE(found.certain.IsSubsetOf(exact)) << types[t]->ToString() << " " << other->ToString();
        const auto kept = swapped ? Ask(*built.header, "b", sb, "a", sa) : Ask(*built.header, "a", sa, "b", sb);
        EXPECT_TRUE(exact.empty() || !kept.possible.empty());
        if (HasFailure()) return;
      }
    }
  }
}

std::shared_ptr<arrow::Array> Ints(int64_t n, const std::function<int64_t(int64_t)>& of) {
  arrow::Int64Builder b;
  for (int64_t i = 0; i < n; ++i) EXPECT_TRUE(b.Append(of(i)).ok());
  return b.Finish().ValueOrDie();
}
ValueSet Point(int64_t v) { return ValueSet::Point(Value::Int(v)); }

// Each value is in every eighth row, each pair in every 64th.
TEST(Pairs, AreExactWhereTheValuesAloneAreTooFrequent) {
  const auto built =
      BuildOf(Rows({Ints(20'000, [](int64_t i) { return i % 8; }), Ints(20'000, [](int64_t i) { return i / 8 % 8; })}));
  const auto found = Ask(*built.index, "a", Point(3), "b", Point(5));
  EXPECT_EQ(found.certain.size(), 312u);
  EXPECT_EQ(found.possible, found.certain);
  EXPECT_TRUE(Ask(*built.header, "a", Point(3), "b", Point(9)).possible.empty()) << "by the filter";
}

TEST(Pairs, AFilterDropsPartsWithoutThePair) {
  // Both values occur, never together.
  const auto built =
      BuildOf(Rows({Ints(5000, [](int64_t i) { return i % 10; }), Ints(5000, [](int64_t i) { return i % 10; })}));
  EXPECT_TRUE(Ask(*built.header, "a", Point(3), "b", Point(4)).possible.empty());
  EXPECT_FALSE(Ask(*built.header, "a", Point(3), "b", Point(3)).possible.empty());
  EXPECT_EQ(Ask(*built.header, "a", Point(3), "c", Point(4)).possible.size(), 5000u) << "no index over those";
}

TEST(Pairs, TooManyAreNotKept) {
  const auto built = BuildOf(
      Rows({Ints(150'000, [](int64_t i) { return i % 400; }), Ints(150'000, [](int64_t i) { return i / 400; })}));
  EXPECT_FALSE(Has(*built.index, SectionFamily::kPairs));
  bool told = false;
  for (const auto& d : built.decisions)
    told |= d.family == "pairs" && !d.built && d.reason == "more than 100000 distinct values";
  EXPECT_TRUE(told);
}

TEST(Pairs, WithoutBeingAskedOnlyWhereTheyPay) {
  const auto rows = [](int64_t n, int64_t values, bool paired = false) {
    return Rows({Ints(n, [=](int64_t i) { return i * 7 % values; }),
                 Ints(n, [=](int64_t i) { return (i * 2654435761 >> 13) % values; })},
                paired);
  };
  EXPECT_TRUE(Has(*BuildOf(rows(40'000, 8)).index, SectionFamily::kPairs));
  EXPECT_FALSE(Has(*BuildOf(rows(10'000, 8)).index, SectionFamily::kPairs)) << "few rows";
  EXPECT_FALSE(Has(*BuildOf(rows(40'000, 3)).index, SectionFamily::kPairs)) << "pairs are frequent too";
  EXPECT_FALSE(Has(*BuildOf(rows(40'000, 60)).index, SectionFamily::kPairs)) << "the values alone are listed";
  EXPECT_TRUE(Has(*BuildOf(rows(10'000, 3, true)).index, SectionFamily::kPairs)) << "asked for";
}

}  // namespace
}  // namespace pilum
