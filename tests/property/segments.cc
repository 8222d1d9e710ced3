#include "tests/property/segments.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>
#include <fmt/ranges.h>

#include "pilum/part/part_store.h"
#include "pilum/query/query.h"
#include "pilum/values/words.h"

namespace pilum::testing {
namespace {

void Must(const Status& status) {
  if (!status.ok()) throw std::runtime_error(status.ToString());
}

template <typename T>
T Must(Result<T> result) {
  Must(result.status());
  return std::move(result).ValueUnsafe();
}

struct Texts {
  std::optional<std::string> s, t;
};

// Rare words and frequent ones, of several scripts, in any case; longer ones than a dictionary keeps whole.
std::string RandomWord(Random& rng) {
  static const std::vector<std::string> odd = {
      "Straße", "ΣΊΣΥΦΟΣ", "naïve", "日本語", "İ", "x", "42", std::string(70, 'a'), std::string(64, 'a') + "b"};
  if (rng.Chance(0.15)) return rng.Pick(odd);
  std::string word = fmt::format("{}{}", rng.Chance(0.3) ? "W" : "w", rng.Below(1 + rng.Below(400)));
  if (rng.Chance(0.1)) word += "Tail";
  return word;
}

std::optional<std::string> RandomText(Random& rng) {
  static const std::vector<std::string> between = {" ", ", ", "-", "'", "\n", "—"};
  if (rng.Chance(0.08)) return std::nullopt;
  std::string text;
  for (int64_t n = rng.Below(6); n > 0; --n) text += RandomWord(rng) + rng.Pick(between);
  return text;
}

class Dataset {
 public:
  explicit Dataset(Random& rng) : rng_(rng) {
    const int64_t rounds = 1 + rng_.Below(3);
    for (int64_t r = 0; r < rounds; ++r) {
      for (int64_t n = 8 + rng_.Below(20); n > 0; --n) PutPart();
      if (rng_.Chance(0.3)) Must(store_->Compact({.target_rows = 200}, ctx_));
      if (rng_.Chance(0.8)) Must(store_->Maintain({.all = rng_.Chance(0.2)}, ctx_));
      if (rng_.Chance(0.2)) Must(store_->Sweep({.grace = {}}, ctx_));
    }
    if (rng_.Chance(0.3)) HarmOne();
  }

  void Ask() {
    const Question q = RandomQuestion(2);
    const std::string sql = "SELECT id FROM t WHERE " + q.sql;
    std::multiset<int64_t> wanted;
    for (const auto& [id, texts] : rows_) {
      if (q.holds(texts) == true) wanted.insert(id);
    }
    for (const bool use_index : {true, false}) {
      const auto got = Ids(sql, use_index);
      if (got == wanted) continue;
      throw std::runtime_error(fmt::format("{}, {}\n  wanted {}\n  got    {}", sql, use_index ? "segments" : "no index",
                                           fmt::join(wanted, " "), fmt::join(got, " ")));
    }
  }

 private:
  struct Question {
    std::string sql;
    std::function<std::optional<bool>(const Texts&)> holds;
  };

  // Some parts lack a column, or dictionaries.
  void PutPart() {
    arrow::StringBuilder s, t;
    arrow::Int64Builder id;
    const bool lacks_t = rng_.Chance(0.15), asked = rng_.Chance(0.85);
    const int64_t rows = 1 + rng_.Below(rng_.Chance(0.1) ? 300 : 20);
    for (int64_t i = 0; i < rows; ++i) {
      const Texts texts{RandomText(rng_), lacks_t ? std::nullopt : RandomText(rng_)};
      Must(id.Append(next_));
      Must(texts.s ? s.Append(*texts.s) : s.AppendNull());
      Must(texts.t ? t.Append(*texts.t) : t.AppendNull());
      rows_[next_++] = texts;
    }
    const auto words = [&](const char* name) {
      const auto field = arrow::field(name, arrow::utf8());
      return asked ? field->WithMetadata(arrow::key_value_metadata({"pilum:index"}, {"words"})) : field;
    };
    arrow::FieldVector fields = {arrow::field("id", arrow::int64()), words("s")};
    arrow::ArrayVector columns = {Must(id.Finish()), Must(s.Finish())};
    if (!lacks_t) {
      fields.push_back(words("t"));
      columns.push_back(Must(t.Finish()));
    }
    const auto batch = arrow::RecordBatch::Make(arrow::schema(fields), rows, columns);
    Must(store_->Put(*Must(arrow::RecordBatchReader::Make({batch})), {}, ctx_));
  }

