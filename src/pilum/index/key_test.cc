// Keys of near-unique columns: lookups, collisions, cost, rules, hostile bytes.
#include "pilum/index/key_index.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/index/index_test_data.h"
#include "pilum/index/key_builder.h"
#include "pilum/index/part_index.h"
#include "pilum/index/sidecar_builder.h"
#include "pilum/sketch/value_hash.h"

namespace pilum {
namespace {

using testdata::Rng;

std::shared_ptr<const SidecarReader> Reader(SidecarWriter::Section section, uint64_t rows) {
  SidecarWriter writer;
  writer.Add(std::move(section));
  const std::string bytes = writer.Finish(SidecarKind::kIndex, {{}, {}, rows});
  ReadContext ctx;
  return SidecarReader::Open(MakeMemorySource("mem", arrow::Buffer::FromString(bytes)), SidecarKind::kIndex, ctx)
      .ValueOrDie();
}

std::shared_ptr<arrow::Array> Shuffled(int64_t n, uint64_t seed) {
  std::vector<int64_t> v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) v[static_cast<size_t>(i)] = 7 * i + 3;
  Rng rng(seed);
  std::shuffle(v.begin(), v.end(), rng);
  arrow::Int64Builder b;
  EXPECT_TRUE(b.AppendValues(v).ok());
  return b.Finish().ValueOrDie();
}

// As SidecarBuilder does.
void Feed(KeyBuilder* builder, const arrow::Array& array) {
  builder->Append(array);
  ASSERT_TRUE(VisitHashes(array, 0, [&](const HashBlock& block) { builder->AddHashes(block); }).ok());
}

TEST(Key, EveryValueLeadsToItsRows) {
  Rng rng(1);
  for (const auto& type : testdata::OrderedTypes()) {
    const auto array = testdata::RandomArray(rng, type, 5000, testdata::Spread::kMany, 5);
    auto builder = KeyBuilder::Make(*type, true);
    Feed(builder.get(), *array->Slice(0, 777));
    Feed(builder.get(), *array->Slice(777));
    const auto reader = Reader(builder->Finish({{"c"}}, 5000), 5000);
    ReadContext ctx;
    const auto key = KeyIndex::Open(reader, reader->entries()[0], 5000, ctx).ValueOrDie();
    const int32_t scale = ValueShape::Of(*type).scale;
    for (int64_t i = 0; i < 5000; i += 113) {
      const auto v = ValueAt(*array, i).ValueOrDie();
      if (!v) continue;
      RowSet exact;
      for (int64_t k = 0; k < 5000; ++k) {
        const auto w = ValueAt(*array, k).ValueOrDie();
        if (w && *w == *v) exact.Append(static_cast<uint64_t>(k), static_cast<uint64_t>(k + 1));
      }
      EXPECT_EQ(*key.Rows({HashValue(*v, scale)}, 1 << 20, ctx).ValueOrDie(), exact) << type->ToString();
    }
    EXPECT_TRUE(key.Rows({12345}, 1 << 20, ctx).ValueOrDie()->empty());
  }
}

TEST(Key, OneValueInManyBlocks) {
  arrow::Int64Builder b;
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(b.Append(i % 3).ok());
  auto builder = KeyBuilder::Make(*arrow::int64(), true);
  Feed(builder.get(), *b.Finish().ValueOrDie());
  const auto reader = Reader(builder->Finish({{"c"}}, 20000), 20000);
  ReadContext ctx;
  const auto key = KeyIndex::Open(reader, reader->entries()[0], 20000, ctx).ValueOrDie();
  EXPECT_FALSE(key.Rows({HashInt(1)}, 20'000, ctx).ValueOrDie()) << "reading the column costs less";
  EXPECT_EQ(key.Rows({HashInt(1)}, 1 << 30, ctx).ValueOrDie()->size(), 6667u);
}

TEST(Key, ALookupIsTwoSmallReads) {
  const int64_t n = 500'000;
  auto schema = arrow::schema({arrow::field("id", arrow::int64())});
  SidecarBuilder builder(*schema);
  auto ids = Shuffled(n, 2);
  ASSERT_TRUE(builder.Append(*arrow::RecordBatch::Make(schema, n, {ids})).ok());
  const auto files = builder.Finish(*schema, Hash128{1}).ValueOrDie();
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  auto index =
      PartIndex::Open(MakeMemorySource("idx", arrow::Buffer::FromString(files.index)), SidecarKind::kIndex, ctx)
          .ValueOrDie();
  auto header =
      PartIndex::Open(MakeMemorySource("idxh", arrow::Buffer::FromString(files.header)), SidecarKind::kHeader, ctx)
          .ValueOrDie();
  const FieldPath id{{"id"}};
  ASSERT_TRUE(index->sidecar().Find(SectionFamily::kKey, &id));
  ASSERT_TRUE(header->sidecar().Find(SectionFamily::kFuse, &id));
  EXPECT_FALSE(header->sidecar().Find(SectionFamily::kBloom, &id)) << "one filter is enough";
  EXPECT_LE(index->sidecar().Find(SectionFamily::kKey, &id)->length, static_cast<uint64_t>(n) * 13);
  Probe probe;
  probe.column = id;
  probe.set = ValueSet::Point(Value::Int(7 * 4321 + 3));
  const uint64_t before = stats.requests;
  const auto found = index->Answer(probe, ctx).ValueOrDie();
  EXPECT_EQ(found.possible.size(), 1u);
  EXPECT_TRUE(found.certain.empty()) << "a hash is no proof";
  EXPECT_LE(stats.requests - before, 3u) << "zones, root, block";
  EXPECT_FALSE(header->Answer(probe, ctx).ValueOrDie().possible.empty());
  int kept = 0;
  for (int64_t i = 0; i < 1000; ++i) {
    probe.set = ValueSet::Point(Value::Int(7 * i + 4));  // in the range, not there
    kept += !header->Answer(probe, ctx).ValueOrDie().possible.empty();
  }
  EXPECT_LT(kept, 20);
}

// A small part is one of many: of ten thousand, hardly one may be kept for a value that it lacks.
TEST(Key, FiltersOfSmallPartsHardlyErr) {
  for (const auto& [rows, most] : {std::pair(2000, 4), {20'000, 200}}) {
    auto schema =
        arrow::schema({arrow::field("id", arrow::int64(), true, arrow::key_value_metadata({"pilum:index"}, {"key"}))});
    SidecarBuilder builder(*schema);
    ASSERT_TRUE(builder.Append(*arrow::RecordBatch::Make(schema, rows, {Shuffled(rows, 2)})).ok());
    const auto files = builder.Finish(*schema, Hash128{1}).ValueOrDie();
    ReadContext ctx;
    auto header =
        PartIndex::Open(MakeMemorySource("idxh", arrow::Buffer::FromString(files.header)), SidecarKind::kHeader, ctx)
            .ValueOrDie();
    Probe probe;
    probe.column = {{"id"}};
    int kept = 0;
    for (int64_t i = 0; i < 20'000; ++i) {
      probe.set = ValueSet::Point(Value::Int(7 * (i % rows) + 4 + i / rows % 6));  // in the range, not there
      kept += !header->Answer(probe, ctx).ValueOrDie().possible.empty();
    }
    EXPECT_LE(kept, most) << rows;
  }
}

TEST(Key, RulesWithoutAnnotation) {
  const int64_t n = 20'000;
  arrow::Int64Builder up;
  arrow::StringBuilder text;
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_TRUE(up.Append(i).ok());
    ASSERT_TRUE(text.Append(std::string(100, 'x') + std::to_string(i * 7919 % n)).ok());
  }
  auto schema = arrow::schema({arrow::field("up", arrow::int64()), arrow::field("a", arrow::int64()),
                               arrow::field("long", arrow::utf8()), arrow::field("b", arrow::int64()),
                               arrow::field("c", arrow::int64())});
  SidecarBuilder builder(*schema);
  auto batch = arrow::RecordBatch::Make(
      schema, n,
      {up.Finish().ValueOrDie(), Shuffled(n, 1), text.Finish().ValueOrDie(), Shuffled(n, 2), Shuffled(n, 3)});
  ASSERT_TRUE(builder.Append(*batch).ok());
  const auto files = builder.Finish(*schema, Hash128{1}).ValueOrDie();
  ReadContext ctx;
  auto index =
      PartIndex::Open(MakeMemorySource("idx", arrow::Buffer::FromString(files.index)), SidecarKind::kIndex, ctx)
          .ValueOrDie();
  std::string keys;
  for (const char* name : {"up", "a", "long", "b", "c"}) {
    const FieldPath path{{name}};
    if (index->sidecar().Find(SectionFamily::kKey, &path)) keys += std::string(name) + " ";
  }
  EXPECT_EQ(keys, "a b ") << "not the one in order, not long texts, not a third";
}

TEST(Key, HostileBytes) {
  Rng rng(5);
  auto builder = KeyBuilder::Make(*arrow::int64(), true);
  Feed(builder.get(), *Shuffled(5000, 9));
  const auto reader = Reader(builder->Finish({{"c"}}, 5000), 5000);
  ReadContext ctx;
  const BlockRoot root = reader->ReadRoot(reader->entries()[0], ctx).ValueOrDie();
  const auto blocks = reader->ReadBlocks(root.blocks, ctx).ValueOrDie();
  auto harmed = [&](std::string b) {
    for (int n = 1 + static_cast<int>(rng() % 3); n > 0 && !b.empty(); --n) {
      const size_t at = rng() % b.size();
      if (rng() % 6 == 0)
        b.resize(at);
      else
        b[at] = static_cast<char>(rng());
    }
    return b;
  };
  int opened = 0;
  for (int i = 0; i < 3000; ++i) {
    BlockSection section;
    for (const auto& b : blocks) section.AddBlock(i % 2 ? harmed(b) : b);
    const auto bad = Reader(
        SidecarWriter::PackBlocks({{{"c"}}}, SectionFamily::kKey, section, i % 2 ? root.family : harmed(root.family)),
        5000);
    auto key = KeyIndex::Open(bad, bad->entries()[0], 5000, ctx);
    if (!key.ok()) continue;
    ++opened;
    auto rows = key->Rows({rng(), HashInt(3), HashInt(10)}, 1 << 20, ctx);
    if (rows.ok() && *rows) {
      EXPECT_TRUE((*rows)->IsSubsetOf(RowSet::All(5000)));
    }
  }
  EXPECT_GT(opened, 500);
}

}  // namespace
}  // namespace pilum
