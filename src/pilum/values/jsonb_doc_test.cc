#include "pilum/values/jsonb_doc.h"

#include <gtest/gtest.h>

#include <random>

#include "pilum/values/json_path.h"
#include "pilum/values/jsonb.h"

namespace pilum {
namespace {

constexpr const char* kKeys[] = {"", "a", "b", "é", "k y", "missing", "0"};
constexpr const char* kPaths[] = {
    "$", "$.a", "$.b[*]", "$.**{1 to 3}", "$[last]", "$.a?(@.b > 1)", "$[*]?(exists(@.a))", "$.*?(@ != \"x\")"};

// All that can be asked of a node and of what is below it, as text.
void Describe(const JsonTree& doc, uint32_t at, std::string* out) {
  const JsonKind kind = doc.kind(at);
  *out += fmt::format("{}(", static_cast<int>(kind));
  doc.AppendCompact(at, out);
  if (kind == JsonKind::kString) *out += "|" + doc.StringOf(at);
  if (kind == JsonKind::kNumber) {
    const JsonNumber n = doc.NumberOf(at);
    *out += fmt::format("|{}:{}", n.index(), std::visit([](auto v) { return fmt::to_string(v); }, n));
  }
  for (const char* key : kKeys) {
    if (const uint32_t m = doc.Member(at, key); m != JsonTree::kNone)
      *out += fmt::format("|{}=", key), doc.AppendCompact(m, out);
  }
  *out += fmt::format("|{}", doc.CountElements(at));
  for (const uint64_t i : {0, 1, 4}) {
    if (const uint32_t e = doc.Element(at, i); e != JsonTree::kNone)
      *out += fmt::format("|[{}]", i), doc.AppendCompact(e, out);
  }
  std::vector<uint32_t> children;
  doc.AddChildren(at, &children);
  for (const uint32_t child : children) Describe(doc, child, out);
  *out += ")";
}

std::string Everything(const JsonTree& doc) {
  std::string out;
  Describe(doc, 0, &out);
  for (const char* text : kPaths) {
    out += fmt::format("\n{}:", text);
    const auto places = JsonPath::Parse(text)->Select(doc);
    if (!places.ok()) return out + places.status().message();
    for (const uint32_t at : *places) out += ' ', doc.AppendCompact(at, &out);
  }
  return out;
}

// Of bytes that are JSONB, or JSON text in its place. "fails" where they are neither; `walked`: without a text of them.
std::string OfText(std::string_view bytes) {
  std::string text;
  if (!AppendJsonbText(bytes, &text).ok()) return "fails";
  JsonDoc doc;
  EXPECT_TRUE(doc.Parse(text).ok()) << text;
  return Everything(doc);
}
std::optional<std::string> Walked(std::string_view bytes, JsonbDoc* doc) {
  if (!doc->Open(bytes)) return std::nullopt;
  std::string out = Everything(*doc);
  if (doc->failed()) return std::nullopt;
  return out;
}

class Documents {
 public:
  explicit Documents(uint32_t seed) : rng_(seed) {}

  std::string Value(int depth) {
    switch (rng_() % (depth > 0 ? 9 : 7)) {
      case 0: return Of({"null", "true", "false"});
      case 1: return Of({"0", "-1", "127", "-128", "128", "-129", "255", "256", "65536", "-32769", "4294967296"});
      case 2:
        return Of({"9223372036854775807", "9223372036854775808", "18446744073709551615", "-9223372036854775808",
                   "123456789012345678901234567890"});
      case 3: return Of({"1.0", "-0.0", "0.1", "1e300", "1e-300", "2.5e17", "-7.25"});
      case 4:
      case 5:
      case 6: return Of({"\"\"", "\"x\"", "\"7\"", "\"a\\\"b\\\\\"", "\"\\u0001\\n\"", "\"é😀\"", "\"\\\\ud83d\""});
      case 7: {
        std::string out = "[";
        for (size_t i = 0, n = rng_() % 6; i < n; ++i) out += (i > 0 ? "," : "") + Value(depth - 1);
        return out + "]";
      }
      default: {
        std::string out = "{";
        for (const char* key : {"", "a", "b", "k y", "é", "0"}) {
          if (rng_() % 2 == 0) out += fmt::format("{}\"{}\":{}", out.size() > 1 ? "," : "", key, Value(depth - 1));
        }
        return out + "}";
      }
    }
  }
  uint32_t Next() { return static_cast<uint32_t>(rng_()); }

