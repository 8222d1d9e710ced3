// Words: the frozen rule, and what follows from a text's containing a piece.
#include "pilum/values/words.h"

#include <cstring>
#include <random>

#include <gtest/gtest.h>
#include <unicode/uchar.h>

#include "pilum/values/text.h"

namespace pilum {
namespace {

using Words = std::vector<std::string>;

// What was assigned by 15.0 keeps its properties but for rare corrections; a newer ICU also knows more.
TEST(Words, CodePointsAreThoseOfUnicode15) {
  if (std::strncmp(U_UNICODE_VERSION, "15.0", 4) != 0) GTEST_SKIP() << "ICU has Unicode " << U_UNICODE_VERSION;
  size_t count = 0;
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) {
    const auto u = static_cast<UChar32>(c);
    const int8_t type = u_charType(u);
    const bool digit = type == U_DECIMAL_DIGIT_NUMBER || type == U_LETTER_NUMBER || type == U_OTHER_NUMBER;
    ASSERT_EQ(IsWordPoint(c), u_hasBinaryProperty(u, UCHAR_ALPHABETIC) || digit) << c;
    count += IsWordPoint(c);
  }
  EXPECT_EQ(count, 139360u) << "frozen with version 1 of the section";
}

TEST(Words, FoldingNeitherMakesNorBreaksAWord) {
  for (uint32_t c = 0; c <= 0x10FFFF; ++c) ASSERT_EQ(IsWordPoint(c), IsWordPoint(FoldCodePoint(c))) << c;
}

TEST(Words, AreRunsOfLettersAndDigits) {
  EXPECT_EQ(WordsOf("The quick, QUICK brown-fox_2x", true), (Words{"2x", "brown", "fox", "quick", "the"}));
  EXPECT_EQ(WordsOf("The quick, QUICK", false), (Words{"QUICK", "The", "quick"}));
  EXPECT_EQ(WordsOf("", true), Words{});
  EXPECT_EQ(WordsOf("--- !? …", true), Words{});
  EXPECT_EQ(WordsOf("検索エンジン ½ Straße CAFÉ", true), (Words{"café", "straße", "½", "検索エンジン"}));
  EXPECT_EQ(WordsOf("a\xff"
                    "b\xE2",
                    true),
            (Words{"a", "b"}))
      << "what is no UTF-8 is in no word";
  EXPECT_EQ(WordsOf("\xE2\x84\xAA"
                    "elvin",
                    true),
            (Words{"kelvin"}));
  EXPECT_EQ(WordsOf(std::string(5000, 'x'), true), (Words{std::string(5000, 'x')}));
}

TEST(Words, MatcherWantsAllOfThem) {
  const WordMatcher any("Fox the", true), exact("Fox the", false);
  EXPECT_TRUE(any.Matches("the red FOX"));
  EXPECT_FALSE(any.Matches("the foxes"));
  EXPECT_FALSE(any.Matches("fox fox fox"));
  EXPECT_TRUE(exact.Matches("the Fox"));
  EXPECT_FALSE(exact.Matches("the fox"));
  EXPECT_TRUE(WordMatcher("?!", true).Matches("")) << "nothing to look for";
  EXPECT_TRUE(WordMatcher("one", true).Matches("(ONE)"));
  std::string many, shuffled;
  for (int i = 0; i < 300; ++i) many += "w" + std::to_string(i) + " ";
  for (int i = 299; i >= 0; --i) shuffled += "W" + std::to_string(i) + "/";
  EXPECT_TRUE(WordMatcher(many, true).Matches(shuffled));
  EXPECT_FALSE(WordMatcher(many + "more", true).Matches(shuffled));
}

TEST(Words, OnlyWholeWordsOfAPieceCount) {
  EXPECT_EQ(WordsInside("fox"), Words{});
  EXPECT_EQ(WordsInside(" fox"), Words{});
  EXPECT_EQ(WordsInside(" Fox jumps ov"), (Words{"fox", "jumps"}));
  EXPECT_EQ(WordsInside("\xAA"
                        "fox "),
            Words{})
      << "the byte may be the end of a letter";
}

// Whatever contains a piece has the words inside of it, case by case and in folded case, UTF-8 or not.
TEST(Words, InsideOfAPieceAreInEveryTextThatContainsIt) {
  std::mt19937_64 rng(5);
  static const std::vector<std::string> kBits = {"a",    "B",  " ", "-", "é",        "\xE2\x84\xAA", "\xE2", "\x84",
                                                 "\xAA", "検", "1", "ſ", "\xCC\x81", "\xCD\x85",     "Σ",    "ς"};
  auto make = [&](int most) {
    std::string s;
    for (auto n = rng() % static_cast<uint64_t>(most); n > 0; --n) s += kBits[rng() % kBits.size()];
    return s;
  };
  size_t told = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string piece = make(8), text = make(5) + piece + make(5);
    const Words has = WordsOf(text, true);
    for (const std::string& p : {piece, FoldCase(piece)}) {
      for (const std::string& word : WordsInside(p)) {
        ++told;
        ASSERT_TRUE(std::binary_search(has.begin(), has.end(), word))
            << "'" << word << "' of '" << p << "' in " << text;
      }
    }
    ASSERT_EQ(WordsOf(FoldCase(text), false), has);
  }
  EXPECT_GT(told, 5'000u);
}

}  // namespace
}  // namespace pilum
