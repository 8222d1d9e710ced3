// Bundles of prune headers: each part's share says what its header says, and harmed bytes say less, never more.
#include "pilum/index/bundle.h"

#include <gtest/gtest.h>

#include <algorithm>

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/base/bytes.h"
#include "pilum/index/index_test_data.h"
#include "pilum/index/sidecar_builder.h"

namespace pilum {
namespace {

using testdata::Rng;

std::shared_ptr<const ByteSource> Source(const std::string& bytes) {
  return MakeMemorySource("test", arrow::Buffer::FromString(bytes));
}

Result<std::shared_ptr<const Bundle>> OpenBundle(const std::string& bytes) {
  ReadContext ctx;
  return Bundle::Open(
      Source(bytes), [](const arrow::Schema& s) { return std::make_shared<arrow::Schema>(s); }, ctx);
}

Hash128 Identity(uint8_t part) {
  Hash128 out{};
  out.fill(static_cast<uint8_t>(part * 37));
  return out;
}

// Columns of every type; every second part lacks the last ones and has metadata of its own.
struct Parts {
  std::vector<std::string> headers;
  std::vector<std::shared_ptr<arrow::RecordBatch>> rows;

  explicit Parts(size_t n) {
    Rng rng(5);
    const auto types = testdata::OrderedTypes();
    for (size_t p = 0; p < n; ++p) {
      arrow::FieldVector fields;
      arrow::ArrayVector columns;
      for (size_t t = 0; t < types.size() - (p % 2) * 3; ++t) {
        fields.push_back(arrow::field("c" + std::to_string(t), types[t]));
        columns.push_back(testdata::RandomArray(rng, types[t], 60, static_cast<testdata::Spread>(rng() % 4), 10));
      }
      auto schema = arrow::schema(fields);
      if (p % 2) schema = schema->WithMetadata(arrow::key_value_metadata({"pilum:batch_id"}, {std::to_string(p)}));
      rows.push_back(arrow::RecordBatch::Make(schema, 60, columns));
      SidecarBuilder builder(*schema);
      EXPECT_TRUE(builder.Append(*rows.back()).ok());
      headers.push_back(builder.Finish(*schema, Identity(static_cast<uint8_t>(p + 1))).ValueOrDie().header);
    }
  }
  std::shared_ptr<PartIndex> Header(size_t part) const {
    ReadContext ctx;
    return PartIndex::Open(Source(headers[part]), SidecarKind::kHeader, ctx).ValueOrDie();
  }
  std::string Bundled(bool backwards = false) const {
    BundleWriter writer;
    ReadContext ctx;
    for (size_t i = 0; i < headers.size(); ++i) {
      auto one = BundledHeader::Of(*Header(backwards ? headers.size() - 1 - i : i), ctx).ValueOrDie();
      EXPECT_TRUE(one.has_value() && writer.Fits(*one));
      writer.Add(std::move(*one));
    }
    return writer.Finish().ValueOrDie();
  }
};

std::vector<Probe> Probes(const std::shared_ptr<arrow::RecordBatch>& rows, Rng& rng) {
  std::vector<Probe> out;
  for (const auto& field : rows->schema()->fields()) {
    Probe probe;
    probe.column = {{field->name()}};
    probe.exact = rng() % 2 == 0;
    for (const Value& v : {Value::Int(static_cast<int64_t>(rng() % 9) - 4), Value::Text(std::to_string(rng() % 9)),
                           Value::Float(1.25), Value::Binary("3")}) {
      probe.set = ValueSet::Point(v);
      out.push_back(probe);
    }
    probe.kind = Probe::Kind::kIsNull;
    out.push_back(probe);
  }
  return out;
}

TEST(Bundle, SaysWhatTheHeadersSay) {
  const Parts parts(7);
  const std::string bytes = parts.Bundled();
  EXPECT_EQ(bytes, parts.Bundled(true));
  ReadContext ctx;
  const auto bundle = OpenBundle(bytes).ValueOrDie();
  ASSERT_EQ(bundle->parts().size(), 7u);
  EXPECT_FALSE(bundle->Find(Hash128{}));
  Rng rng(3);
  for (size_t p = 0; p < 7; ++p) {
    const auto own = parts.Header(p);
    const auto at = bundle->Find(own->sidecar().identity().part_hash);
    ASSERT_TRUE(at);
    const auto share = bundle->Header(*at);
    EXPECT_EQ(share->sidecar().identity(), own->sidecar().identity());
    EXPECT_TRUE(bundle->parts()[*at].schema->Equals(*own->ReadSchema(ctx).ValueOrDie(), true));
    EXPECT_EQ(bundle->parts()[*at].header_hash, own->sidecar().ContentHash(ctx).ValueOrDie());
    for (const Probe& probe : Probes(parts.rows[p], rng)) {
      const Candidates a = own->Answer(probe, ctx).ValueOrDie(), b = share->Answer(probe, ctx).ValueOrDie();
      EXPECT_EQ(a.possible, b.possible);
      EXPECT_EQ(a.certain, b.certain);
      EXPECT_TRUE(share->MayMatchByBounds(probe, ctx).ValueOrDie() || a.possible.empty());
    }
    EXPECT_EQ(share->note(), "");
  }
}

// What a bundle takes from another is what it would take from the headers.
TEST(Bundle, OfBundles) {
  const Parts parts(5);
  const std::string bytes = parts.Bundled();
  ReadContext ctx;
  const auto bundle = OpenBundle(bytes).ValueOrDie();
  BundleWriter again;
  for (size_t i = 0; i < 5; ++i) again.Add(*bundle->Take(i, ctx).ValueOrDie());
  EXPECT_EQ(again.Finish().ValueOrDie(), bytes);
}

// Filters over pairs, and sections that this Pilum knows nothing of, for one that does.
TEST(Bundle, CarriesPairsAndWhatIsUnknown) {
  BundleWriter writer;
  ReadContext ctx;
  for (uint8_t p = 1; p <= 3; ++p) {
    arrow::Int64Builder a, b;
    for (int64_t i = 0; i < 50; ++i) {
      ASSERT_TRUE(a.Append(i % 7).ok());
      ASSERT_TRUE(b.Append(i % 7 * 10 + p).ok());
    }
    const auto schema =
        arrow::schema({arrow::field("a", arrow::int64(), true, arrow::key_value_metadata({"pilum:pair"}, {"b"})),
                       arrow::field("b", arrow::int64())});
    SidecarBuilder builder(*schema);
    ASSERT_TRUE(
        builder.Append(*arrow::RecordBatch::Make(schema, 50, {a.Finish().ValueOrDie(), b.Finish().ValueOrDie()})).ok());
    const auto files = builder.Finish(*schema, Identity(p)).ValueOrDie();
    const auto own = PartIndex::Open(Source(files.header), SidecarKind::kHeader, ctx).ValueOrDie();
    auto header = *BundledHeader::Of(*own, ctx).ValueOrDie();
    const std::vector<FieldPath> columns = {FieldPath{{"a"}}, FieldPath{{"b"}}, FieldPath{{"c"}}};
    header.pieces.push_back({columns, 9999, 7, "of part " + std::to_string(p)});
    ASSERT_TRUE(writer.Fits(header));
    writer.Add(std::move(header));
  }
  const auto bundle = OpenBundle(writer.Finish().ValueOrDie()).ValueOrDie();
  EXPECT_TRUE(bundle->HasPair({{"b"}}, {{"a"}}));
  for (uint8_t p = 1; p <= 3; ++p) {
    const size_t at = bundle->Find(Identity(p)).value();
    const auto taken = *bundle->Take(at, ctx).ValueOrDie();
    EXPECT_TRUE(std::any_of(taken.pieces.begin(), taken.pieces.end(), [&](const auto& piece) {
      return piece.family == 9999 && piece.family_version == 7 && piece.columns.size() == 3 &&
             piece.raw == "of part " + std::to_string(p);
    }));
    Probe probe{Probe::Kind::kInPair, {{"a"}}, ValueSet::Point(Value::Int(3))};
    probe.second = {{"b"}};
    const auto may = [&](int64_t second) {
      probe.second_set = ValueSet::Point(Value::Int(second));
      return !bundle->Header(at)->Answer(probe, ctx).ValueOrDie().possible.empty();
    };
    EXPECT_TRUE(may(30 + p));
    EXPECT_FALSE(may(40 + p)) << "both are there, never together";
  }
}

TEST(Bundle, ReadsColumnsOnly) {
  const Parts parts(40);
  auto slow = std::make_shared<SlowReads>();
  slow->cost = ReadCost{.gap = 0, .tail = 0};
  ReadContext ctx;
  auto source = OpenSlowMemorySource("slow", arrow::Buffer::FromString(parts.Bundled()), slow, ctx).ValueOrDie();
  const auto bundle = Bundle::Open(
                          source, [](const arrow::Schema& s) { return std::make_shared<arrow::Schema>(s); }, ctx)
                          .ValueOrDie();
  const uint64_t opened = slow->requests;
  const FieldPath column{{"c4"}};
  const std::vector<SectionFamily> families = {SectionFamily::kBounds, SectionFamily::kBloom};
  std::vector<size_t> all(40);
  for (size_t i = 0; i < 40; ++i) all[i] = i;
  ASSERT_TRUE(bundle->Fetch(std::span(&column, 1), families, all, ctx).ok());
  EXPECT_LE(slow->requests - opened, 2u);
  const uint64_t fetched = slow->requests;
  for (size_t i = 0; i < 40; ++i) {
    Probe probe;
    probe.column = column;
    probe.set = ValueSet::Point(Value::Int(3));
    ASSERT_TRUE(bundle->Header(i)->Answer(probe, ctx).ok());
  }
  EXPECT_EQ(slow->requests, fetched);
}

// Any byte changed, cut or grown: an error at opening, or sections that are unknown; nothing else than the headers say.
TEST(Bundle, HarmedBytesSayLess) {
  const Parts parts(4);
  const std::string bytes = parts.Bundled();
  Rng rng(9);
  std::vector<std::shared_ptr<PartIndex>> own;
  for (size_t p = 0; p < 4; ++p) own.push_back(parts.Header(p));
  ReadContext ctx;
  int opened = 0, unknown = 0;
  for (int round = 0; round < 400; ++round) {
    std::string harmed = bytes;
    const size_t at = rng() % harmed.size();
    if (round % 8 == 0) {
      harmed.resize(at);
    } else {
      harmed[at] = static_cast<char>(harmed[at] ^ (1 << rng() % 8));
    }
    const auto bundle = OpenBundle(harmed);
    if (!bundle.ok()) continue;
    ++opened;
    for (size_t p = 0; p < 4; ++p) {
      const auto place = (*bundle)->Find(own[p]->sidecar().identity().part_hash);
      ASSERT_TRUE(place);
      const auto share = (*bundle)->Header(*place);
      for (const Probe& probe : Probes(parts.rows[p], rng)) {
        const RowSet mine = own[p]->Answer(probe, ctx).ValueOrDie().possible;
        const RowSet said = share->Answer(probe, ctx).ValueOrDie().possible;
        EXPECT_TRUE(mine.IsSubsetOf(said));
        unknown += said != mine;
      }
    }
  }
  EXPECT_GT(opened, 100);
  EXPECT_GT(unknown, 0);
}

// Right hashes over nonsense: whoever can write into a store can make one.
TEST(Bundle, HostileTablesAndLanes) {
  const auto container = [](const std::string& table, uint64_t parts, const std::string& root, std::string_view block) {
    SidecarWriter out;
    out.Add({}, SectionFamily::kBundledParts, table);
    BlockSection blocks;
    if (!block.empty()) blocks.AddBlock(block);
    out.Add(SidecarWriter::PackBlocks({FieldPath{{"c0"}}}, SectionFamily::kBounds, blocks, root));
    out.Add({FieldPath{{"c1"}}}, SectionFamily::kBounds, "not in blocks");
    return out.Finish(SidecarKind::kBundle, {{}, {}, parts});
  };
  ReadContext ctx;
  const auto refused = [&](const std::string& table, uint64_t parts) {
    const auto opened = OpenBundle(container(table, parts, "", ""));
    EXPECT_EQ(KindOf(opened.status()), ErrorKind::kCorrupt) << opened.status().ToString();
  };
  const std::string none(4, '\0');
  refused("", 0);
  refused(none, 1);
  refused(none, ~0ull);
  refused(none + "more", 0);
  refused(std::string(4, '\xff'), 0);        // schemas without end
  refused(none + std::string(48, '\1'), 1);  // metadata without end
  refused(none + std::string(48, '\0'), 1);  // a schema that there is not
  const Parts real(2);
  const std::string good = real.Bundled();
  const auto whole = SidecarReader::Open(Source(good), SidecarKind::kBundle, ctx).ValueOrDie();
  const std::string table = whole->ReadSection(*whole->Find(SectionFamily::kBundledParts, nullptr), ctx).ValueOrDie();
  refused(table + table.substr(table.size() - 48), 3);  // out of order, or not its own size
  const auto root = [](uint32_t a, uint32_t b) {
    std::string out;
    AppendLE(&out, a);
    AppendLE(&out, b);
    return out;
  };
  for (const auto& [lengths, block] : std::vector<std::pair<std::string, std::string>>{
           {"", ""}, {root(0, 0), "x"}, {root(~0u, ~0u), "x"}, {root(2, 0), ""}, {root(0, 3), "x"}, {root(1, 1), ""}}) {
    const auto bundle = OpenBundle(container(table, 2, lengths, block)).ValueOrDie();
    for (const char* column : {"c0", "c1"}) {
      Probe probe;
      probe.column = {{column}};
      probe.set = ValueSet::Point(Value::Int(1'000'000));
      for (size_t part = 0; part < 2; ++part) {
        const auto share = bundle->Header(part);
        EXPECT_EQ(share->Answer(probe, ctx).ValueOrDie().possible, RowSet::All(60));
        EXPECT_TRUE(share->MayMatchByBounds(probe, ctx).ValueOrDie());
      }
    }
  }
}

}  // namespace
}  // namespace pilum
