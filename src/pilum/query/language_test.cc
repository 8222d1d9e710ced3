// The language, sentence by sentence of docs/formats/sql.md; each test is named after its sentence.
#include <cmath>
#include <limits>
#include <random>

#include "pilum/query/find_text.h"
#include "pilum/query/predicate_test_support.h"

namespace pilum {
namespace {

using arrow::TimeUnit;

std::shared_ptr<arrow::RecordBatch> Ints() { return One("x", arrow::int64(), "[1, 2, null, 3]"); }

// ---- Statement
TEST(Statement, AnythingLeftOverIsRefused) {
  for (const char* tail : {";", "; SELECT 1", " UNION SELECT * FROM t", " garbage", " ) ", " ^ 2", " 'a'"}) {
    EXPECT_NE(BindError(Ints(), std::string("x = 1") + tail), "") << tail;
  }
  EXPECT_EQ(BindError(Ints(), "x = 1 UNION SELECT 1"),
            "at 7: UNION is not part of this language: one SELECT over one source");
}

TEST(Statement, TNamesTheSource) { EXPECT_EQ(Rows(Ints(), "t.x = 2 AND T.x = 2"), (RowList{1})); }

TEST(Statement, BoundValuesAreNeverPastedText) {
  auto b = One("s", arrow::utf8(), R"(["a", "x' OR '1'='1"])");
  auto evil = std::make_shared<arrow::StringScalar>("x' OR '1'='1");
  EXPECT_EQ(Rows(b, "s = ?", Positional({evil})), (RowList{1}));
  EXPECT_EQ(Rows(b, "s = $1 OR s = $1", Positional({evil})), (RowList{1}));
  Params named;
  named.named["who"] = evil;
  EXPECT_EQ(Rows(b, "s = :who", named), (RowList{1}));
  EXPECT_EQ(BindError(b, "s = :whom", named), "at 5: no value was bound to :whom");
  EXPECT_EQ(BindError(b, "s = ?"), "at 5: no value was bound to ? number 1 (0 given)");
  EXPECT_NE(BindError(b, "s = ?", Positional({evil, evil})), "");
}

TEST(Statement, BoundValuesActAsLiterals) {
  auto d = One("d", arrow::decimal128(10, 2), R"(["1.10", "2.00"])");
  EXPECT_EQ(Rows(d, "d = ?", Positional({std::make_shared<arrow::DoubleScalar>(1.1)})), (RowList{0}));
  EXPECT_EQ(Rows(d, "d = ?", Positional({std::make_shared<arrow::StringScalar>("1.10")})), (RowList{0}));
  EXPECT_EQ(Rows(d, "d = ?", Positional({std::make_shared<arrow::Int64Scalar>(2)})), (RowList{1}));
  EXPECT_EQ(Rows(d, "d = ?", Positional({arrow::MakeNullScalar(arrow::int64())})), (RowList{}));
  auto big = One("n", arrow::int64(), "[1152921504606846976, 1]");
  EXPECT_EQ(Rows(big, "n = ?", Positional({std::make_shared<arrow::DoubleScalar>(0x1p60)})), (RowList{0}));
  auto list = std::make_shared<arrow::ListScalar>(Json(arrow::int64(), "[1, 3]"));
  EXPECT_EQ(Rows(Ints(), "x IN (?)", Positional({list})), (RowList{0, 3}));
}

TEST(Statement, ErrorsCarryThePosition) {
  EXPECT_EQ(BindError(Ints(), "x = = 1"), "at 5: expected an expression, found '='");
  EXPECT_EQ(BindError(Ints(), "x = 1 AND y = 2"), "at 11: there is no column 'y'; near: x");
  EXPECT_EQ(BindError(Ints(), "x = 'one'"), "at 5: 'one' is not a number (to compare with int64)");
  EXPECT_EQ(BindError(Ints(), "x ="), "at 4: expected an expression, found the end");
  EXPECT_EQ(BindError(Ints(), "x = 'a"), "at 5: the text that starts here has no closing '");
  EXPECT_EQ(BindError(Ints(), "x # 1"), "at 3: the character '#' has no meaning here");
  EXPECT_EQ(BindError(Ints(), "12abc = x"), "at 1: '12abc' is neither a number nor a name; quote a name as \"12…\"");
}

// Long lists are sieved first: whatever the values, and however many, those in the list are found and no others.
TEST(Comparisons, LongListsOfEveryType) {
  std::mt19937_64 rng(4);
  for (const size_t many : {3, 5, 40, 3000}) {
    arrow::Int64Builder ints;
    arrow::UInt64Builder words;
    arrow::StringBuilder texts;
    std::string in_ints, in_words, in_texts;
    RowList wanted, others;
    const auto add = [&](std::string* list, const std::string& v) { *list += (list->empty() ? "" : ", ") + v; };
    for (int64_t i = 0; i < 6000; ++i) {
      const bool listed = i % 2 == 0 && static_cast<size_t>(i / 2) < many;
      // The lowest bit says whether a value is listed, so no other row has it.
      const uint64_t r = i < 8 ? (i < 4 ? ~uint64_t{3} : uint64_t{1} << 63) + static_cast<uint64_t>(i % 4)
                               : (rng() & ~uint64_t{1}) | static_cast<uint64_t>(!listed);
      const bool in = listed && (r & 1) == 0;
      const std::string text = std::string(static_cast<size_t>(i % 23), 'x') + std::to_string(r);
      ASSERT_TRUE(ints.Append(static_cast<int64_t>(r)).ok());
      ASSERT_TRUE(words.Append(r).ok());
      ASSERT_TRUE(texts.Append(text).ok());
      if (!in) {
        others.push_back(i);
        continue;
      }
      wanted.push_back(i);
      add(&in_ints, std::to_string(static_cast<int64_t>(r)));
      add(&in_words, std::to_string(r));
      add(&in_texts, "'" + text + "'");
    }
    const auto b = BatchOf(
        {{"i", ints.Finish().ValueOrDie()}, {"u", words.Finish().ValueOrDie()}, {"s", texts.Finish().ValueOrDie()}});
    EXPECT_EQ(Rows(b, "i IN (" + in_ints + ")"), wanted) << many;
    EXPECT_EQ(Rows(b, "i NOT IN (" + in_ints + ")"), others) << many;
    EXPECT_EQ(Rows(b, "u IN (" + in_words + ")"), wanted) << many;
    EXPECT_EQ(Rows(b, "s IN (" + in_texts + ")"), wanted) << many;
    EXPECT_EQ(Rows(b, "s NOT IN (" + in_texts + ")"), others) << many;
  }
}

TEST(FindText, AsTheStandardDoes) {
  std::mt19937_64 rng(6);
  for (int round = 0; round < 20'000; ++round) {
    std::string text(rng() % 70, 'a'), piece(rng() % 9, 'a');
    for (std::string* s : {&text, &piece}) {
      for (char& c : *s) c = static_cast<char>("aab\0\xff"[rng() % 5]);
    }
    if (rng() % 2 == 0 && !text.empty()) piece = text.substr(rng() % text.size(), rng() % 40);
    ASSERT_EQ(FindText(text, piece), text.find(piece)) << text << ": " << piece;
  }
}

// ---- Names
TEST(Names, AsWrittenElseTheOneThatMatchesWithoutRegardToCase) {
  auto one = Json(arrow::int64(), "[1]"), two = Json(arrow::int64(), "[2]");
  EXPECT_EQ(Rows(BatchOf({{"a", one}, {"A", two}}), "A = 2"), (RowList{0}));
  EXPECT_EQ(Rows(BatchOf({{"Name", one}}), "NAME = 1"), (RowList{0}));
  EXPECT_EQ(BindError(BatchOf({{"aB", one}, {"Ab", two}}), "ab = 1"),
            "at 1: 'ab' could be 'aB' or 'Ab'; write it as it is");
}

TEST(Names, DuplicateNamesAreAnErrorWhenUsed) {
  auto one = Json(arrow::int64(), "[1]");
  auto b = BatchOf({{"a", one}, {"a", one}, {"c", one}});
  EXPECT_EQ(BindError(b, "a = 1"), "at 1: there are two columns named 'a'");
  EXPECT_EQ(Rows(b, "c = 1"), (RowList{0}));
}

TEST(Names, DoubleTheQuoteToHoldIt) {
  auto b = One("a\"b`c", arrow::int64(), "[1]");
  EXPECT_EQ(Rows(b, "\"a\"\"b`c\" = 1"), (RowList{0}));
  EXPECT_EQ(Rows(b, "`a\"b``c` = 1"), (RowList{0}));
}

TEST(Names, ATopLevelColumnWinsOverTheSource) {
  auto st = Json(arrow::struct_({arrow::field("x", arrow::int64())}), R"([{"x": 7}])");
  auto b = BatchOf({{"t", st}, {"x", Json(arrow::int64(), "[1]")}});
  EXPECT_EQ(Rows(b, "t.x = 7"), (RowList{0}));
  EXPECT_EQ(Rows(b, "t.x = 1"), (RowList{}));
}

TEST(Names, AStepThroughListOfStructGivesTheListOfThatField) {
  auto type = arrow::list(arrow::struct_({arrow::field("tag", arrow::utf8()), arrow::field("n", arrow::int64())}));
  auto b = One(
      "items", type,
      R"([[{"tag": "x", "n": 1}, null], [], null, [{"tag": null, "n": 2}, {"tag": "y", "n": 3}], [{"tag": "x", "n": 9}]])");
  EXPECT_EQ(Truth(b, "array_has(items.tag, 'x')"), "TF-FT");
  EXPECT_EQ(Truth(b, "array_has(items.n, 3)"), "FF-TF");
  EXPECT_EQ(Truth(b, "cardinality(items.tag) = 2"), "TF-TF");
  EXPECT_EQ(Truth(BatchOf({{"items", b->column(0)->Slice(3)}}), "array_has(items.tag, 'y')"), "TF");
  auto bound = BindPredicate("array_has(items.tag, 'x')", *b->schema(), {}).ValueOrDie();
  EXPECT_EQ(bound->columns(), (std::vector<FieldPath>{FieldPath{{"items", "tag"}}}));
  EXPECT_FALSE(bound->root().probe);
}

TEST(Names, TheEmptyNameIsReachableQuoted) {
  EXPECT_EQ(Rows(One("", arrow::int64(), "[1, 2]"), "\"\" = 2"), (RowList{1}));
}

TEST(Names, NoLengthLimit) {
  const std::string name(100000, 'n');
  EXPECT_EQ(Rows(One(name, arrow::int64(), "[1]"), name + " = 1"), (RowList{0}));
  EXPECT_NE(BindError(Ints(), name + " = 1"), "");
}

// ---- Numbers
TEST(Numbers, LiteralsAreExactAtAnySize) {
  auto b = One("x", arrow::int64(), "[9007199254740993, 9007199254740992]");
  EXPECT_EQ(Rows(b, "x = 9007199254740993"), (RowList{0}));
  EXPECT_EQ(Rows(b, "x = 9007199254740993.0"), (RowList{0}));
  EXPECT_EQ(Rows(b, "x < 9007199254740992.5"), (RowList{1}));
  EXPECT_EQ(Rows(b, "x < 1" + std::string(400, '0')), (RowList{0, 1}));
  EXPECT_EQ(Rows(b, "x > -1e999999"), (RowList{0, 1}));
  EXPECT_EQ(Truth(b, "1e400 > 1e399"), "TT");
}

TEST(Numbers, AllTypesCompareByMathematicalValue) {
  auto b =
      BatchOf({{"i", Json(arrow::int64(), "[9007199254740993, -1, 3, null, 5]")},
               {"u", Json(arrow::uint64(), "[9007199254740993, 18446744073709551615, 3, 1, 5]")},
               {"f", Json(arrow::float64(), "[9007199254740992, 0.5, 3, 1, NaN]")},
               {"d", Json(arrow::decimal128(20, 2), R"(["9007199254740993.00", "-1.00", "3.01", "1.00", "5.00"])")}});
  EXPECT_EQ(Truth(b, "i = u"), "TFT-T");
  EXPECT_EQ(Truth(b, "i < u"), "FTF-F");
  EXPECT_EQ(Truth(b, "i = f"), "FFT-F");
  EXPECT_EQ(Truth(b, "i > f"), "TFF-F");
  EXPECT_EQ(Truth(b, "i < f"), "FTF-T");
  EXPECT_EQ(Truth(b, "i = d"), "TTF-T");
  EXPECT_EQ(Truth(b, "u >= d"), "TTFTT");
  EXPECT_EQ(Truth(b, "d > f"), "TFTFF");
  EXPECT_EQ(Truth(b, "f = d"), "FFFTF");
  auto scales = BatchOf(
      {{"a", Json(arrow::decimal128(10, 2), R"(["1.10", "1.10"])")},
       {"b", Json(arrow::decimal256(76, 40),
                  R"(["1.1000000000000000000000000000000000000000", "1.1000000000000000000000000000000000000001"])")}});
  EXPECT_EQ(Truth(scales, "a = b"), "TF");
  EXPECT_EQ(Truth(scales, "a < b"), "FT");
}

TEST(Numbers, Float32AgainstFloat64IsWidened) {
  auto b = BatchOf({{"f", Json(arrow::float32(), "[0.1, 0.5]")}, {"g", Json(arrow::float64(), "[0.1, 0.5]")}});
  EXPECT_EQ(Truth(b, "f = g"), "FT");
  EXPECT_EQ(Truth(b, "f = 0.1"), "TF");
  EXPECT_EQ(Truth(b, "g = 0.1"), "TF");
  EXPECT_EQ(Truth(b, "g = CAST(0.1 AS float32)"), "FF");
  EXPECT_EQ(Truth(b, "f IN (0.1, 7)"), "TF");
}

TEST(Numbers, IntegersGiveInt64AndUint64WhenBothAre) {
  auto b = BatchOf({{"i", Json(arrow::int32(), "[2147483647, -7, 7]")},
                    {"u", Json(arrow::uint64(), "[18446744073709551615, 7, 1]")}});
  EXPECT_EQ(Truth(b, "i + i = 4294967294"), "TFF");
  EXPECT_EQ(Truth(b, "u - u = 0"), "TTT");
  EXPECT_EQ(Truth(b, "u + u > 0"), "-TT");
  EXPECT_EQ(Truth(b, "u * 1 > 0"), "-TT");  // int64: the greatest uint64 is an overflow
  EXPECT_EQ(Truth(b, "i - u < 0"), "-TF");
}

TEST(Numbers, DivisionTruncatesAndTheRemainderHasTheDividendsSign) {
  auto b = One("i", arrow::int64(), "[7, -7]");
  EXPECT_EQ(Truth(b, "i / 2 = 3"), "TF");
  EXPECT_EQ(Truth(b, "i / 2 = -3"), "FT");
  EXPECT_EQ(Truth(b, "i % 3 = 1"), "TF");
  EXPECT_EQ(Truth(b, "i % 3 = -1"), "FT");
  EXPECT_EQ(Truth(b, "i % -3 = 1"), "TF");
}

TEST(Numbers, DecimalWithIntegerIsDecimal) {
  auto d = BatchOf(
      {{"d", Json(arrow::decimal128(10, 2), R"(["1.10", "-2.50", null])")}, {"i", Json(arrow::int64(), "[3, 2, 1]")}});
  EXPECT_EQ(Truth(d, "d * i = 3.3"), "TF-");
  EXPECT_EQ(Truth(d, "d + 1 = 2.1"), "TF-");
  EXPECT_EQ(Truth(d, "d + 0.01 = 1.11"), "TF-");  // a pointed literal beside a decimal is one
  EXPECT_EQ(Truth(d, "d / 2 = -1.25"), "FT-");
  EXPECT_EQ(Truth(d, "d % 2 = -0.5"), "FT-");
  EXPECT_EQ(Truth(d, "-d = 2.5"), "FT-");
}

TEST(Numbers, ALiteralWithAPointIsFloat64) {
  auto b = One("i", arrow::int64(), "[3, 2]");
  EXPECT_EQ(Truth(b, "i * 0.5 = 1.5"), "TF");
  EXPECT_EQ(Truth(b, "i / 2.0 = 1.5"), "TF");
  EXPECT_EQ(Truth(b, "0.1 + 0.2 = 0.3"), "FF");  // as float64
}

TEST(Numbers, CaretIsRefusedAndDoubleEqualsIsEquals) {
  EXPECT_EQ(BindError(Ints(), "x ^ 2 = 4"), "at 3: '^' is not an operator here");
  EXPECT_EQ(Rows(Ints(), "x == 2"), (RowList{1}));
}

// ---- No value
TEST(NoValue, OverflowDivisionByZeroAndImpossibleCastsAreNull) {
  auto b = BatchOf({{"i", Json(arrow::int64(), "[9223372036854775807, 0, 4]")},
                    {"f", Json(arrow::float64(), "[1e308, 0, 2]")},
                    {"s", Json(arrow::utf8(), R"(["x", "1.5", "12"])")}});
  EXPECT_EQ(Truth(b, "i + 1 > 0"), "-TT");
  EXPECT_EQ(Truth(b, "8 / i >= 0"), "T-T");
  EXPECT_EQ(Truth(b, "8 % i >= 0"), "T-T");
  EXPECT_EQ(Truth(b, "f * 10 > 0"), "-FT");
  EXPECT_EQ(Truth(b, "1 / f > 0"), "T-T");
  EXPECT_EQ(Truth(b, "CAST(s AS int) = 12"), "--T");
  EXPECT_EQ(Truth(b, "TRY_CAST(s AS int) IS NULL"), "TTF");
  EXPECT_EQ(Truth(b, "CAST(i AS int8) = 4"), "-FT");
  EXPECT_EQ(Truth(b, "NOT (1 / 0 > 0)"), "---");
}

// ---- Floats
TEST(Floats, OneOrderEverywhere) {
  auto b = BatchOf({{"f", Json(arrow::float64(), "[-Infinity, -0.0, 0.0, Infinity, NaN, null]")}});
  EXPECT_EQ(Truth(b, "f > 1e308"), "FFFTT-");
  EXPECT_EQ(Truth(b, "f = 0"), "FTTFF-");
  EXPECT_EQ(Truth(b, "f = -0.0"), "FTTFF-");
  EXPECT_EQ(Truth(b, "f > 'inf'"), "FFFFT-");
  EXPECT_EQ(Truth(b, "f >= 'NaN'"), "FFFFT-");
  EXPECT_EQ(Truth(b, "f <= 'NaN'"), "TTTTT-");
  EXPECT_EQ(Truth(b, "f NOT IN (0, 'NaN')"), "TFFTF-");
  EXPECT_EQ(Truth(b, "f = f"), "TTTTT-");
  EXPECT_EQ(Truth(b, "f < -1e308"), "TFFFF-");
  auto half = One("h", arrow::float16(), "[1.0, 65504, Infinity, NaN]");
  EXPECT_EQ(Truth(half, "h > 65504"), "FFTT");
  EXPECT_EQ(Truth(half, "h > 70000"), "FFTT");
  EXPECT_EQ(Truth(half, "h < 70000"), "TTFF");
}

// ---- Conversions
TEST(Conversions, AQuotedLiteralTakesTheTypeOfTheOtherSide) {
  EXPECT_EQ(Rows(Ints(), "x = '2'"), (RowList{1}));
  EXPECT_EQ(Rows(Ints(), "x > '1.5'"), (RowList{1, 3}));
  EXPECT_EQ(Rows(One("b", arrow::boolean(), "[true, false]"), "b = 'false'"), (RowList{1}));
  EXPECT_NE(BindError(Ints(), "x = ' 2'"), "");
  EXPECT_NE(BindError(Ints(), "x = ''"), "");
  EXPECT_NE(BindError(One("d", arrow::date32(), "[0]"), "d = '1970-01-01 12:00'"), "");
  EXPECT_NE(BindError(One("d", arrow::date32(), "[0]"), "d = '1970-02-30'"), "");
}

TEST(Conversions, ANumberAgainstATextColumnIsAnError) {
  auto s = One("s", arrow::utf8(), R"(["1"])");
  EXPECT_EQ(BindError(s, "s = 1"), "at 5: a number cannot be compared with string; use CAST to convert one of them");
  EXPECT_EQ(Rows(s, "CAST(s AS int) = 1"), (RowList{0}));
  auto b = BatchOf({{"s", s->column(0)}, {"i", Json(arrow::int64(), "[1]")}});
  EXPECT_EQ(BindError(b, "s = i"), "at 3: string and int64 cannot be compared; use CAST to convert one of them");
}

TEST(Conversions, UuidTextIsTakenForUuidColumns) {
  class Uuid : public arrow::ExtensionType {
   public:
    Uuid() : ExtensionType(arrow::fixed_size_binary(16)) {}
    std::string extension_name() const override { return "arrow.uuid"; }
    bool ExtensionEquals(const ExtensionType& o) const override { return o.extension_name() == extension_name(); }
    std::shared_ptr<arrow::Array> MakeArray(std::shared_ptr<arrow::ArrayData> d) const override {
      return std::make_shared<arrow::ExtensionArray>(d);
    }
    arrow::Result<std::shared_ptr<arrow::DataType>> Deserialize(std::shared_ptr<arrow::DataType>,
                                                                const std::string&) const override {
      return std::make_shared<Uuid>();
    }
    std::string Serialize() const override { return ""; }
  };
  auto storage = Json(arrow::fixed_size_binary(16), R"(["0123456789abcdef", null])");
  auto b = BatchOf({{"u", arrow::ExtensionType::WrapArray(std::make_shared<Uuid>(), storage)}});
  EXPECT_EQ(Truth(b, "u = '30313233-3435-3637-3839-616263646566'"), "T-");
  EXPECT_EQ(Truth(b, "u IN ('30313233343536373839616263646566')"), "T-");
  EXPECT_EQ(Truth(b, "u IS NULL"), "FT");
  EXPECT_EQ(BindError(b, "u = '303'"), "at 5: '303' is not a uuid");
}

// As Lance files give them: 16 bytes, and a field that says what they are.
TEST(Conversions, UuidColumnsOfFilesAreTold) {
  const auto uuid = arrow::key_value_metadata({{"ARROW:extension:name", "arrow.uuid"}});
  const auto bytes = arrow::fixed_size_binary(16);
  auto schema = arrow::schema({arrow::field("u", bytes, true, uuid), arrow::field("plain", bytes),
                               arrow::field("l", arrow::list(arrow::field("item", bytes, true, uuid))),
                               arrow::field("st", arrow::struct_({arrow::field("u", bytes, true, uuid)}))});
  auto one = Json(bytes, R"(["0123456789abcdef", null])");
  auto list = Json(arrow::list(arrow::field("item", bytes, true, uuid)), R"([["0123456789abcdef", null], []])");
  auto st = Json(schema->field(3)->type(), R"([["0123456789abcdef"], null])");
  auto b = arrow::RecordBatch::Make(schema, 2, {one, one, list, st});
  const std::string text = "'30313233-3435-3637-3839-616263646566'";
  EXPECT_EQ(Truth(b, "u = " + text), "T-");
  EXPECT_EQ(Truth(b, "u <> " + text), "F-");
  EXPECT_EQ(Truth(b, "st.u IN (" + text + ")"), "T-");
  EXPECT_EQ(Truth(b, "array_has(l, " + text + ")"), "TF");
  EXPECT_EQ(Truth(b, "u = plain"), "T-");
  EXPECT_EQ(Truth(b, "u = X'30313233343536373839616263646566'"), "T-");
  EXPECT_NE(BindError(b, "plain = " + text), "");
  auto bound = BindPredicate("u = " + text, *schema, {}).ValueOrDie();
  ASSERT_TRUE(bound->root().probe);
  EXPECT_TRUE(bound->root().probe->set.Contains(Value::Binary("0123456789abcdef")));
}

TEST(Conversions, DictionaryAndViewTypesAreTheirValueType) {
  auto entries = Json(arrow::utf8(), R"(["a", null, "c"])");
  auto d = arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int8(), arrow::utf8()),
                                              Json(arrow::int8(), "[0, 1, 2, null, 0]"), entries)
               .ValueOrDie();
  auto b = BatchOf({{"d", d}, {"v", Json(arrow::utf8_view(), R"(["a", "a", "c", null, "x"])")}});
  EXPECT_EQ(Truth(b, "d = 'a'"), "T-F-T");
  EXPECT_EQ(Truth(b, "d <> 'a'"), "F-T-F");
  EXPECT_EQ(Truth(b, "d IS NULL"), "FTFTF");
  EXPECT_EQ(Truth(b, "d LIKE '%c%'"), "F-T-F");
  EXPECT_EQ(Truth(b, "d = v"), "T-T-F");
  EXPECT_EQ(Truth(b, "lower(v) || 'q' = 'aq'"), "TTF-F");
  EXPECT_EQ(Truth(BatchOf({{"d", d->Slice(1)}}), "d = 'a'"), "-F-T");
}

