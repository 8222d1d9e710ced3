// What a filtered read costs, exactly: rows decoded, tests evaluated, requests, bytes, parts opened for each probe on small
// fixed datasets, with and without sidecars, held against bench/counts/*.txt. A change that reads more fails here. Where
// the change is meant: PILUM_UPDATE_COUNTS=1 build/release/tests/pilum_counts_test writes the file anew, and the commit
// shows the difference.
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "pilum/part/part_store.h"
#include "pilum/query/query.h"
#include "tests/counts/recorded.h"

namespace pilum {
namespace {

constexpr int64_t kParts = 3, kRows = 20000;

// id: ascending over all parts; kind: few values; owner: 50 values, each in one part; late: one value that breaks the
// order; text: 40 bytes; price: null in every third row.
std::shared_ptr<arrow::RecordBatch> Part(int64_t part) {
  arrow::Int64Builder id, late;
  arrow::StringBuilder kind, owner, text;
  arrow::DoubleBuilder price;
  uint64_t state = 88172645463325252ull + static_cast<uint64_t>(part);
  auto next = [&] {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
  };
  for (int64_t i = 0; i < kRows; ++i) {
    const int64_t row = part * kRows + i;
    ARROW_UNUSED(id.Append(row));
    ARROW_UNUSED(late.Append(i == 777 ? -1 : row / 100));
    ARROW_UNUSED(kind.Append(std::string(1, static_cast<char>('a' + next() % 5))));
    ARROW_UNUSED(owner.Append(fmt::format("owner-{:03}", part * 50 + i * 50 / kRows)));
    ARROW_UNUSED(text.Append(fmt::format("{:016x}-{:016x}-{:06}", next(), next(), row)));
    ARROW_UNUSED(i % 3 == 0 ? price.AppendNull() : price.Append(static_cast<double>(next() % 10000) / 100));
  }
  return arrow::RecordBatch::Make(
      arrow::schema({arrow::field("id", arrow::int64()), arrow::field("late", arrow::int64()),
                     arrow::field("kind", arrow::utf8()), arrow::field("owner", arrow::utf8()),
                     arrow::field("text", arrow::utf8()), arrow::field("price", arrow::float64())}),
      kRows,
      {id.Finish().ValueOrDie(), late.Finish().ValueOrDie(), kind.Finish().ValueOrDie(), owner.Finish().ValueOrDie(),
       text.Finish().ValueOrDie(), price.Finish().ValueOrDie()});
}

const std::vector<std::string> kProbes = {
    "SELECT * FROM t WHERE id = 31415",
    "SELECT * FROM t WHERE id BETWEEN 19990 AND 20009",
    "SELECT id FROM t WHERE id >= 59000",
    "SELECT id, text FROM t WHERE late = -1",
    "SELECT text FROM t WHERE owner = 'owner-077'",
    "SELECT text FROM t WHERE owner = 'nobody'",
    "SELECT id FROM t WHERE owner = 'owner-010' AND kind = 'c' AND price < 1",
    "SELECT id FROM t WHERE kind = 'z'",
    "SELECT id FROM t WHERE price IS NULL AND id < 10",
    "SELECT id FROM t WHERE NOT (id < 59990)",
    "SELECT text FROM t WHERE text LIKE 'ffff%'",
    "SELECT id FROM t WHERE price > 99.9 LIMIT 5",
    "SELECT id FROM t LIMIT 3 OFFSET 30000",
};

// Opens the dataset anew, so that nothing is open or cached: the cost is that of a first query.
std::string Ask(const std::shared_ptr<ObjectStore>& objects, const std::string& name, const std::string& sql,
                bool use_index) {
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  auto snapshot = PartStore::OpenIn(objects, name).ValueOrDie()->OpenSnapshot(use_index, ctx);
  if (!snapshot.ok()) return "error: " + snapshot.status().message();
  auto query = BindQuery(sql, **snapshot, {});
  if (!query.ok()) return "error: " + query.status().message();
  QueryOptions options;
  options.use_index = use_index;
  auto result = RunQuery(*snapshot, *query, options, ctx);
  if (!result.ok()) return "error: " + result.status().message();
  while (true) {
    auto batch = (*result)->Next();
    if (!batch.ok()) return "error: " + batch.status().message();
    if (!*batch) break;
  }
  const QueryCounts& c = (*result)->counts();
  std::string decoded;
  for (const auto& [column, values] : stats.decoded()) decoded += fmt::format(" {}:{}", column, values);
  return fmt::format(
      "rows {}, pruned {}/{}, possible {}, certain {}, rechecked {}, evaluated {}, opens {}, requests {}, bytes {}, "
      "decoded{}",
      c.rows_returned, c.units_pruned, c.units, c.rows_candidate, c.rows_certain, c.rows_rechecked, c.evaluations,
      stats.opens.load(), stats.requests.load(), stats.bytes.load(), decoded.empty() ? " nothing" : decoded);
}

void ExpectCosts(const std::string& name, const arrow::RecordBatchVector& parts,
                 const std::vector<std::string>& probes) {
  auto objects = ObjectStore::Memory();
  ReadContext ctx;
  auto store = PartStore::OpenIn(objects, name).ValueOrDie();
  for (const auto& batch : parts) {
    auto reader = arrow::RecordBatchReader::Make({batch}, batch->schema()).ValueOrDie();
    ASSERT_TRUE(store->Put(*reader, {}, ctx).ok());
  }
  std::string got;
  for (const std::string& sql : probes) {
    got += sql + "\n";
    for (bool use_index : {true, false}) {
      got += fmt::format("  {}: {}\n", use_index ? "sidecars" : "scan", Ask(objects, name, sql, use_index));
    }
  }
  testing::ExpectRecorded(name + ".txt", got);
}

TEST(Counts, SmallDataset) {
  arrow::RecordBatchVector parts;
  for (int64_t part = 0; part < kParts; ++part) parts.push_back(Part(part));
  ExpectCosts("small", parts, kProbes);
}

// The order of tests: bucket holds 5,000 values, flag mostly 1, all in every part; no index leaves out a row.
TEST(Counts, OrderOfTests) {
  constexpr int64_t kMany = 100'000;
  arrow::RecordBatchVector parts;
  for (uint64_t part = 0; part < 2; ++part) {
    arrow::Int32Builder bucket, flag;
    arrow::StringBuilder text;
    arrow::DoubleBuilder x;
    uint64_t state = 88172645463325252ull + part;
    auto next = [&] {
      state ^= state << 13, state ^= state >> 7, state ^= state << 17;
      return state;
    };
    for (int64_t i = 0; i < kMany; ++i) {
      ARROW_UNUSED(bucket.Append(static_cast<int32_t>(next() % 5000)));
      ARROW_UNUSED(flag.Append(next() % 20 == 0 ? 0 : 1));
      ARROW_UNUSED(text.Append(fmt::format("{:016x}-{:016x}", next(), next())));
      ARROW_UNUSED(x.Append(static_cast<double>(next() % 1000000)));
    }
    parts.push_back(arrow::RecordBatch::Make(
        arrow::schema({arrow::field("bucket", arrow::int32()), arrow::field("flag", arrow::int32()),
                       arrow::field("text", arrow::utf8()), arrow::field("x", arrow::float64())}),
        kMany,
        {bucket.Finish().ValueOrDie(), flag.Finish().ValueOrDie(), text.Finish().ValueOrDie(),
         x.Finish().ValueOrDie()}));
  }
  ExpectCosts("order", parts,
              {
                  "SELECT x FROM t WHERE bucket = 77 AND text LIKE '%ab%'",
                  "SELECT x FROM t WHERE text LIKE '%ab%' AND bucket = 77",
                  "SELECT x FROM t WHERE text LIKE '%ab%' AND flag = 1 AND bucket = 77",
                  "SELECT x FROM t WHERE text LIKE '%ab%' AND flag = 0",
                  "SELECT x FROM t WHERE text LIKE '%ab%' OR flag = 1",
                  "SELECT bucket, text FROM t WHERE text LIKE '%ab%' AND bucket = 77",
                  "SELECT x FROM t WHERE text LIKE '%ab%' AND bucket = 77 LIMIT 1",
              });
}

}  // namespace
}  // namespace pilum