 private:
  std::string Of(std::initializer_list<const char*> values) { return values.begin()[rng_() % values.size()]; }
  std::mt19937 rng_;
};

TEST(JsonbDoc, AnswersAsTheText) {
  Documents random(11);
  JsonbDoc doc;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random.Value(4);
    const std::string jsonb = *JsonbOfText(text);
    ASSERT_EQ(Walked(jsonb, &doc), OfText(jsonb)) << text;
  }
}

// What the encoder does not write: keys twice and in any order, numbers wider than they need, decimals, infinities.
TEST(JsonbDoc, AnswersAsTheTextOfOtherWriters) {
  const auto be = [](uint32_t word) {
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(word >> shift));
    return out;
  };
  const std::string one("\x50\x01", 2), two("\x40\x00\x00\x00\x02", 5), infinity("\x20", 1), nan("\x10", 1);
  const std::string decimal("\x70\x00\x00\x00\x00\x00\x00\x00\x69\x01", 10);
  std::string bytes =
      be(0x40000005) + be(0x10000001) + be(0x10000001) + be(0x10000001) + be(0x10000000) + be(0x10000001);
  for (const auto* value : {&one, &two, &infinity, &decimal, &nan}) {
    bytes += be(0x20000000 | static_cast<uint32_t>(value->size()));
  }
  bytes += "bab0" + one + two + infinity + decimal + nan;
  JsonbDoc doc;
  EXPECT_EQ(Walked(bytes, &doc), OfText(bytes));
  ASSERT_TRUE(doc.Open(bytes));
  EXPECT_EQ(doc.kind(doc.Member(0, "b")), JsonKind::kNull);  // the last of them, an infinity
  EXPECT_EQ(doc.NumberOf(doc.Member(0, "")), JsonNumber(10.5));
  EXPECT_EQ(OfText(""), Walked("", &doc));
}

TEST(JsonbDoc, TextInItsPlaceIsLeftToOthers) {
  JsonbDoc doc;
  for (const char* text :
       {"{\"a\": 1}", "[1, 2]", "12", "\"a text that is longer\"", "true", " [1]", "-5", "1234567890123"}) {
    EXPECT_EQ(Walked(text, &doc), std::nullopt) << text;
  }
}

// Damaged bytes give what their text gives, or nothing; where there is no text of them, something that was not looked at may
// be damaged, and no byte outside of them is read (sanitizers see to it: each lies alone).
TEST(JsonbDoc, DamageIsMetOrNotLookedAt) {
  Documents random(12);
  JsonbDoc doc;
  uint32_t same = 0, refused = 0;
  for (int i = 0; i < 30000; ++i) {
    std::string bytes = *JsonbOfText(random.Value(3));
    for (uint32_t k = 0, n = 1 + random.Next() % 3; k < n; ++k) {
      bytes[random.Next() % bytes.size()] =
          static_cast<char>(random.Next() % 4 == 0 ? random.Next() : random.Next() & 0x75);
    }
    if (random.Next() % 4 == 0) bytes.resize(random.Next() % bytes.size());
    const std::vector<char> alone(bytes.begin(), bytes.end());
    const std::string_view view(alone.data(), alone.size());
    const std::string text = OfText(view);
    const auto walked = Walked(view, &doc);
    if (walked && text != "fails") ASSERT_EQ(*walked, text);
    same += walked == text;
    refused += !walked && text == "fails";
  }
  EXPECT_GT(same, 1000u);
  EXPECT_GT(refused, 1000u);
}

TEST(JsonbDoc, DepthAndNodesHaveAnEnd) {
  std::string deep = *JsonbOfText("[]");
  for (int i = 0; i < 5000; ++i) {
    std::string outer("\x80\x00\x00\x01", 4);
    const auto entry = static_cast<uint32_t>(0x50000000 | deep.size());
    for (int shift = 24; shift >= 0; shift -= 8) outer.push_back(static_cast<char>(entry >> shift));
    deep = outer + deep;
  }
  JsonbDoc doc;
  ASSERT_TRUE(doc.Open(deep));
  EXPECT_TRUE(JsonPath::Parse("$.**")->Select(doc).ok());
  EXPECT_TRUE(doc.failed());
  ASSERT_TRUE(doc.Open(deep));
  EXPECT_EQ(doc.CountElements(0), 1u);
  EXPECT_FALSE(doc.failed());
  std::string wide = "[0";
  for (int i = 0; i < 2000; ++i) wide += ",0";
  wide += "]";
  const std::string jsonb = *JsonbOfText(wide);
  ASSERT_TRUE(doc.Open(jsonb));
  (void)JsonPath::Parse("$[*]?(@ < $[*])")->Select(doc);
  EXPECT_TRUE(doc.failed());
}

}  // namespace
}  // namespace pilum