TEST(Conversions, DoubleColonIsCastAndTypeNames) {
  EXPECT_EQ(Rows(Ints(), "x::double = 2.0"), (RowList{1}));
  EXPECT_EQ(Rows(Ints(), "x::text = '2'"), (RowList{1}));
  EXPECT_EQ(Rows(Ints(), "CAST(x AS decimal(10, 2)) = 2.00"), (RowList{1}));
  EXPECT_EQ(Rows(Ints(), "x = '2'::bigint"), (RowList{1}));
  EXPECT_EQ(Truth(Ints(), "2.5::int = 2 AND -2.5::decimal(3, 0) = -3"), "TTTT");
  for (const char* type :
       {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64",
        "tinyint", "smallint", "int", "bigint", "real", "double", "double precision", "decimal(5,1)"}) {
    EXPECT_EQ(Rows(Ints(), std::string("x::") + type + " = 2"), (RowList{1})) << type;
  }
  EXPECT_EQ(BindError(Ints(), "x::intt = 2"), "at 2: there is no type 'intt'; near: int8, int, int16");
}

TEST(Conversions, TypeNamesOfTextsAndTimes) {
  auto b = BatchOf({{"s", Json(arrow::utf8(), R"(["2024-01-10"])")}, {"i", Json(arrow::int64(), "[1]")}});
  EXPECT_EQ(Truth(b, "s::date = '2024-01-10'"), "T");
  EXPECT_EQ(Truth(b, "s::timestamp = '2024-01-10 00:00'"), "T");
  EXPECT_EQ(Truth(b, "s::timestamptz = '2024-01-10 02:00+02:00'"), "T");
  EXPECT_EQ(Truth(b, "s::bytea = X'323032342d30312d3130'"), "T");
  EXPECT_EQ(Truth(b, "'10:30'::time = '10:30'"), "T");
  EXPECT_EQ(Truth(b, "i::bool AND i::text = '1'"), "T");
}

