// exact ⊆ possible, certain ⊆ exact, NULL rows ⊆ maybe_null: for every type, from header and index, over random
// columns.
#include "pilum/index/part_index.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/index/index_test_data.h"
#include "pilum/index/sidecar_builder.h"

namespace pilum {
namespace {

using testdata::Rng;
using testdata::Spread;

struct Built {
  std::shared_ptr<PartIndex> index, header;
};

std::shared_ptr<PartIndex> OpenBytes(const std::string& bytes, SidecarKind kind) {
  ReadContext ctx;
  return PartIndex::Open(MakeMemorySource("mem", arrow::Buffer::FromString(bytes)), kind, ctx).ValueOrDie();
}

SidecarBuilder::Files BuildFiles(const std::shared_ptr<arrow::RecordBatch>& batch, int64_t step) {
  SidecarBuilder builder(*batch->schema());
  for (int64_t at = 0; at < batch->num_rows(); at += step) {
    EXPECT_TRUE(builder.Append(*batch->Slice(at, std::min(step, batch->num_rows() - at))).ok());
  }
  return builder.Finish(*batch->schema(), Hash128{1, 2, 3}).ValueOrDie();
}

Built Build(const std::shared_ptr<arrow::RecordBatch>& batch, int64_t step = 777) {
  const auto files = BuildFiles(batch, step);
  return {OpenBytes(files.index, SidecarKind::kIndex), OpenBytes(files.header, SidecarKind::kHeader)};
}

// Values of the column and values beside them, as points and intervals.
ValueSet RandomSet(Rng& rng, const std::vector<std::optional<Value>>& values) {
  auto pick = [&]() -> std::optional<Value> {
    for (int i = 0; i < 20; ++i) {
      const auto& v = values[rng() % values.size()];
      if (!v) continue;
      if (rng() % 2) return v;
      switch (v->domain()) {  // near, but perhaps not there
        case Domain::kInt: return Value::Int(v->as_int() + Int128(rng() % 5) - 2);
        case Domain::kFloat: return Value::Float(rng() % 5 == 0 ? std::nan("") : v->as_float() + double(rng() % 5) - 2);
        case Domain::kDecimal: return Value::Decimal(v->as_decimal() + arrow::Decimal256(int64_t(rng() % 5) - 2));
        case Domain::kText: return Value::Text(rng() % 2 ? v->as_bytes() + "a" : v->as_bytes().substr(0, rng() % 80));
        default: return Value::Binary(rng() % 2 ? v->as_bytes() + "a" : v->as_bytes().substr(0, rng() % 80));
      }
    }
    return std::nullopt;
  };
  ValueSet set;
  const int pieces = 1 + static_cast<int>(rng() % 4);
  for (int i = 0; i < pieces; ++i) {
    auto a = pick(), b = pick();
    if (!a || !b) return ValueSet::All();
    switch (rng() % 4) {
      case 0: set = set.Union(ValueSet::Of({std::nullopt, Bound{*b, rng() % 2 == 0}})); break;
      case 1: set = set.Union(ValueSet::Of({Bound{*a, rng() % 2 == 0}, std::nullopt})); break;
      case 2: set = set.Union(ValueSet::Of({Bound{*a, rng() % 2 == 0}, Bound{*b, rng() % 2 == 0}})); break;
      default: set = set.Union(ValueSet::Points({*a, *b}));
    }
  }
  return rng() % 6 == 0 ? set.Complement() : set;
}

void ExpectSound(const Candidates& found, const RowSet& exact, const RowSet& nulls, bool exact_probe,
                 const std::string& what) {
  EXPECT_TRUE(exact.IsSubsetOf(found.possible)) << what;
  EXPECT_TRUE(found.certain.IsSubsetOf(exact)) << what;
  EXPECT_TRUE(found.certain.IsSubsetOf(found.possible)) << what;
  EXPECT_TRUE(nulls.IsSubsetOf(found.maybe_null)) << what;
  if (!exact_probe) {
    EXPECT_TRUE(found.certain.empty()) << what;
  }
}

TEST(PartIndex, NeverLosesARowOfAnyType) {
  const uint64_t seed = 20240229;
  Rng rng(seed);
  for (const auto& type : testdata::OrderedTypes()) {
    for (int round = 0; round < 12; ++round) {
      const int64_t n = round == 0 ? 1 : 1 + static_cast<int64_t>(rng() % 5000);
      const auto spread = static_cast<Spread>(rng() % 4);
      auto array = testdata::RandomArray(rng, type, n, spread, round % 3 == 0 ? 0 : round == 4 ? 100 : 3);
      auto field = arrow::field("c", type);
      if (round % 2)
        field = field->WithMetadata(
            arrow::key_value_metadata({"pilum:index"}, {round % 4 == 1 ? "inverted, nulls, bloom" : "key, nulls"}));
      auto batch = arrow::RecordBatch::Make(arrow::schema({field}), n, {array});
      const Built built = Build(batch, 1 + static_cast<int64_t>(rng() % 3000));
      std::vector<std::optional<Value>> values;
      for (int64_t i = 0; i < n; ++i) values.push_back(ValueAt(*array, i).ValueOrDie());
      for (int q = 0; q < 40; ++q) {
        Probe probe;
        probe.column = {{"c"}};
        probe.kind = q % 10 == 0 ? Probe::Kind::kIsNull : Probe::Kind::kInSet;
        probe.exact = q % 7 != 0;
        if (probe.kind == Probe::Kind::kInSet) probe.set = RandomSet(rng, values);
        RowSet exact, nulls;
        for (int64_t i = 0; i < n; ++i) {
          const bool is_null = !values[i];
          if (probe.kind == Probe::Kind::kIsNull ? is_null : !is_null && probe.set.Contains(*values[i]))
            exact.Append(i, i + 1);
          if (is_null && probe.kind == Probe::Kind::kInSet) nulls.Append(i, i + 1);
        }
        ReadContext ctx;
        const std::string what = type->ToString() + " round " + std::to_string(round) + " " + probe.ToString();
        const bool exact_probe = probe.exact || probe.kind == Probe::Kind::kIsNull;
        ExpectSound(built.index->Answer(probe, ctx).ValueOrDie(), exact, nulls, exact_probe, "idx " + what);
        ExpectSound(built.header->Answer(probe, ctx).ValueOrDie(), exact, nulls, exact_probe, "idxh " + what);
        if (HasFailure()) return;
      }
    }
  }
}

Candidates Ask(const std::shared_ptr<PartIndex>& index, FieldPath column, ValueSet set) {
  ReadContext ctx;
  Probe probe;
  probe.column = std::move(column);
  probe.set = std::move(set);
  return index->Answer(probe, ctx).ValueOrDie();
}
Candidates AskNull(const std::shared_ptr<PartIndex>& index, FieldPath column) {
  ReadContext ctx;
  Probe probe;
  probe.kind = Probe::Kind::kIsNull;
  probe.column = std::move(column);
  return index->Answer(probe, ctx).ValueOrDie();
}

TEST(PartIndex, AscendingColumnNarrowsToItsChunk) {
  arrow::Int64Builder b;
  for (int64_t i = 0; i < 10000; ++i) ASSERT_TRUE(b.Append(i * 7 + 3).ok());
  auto batch =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("id", arrow::int64())}), 10000, {b.Finish().ValueOrDie()});
  const Built built = Build(batch);
  EXPECT_EQ(Ask(built.index, {{"id"}}, ValueSet::Point(Value::Int(5000 * 7 + 3))).possible, RowSet::Range(4096, 5120));
  EXPECT_TRUE(Ask(built.header, {{"id"}}, ValueSet::Point(Value::Int(4))).possible.empty()) << "by the filter";
  const auto half = Ask(built.index, {{"id"}}, ValueSet::Of({std::nullopt, Bound{Value::Int(2048 * 7), true}}));
  EXPECT_EQ(half.certain, RowSet::Range(0, 2048));
  EXPECT_EQ(half.possible, RowSet::Range(0, 2048));
  EXPECT_TRUE(AskNull(built.index, {{"id"}}).possible.empty());
  EXPECT_EQ(Ask(built.index, {{"nope"}}, ValueSet::None()).possible.size(), 10000u) << "no entry means unknown";
}

