// dataset.toml: what it says, how it is refused, what it makes of a schema.
#include "pilum/index/dataset_spec.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include <random>

#include "pilum/index/index_spec.h"

namespace pilum {
namespace {

constexpr std::string_view kText = R"(# who, when, what
owner = "user"
time = ['ts']   # one is usual
key = ["id", "chat.id"]
target_part_bytes = 1_073_741_824

[index]
text = ["trigrams"]
"odd name" = [ "inverted",
               "nulls", ]
user = "inverted"
)";

TEST(DatasetSpec, SaysWhatTheFileSays) {
  const DatasetSpec spec = DatasetSpec::Parse(kText, "dataset.toml").ValueOrDie();
  EXPECT_EQ(spec.owner, std::vector<std::string>{"user"});
  EXPECT_EQ(spec.time, std::vector<std::string>{"ts"});
  EXPECT_EQ(spec.key, (std::vector<std::string>{"id", "chat.id"}));
  EXPECT_EQ(spec.target_part_bytes, 1073741824u);
  EXPECT_EQ(spec.indexes.at("odd name"), (std::vector<std::string>{"inverted", "nulls"}));
  EXPECT_EQ(spec.hash.size(), 16u);
  EXPECT_NE(spec.hash, DatasetSpec::Parse("", "x").ValueOrDie().hash);
}

TEST(DatasetSpec, FaultsNameTheirLine) {
  auto fault = [](std::string_view text) { return DatasetSpec::Parse(text, "d.toml").status().message(); };
  EXPECT_EQ(fault("\nowners = 'a'"),
            "d.toml: line 2: 'owners' is not known; there are owner, time, key, pairs, page_rows, target_part_bytes "
            "and [index]");
  EXPECT_EQ(fault("time = ts"), "d.toml: line 1: a text in quotes is missing");
  EXPECT_EQ(fault("target_part_bytes = 0"), "d.toml: line 1: a number above 0 is wanted");
  EXPECT_EQ(fault("target_part_bytes = 99999999999999999999"), "d.toml: line 1: a number that is too large");
  EXPECT_EQ(fault("key = ['a' 'b']"), "d.toml: line 1: ',' or ']' is missing in a list");
  EXPECT_EQ(fault("key = 'a"), "d.toml: line 1: a text does not end on its line");
  EXPECT_EQ(fault("[indices]\na = 'b'"), "d.toml: line 2: a table that is not known; there is [index]");
  EXPECT_EQ(fault("[index]\na = 'b'\na = 'c'"), "d.toml: line 3: the column is there twice");
}

TEST(DatasetSpec, PairsAndPages) {
  const DatasetSpec spec =
      DatasetSpec::Parse("page_rows = 4_096\npairs = [ ['a', \"b.c\"], # first\n  ['a', 'd'] ,\n]\n", "d.toml")
          .ValueOrDie();
  EXPECT_EQ(spec.page_rows, 4096u);
  using Pair = std::pair<std::string, std::string>;
  EXPECT_EQ(spec.pairs, (std::vector<Pair>{{"a", "b.c"}, {"a", "d"}}));
  auto inner = arrow::struct_({arrow::field("c", arrow::int8())});
  auto schema =
      arrow::schema({arrow::field("a", arrow::int8()), arrow::field("b", inner), arrow::field("d", arrow::int8())});
  EXPECT_EQ(PairsAskedFor(*spec.Annotate(*schema).ValueOrDie()), spec.pairs);
  EXPECT_TRUE(IsAnnotated(*spec.Annotate(*schema).ValueOrDie()));
  auto fault = [](std::string_view text) { return DatasetSpec::Parse(text, "d.toml").status().message(); };
  for (const char* bad : {"pairs = 'a'", "pairs = ['a', 'b']", "pairs = [['a']]", "pairs = [['a', 'b', 'c']]",
                          "pairs = [['a', 'a']]", "pairs = 3", "pairs = [['a', \"b\"], 'c']"})
    EXPECT_NE(fault(bad).find("line 1: pairs of columns are wanted"), std::string::npos) << bad << ": " << fault(bad);
  EXPECT_EQ(fault("pairs = [['a', 'b'"), "d.toml: line 1: ',' or ']' is missing in a list");
  EXPECT_EQ(fault("owner = [['a', 'b']]"), "d.toml: line 1: a list of lists is wanted of pairs alone");
  EXPECT_EQ(fault("page_rows = 0"), "d.toml: line 1: a number above 0 is wanted");
}

TEST(DatasetSpec, AnnotatesTheSchema) {
  const DatasetSpec spec = DatasetSpec::Parse(kText, "dataset.toml").ValueOrDie();
  auto chat = arrow::struct_({arrow::field("id", arrow::int64()), arrow::field("n", arrow::int8())});
  auto schema = arrow::schema({arrow::field("user", arrow::utf8())
                                   ->WithMetadata(arrow::key_value_metadata({"pilum:index", "x"}, {"none", "y"})),
                               arrow::field("ts", arrow::timestamp(arrow::TimeUnit::SECOND)),
                               arrow::field("chat", chat), arrow::field("other", arrow::int8())});
  const auto out = spec.Annotate(*schema).ValueOrDie();
  EXPECT_TRUE(out->Equals(*schema, false));
  auto list = [](const arrow::Field& f) {
    return f.metadata() && f.metadata()->Contains("pilum:index") ? f.metadata()->Get("pilum:index").ValueOrDie() : "-";
  };
  EXPECT_EQ(list(*out->field(0)), "inverted, owner");
  EXPECT_EQ(out->field(0)->metadata()->Get("x").ValueOrDie(), "y");
  EXPECT_EQ(list(*out->field(1)), "time");
  EXPECT_EQ(list(*out->field(2)->type()->field(0)), "key");
  EXPECT_EQ(list(*out->field(2)->type()->field(1)), "-");
  EXPECT_EQ(list(*out->field(3)), "-");
  EXPECT_TRUE(IsAnnotated(*out));
  const auto bad = DatasetSpec::Parse("[index]\nuser = 'magic'", "d.toml").ValueOrDie().Annotate(*schema);
  EXPECT_NE(bad.status().message().find("'magic'"), std::string::npos);
}

TEST(DatasetSpec, HostileTexts) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text(kText);
    for (uint64_t n = 1 + rng() % 4; n > 0 && !text.empty(); --n) {
      const size_t at = rng() % text.size();
      if (rng() % 5 == 0)
        text.resize(at);
      else
        text[at] = "[]\"'=#\n\\,a0 "[rng() % 12];
    }
    (void)DatasetSpec::Parse(text, "d.toml");
  }
}

}  // namespace
}  // namespace pilum