  // A cache that is lost, cut short or changed in one byte says less.
  void HarmOne() {
    const std::string folder = rng_.Chance(0.7) ? "d/segments/" : "d/bundles/";
    const auto listed = Must(objects_->List(folder));
    if (listed.empty()) return;
    const std::string path = rng_.Pick(listed).path;
    const auto source = Must(objects_->OpenSource(path, ctx_));
    std::string bytes = Must(source->ReadRange({0, source->size()}, ctx_))->ToString();
    const auto at = static_cast<size_t>(rng_.Below(static_cast<int64_t>(bytes.size())));
    Must(objects_->Remove(path));
    switch (rng_.Below(3)) {
      case 0: return;
      case 1: bytes.resize(at); break;
      default: bytes[at] ^= static_cast<char>(1 << rng_.Below(8));
    }
    Must(objects_->PutIfAbsent(path, bytes));
  }

  Question Leaf() {
    const bool first = rng_.Chance(0.6);
    std::string words = RandomWord(rng_);
    while (rng_.Chance(0.35)) words += " " + RandomWord(rng_);
    const auto wanted = WordsOf(words, true);
    return {fmt::format("contains_words({}, '{}')", first ? "s" : "t", words),
            [first, wanted](const Texts& row) -> std::optional<bool> {
              const auto& text = first ? row.s : row.t;
              if (!text) return std::nullopt;
              const auto has = WordsOf(*text, true);
              return std::includes(has.begin(), has.end(), wanted.begin(), wanted.end());
            }};
  }

  Question RandomQuestion(int depth) {
    if (depth == 0 || rng_.Chance(0.4)) return Leaf();
    if (rng_.Chance(0.25)) {
      const Question q = RandomQuestion(depth - 1);
      return {"NOT (" + q.sql + ")", [q](const Texts& row) -> std::optional<bool> {
                const auto holds = q.holds(row);
                return holds ? std::optional(!*holds) : std::nullopt;
              }};
    }
    const Question a = RandomQuestion(depth - 1), b = RandomQuestion(depth - 1);
    const bool both = rng_.Chance(0.5);
    return {fmt::format("({}) {} ({})", a.sql, both ? "AND" : "OR", b.sql),
            [a, b, both](const Texts& row) -> std::optional<bool> {
              const auto x = a.holds(row), y = b.holds(row);
              if (x == !both || y == !both) return !both;
              return x && y ? std::optional(both) : std::nullopt;
            }};
  }

  std::multiset<int64_t> Ids(const std::string& sql, bool use_index) {
    const auto snapshot = Must(Must(PartStore::OpenIn(objects_, "d"))->OpenSnapshot(use_index, ctx_));
    QueryOptions options;
    options.use_index = use_index;
    const auto result = Must(RunQuery(snapshot, Must(BindQuery(sql, *snapshot, {})), options, ctx_));
    std::multiset<int64_t> ids;
    while (const auto batch = Must(result->Next())) {
      const auto& column = static_cast<const arrow::Int64Array&>(*batch->column(0));
      for (int64_t i = 0; i < column.length(); ++i) ids.insert(column.Value(i));
    }
    return ids;
  }

  Random& rng_;
  ReadContext ctx_;
  std::shared_ptr<ObjectStore> objects_ = ObjectStore::Memory();
  std::shared_ptr<PartStore> store_ = Must(PartStore::OpenIn(objects_, "d"));
  std::map<int64_t, Texts> rows_;  // by id
  int64_t next_ = 0;
};

}  // namespace

void CheckSegments(Random& rng) {
  Dataset dataset(rng);
  for (int i = 0; i < 12; ++i) dataset.Ask();
}

}  // namespace pilum::testing