TEST(PartIndex, OneLateRowDoesNotKeepItsPart) {
  arrow::TimestampBuilder b(arrow::timestamp(arrow::TimeUnit::SECOND), arrow::default_memory_pool());
  for (int64_t i = 0; i < 5000; ++i) ASSERT_TRUE(b.Append(i == 2500 ? 7 : 1'700'000'000 + i).ok());
  auto schema = arrow::schema({arrow::field("t", arrow::timestamp(arrow::TimeUnit::SECOND))});
  const Built built = Build(arrow::RecordBatch::Make(schema, 5000, {b.Finish().ValueOrDie()}));
  auto between = [&](int64_t low, int64_t high) {
    return !Ask(built.header, {{"t"}}, ValueSet::Of({Bound{Value::Int(low), true}, Bound{Value::Int(high), true}}))
                .possible.empty();
  };
  EXPECT_FALSE(between(1'000, 1'600'000'000));
  EXPECT_TRUE(between(0, 100));
  EXPECT_TRUE(between(1'000, 1'700'000'000));
}

TEST(PartIndex, StructLeavesAndLists) {
  auto leaf = arrow::field("a", arrow::int32());
  auto ints = arrow::json::ArrayFromJSONString(arrow::int32(), "[1, 2, null, 4]").ValueOrDie();
  auto validity = arrow::json::ArrayFromJSONString(arrow::boolean(), "[true, false, true, true]").ValueOrDie();
  auto st =
      arrow::StructArray::Make({ints}, {leaf}, std::static_pointer_cast<arrow::BooleanArray>(validity)->values(), 1)
          .ValueOrDie();
  auto list = arrow::json::ArrayFromJSONString(arrow::list(arrow::int32()), "[[1], null, [], [2, null]]").ValueOrDie();
  auto none = arrow::MakeArrayOfNull(arrow::null(), 4).ValueOrDie();
  auto batch = arrow::RecordBatch::Make(arrow::schema({arrow::field("st", st->type()), arrow::field("l", list->type()),
                                                       arrow::field("n", arrow::null())}),
                                        4, {st, list, none});
  const Built built = Build(batch);
  ReadContext ctx;
  EXPECT_EQ(built.index->Zones({{"st"}}, ctx).ValueOrDie()->nulls[0], 1u);
  EXPECT_EQ(built.index->Zones({{"st", "a"}}, ctx).ValueOrDie()->nulls[0], 2u) << "a field of a NULL struct is NULL";
  EXPECT_TRUE(Ask(built.header, {{"st", "a"}}, ValueSet::Point(Value::Int(2))).possible.empty());
  EXPECT_EQ(built.index->Zones({{"l"}}, ctx).ValueOrDie()->nulls[0], 1u);
  EXPECT_EQ(AskNull(built.index, {{"n"}}).certain, RowSet::All(4));
}

// W107: a chunk whose minimum is above its maximum is scanned, not skipped.
TEST(PartIndex, ContradictionsAreUnknown) {
  ZoneMap z;
  z.num_rows = 3000;
  z.domain = Domain::kInt;
  z.flags = {1, 1, 0};
  z.nulls = {0, 5000, 0};
  z.lows = {10, 1, 0};
  z.highs = {5, 2, 0};  // chunk 0: lower above upper; 1: more NULLs than rows; 2: values but no bounds
  const auto found = z.InSet(ValueSet::Point(Value::Int(100)), true);
  EXPECT_EQ(found.possible, RowSet::All(3000));
  EXPECT_TRUE(found.certain.empty());
  EXPECT_EQ(found.maybe_null, RowSet::All(3000));
  EXPECT_EQ(z.IsNull().possible, RowSet::All(3000));
  EXPECT_TRUE(z.IsNull().certain.empty());
  EXPECT_EQ(z.InSet(ValueSet::Point(Value::Text("x")), true).possible, RowSet::All(3000)) << "another domain";
}

TEST(PartIndex, BatchingDoesNotChangeTheBytes) {
  Rng rng(3);
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  for (const auto& type : testdata::OrderedTypes()) {
    fields.push_back(arrow::field("c" + std::to_string(fields.size()), type));
    arrays.push_back(testdata::RandomArray(rng, type, 3000, Spread::kMany, 5));
  }
  auto batch = arrow::RecordBatch::Make(arrow::schema(fields), 3000, arrays);
  const auto whole = BuildFiles(batch, 3000);
  for (int64_t step : {1, 100, 1024, 2999}) {
    const auto files = BuildFiles(batch, step);
    EXPECT_TRUE(files.index == whole.index && files.header == whole.header) << step;
  }
  EXPECT_LE(whole.header.size(), std::max<size_t>(SidecarBuilder::kHeaderFloor, whole.index.size() / 10));
}

TEST(PartIndex, ManyColumnsKeepTheHeaderBound) {
  arrow::FieldVector fields;
  arrow::ArrayVector arrays;
  auto text = arrow::json::ArrayFromJSONString(arrow::utf8(), R"(["a","b"])").ValueOrDie();
  for (int i = 0; i < 30000; ++i) {
    fields.push_back(arrow::field("a_rather_long_column_name_" + std::to_string(i), arrow::utf8()));
    arrays.push_back(text);
  }
  auto batch = arrow::RecordBatch::Make(arrow::schema(fields), 2, arrays);
  const auto files = BuildFiles(batch, 2);
  EXPECT_LE(files.header.size(), SidecarBuilder::kHeaderLimit);
  auto header = OpenBytes(files.header, SidecarKind::kHeader);
  ReadContext ctx;
  EXPECT_TRUE(header->Zones({{fields[0]->name()}}, ctx).ValueOrDie() != nullptr);
  EXPECT_EQ(Ask(header, {{fields[29999]->name()}}, ValueSet::Point(Value::Text("z"))).possible.size(), 2u);
}

TEST(PartIndex, DamageIsNeverAnAnswer) {
  Rng rng(9);
  auto array = testdata::RandomArray(rng, arrow::int32(), 5000, Spread::kMany, 5);
  auto text = testdata::RandomArray(rng, arrow::utf8(), 5000, Spread::kMany, 5);
  auto schema = arrow::schema({arrow::field("i", arrow::int32()), arrow::field("s", arrow::utf8())});
  const auto files = BuildFiles(arrow::RecordBatch::Make(schema, 5000, {array, text}), 5000);
  for (auto kind : {SidecarKind::kIndex, SidecarKind::kHeader}) {
    const std::string& good = kind == SidecarKind::kIndex ? files.index : files.header;
    auto clean = OpenBytes(good, kind);
    Probe probe;
    probe.column = {{"i"}};
    probe.set = ValueSet::Of({std::nullopt, Bound{Value::Int(0), true}});
    ReadContext ctx;
    const auto expected = clean->Answer(probe, ctx).ValueOrDie();
    auto try_bytes = [&](const std::string& bytes, const std::string& what) {
      ReadContext c;
      auto opened = PartIndex::Open(MakeMemorySource("mem", arrow::Buffer::FromString(bytes)), kind, c);
      if (!opened.ok()) return;
      auto found = (*opened)->Answer(probe, c).ValueOrDie();
      (void)(*opened)->ReadSchema(c);
      EXPECT_TRUE(expected.possible.IsSubsetOf(found.possible)) << what;
      EXPECT_TRUE(found.certain.IsSubsetOf(expected.certain)) << what;
    };
    for (size_t n = 0; n < good.size(); n += n < 200 ? 1 : 211) {
      ReadContext c;
      auto cut = PartIndex::Open(MakeMemorySource("mem", arrow::Buffer::FromString(good.substr(0, n))), kind, c);
      EXPECT_FALSE(cut.ok()) << "cut at " << n;
    }
    for (size_t i = 0; i < good.size(); i += i < 600 ? 1 : 37) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
      try_bytes(bad, "flip at " + std::to_string(i));
    }
  }
}

}  // namespace
}  // namespace pilum
