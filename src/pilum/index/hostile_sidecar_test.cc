// Sidecars whose hashes are right and whose contents are not: whoever can write into a store can make one. Nothing read
// from it may crash, hang or leave the part's rows. (What it says may be wrong; the hashes guard against accidents.)
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/ipc/writer.h>

#include "pilum/base/bytes.h"
#include "pilum/base/hash.h"
#include "pilum/index/index_test_data.h"
#include "pilum/index/part_index.h"
#include "pilum/index/sidecar_builder.h"

namespace pilum {
namespace {

using testdata::Rng;

std::string Harmed(std::string b, Rng& rng, size_t from = 0) {
  static constexpr uint64_t kEdges[] = {0, 1, 63, 64, 255, 65535, 1ull << 31, (1ull << 32) - 1, 1ull << 60, ~0ull};
  for (int n = 1 + static_cast<int>(rng() % 3); n > 0 && b.size() > from; --n) {
    const size_t at = from + rng() % (b.size() - from);
    switch (rng() % 5) {
      case 0: b[at] = static_cast<char>(b[at] ^ (1 << rng() % 8)); break;
      case 1: b[at] = static_cast<char>(rng()); break;
      case 2: {
        const uint64_t v = kEdges[rng() % std::size(kEdges)];
        std::memcpy(&b[at], &v, std::min<size_t>(size_t{1} << rng() % 4, b.size() - at));
        break;
      }
      case 3: b.resize(at); break;
      default: b.insert(at, std::string(1 + rng() % 40, static_cast<char>(rng())));
    }
  }
  return b;
}

void AskAll(const ZoneMap& zones, uint64_t rows, Rng& rng) {
  const RowSet all = RowSet::All(rows);
  std::vector<ValueSet> sets = {ValueSet::None(),
                                ValueSet::All(),
                                ValueSet::Point(Value::Int(7)),
                                ValueSet::Point(Value::Float(1.5)),
                                ValueSet::Point(Value::Text("b")),
                                ValueSet::Point(Value::Binary("b")),
                                ValueSet::Point(Value::Decimal(arrow::Decimal256(3)))};
  sets.push_back(sets[2 + rng() % 5].Complement());
  for (const ValueSet& set : sets) {
    const Candidates found = zones.InSet(set, rng() % 2 == 0);
    EXPECT_TRUE(found.possible.IsSubsetOf(all));
    EXPECT_TRUE(found.certain.IsSubsetOf(found.possible));
    EXPECT_TRUE(found.maybe_null.IsSubsetOf(all));
  }
  const Candidates nulls = zones.IsNull();
  EXPECT_TRUE(nulls.possible.IsSubsetOf(all));
  EXPECT_TRUE(nulls.certain.IsSubsetOf(nulls.possible));
}

TEST(HostileSidecar, ZoneMapsOfEveryType) {
  Rng rng(11);
  for (const auto& type : testdata::OrderedTypes()) {
    auto collector = ColumnCollector::Make(*type, 100);
    auto array = testdata::RandomArray(rng, type, 3000, testdata::Spread::kMany, 10);
    ASSERT_TRUE(collector->Append(*array).ok());
    collector->Finish();
    for (const std::string& good : {collector->zones().ToBytes(), collector->bounds().ToBytes()}) {
      for (int i = 0; i < 300; ++i) {
        auto zones = ZoneMap::FromBytes(Harmed(good, rng), 3000, "mem");
        if (!zones.ok()) {
          EXPECT_NE(zones.status().message().find("mem"), std::string::npos);
          continue;
        }
        AskAll(*zones, 3000, rng);
      }
    }
  }
}

TEST(HostileSidecar, BloomFilters) {
  Rng rng(12);
  BloomFilter filter = BloomFilter::ForItems(1);
  for (int i = 0; i < 100; ++i) filter.Insert(rng());
  for (int i = 0; i < 3000; ++i) {
    auto read = BloomFilter::FromBytes(Harmed(filter.ToBytes(), rng, i % 2 ? 0 : 8), "mem");
    if (read.ok()) (void)read->MayContain(rng());
  }
}

// The directory's checksum put right after the harm.
std::string Rehashed(std::string file) {
  if (file.size() < 88) return file;
  const uint64_t length = std::min<uint64_t>(LoadLE<uint32_t>(file.data() + 68), file.size() - 88);
  StoreLE<uint64_t>(file.data() + 56, file.size() - 64);
  const Hash256 hash = Blake3Of(file.substr(0, 72) + file.substr(88, length));
  std::memcpy(file.data() + 72, hash.data(), 16);
  return file;
}

TEST(HostileSidecar, DirectoriesWithTheRightChecksum) {
  Rng rng(13);
  auto schema = arrow::schema({arrow::field("i", arrow::int32()), arrow::field("s", arrow::utf8())});
  auto batch = arrow::RecordBatch::Make(schema, 3000,
                                        {testdata::RandomArray(rng, arrow::int32(), 3000, testdata::Spread::kMany, 5),
                                         testdata::RandomArray(rng, arrow::utf8(), 3000, testdata::Spread::kMany, 5)});
  SidecarBuilder builder(*schema);
  ASSERT_TRUE(builder.Append(*batch).ok());
  const auto files = builder.Finish(*schema, Hash128{1}).ValueOrDie();
  int opened = 0;
  for (int i = 0; i < 6000; ++i) {
    const auto kind = i % 2 ? SidecarKind::kIndex : SidecarKind::kHeader;
    const std::string& good = i % 2 ? files.index : files.header;
    const size_t directory = 88 + LoadLE<uint32_t>(good.data() + 68);
    const std::string bytes = Rehashed(Harmed(good.substr(0, directory), rng, 16) + good.substr(directory));
    ReadContext ctx;
    auto index = PartIndex::Open(MakeMemorySource("mem", arrow::Buffer::FromString(bytes)), kind, ctx);
    if (!index.ok()) continue;
    ++opened;
    for (const SectionEntry& entry : (*index)->sidecar().entries()) (void)(*index)->sidecar().ReadSection(entry, ctx);
    (void)(*index)->ReadSchema(ctx);
    if ((*index)->num_rows() != 3000) continue;  // the part would not be asked through it
    Probe probe;
    probe.column = {{"i"}};
    probe.set = ValueSet::Point(Value::Int(5));
    const Candidates found = (*index)->Answer(probe, ctx).ValueOrDie();
    EXPECT_TRUE(found.possible.IsSubsetOf(RowSet::All(3000)));
  }
  EXPECT_GT(opened, 500);
}

// Roots and blocks of a dictionary of words, with every hash right for what was harmed.
TEST(HostileSidecar, WordsWithTheRightHashes) {
  Rng rng(15);
  const FieldPath column{{"s"}};
  auto words = InvertedBuilder::OfBytes(Domain::kText, 100'000, 1 << 20);
  constexpr uint64_t kRows = 3000;
  for (uint64_t row = 0; row < kRows; ++row) {
    for (int k = 0; k < 3; ++k) words->AddText(fmt::format("word{}", rng() % 5000), row);
  }
  words->SetRows(kRows);
  ReadContext ctx;
  const auto open = [&](SidecarWriter::Section section) {
    SidecarWriter writer;
    writer.Add(std::move(section));
    const SidecarIdentity identity{Hash128{1}, Hash128{2}, kRows};
    return PartIndex::Open(
               MakeMemorySource("mem", arrow::Buffer::FromString(writer.Finish(SidecarKind::kTerms, identity))),
               SidecarKind::kTerms, ctx)
        .ValueOrDie();
  };
  const auto good = open(words->Finish(column, SectionFamily::kWords));
  const SidecarReader& reader = good->sidecar();
  const BlockRoot root = reader.ReadRoot(reader.entries()[0], ctx).ValueOrDie();
  const auto blocks = reader.ReadBlocks(root.blocks, ctx).ValueOrDie();
  ASSERT_GT(blocks.size(), 3u);
  int answered = 0;
  for (int i = 0; i < 3000; ++i) {
    BlockSection section;
    const size_t harmed = rng() % (blocks.size() + 1);
    for (size_t b = 0; b < blocks.size(); ++b) section.AddBlock(b == harmed ? Harmed(blocks[b], rng) : blocks[b]);
    const std::string family = harmed == blocks.size() ? Harmed(root.family, rng) : root.family;
    const auto index = open(SidecarWriter::PackBlocks({column}, SectionFamily::kWords, section, family));
    Probe probe{Probe::Kind::kHasWords, column, ValueSet::All(), true, {fmt::format("word{}", rng() % 5000)}};
    const Candidates found = index->Answer(probe, ctx).ValueOrDie();
    EXPECT_TRUE(found.possible.IsSubsetOf(RowSet::All(kRows)));
    EXPECT_TRUE(found.certain.IsSubsetOf(found.possible));
    answered += found.possible.size() < kRows;
    if (auto whole = index->Words(column, ctx).ValueOrDie())
      (void)whole->ForEach([](const Value&, const RowSet&) {}, ctx);
  }
  EXPECT_GT(answered, 500);
}

TEST(HostileSidecar, SchemasThatArrowReads) {
  Rng rng(14);
  auto schema = arrow::schema({arrow::field("i", arrow::int32()), arrow::field("u", arrow::fixed_size_binary(16)),
                               arrow::field("l", arrow::list(arrow::struct_({arrow::field("x", arrow::utf8())}))),
                               arrow::field("d", arrow::dictionary(arrow::int8(), arrow::utf8()))});
  const std::string good = arrow::ipc::SerializeSchema(*schema).ValueOrDie()->ToString();
  for (int i = 0; i < 5000; ++i) {
    SidecarWriter writer;
    writer.Add({}, SectionFamily::kSchema, Harmed(good, rng));
    const std::string bytes = writer.Finish(SidecarKind::kHeader, {SchemaDescriptorHash(*schema), Hash128{1}, 10});
    ReadContext ctx;
    auto header = PartIndex::Open(MakeMemorySource("mem", arrow::Buffer::FromString(bytes)), SidecarKind::kHeader, ctx)
                      .ValueOrDie();
    auto read = header->ReadSchema(ctx);
    if (read.ok()) {
      EXPECT_EQ(SchemaDescriptor(**read), SchemaDescriptor(*schema));
    }
  }
}

}  // namespace
}  // namespace pilum