// ---- Text
TEST(Text, ComparedByBytes) {
  auto b = One("s", arrow::utf8(), R"(["Z", "a", "é", "\ud83d\ude00", "a "])");
  EXPECT_EQ(Rows(b, "s > 'a'"), (RowList{2, 3, 4}));
  EXPECT_EQ(Rows(b, "s = 'a'"), (RowList{1}));
  EXPECT_EQ(Rows(b, "s BETWEEN 'Z' AND 'a'"), (RowList{0, 1}));
}

TEST(Text, IlikeFoldsByUnicodeSimpleCaseFolding) {
  auto b = One("s", arrow::utf8(), R"(["STRASSE", "stra\u00dfe", "\u03a3\u03a3", "\u03c3\u03c2", "\u0130", "K"])");
  EXPECT_EQ(Rows(b, "s ILIKE 'stra_e'"), (RowList{1}));
  EXPECT_EQ(Rows(b, "s ILIKE 'σσ'"), (RowList{2, 3}));
  EXPECT_EQ(Rows(b, "s ILIKE '\xE2\x84\xAA'"), (RowList{5}));  // the Kelvin sign
}

TEST(Text, LikeOnBinaryIsRefused) {
  EXPECT_EQ(BindError(One("b", arrow::binary(), R"(["a"])"), "b LIKE 'a%'"), "at 1: LIKE takes texts, not binary");
}

