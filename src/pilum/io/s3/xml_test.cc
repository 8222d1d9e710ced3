#include <gtest/gtest.h>

#include <random>

#include "pilum/io/s3/client.h"
#include "pilum/io/s3/xml.h"

namespace pilum::s3 {
namespace {

const char kList[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult xmlns='http://s3/'>\n <Name>b</Name>\n <Contents>\n"
    "  <Key>a&amp;b&lt;&#233;&#x1F600;</Key><Owner/></Contents><Contents><Key> x </Key></Contents><!-- c -->"
    "</ListBucketResult>\n";

TEST(S3Xml, Reads) {
  const XmlElement root = ParseXml(kList, "s").ValueOrDie();
  EXPECT_EQ(root.name, "ListBucketResult");
  EXPECT_EQ(root.TextOf("Name"), "b");
  EXPECT_EQ(root.TextOf("None"), "");
  ASSERT_EQ(root.children.size(), 3u);
  EXPECT_EQ(root.children[1].TextOf("Key"), "a&b<\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(root.children[2].TextOf("Key"), " x ");
}

TEST(S3Xml, RefusesWhatIsNoAnswer) {
  std::string deep, many = "<a>";
  for (int i = 0; i < 50; ++i) deep += "<a>";
  for (int i = 0; i < 100'001; ++i) many += "<b/>";
  for (std::string bad : {std::string(""),
                          std::string("  "),
                          std::string("x"),
                          std::string("<"),
                          std::string("<a"),
                          std::string("<a>"),
                          std::string("<a></b>"),
                          std::string("<a/>x"),
                          std::string("<a b></a>"),
                          std::string("<a b=c></a>"),
                          std::string("<a b='c></a>"),
                          std::string("<a>&nbsp;</a>"),
                          std::string("<a>&#0;</a>"),
                          std::string("<a>&#xD800;</a>"),
                          std::string("<a>&#x110000;</a>"),
                          std::string("<a>&amp</a>"),
                          std::string("<!DOCTYPE a><a/>"),
                          std::string("<a><![CDATA[x]]></a>"),
                          std::string("{\"a\":1}"),
                          deep,
                          many + "</a>"}) {
    const auto got = ParseXml(bad, "s3://b/k");
    EXPECT_EQ(KindOf(got.status()), ErrorKind::kCorrupt) << bad.substr(0, 40);
    EXPECT_NE(got.status().message().find("s3://b/k"), std::string::npos);
  }
}

TEST(S3Xml, BearsAnyDamage) {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string text = kList;
    text.resize(random() % (text.size() + 1));
    for (size_t n = random() % 4; n > 0 && !text.empty(); --n)
      text[random() % text.size()] = "<>&;/='\"a#"[random() % 10];
    (void)ParseXml(text, "s");
  }
}

TEST(S3Time, OfHeadersAndLists) {
  EXPECT_EQ(ParseHttpDate("Mon, 30 Nov 2026 06:29:49 GMT"), 1796020189'000'000);
  EXPECT_EQ(ParseIsoTime("2026-11-30T06:29:49.000Z"), 1796020189'000'000);
  EXPECT_EQ(ParseIsoTime("2026-11-30T06:29:49.25Z"), 1796020189'250'000);
  EXPECT_EQ(ParseIsoTime("2026-11-30T06:29:49Z"), 1796020189'000'000);
  for (const char* bad : {"", "now", "Mon, 30 Foo 2026 06:29:49 GMT", "2026-11-30", "2026-11-30T06:29:49", "0"}) {
    EXPECT_EQ(ParseHttpDate(bad), -1) << bad;
    EXPECT_EQ(ParseIsoTime(bad), -1) << bad;
  }
}

}  // namespace
}  // namespace pilum::s3
