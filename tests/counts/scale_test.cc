// The scale test: three parts whose times are disjoint, and one question of each kind, answered with and without sidecars.
// Answers are held against the rows themselves (scale_data.h); which parts were kept and what was read against
// bench/counts/scale_small.json, exactly. The same with parts of 2,556,528 rows, about 1 GiB of Arrow each:
//   PILUM_SCALE_STORE=FOLDER PILUM_UPDATE_COUNTS=1 build/release/tests/pilum_counts_test --gtest_filter='Scale.Large'
// writes bench/counts/scale.json (without PILUM_UPDATE_COUNTS it is compared). FOLDER takes some 3 GB and is kept: what is
// there already is not put again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>

#include <arrow/api.h>

#include "pilum/part/part_store.h"
#include "pilum/query/prune.h"
#include "pilum/query/query.h"
#include "tests/counts/scale_data.h"
#include "tests/counts/recorded.h"

namespace pilum {
namespace {

using scale::Row;
using scale::Shape;

struct Question {
  std::string name, where;
  std::function<bool(const Row&)> holds;
  bool one_chunk = false;  // of each of its columns: the rows lie in one, at most
};

constexpr int64_t kDay = 86'400'000'000, kStart = 20'089 * kDay;  // 2025-01-01

bool HasTag(const Row& row, int tag) { return std::find(row.tags.begin(), row.tags.end(), tag) != row.tags.end(); }

std::vector<Question> Questions(const Shape& shape) {
  const int64_t id = 7 * (shape.part_rows + shape.part_rows / 2 + 123) + 3;
  auto is = [](int64_t Row::*field, int64_t v) { return [=](const Row& r) { return r.*field == v; }; };
  auto number = [](int64_t v) { return std::to_string(v); };
  return {
      {"uint32", "u32 = 3000000017", [](const Row& r) { return r.u32 == 3'000'000'017u; }},
      {"uint32, above all", "u32 > 4200000000", [](const Row&) { return false; }},
      {"ascending id", "id = " + number(id), is(&Row::id, id), true},
      {"ascending id, not there", "id = " + number(id + 1), is(&Row::id, id + 1), true},
      {"shuffled id", "sid = " + number(id), is(&Row::sid, id), true},
      {"shuffled id, not there", "sid = " + number(id + 1), is(&Row::sid, id + 1), true},
      {"three shuffled ids", "sid IN (3, " + number(id) + ", 11)",
       [=](const Row& r) { return r.sid == 3 || r.sid == id; }},
      {"one text of five", "kind = 'beta'", [](const Row& r) { return r.kind == 1; }},
      {"no text of five", "kind = 'omega'", [](const Row&) { return false; }},
      {"times of one part", "ts >= TIMESTAMP '2025-01-31 00:00:00' AND ts < TIMESTAMP '2025-03-02 00:00:00'",
       [](const Row& r) { return r.ts >= kStart + 30 * kDay && r.ts < kStart + 60 * kDay; }},
      {"an hour", "ts BETWEEN TIMESTAMP '2025-03-10 12:00:00' AND TIMESTAMP '2025-03-10 12:59:59.999999'",
       [](const Row& r) { return (r.ts - kStart) / (kDay / 24) == 68 * 24 + 12; }},
      {"nullable float", "price = 12.25", [](const Row& r) { return r.price == 12.25; }},
      {"nullable float IS NULL", "price IS NULL", [](const Row& r) { return !r.price; }},
      {"IS NULL", "late IS NULL", [](const Row& r) { return !r.late; }},
      {"IS NOT NULL", "late IS NOT NULL AND id < 700", [](const Row& r) { return r.late && r.id < 700; }},
      {"date", "day = DATE '2025-02-10'", [](const Row& r) { return r.day == 20'089 + 40; }},
      {"float32", "f32 = 0.1", [](const Row& r) { return r.f32 == 0.1f; }},
      {"boolean", "flag", [](const Row& r) { return r.flag; }},
      {"list membership", "array_has(tags, 'tag7')", [](const Row& r) { return HasTag(r, 7); }},
      {"list membership, nowhere", "array_has(tags, 'tag300')", [](const Row&) { return false; }},
      {"struct leaf", "st.a = 77", [](const Row& r) { return r.leaf == 77; }},
      {"text word", "text LIKE '% zyzzyva %'", [](const Row& r) { return r.rare_word; }},
      {"text substring", "contains(text, 'zzyv')", [](const Row& r) { return r.rare_word; }},
      {"composite", "kind = 'beta' AND u32 = 3000000017",
       [](const Row& r) { return r.kind == 1 && r.u32 == 3'000'000'017u; }},
      {"composite of three", "kind = 'gamma' AND flag AND st.a < 500",
       [](const Row& r) { return r.kind == 2 && r.flag && r.leaf < 500; }},
  };
}

// Of the ids of an answer: how many, and their sums, whatever their order.
struct Answer {
  uint64_t rows = 0, sum = 0, squares = 0;
  void Add(int64_t id) {
    const auto u = static_cast<uint64_t>(id);
    ++rows, sum += u, squares += u * u;
  }
  bool operator==(const Answer&) const = default;
};

std::vector<Answer> RightAnswers(const Shape& shape, const std::vector<Question>& questions) {
  std::vector<Answer> out(questions.size());
  for (int64_t k = 0; k < shape.rows(); ++k) {
    const Row row = RowAt(k, shape);
    for (size_t q = 0; q < questions.size(); ++q) {
      if (questions[q].holds(row)) out[q].Add(row.id);
    }
  }
  return out;
}

// A dataset of the shape, its parts' names by their number.
struct Dataset {
  std::shared_ptr<ObjectStore> objects;
  std::vector<std::string> names;

  // One that knows nothing of the parts yet.
  std::shared_ptr<PartStore> Handle() const { return PartStore::OpenIn(objects, "scale").ValueOrDie(); }

  static Dataset Make(std::shared_ptr<ObjectStore> objects, const Shape& shape) {
    Dataset out{std::move(objects), {}};
    ReadContext ctx;
    for (int64_t part = 0; part < scale::kParts; ++part) {
      // With a batch id a part that is there is not made again.
      const auto put = out.Handle()->Put(*ReadPart(part, shape), {.batch_id = "part " + std::to_string(part)}, ctx);
      EXPECT_TRUE(put.ok()) << put.status().ToString();
      EXPECT_EQ(put->parts.size(), 1u);
      out.names.push_back(put->parts.at(0));
    }
    return out;
  }
};

// What one question costs a freshly opened dataset, and which parts its prune headers keep.
struct Asked {
  Answer answer;
  std::map<std::string, uint64_t> decoded;
  std::string json;
};

std::string KeptParts(const Dataset& dataset, const Snapshot& snapshot, const BoundQuery& query) {
  std::set<size_t> kept;
  ReadContext ctx;
  for (const auto& unit : snapshot.units()) {
    if (!MayMatch(query.where->root(), *unit, true, ctx).ValueOrDie()) continue;
    const auto at = std::find(dataset.names.begin(), dataset.names.end(), unit->name());
    kept.insert(static_cast<size_t>(at - dataset.names.begin()));
  }
  return fmt::format("[{}]", fmt::join(kept, ","));
}

Asked Ask(const Dataset& dataset, const std::string& where, bool use_index) {
  Asked out;
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  auto snapshot = dataset.Handle()->OpenSnapshot(use_index, ctx).ValueOrDie();
  const auto query = BindQuery("SELECT id FROM t WHERE " + where, *snapshot, {}).ValueOrDie();
  QueryOptions options;
  options.use_index = use_index;
  auto result = RunQuery(snapshot, query, options, ctx).ValueOrDie();
  while (auto batch = result->Next().ValueOrDie()) {
    const auto& ids = static_cast<const arrow::Int64Array&>(*batch->column(0));
    for (int64_t i = 0; i < ids.length(); ++i) out.answer.Add(ids.Value(i));
  }
  const QueryCounts& c = result->counts();
  for (const std::string& note : c.notes) ADD_FAILURE() << where << ": " << note;
  out.decoded = stats.decoded();
  std::string decoded;
  for (const auto& [column, values] : out.decoded)
    decoded += fmt::format(R"({}"{}": {})", decoded.empty() ? "" : ", ", column, values);
  out.json = fmt::format(
      R"({{"parts": {}, "possible": {}, "certain": {}, "rechecked": {}, "evaluated": {}, "opens": {}, "requests": {}, "bytes": {}, "decoded": {{{}}}}})",
      use_index ? KeptParts(dataset, *snapshot, query) : "[0,1,2]", c.rows_candidate, c.rows_certain, c.rows_rechecked,
      c.evaluations, stats.opens.load(), stats.requests.load(), stats.bytes.load(), decoded);
  return out;
}

// Which indexes: those that rules choose, and those that a dataset.toml asks for.
constexpr std::string_view kAsked = R"(key = ["id", "sid"]
time = "ts"
[index]
u32 = ["inverted", "bloom"]
kind = ["inverted"]
price = ["inverted"]
late = ["nulls"]
day = ["inverted"]
f32 = ["inverted"]
flag = ["inverted"]
tags = ["members"]
"st.a" = ["inverted"]
text = ["trigrams"]
)";

std::string AskAll(const Dataset& dataset, const std::vector<Question>& questions, const std::vector<Answer>& right) {
  constexpr uint64_t kChunk = 1024;  // values of one chunk of 8-byte integers
  std::string json;
  for (size_t q = 0; q < questions.size(); ++q) {
    const auto& [name, where, holds, one_chunk] = questions[q];
    const Asked with = Ask(dataset, where, true), without = Ask(dataset, where, false);
    EXPECT_EQ(with.answer, right[q]) << name << ", with sidecars";
    EXPECT_EQ(without.answer, right[q]) << name << ", without";
    for (const auto& [column, values] : with.decoded) {
      if (one_chunk) {
        EXPECT_LE(values, kChunk) << name << ": more than a chunk of " << column;
      }
    }
    json += fmt::format(
        "{}    {{\"question\": \"{}\", \"where\": \"{}\", \"rows\": {},\n     \"sidecars\": {},\n     \"scan\": {}}}",
        json.empty() ? "" : ",\n", name, where, right[q].rows, with.json, without.json);
  }
  return json;
}

void ExpectScale(const std::shared_ptr<ObjectStore>& objects, const Shape& shape, const std::string& file) {
  const auto questions = Questions(shape);
  const auto right = RightAnswers(shape, questions);
  ASSERT_TRUE(objects->Remove("scale/dataset.toml").ok());
  Dataset dataset = Dataset::Make(objects, shape);
  ReadContext ctx;
  auto backfilled = dataset.Handle()->Backfill({.all = true}, ctx);
  ASSERT_TRUE(backfilled.ok()) << backfilled.status().ToString();
  const std::string by_rules = AskAll(dataset, questions, right);
  ASSERT_TRUE(objects->PutIfAbsent("scale/dataset.toml", kAsked).ValueOrDie());
  backfilled = dataset.Handle()->Backfill({.all = true}, ctx);
  ASSERT_TRUE(backfilled.ok()) << backfilled.status().ToString();
  EXPECT_EQ(backfilled->rebuilt, scale::kParts);
  const std::string as_asked = AskAll(dataset, questions, right);
  const std::string got = fmt::format(
      "{{\"parts\": {}, \"rows_a_part\": {},\n  \"indexes by rules\": [\n{}],\n  \"indexes asked for\": [\n{}]}}\n",
      scale::kParts, shape.part_rows, by_rules, as_asked);
  testing::ExpectRecorded(file, got);
}

TEST(Scale, Small) { ExpectScale(ObjectStore::Memory(), {40'000}, "scale_small.json"); }

TEST(Scale, Large) {
  const char* folder = std::getenv("PILUM_SCALE_STORE");
  if (!folder) GTEST_SKIP() << "set PILUM_SCALE_STORE to a folder for some 3 GB";
  ExpectScale(ObjectStore::Open(folder).ValueOrDie(), {2'556'528}, "scale.json");
}

}  // namespace
}  // namespace pilum