TEST(Text, EmptyPartsAreTrueForEveryNonNullText) {
  auto b = One("s", arrow::utf8(), R"(["", "a", null])");
  for (const char* f : {"contains", "starts_with", "ends_with"}) {
    EXPECT_EQ(Truth(b, std::string(f) + "(s, '')"), "TT-") << f;
  }
  EXPECT_EQ(Truth(b, "s LIKE '%'"), "TT-");
}

// ---- Lists
TEST(Lists, ArrayHas) {
  auto b = One("l", arrow::list(arrow::utf8()), R"([["a", null], [], null, [null]])");
  EXPECT_EQ(Truth(b, "array_has(l, 'a')"), "TF-F");
  EXPECT_EQ(Truth(b, "array_contains(l, 'b')"), "FF-F");
  EXPECT_EQ(Truth(b, "array_has(l, NULL)"), "----");
  EXPECT_EQ(Truth(b, "array_has_any(l, ['b', 'a'])"), "TF-F");
  EXPECT_EQ(Truth(b, "array_has_all(l, ARRAY['a'])"), "TF-F");
  EXPECT_EQ(Truth(b, "array_has_all(l, [])"), "TT-T");
  EXPECT_EQ(Truth(b, "array_has_any(l, [])"), "FF-F");
  EXPECT_EQ(Truth(b, "cardinality(l) > 0"), "TF-T");
  EXPECT_EQ(Truth(BatchOf({{"l", b->column(0)->Slice(2)}}), "array_has(l, 'a')"), "-F");
}

TEST(Lists, ArrayHasAValueOfTheRow) {
  auto b = BatchOf({{"l", Json(arrow::list(arrow::int32()), "[[1, null], [2], null, [], [3, 4]]")},
                    {"x", Json(arrow::float64(), "[1, 3, 1, 1, null]")}});
  EXPECT_EQ(Truth(b, "array_has(l, x)"), "TF-F-");
  EXPECT_EQ(Truth(b, "array_has(l, x - 1)"), "FT-F-");
}

