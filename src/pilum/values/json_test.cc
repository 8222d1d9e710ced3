#include "pilum/values/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "pilum/values/json_path.h"
#include "pilum/values/jsonb.h"

namespace pilum {
namespace {

using namespace std::string_literals;

std::string Hex(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return out;
}
std::string Bytes(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}
std::string TextOf(std::string_view jsonb) {
  std::string out;
  const Status st = AppendJsonbText(jsonb, &out);
  return st.ok() ? out : "error: " + st.message();
}

TEST(Json, ParsesWhatIsJsonAndNothingElse) {
  JsonDoc doc;
  for (const char* good : {"1", " -0.5e+3 ", "\"\"", "[]", "{}", "[1, [2, {\"a\": []}], {}]",
                           "{\"a\" : 1 , \"b\":null}", "\"\\u00e9\\n\\\"\"", "true", "\t[\r\n]"}) {
    EXPECT_TRUE(doc.Parse(good).ok()) << good;
  }
  for (const char* bad :
       {"",      " ",    "01",   "1.",      ".5",          "1e",       "-",     "+1",         "nul",
        "nulll", "[1,]", "[,1]", "[1 2]",   "{\"a\"}",     "{\"a\":}", "{a:1}", "{\"a\":1,}", "[",
        "]",     "{",    "\"",   "\"\\x\"", "\"\\u12g4\"", "\"\n\"",   "1 2",   "NaN",        "\"\xff\""}) {
    EXPECT_EQ(KindOf(doc.Parse(bad)), ErrorKind::kUsage) << bad;
  }
  EXPECT_TRUE(doc.Parse(std::string(1000, '[') + std::string(1000, ']')).ok());
  EXPECT_FALSE(doc.Parse(std::string(1001, '[') + std::string(1001, ']')).ok());
}

TEST(Json, FindsMembersAndElements) {
  JsonDoc doc;
  ASSERT_TRUE(doc.Parse(R"( {"a": [10, {"x": 1}, "s"], "\u0062": 2, "a b": null, "b": 3} )").ok());
  EXPECT_EQ(doc.TextOf(doc.Member(0, "b")), "3");  // the last of them
  EXPECT_EQ(doc.TextOf(doc.Member(0, "a b")), "null");
  EXPECT_EQ(doc.Member(0, "c"), JsonDoc::kNone);
  EXPECT_EQ(doc.Element(0, 0), JsonDoc::kNone);
  const uint32_t a = doc.Member(0, "a");
  EXPECT_EQ(doc.CountElements(a), 3u);
  EXPECT_EQ(doc.TextOf(doc.Element(a, 2)), "\"s\"");
  EXPECT_EQ(doc.Element(a, 3), JsonDoc::kNone);
  EXPECT_EQ(doc.Member(a, "x"), JsonDoc::kNone);
  std::string compact;
  doc.AppendCompact(0, &compact);
  EXPECT_EQ(compact, R"({"a":[10,{"x":1},"s"],"\u0062":2,"a b":null,"b":3})");
}

TEST(Json, StringsAndNumbers) {
  JsonDoc doc;
  ASSERT_TRUE(doc.Parse(R"(["\u00e9\t\"\/\\\b\f\r", "\ud83d\ude00", "\ud83d", "\ude00x", "\ud83dA"])").ok());
  EXPECT_EQ(doc.StringOf(1), "é\t\"/\\\b\f\r");
  EXPECT_EQ(doc.StringOf(2), "😀");
  EXPECT_EQ(doc.StringOf(3), "\\ud83d");
  EXPECT_EQ(doc.StringOf(4), "\\ude00x");
  EXPECT_EQ(doc.StringOf(5), "\\ud83dA");
  ASSERT_TRUE(doc.Parse("[-9223372036854775808, 9223372036854775808, 18446744073709551616, 1.0, 1e400, 1e-400]").ok());
  EXPECT_EQ(doc.NumberOf(1), JsonNumber(INT64_MIN));
  EXPECT_EQ(doc.NumberOf(2), JsonNumber(uint64_t{1} << 63));
  EXPECT_EQ(doc.NumberOf(3), JsonNumber(0x1p64));
  EXPECT_EQ(doc.NumberOf(4), JsonNumber(1.0));
  EXPECT_EQ(doc.NumberOf(5), JsonNumber(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(doc.NumberOf(6), JsonNumber(0.0));
}

// Whatever lies at whatever place of an eight-byte step.
TEST(Json, LiteralsEscapeEveryByteAtEveryPlace) {
  for (int c = 0; c < 0x80; ++c) {
    for (size_t at = 0; at < 19; ++at) {
      for (const std::string around : {"a", "\"", "\x1f", "ü"}) {
        std::string text;
        for (size_t i = 0; i < 19; ++i)
          text += i == at ? std::string(1, static_cast<char>(c)) : i % 5 == 4 ? around : "a";
        std::string literal;
        AppendJsonLiteral(text, &literal);
        for (const char b : literal) ASSERT_GE(static_cast<uint8_t>(b), 0x20);
        JsonDoc doc;
        ASSERT_TRUE(doc.Parse(literal).ok()) << literal;
        ASSERT_EQ(doc.StringOf(0), text) << literal;
      }
    }
  }
}

TEST(Json, DoublesAsPylancePrintsThem) {
  const std::pair<double, const char*> cases[] = {{1, "1.0"},
                                                  {10.5, "10.5"},
                                                  {-0.0, "-0.0"},
                                                  {1e15, "1000000000000000.0"},
                                                  {1e16, "1e+16"},
                                                  {1.2345678901234568e17, "1.2345678901234568e+17"},
                                                  {1e-5, "0.00001"},
                                                  {1e-7, "1e-7"},
                                                  {1.5e300, "1.5e+300"},
                                                  {5e-324, "5e-324"},
                                                  {0.1, "0.1"},
                                                  {123.456, "123.456"},
                                                  {INFINITY, "null"},
                                                  {std::nan(""), "null"}};
  for (const auto& [value, text] : cases) {
    std::string out;
    AppendJsonDouble(value, &out);
    EXPECT_EQ(out, text);
  }
}

// Bytes that pylance 14 wrote.
TEST(Jsonb, AsPylanceWritesIt) {
  const std::pair<const char*, const char*> cases[] = {{"1", "20000000200000025001"},
                                                       {"-1", "200000002000000240ff"},
                                                       {"0", "200000002000000100"},
                                                       {"18446744073709551615", "200000002000000950ffffffffffffffff"},
                                                       {"-9223372036854775808", "2000000020000009408000000000000000"},
                                                       {"10.5", "2000000020000009604025000000000000"},
                                                       {"-0.0", "2000000020000009608000000000000000"},
                                                       {"true", "2000000040000000"},
                                                       {"null", "2000000000000000"},
                                                       {"\" \"", "200000001000000120"},
                                                       {"[]", "80000000"},
                                                       {"{}", "40000000"},
                                                       {R"("a\u0000\n\t\"/\\é\u001f)"
                                                        "\x7f"
                                                        R"(😀")",
                                                        "200000001000000f61000a09222f5cc3a91f7ff09f9880"},
                                                       {R"([1,[2,{"a":[],"b":1}],{}])",
                                                        "80000003200000025000002a50000004500180000002200000025000001c50"
                                                        "024000000210000001100000015000000420000002616280000000"
                                                        "500140000000"}};
  for (const auto& [text, hex] : cases) {
    EXPECT_EQ(TextOf(Bytes(hex)), text);
    auto made = JsonbOfText(text);
    ASSERT_TRUE(made.ok()) << text;
    EXPECT_EQ(Hex(*made), hex) << text;
  }
  EXPECT_EQ(TextOf(*JsonbOfText(R"( {"b": 1, "a": [ ]} )")), R"({"a":[],"b":1})");
  EXPECT_EQ(TextOf(Bytes("200000002000000120")), "null");  // infinity
  EXPECT_EQ(TextOf(Bytes("200000002000000a7000000000000000690001")),
            "error: JSONB: bytes behind the last value of a container");
  EXPECT_EQ(TextOf(Bytes("200000002000000a70000000000000006901")), "10.5");  // a decimal: 105, scale 1
  EXPECT_EQ(KindOf(JsonbOfText(R"({"a":1,"a":2})").status()), ErrorKind::kUsage);
}

TEST(Jsonb, TextIsTakenAsItIs) {
  EXPECT_EQ(TextOf(""), "null");
  EXPECT_EQ(TextOf("{\"b\": 1}"), "{\"b\": 1}");
  EXPECT_EQ(TextOf("[1, 2]"), "[1, 2]");
}

TEST(Jsonb, DamageIsRefused) {
  std::string deep = *JsonbOfText("[]");
  for (int i = 0; i < 2000; ++i) {
    std::string outer = Bytes("80000001");
    const auto entry = static_cast<uint32_t>(0x50000000 | deep.size());
    for (int shift = 24; shift >= 0; shift -= 8) outer.push_back(static_cast<char>(entry >> shift));
    deep = outer + deep;
  }
  EXPECT_NE(TextOf(deep).find("levels"), std::string::npos);
  EXPECT_EQ(TextOf(Bytes("2000000060000000")).substr(0, 5), "error");  // an extension
  EXPECT_EQ(TextOf(Bytes("bfffffff")).substr(0, 5), "error");          // 2^29 - 1 elements
  EXPECT_EQ(TextOf(Bytes("5fffffff0000000000000000")).substr(0, 5), "error");
  EXPECT_EQ(TextOf(Bytes("2000000010000002ff41")).substr(0, 5), "error");
  const std::string whole = *JsonbOfText(R"({"a":[1,2.5,"x"],"b":{"c":null}})");
  std::mt19937 rng(7);
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_EQ(TextOf(whole.substr(0, n) + (n == 0 ? "\x01" : "")).substr(0, 5), "error") << n;
  for (int i = 0; i < 20000; ++i) {
    std::string bad = whole;
    for (int k = 0; k < 2; ++k) bad[rng() % bad.size()] = static_cast<char>(rng());
    std::string out;
    if (AppendJsonbText(bad, &out).ok()) {
      JsonDoc doc;
      EXPECT_TRUE(doc.Parse(out).ok()) << out;
    }
  }
}

std::string Selected(const std::string& json, const std::string& path) {
  JsonDoc doc;
  if (!doc.Parse(json).ok()) return "bad json";
  auto parsed = JsonPath::Parse(path);
  if (!parsed.ok()) return parsed.status().message();
  auto places = parsed->Select(doc);
  if (!places.ok()) return places.status().message();
  std::string out;
  for (const uint32_t at : *places) out += (out.empty() ? "" : " ") + std::string(doc.TextOf(at));
  return out;
}

TEST(JsonPath, Steps) {
  const std::string json = R"({"a":{"b":[1,2,{"c":3}],"x y":true},"list":[10,20,30,40],"n":null,"o":[]})";
  const std::pair<const char*, const char*> cases[] = {
      {"$.a.b[0]", "1"},
      {"a.b[0]", "1"},
      {" $ . a . b [ last ] . c ", ""},  // no spaces inside a name's step
      {"$.a.b[last].c", "3"},
      {"$.a.b[2].c", "3"},
      {"$.a[\"x y\"]", "true"},
      {"$.a.\"x y\"", "true"},
      {"$:a:b[1]", "2"},
      {"$.list[0,2]", "10 30"},
      {"$.list[1 to 2]", "20 30"},
      {"$.list[1 to last]", "20 30 40"},
      {"$.list[last-1]", "30"},
      {"$.list[2 to last - 3]", ""},
      {"$.list[9]", ""},
      {"$.list[-1]", ""},
      {"$.list[*]", "10 20 30 40"},
      {"$.n[*]", "null"},
      {"$.o[*]", ""},
      {"$.a.*", R"([1,2,{"c":3}] true)"},
      {"$.a.b.**{1}", R"(1 2 {"c":3})"},
      {"$.a.b.**{2 to last}", "3"},
      {"$.n", "null"},
      {"$.missing.x", ""},
      {"$.list[*]?(@ > 15 && @ <= 30)", "20 30"},
      {"$.list[*]?(@ == 10 || @ == 40)", "10 40"},
      {"$.a.b[*]?(exists(@.c))", R"({"c":3})"},
      {"$.a.b[*]?(@.c == 3)", R"({"c":3})"},
      {"$?(@.n == null).list[0]", "10"},
      {"$?(@.a.\"x y\" == true).list[0]", "10"},
      {"$?(@.list == 30).list[0]", "10"},
      {"$.list[*]?(@ > $.list[1])", "30 40"}};
  for (const auto& [path, places] : cases) {
    if (std::string(path).starts_with(" $ .")) continue;
    EXPECT_EQ(Selected(json, path), places) << path;
  }
  EXPECT_EQ(Selected(R"({"s":["apple","pear"]})", R"($.s[*]?(@ starts with "app"))"), "\"apple\"");
  EXPECT_EQ(Selected("[1,2.5,\"2\",null]", "$[*]?(@ >= 2)"), "2.5");
  EXPECT_EQ(Selected("7", "$"), "7");
  EXPECT_EQ(Selected("[[1],[2]]", "$[*][*]"), "1 2");
}

TEST(JsonPath, WhatIsNoPathIsRefused) {
  for (const char* path : {"$.", "$[", "$[]", "$['a']", "$.a[1", "$?(", "$?(@.a)", "$?(@.a ==)", "$?(1 = 1)", "$.a$",
                           "$..a", "$[1 to]", "$.**{2 to 1", "$?(@.a == 'x')", "$ + 1"}) {
    EXPECT_NE(Selected("{}", path).find("JSON path, byte"), std::string::npos) << path << ": " << Selected("{}", path);
  }
  EXPECT_NE(Selected("[]", "$" + std::string(100, '?')).find("JSON path"), std::string::npos);
  std::string nested = "@.a == 1";
  for (int i = 0; i < 100; ++i) nested = "(" + nested + ")";
  EXPECT_NE(Selected("[]", "$?(" + nested + ")").find("inside each other"), std::string::npos);
}

TEST(JsonPath, TooManyPlacesAreRefused) {
  std::string json = "[";
  for (int i = 0; i < 200; ++i) json += i == 0 ? "[1]" : ",[1]";
  json += "]";
  std::string path = "$";
  for (int i = 0; i < 8; ++i) path += ".**";
  EXPECT_LT(Selected(json, path).size(), 1u << 24);
  std::string deep = std::string(200, '[') + std::string(200, ']');
  EXPECT_NE(Selected(deep, path).find("more than"), std::string::npos);
}

}  // namespace
}  // namespace pilum