TEST(Lists, EqualsOnListsStructsAndMapsIsRefused) {
  auto l = One("l", arrow::list(arrow::int64()), "[[1]]");
  EXPECT_NE(BindError(l, "l = [1]").find("at 3: l is list"), std::string::npos);
  EXPECT_NE(BindError(l, "l = l"), "");
  EXPECT_NE(BindError(One("s", arrow::struct_({arrow::field("a", arrow::int64())}), R"([{"a": 1}])"), "s = s"), "");
}

// ---- Booleans
TEST(Booleans, NumbersAreNotBooleans) {
  EXPECT_EQ(BindError(Ints(), "x"), "at 1: x is int64, not a condition");
  EXPECT_EQ(BindError(Ints(), "x AND x = 1"), "at 1: x is int64, not a condition");
  EXPECT_EQ(BindError(One("b", arrow::boolean(), "[true]"), "b = 1"),
            "at 5: numbers are not booleans: a bool is compared with TRUE or FALSE");
  EXPECT_EQ(BindError(Ints(), "1"), "at 1: a number is not a condition");
}

TEST(Booleans, IsTruth) {
  auto b = One("x", arrow::int64(), "[1, 2, null]");
  EXPECT_EQ(Truth(b, "(x = 1) IS TRUE"), "TFF");
  EXPECT_EQ(Truth(b, "(x = 1) IS NOT TRUE"), "FTT");
  EXPECT_EQ(Truth(b, "(x = 1) IS FALSE"), "FTF");
  EXPECT_EQ(Truth(b, "(x = 1 OR x > 5) IS NOT FALSE"), "TFT");
  EXPECT_EQ(Truth(b, "x = 1 IS UNKNOWN"), "FFT");
  EXPECT_EQ(Truth(b, "(x > x - 1) IS NOT UNKNOWN"), "TTF");
  EXPECT_EQ(Truth(b, "TRUE AND NULL IS UNKNOWN"), "TTT");
}

// ---- Time
TEST(Time, WallClockInTheColumnsZone) {
  auto b = One("ts", arrow::timestamp(TimeUnit::SECOND, "America/New_York"),
               "[1710055800, 1710052200, 1730611800, 1730615400]");
  EXPECT_EQ(Rows(b, "ts = '2024-03-10 02:30'"), (RowList{0}));  // in the gap: 03:30 EDT
  EXPECT_EQ(Rows(b, "ts = '2024-11-03 01:30'"), (RowList{2}));  // the earlier of the two
  EXPECT_EQ(Rows(b, "ts >= date '2024-11-03' AND ts < date '2024-11-04'"), (RowList{2, 3}));
}

TEST(Time, FinerLiteralsAreComparedExactly) {
  auto b = One("ts", arrow::timestamp(TimeUnit::SECOND), "[0, 1]");
  EXPECT_EQ(Rows(b, "ts < '1970-01-01 00:00:00.000000001'"), (RowList{0}));
  EXPECT_EQ(Rows(b, "ts >= '1970-01-01 00:00:00.5'"), (RowList{1}));
  EXPECT_EQ(Rows(b, "ts = '1970-01-01 00:00:00.5'"), (RowList{}));
  EXPECT_EQ(Rows(b, "ts <> '1970-01-01 00:00:00.5'"), (RowList{0, 1}));
}

TEST(Time, DatesAndTimestampsCompareAtMidnight) {
  auto b = BatchOf({{"d", Json(arrow::date32(), "[0, 1, 1]")},
                    {"ts", Json(arrow::timestamp(TimeUnit::MILLI), "[0, 86400000, 86400001]")},
                    {"z", Json(arrow::timestamp(TimeUnit::SECOND, "America/New_York"), "[18000, 86400, 104400]")}});
  EXPECT_EQ(Truth(b, "d = ts"), "TTF");
  EXPECT_EQ(Truth(b, "d < ts"), "FFT");
  EXPECT_EQ(Truth(b, "d = z"), "TFT");
  EXPECT_EQ(Truth(b, "d < timestamp '1970-01-02 00:00:01'"), "TTT");
  EXPECT_EQ(Truth(b, "d >= timestamp '1970-01-01 00:00:01'"), "FTT");
}

TEST(Time, TimesOfDifferentUnitsCompareExactly) {
  auto b = BatchOf({{"s", Json(arrow::timestamp(TimeUnit::SECOND), "[1, -1]")},
                    {"n", Json(arrow::timestamp(TimeUnit::NANO), "[1000000000, -1000000001]")}});
  EXPECT_EQ(Truth(b, "s = n"), "TF");
  EXPECT_EQ(Truth(b, "s > n"), "FT");
}

TEST(Time, DurationsCompareWithIntervalsOfDaysAndSmaller) {
  auto b = One("d", arrow::duration(TimeUnit::SECOND), "[86400, 90000, null]");
  EXPECT_EQ(Truth(b, "d = INTERVAL '1 day'"), "TF-");
  EXPECT_EQ(Truth(b, "d = INTERVAL '1' DAY"), "TF-");
  EXPECT_EQ(Truth(b, "d IN (interval '25' hours, interval '1' day) AND d < INTERVAL '2' days"), "TT-");
  EXPECT_EQ(Truth(b, "d > INTERVAL '24 hours 30 minutes'"), "FT-");
  EXPECT_NE(BindError(b, "d = INTERVAL '1 month'"), "");
  auto ts = BatchOf({{"a", Json(arrow::timestamp(TimeUnit::SECOND), "[0, 86400]")},
                     {"b", Json(arrow::timestamp(TimeUnit::MILLI), "[86400000, 0]")}});
  EXPECT_EQ(Truth(ts, "b - a = INTERVAL '1 day'"), "TF");
  EXPECT_EQ(Truth(ts, "a + INTERVAL '1 day' = b"), "TF");
}

TEST(Time, MonthsOnlyInCalendarArithmetic) {
  auto b = BatchOf(
      {{"d", Json(arrow::date32(), "[19753, 19782]")},  // 2024-01-31, 2024-02-29
       {"z", Json(arrow::timestamp(TimeUnit::SECOND, "America/New_York"), "[1707541200, null]")}});  // 2024-02-10 00:00
  EXPECT_EQ(Truth(b, "d + INTERVAL '1 month' = date '2024-02-29'"), "TF");
  EXPECT_EQ(Truth(b, "d - INTERVAL '1 year' = '2023-02-28'"), "FT");
  EXPECT_EQ(Truth(b, "d + INTERVAL '1 month 1 day' = '2024-03-01'"), "TF");
  EXPECT_EQ(Truth(b, "z + INTERVAL '2 months' = '2024-04-10 00:00'"), "T-");  // over the change of clocks
}

TEST(Time, InstantsFarBeyondTheCalendarDoNoHarm) {
  auto b = One("z", arrow::timestamp(TimeUnit::SECOND, "America/New_York"),
               "[9223372036854775807, -9223372036854775808, 253402300800, null]");
  EXPECT_EQ(Truth(b, "date_trunc('day', z) IS NULL"), "FTFT");
  EXPECT_EQ(Truth(b, "date_part('year', z) = 9999"), "F-T-");
  EXPECT_EQ(Truth(b, "z > '9999-12-31 00:00'"), "TFT-");
  EXPECT_EQ(Truth(b, "z + INTERVAL '1 month' IS NULL"), "TTFT");
}

TEST(Time, CastsOfZonedTimestampsAreOnTheWall) {
  auto b =
      One("z", arrow::timestamp(TimeUnit::SECOND, "America/New_York"), "[1704855600, null]");  // 2024-01-09 22:00 there
  EXPECT_EQ(Truth(b, "CAST(z AS date) = '2024-01-09'"), "T-");
  EXPECT_EQ(Truth(b, "z::time = '22:00'"), "T-");
  EXPECT_EQ(Truth(b, "z::timestamp = '2024-01-09 22:00'"), "T-");
}

// ---- NULL
TEST(Null, ThreeValued) {
  auto b = One("x", arrow::int64(), "[1, null]");
  EXPECT_EQ(Truth(b, "x = 1 OR NULL"), "T-");
  EXPECT_EQ(Truth(b, "x = 2 AND NULL"), "F-");
  EXPECT_EQ(Truth(b, "x = 1 AND NULL"), "--");
  EXPECT_EQ(Truth(b, "NOT (x = 1)"), "F-");
  EXPECT_EQ(Truth(b, "x IN (2, NULL)"), "--");
  EXPECT_EQ(Truth(b, "x NOT IN (1, NULL)"), "F-");
  EXPECT_EQ(Truth(b, "x <> NULL"), "--");
  EXPECT_EQ(Truth(b, "x BETWEEN NULL AND 0"), "F-");
  EXPECT_EQ(Truth(b, "x IN ()"), "FF");
}

TEST(Null, IsDistinctFromIsNeverNull) {
  auto b =
      BatchOf({{"x", Json(arrow::int64(), "[1, null, null, 2]")}, {"y", Json(arrow::float64(), "[1, null, 3, 5]")}});
  EXPECT_EQ(Truth(b, "x IS DISTINCT FROM y"), "FFTT");
  EXPECT_EQ(Truth(b, "x IS NOT DISTINCT FROM y"), "TTFF");
  EXPECT_EQ(Truth(b, "x IS DISTINCT FROM 1"), "FTTT");
  EXPECT_EQ(Truth(b, "1 IS NOT DISTINCT FROM x"), "TFFF");
  EXPECT_EQ(Truth(b, "x IS DISTINCT FROM NULL"), "TFFT");
  EXPECT_EQ(Truth(b, "NOT (x IS DISTINCT FROM 300)"), "FFFF");
  EXPECT_EQ(Truth(b, "NULL IS NOT DISTINCT FROM NULL"), "TTTT");
}

// ---- Functions
// ASCII goes bytes at once, whatever of an array is looked at; anything else by code points.
TEST(Language, CaseOfTextAndOfItsSlices) {
  std::string ascii;
  for (char c = ' '; c < 127; ++c) ascii += c;
  arrow::StringBuilder small;
  arrow::LargeStringBuilder large;
  for (const std::string& text : {std::string(), ascii, std::string("Zz"), std::string("É"), std::string("ß")}) {
    ASSERT_TRUE(small.Append(text).ok() && large.Append(text).ok());
    ASSERT_TRUE(small.AppendNull().ok() && large.AppendNull().ok());
  }
  const auto batch = BatchOf({{"s", *small.Finish()}, {"l", *large.Finish()}});
  std::string lower = ascii, upper = ascii;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  for (const auto& [from, to, expected] :
       {std::tuple(0, 10, "F-T-F-F-F-"), {0, 6, "F-T-F-"}, {1, 4, "-T-"}, {2, 6, "T-F-"}, {4, 6, "F-"}}) {
    const auto part = batch->Slice(from, to - from);
    for (const char* column : {"s", "l"}) {
      for (const bool down : {true, false}) {
        Params params = Positional({arrow::MakeScalar(down ? lower : upper)});
        EXPECT_EQ(Truth(part, fmt::format("{}({}) = ?", down ? "lower" : "upper", column), params), expected)
            << column << from;
      }
      EXPECT_EQ(Truth(part, fmt::format("lower({}) = 'é'", column)).find('T') != std::string::npos, to > 6);
    }
  }
}

TEST(Functions, Text) {
  auto b = One("s", arrow::utf8(), R"(["Ab", "  é x ", null, ""])");
  EXPECT_EQ(Truth(b, "lower(s) = 'ab'"), "TF-F");
  EXPECT_EQ(Truth(b, "upper(s) = 'AB'"), "TF-F");
  EXPECT_EQ(Truth(b, "trim(s) = 'é x'"), "FT-F");
  EXPECT_EQ(Truth(b, "length(s) = 6"), "FT-F");
  EXPECT_EQ(Truth(b, "substr(s, 3, 1) = 'é'"), "FT-F");
  EXPECT_EQ(Truth(b, "substr(s, 2) = 'b'"), "TF-F");
  EXPECT_EQ(Truth(b, "substr(s, 0, 2) = 'A'"), "TF-F");
  EXPECT_EQ(Truth(b, "s || '!' = 'Ab!'"), "TF-F");
  EXPECT_EQ(Truth(b, "concat(s, '!', NULL) = '!'"), "FFTT");
  EXPECT_EQ(Truth(b, "coalesce(s, 'none') = 'none'"), "FFTF");
  EXPECT_EQ(Truth(b, "nullif(s, '') IS NULL"), "FFTT");
  EXPECT_EQ(Truth(b, "regexp_like(s, '^A.$')"), "TF-F");
  EXPECT_EQ(Truth(b, "regexp_match(s, 'x')"), "FT-F");
  EXPECT_NE(BindError(b, "regexp_like(s, '(')"), "");
  EXPECT_EQ(Truth(b, "starts_with(s, 'A') AND ends_with(s, 'b') AND contains(s, 'Ab')"), "TF-F");
  EXPECT_EQ(Truth(b, "CASE WHEN s = 'Ab' THEN 1 WHEN s IS NULL THEN 2 ELSE 3 END = 2"), "FFTF");
  EXPECT_EQ(Truth(b, "CASE s WHEN 'Ab' THEN 'one' END = 'one'"), "T---");
}

TEST(Functions, Words) {
  auto b = One("s", arrow::utf8(), R"(["The quick FOX", "foxes; the", null, "", "fox-the"])");
  EXPECT_EQ(Truth(b, "contains_words(s, 'fox')"), "TF-FT");
  EXPECT_EQ(Truth(b, "contains_words(s, 'Fox, THE!')"), "TF-FT");
  EXPECT_EQ(Truth(b, "contains_words(s, 'the fox quick')"), "TF-FF");
  EXPECT_EQ(Truth(b, "contains_words(s, 'fo')"), "FF-FF");
  EXPECT_EQ(Truth(b, "contains_words(s, '')"), "TT-TT");
  EXPECT_EQ(Truth(b, "contains_words(s, '; -')"), "TT-TT");
  EXPECT_EQ(Truth(b, "NOT contains_words(s, 'the')"), "FF-TF");
  EXPECT_EQ(Truth(b, "contains_words(s, NULL)"), "-----");
  EXPECT_EQ(Truth(b, "contains_words('a fox', s)"), "FF-TF");
  EXPECT_EQ(Truth(b, "contains_words(s, s)"), "TT-TT");
  EXPECT_EQ(Truth(b, "contains_words('A b', 'B')"), "TTTTT");
  EXPECT_EQ(Truth(b, "contains_tokens(s, 'fox')"), "FF-FT");
  EXPECT_EQ(Truth(b, "contains_tokens(s, 'FOX The')"), "TF-FF");
  EXPECT_EQ(BindError(b, "contains_words(s, 1)"), "at 19: contains_words takes a text here, not a number");
  EXPECT_EQ(BindError(b, "contains_word(s, 'a')"),
            "at 1: there is no function 'contains_word'; near: contains_words, contains, contains_tokens");
  const auto coded = One("s", arrow::dictionary(arrow::int8(), arrow::utf8()), R"(["a Fox", "b", "a Fox", null])");
  EXPECT_EQ(Truth(coded, "contains_words(s, 'fox a')"), "TFT-");
}

TEST(Functions, Numbers) {
  auto b = BatchOf({{"i", Json(arrow::int8(), "[-128, 5, null]")},
                    {"f", Json(arrow::float64(), "[-2.5, 2.5, NaN]")},
                    {"d", Json(arrow::decimal128(10, 2), R"(["-1.55", "1.55", "0.05"])")}});
  EXPECT_EQ(Truth(b, "abs(i) = 128"), "TF-");
  EXPECT_EQ(Truth(b, "abs(f) = 2.5"), "TTF");
  EXPECT_EQ(Truth(b, "round(f) = 3"), "FTF");
  EXPECT_EQ(Truth(b, "floor(f) = -3"), "TFF");
  EXPECT_EQ(Truth(b, "ceil(f) = 3"), "FTF");
  EXPECT_EQ(Truth(b, "round(d, 1) = 1.6"), "FTF");
  EXPECT_EQ(Truth(b, "floor(d) = -2"), "TFF");
  EXPECT_EQ(Truth(b, "ceil(d) = 1"), "FFT");
  EXPECT_EQ(Truth(b, "round(i, -1) = -130"), "TF-");
}

TEST(Functions, Time) {
  auto b = BatchOf({{"z", Json(arrow::timestamp(TimeUnit::SECOND, "America/New_York"), "[1704862800, null]")},
                    {"d", Json(arrow::date32(), "[19782, -1]")}});  // 2024-01-10 00:00 there; 2024-02-29, 1969-12-31
  EXPECT_EQ(Truth(b, "date_part('hour', z) = 0 AND date_part('day', z) = 10"), "T-");
  EXPECT_EQ(Truth(b, "date_trunc('month', z) = '2024-01-01'"), "T-");
  EXPECT_EQ(Truth(b, "date_part('year', d) = 2024"), "TF");
  EXPECT_EQ(Truth(b, "date_part('doy', d) = 365"), "FT");
  EXPECT_EQ(Truth(b, "date_part('week', d) = 1"), "FT");
  EXPECT_EQ(Truth(b, "date_trunc('year', d) = date '1969-01-01'"), "FT");
  EXPECT_EQ(Truth(b, "z = to_timestamp('2024-01-10T05:00:00Z')"), "T-");
  EXPECT_EQ(Truth(b, "to_timestamp(1704862800) = z"), "T-");
  EXPECT_EQ(Truth(b, "z = arrow_cast('2024-01-10 05:00:00', 'Timestamp(Second, Some(\"UTC\"))')"), "T-");
  EXPECT_NE(BindError(b, "date_part('hours_', z) = 1"), "");
  EXPECT_EQ(Truth(b, "d <= current_date()"), "TT");
  EXPECT_EQ(Truth(b, "d > current_date()"), "FF");
}

TEST(Functions, TypesWithArguments) {
  auto t = One("t", arrow::timestamp(TimeUnit::MICRO), "[1609459200000000, 1609459200000001]");  // 2021-01-01
  for (const char* literal : {"TIMESTAMP(6) '2021-01-01 00:00:00'", "cast('2021-01-01 00:00:00' as datetime)",
                              "cast('2021-01-01 00:00:00' as datetime(6))", "timestamp(3) '2021-01-01'"}) {
    EXPECT_EQ(Truth(t, fmt::format("t = {}", literal)), "TF") << literal;
  }
  auto d = One("d", arrow::decimal128(6, 3), R"(["12.000", "50.001"])");
  EXPECT_EQ(Truth(d, "d = DECIMAL(5, 3) '12.000'"), "TF");
  EXPECT_EQ(Truth(d, "d >= numeric(5,3) '50.000'"), "FT");
  EXPECT_EQ(BindError(t, "t = TIMESTAMP(7) '2021-01-01'"), "at 5: the type timestamp takes no such arguments");
}

TEST(Functions, PartsOfNestedValues) {
  auto item = arrow::struct_({arrow::field("x", arrow::int32()), arrow::field("odd name", arrow::utf8())});
  auto b =
      BatchOf({{"l", Json(arrow::list(item), R"([[{"x": 1, "odd name": "a"}, {"x": 2, "odd name": null}], [], null])")},
               {"f", Json(arrow::fixed_size_list(arrow::int32(), 2), "[[5, 6], null, [7, null]]")},
               {"s", Json(item, R"([{"x": 3, "odd name": "c"}, null, {"x": null, "odd name": "d"}])")}});
  EXPECT_EQ(Truth(b, "l[1]['x'] = 1"), "T--");
  EXPECT_EQ(Truth(b, "l[2]['x'] = 2 AND l[2]['odd name'] IS NULL"), "T--");
  EXPECT_EQ(Truth(b, "l[-1]['x'] = 2"), "T--");
  EXPECT_EQ(Truth(b, "l[3]['x'] = 2 OR l[0]['x'] = 1 OR l[99999999999999999999]['x'] = 1"), "---");
  EXPECT_EQ(Truth(b, "f[2] = 6"), "T--");
  EXPECT_EQ(Truth(b, "array_element(f, 1) > 5"), "F-T");
  EXPECT_EQ(Truth(b, "s['x'] = 3"), "T--");
  EXPECT_EQ(Truth(b, "get_field(s, 'odd name') = 'd'"), "F-T");
  EXPECT_EQ(Truth(b, "(f)[1] + 1 = 6"), "T-F");
  EXPECT_EQ(BindError(b, "s[1] = 1"), "at 1: array_element takes a list here, not struct<x: int32, odd name: string>");
  EXPECT_EQ(Truth(b, "l['x'][1] = 1"), "T--");  // the list of the field, as l.x is
  EXPECT_NE(BindError(b, "l[1]['y'] = 1"), "");
  EXPECT_NE(BindError(b, "l[1 = 1"), "");
  std::string deep = "f";
  for (int i = 0; i < 3000; ++i) deep += "[1]";
  EXPECT_NE(BindError(b, deep + " = 1").find("deep"), std::string::npos);
}

TEST(Literals, TimesInDoubleQuotes) {
  auto b = BatchOf({{"ts", Json(arrow::timestamp(arrow::TimeUnit::SECOND), "[0, 86400, null]")},
                    {"date", Json(arrow::int8(), "[1, 2, 3]")}});
  EXPECT_EQ(Truth(b, "ts = TIMESTAMP \"1970-01-02 00:00:00\""), "FT-");
  EXPECT_EQ(Truth(b, "ts > date \"1970-01-01\""), "FT-");
  EXPECT_EQ(Truth(b, "date = 2"), "FTF");
  EXPECT_NE(BindError(b, "date \"x\" = 1"), "");
}

TEST(Functions, PiecesOfText) {
  auto b = BatchOf({{"s", Json(arrow::utf8(), R"(["ab", "äé日x", "", null])")},
                    {"v", Json(arrow::utf8_view(), R"(["ab", "äé日x", "", null])")},
                    {"n", Json(arrow::int8(), "[1, -1, 0, 1]")}});
  for (const std::string c : {"s", "v"}) {
    EXPECT_EQ(Truth(b, "left(" + c + ", 2) = 'äé'"), "FTF-");
    EXPECT_EQ(Truth(b, "right(" + c + ", n) = 'b'"), "TFF-");
    EXPECT_EQ(Truth(b, "lpad(" + c + ", 3, '日') = '日ab'"), "TFF-");
    EXPECT_EQ(Truth(b, "replace(" + c + ", '', '-') = '-a-b-'"), "TFF-");
    EXPECT_EQ(Truth(b, "reverse(" + c + ") = 'x日éä'"), "FTF-");
    EXPECT_EQ(Truth(b, "strpos(" + c + ", 'x') = 4"), "FTF-");
    EXPECT_EQ(Truth(b, "concat_ws('+', " + c + ", 'z') = 'z'"), "FFFT");
  }
  EXPECT_EQ(Truth(b, "split_part(s, 'b', 0) IS NULL"), "TTTT");  // no value
  EXPECT_EQ(Truth(b, "repeat(s, 3000000000) IS NULL"), "TTFT");
  EXPECT_EQ(Truth(b, "repeat(s, 3000000000) = ''"), "--T-");
  EXPECT_EQ(BindError(b, "left(n, 1) = 'a'"), "at 6: left takes a text here, not int8");
  EXPECT_EQ(BindError(b, "regexp_replace(s, '(', '') = ''").substr(0, 30), "at 19: bad regular expression:");
}

TEST(Functions, FloatsAndTheGreatest) {
  auto b = BatchOf({{"i", Json(arrow::int8(), "[4, -1, 0, null]")},
                    {"f", Json(arrow::float32(), "[0.25, NaN, -0.0, 2]")},
                    {"d", Json(arrow::decimal128(10, 2), R"(["6.25", "-1.00", "0.00", null])")}});
  EXPECT_EQ(Truth(b, "sqrt(i) = 2"), "TFF-");
  EXPECT_EQ(Truth(b, "isnan(sqrt(i))"), "FTF-");
  EXPECT_EQ(Truth(b, "sqrt(d) = 2.5"), "TFF-");
  EXPECT_EQ(Truth(b, "power(i, -1) = 0.25"), "TF--");  // 0 to the power of -1 is no value
  EXPECT_EQ(Truth(b, "greatest(i, f) = 4"), "TFFF");
  EXPECT_EQ(Truth(b, "isnan(greatest(i, f))"), "FTFF");
  EXPECT_EQ(Truth(b, "least(i, f, NULL) = 2"), "FFFT");
  EXPECT_EQ(Truth(b, "nvl2(i, f, 7) = 7"), "FFFT");
  EXPECT_EQ(Truth(b, "lcm(i, 9223372036854775807) IS NULL"), "TFFT");
  EXPECT_EQ(BindError(b, "sqrt('a') = 1"), "at 6: sqrt takes a number here, not a text");
}

TEST(Functions, OthersAreAnErrorThatListsNearNames) {
  EXPECT_EQ(BindError(Ints(), "lenght(x) = 1"), "at 1: there is no function 'lenght'; near: length, left, right");
  EXPECT_EQ(BindError(Ints(), "json_get(x, 'a') = 1"), "at 10: json_get takes JSON here, not int64");
  EXPECT_EQ(BindError(Ints(), "abs(x, x) = 1"), "at 1: abs takes 1 arguments, not 2");
}

// ---- What an index is told
const Probe* ProbeOf(const std::shared_ptr<const BoundPredicate>& p) {
  return p->root().probe ? &*p->root().probe : nullptr;
}

TEST(Probes, ComparisonsOfOneColumnAreExactSets) {
  auto schema = arrow::schema({arrow::field("i", arrow::int32()), arrow::field("s", arrow::utf8()),
                               arrow::field("b", arrow::boolean()),
                               arrow::field("st", arrow::struct_({arrow::field("a", arrow::int64())})),
                               arrow::field("l", arrow::list(arrow::int64()))});
  auto bind = [&](const char* sql) { return BindPredicate(sql, *schema, {}).ValueOrDie(); };
  auto p = bind("i > 1 AND i <= 5");
  ASSERT_NE(ProbeOf(p), nullptr);
  EXPECT_EQ(ProbeOf(p)->set.ToString(), "{[2 .. 5]}");
  EXPECT_TRUE(ProbeOf(p)->exact);
  EXPECT_EQ(ProbeOf(bind("i = 1 OR i IN (3, 4)"))->set.ToString(), "{1, 3, 4}");
  EXPECT_EQ(ProbeOf(bind("NOT (i BETWEEN 2 AND 3)"))->set.ToString(), "{(-∞ .. 1], [4 .. ∞)}");
  EXPECT_EQ(ProbeOf(bind("s LIKE 'abc%'"))->set.ToString(), "{['abc' .. 'abd')}");
  EXPECT_TRUE(ProbeOf(bind("s LIKE 'abc%'"))->exact);
  EXPECT_FALSE(ProbeOf(bind("s LIKE 'abc%d'"))->exact);
  EXPECT_EQ(ProbeOf(bind("s LIKE '%d'")), nullptr);
  EXPECT_EQ(ProbeOf(bind("s ILIKE 'ab%'")), nullptr);
  const auto like = bind("s LIKE 'abc%def_gh'");
  EXPECT_EQ(ProbeOf(like)->kind, Probe::Kind::kInSet);
  ASSERT_EQ(like->root().more_probes.size(), 1u);
  EXPECT_EQ(like->root().more_probes[0].ToString(), "s contains 'abc' and 'def'");
  const auto ilike = bind("s ILIKE '%Ünder%'");
  EXPECT_EQ(ProbeOf(ilike)->ToString(), "s contains 'ünder' in any case");
  EXPECT_EQ(ProbeOf(bind("contains(s, 'xyz')"))->needles, std::vector<std::string>{"xyz"});
  EXPECT_EQ(bind("contains(s, 'xyz')")->root().more_probes.size(), 0u);
  EXPECT_EQ(ProbeOf(bind("contains_words(s, 'The É the')"))->ToString(), "s has the words 'the' and 'é'");
  EXPECT_TRUE(ProbeOf(bind("contains_words(s, 'a')"))->exact);
  EXPECT_EQ(ProbeOf(bind("contains_tokens(s, 'A')"))->ToString(), "s has the words 'a' (inexact)");
  EXPECT_EQ(bind("s LIKE '%on A b, cd%'")->root().more_probes.at(0).ToString(),
            "s has the words 'a' and 'b' (inexact)");
  const auto pair = bind("i = 1 AND s IN ('a', 'b') AND i < 5 AND st.a > 3");
  ASSERT_EQ(pair->root().pairs.size(), 1u);
  EXPECT_EQ(pair->root().pairs[0].probe.ToString(), "i in {1} and s in {'a', 'b'}");
  EXPECT_EQ(bind("i = 1 AND s = 'a' AND st.a = 2")->root().pairs.size(), 3u);
  EXPECT_EQ(bind("i = 1 OR s = 'a'")->root().pairs.size(), 0u);
  EXPECT_EQ(ProbeOf(bind("array_has(l, 3)"))->ToString(), "l has an element in {3}");
  EXPECT_TRUE(ProbeOf(bind("array_has_any(l, [3, 5])"))->exact);
  EXPECT_FALSE(ProbeOf(bind("array_has_all(l, [3, 5])"))->exact);
  EXPECT_EQ(bind("array_has_all(l, [3, 5])")->root().more_probes.size(), 1u);
  EXPECT_EQ(ProbeOf(bind("array_has_all(l, [])")), nullptr);
  EXPECT_EQ(ProbeOf(bind("b"))->set.ToString(), "{1}");
  EXPECT_EQ(ProbeOf(bind("st.a = 5"))->column, (FieldPath{{"st", "a"}}));
  EXPECT_EQ(ProbeOf(bind("i IS NULL"))->kind, Probe::Kind::kIsNull);
  EXPECT_EQ(ProbeOf(bind("l IS NULL"))->kind, Probe::Kind::kIsNull);
  EXPECT_EQ(ProbeOf(bind("i + 1 = 2")), nullptr);
  EXPECT_EQ(bind("i = 1 OR st.a = 2 OR i = 2 OR st IS NULL")->columns(),
            (std::vector<FieldPath>{FieldPath{{"i"}}, FieldPath{{"st"}}}));
}

}  // namespace
}  // namespace pilum
