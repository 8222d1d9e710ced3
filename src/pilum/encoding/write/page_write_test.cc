// Pages: limits of chunks, cuts from the rows alone, dictionaries, refusals, policy.
#include <numeric>
#include <random>

#include "pilum/encoding/write/internal.h"
#include "pilum/encoding/write/test_pages.h"

namespace pilum {
namespace {

using test::Fingerprint;
using test::Json;
using test::Pages;

// Every chunk of a mini-block page within its limits; the words add up to the data.
void CheckChunks(const EncodedPage& page) {
  if (page.layout.kind != LayoutKind::kMiniBlock) return;
  const bool large = page.layout.has_large_chunk;
  const uint8_t *table = page.buffers[0]->data(), *data = page.buffers[1]->data();
  int64_t chunks = page.buffers[0]->size() / (large ? 4 : 2);
  uint64_t at = 0, slots = 0;
  for (int64_t i = 0; i < chunks; ++i) {
    uint32_t word = large ? LoadLE<uint32_t>(table + 4 * i) : LoadLE<uint16_t>(table + 2 * i);
    uint64_t bytes = (uint64_t{word >> 4} + 1) * 8;
    EXPECT_LE(bytes, 32768u);
    if (i + 1 < chunks) {
      EXPECT_GE(word & 15, 1u);
      EXPECT_LE(word & 15, 12u);
      slots += uint64_t{1} << (word & 15);
    }
    EXPECT_LE(at + bytes, static_cast<uint64_t>(page.buffers[1]->size()));
    if (!page.layout.rep_codec && !page.layout.def_codec) {
      EXPECT_EQ(LoadLE<uint16_t>(data + at), 0);
    }
    at += bytes;
  }
  EXPECT_EQ(at, static_cast<uint64_t>(page.buffers[1]->size()));
  EXPECT_LT(slots, page.layout.num_items);
  if (page.layout.repetition_index_depth) {
    const auto* index = reinterpret_cast<const uint64_t*>(page.buffers.back()->data());
    uint64_t rows = 0;
    for (int64_t i = 0; i < chunks; ++i) rows += index[2 * i];
    EXPECT_EQ(rows, page.length);
    EXPECT_EQ(index[2 * chunks - 1], 0u);
  }
}

std::shared_ptr<arrow::Array> Numbers(int64_t n, uint64_t mask, int null_every = 0) {
  std::mt19937_64 rng(static_cast<uint64_t>(n));
  arrow::Int64Builder b;
  for (int64_t i = 0; i < n; ++i) {
    if (null_every && i % null_every == 0)
      EXPECT_TRUE(b.AppendNull().ok());
    else
      EXPECT_TRUE(b.Append(static_cast<int64_t>(rng() & mask)).ok());
  }
  return b.Finish().ValueOrDie();
}

// list<struct<a: string, l: list<int16>>> with nulls and empties everywhere, from a seed.
std::shared_ptr<arrow::Array> Nested(int rows) {
  std::mt19937 rng(7);
  std::string json = "[";
  auto leaf_list = [&] {
    if (rng() % 5 == 0) return std::string("null");
    std::string s = "[";
    for (unsigned i = 0, n = rng() % 4; i < n; ++i)
      s += (i ? "," : "") + (rng() % 4 ? std::to_string(rng() % 1000) : "null");
    return s + "]";
  };
  for (int r = 0; r < rows; ++r) {
    json += r ? "," : "";
    if (rng() % 6 == 0) {
      json += "null";
      continue;
    }
    json += "[";
    for (unsigned i = 0, n = rng() % 4; i < n; ++i) {
      json += i ? "," : "";
      if (rng() % 5 == 0)
        json += "null";
      else
        json += "[" +
                (rng() % 3 ? "\"" + std::string(rng() % 30, 'a' + static_cast<char>(rng() % 26)) + "\""
                           : std::string("null")) +
                "," + leaf_list() + "]";
    }
    json += "]";
  }
  auto type =
      arrow::list(arrow::struct_({arrow::field("a", arrow::utf8()), arrow::field("l", arrow::list(arrow::int16()))}));
  return Json(type, json + "]");
}

TEST(PageWriter, SameBytesHoweverBatched) {
  struct Case {
    std::shared_ptr<arrow::Array> array;
    int columns;
  };
  auto bools = Json(arrow::boolean(), "[true,null,false,true,true,null,false,false,true]");
  for (const Case& c :
       {Case{Numbers(20000, ~0ull, 7), 1}, Case{Numbers(20000, 0xFF), 1}, Case{Nested(3000), 2}, Case{bools, 1},
        Case{Json(arrow::fixed_size_list(arrow::boolean(), 3), "[[true,null,false],null,[true,true,true]]"), 1}}) {
    for (auto version : {FileVersion::kV2_1, FileVersion::kV2_2}) {
      for (int column = 0; column < c.columns; ++column) {
        auto whole = Pages(c.array, {version, 20000, column}).ValueOrDie();
        for (const EncodedPage& p : whole) CheckChunks(p);
        for (int64_t batch : {1, 7, 64, 997}) {
          auto cut = Pages(c.array, {version, 20000, column, batch}).ValueOrDie();
          ASSERT_EQ(Fingerprint(cut), Fingerprint(whole)) << c.array->type()->ToString() << " batches of " << batch;
        }
        auto sliced = arrow::Concatenate({c.array->Slice(c.array->length() / 3), c.array})
                          .ValueOrDie()
                          ->Slice(c.array->length() - c.array->length() / 3);
        ASSERT_EQ(Fingerprint(Pages(sliced, {version, 20000, column}).ValueOrDie()), Fingerprint(whole));
      }
    }
  }
}

TEST(PageWriter, PagesAreCutByBytes) {
  auto pages = Pages(Numbers(10000, ~0ull), {FileVersion::kV2_1, 16000}).ValueOrDie();
  ASSERT_EQ(pages.size(), 5u);
  for (size_t i = 0; i < pages.size(); ++i) {
    EXPECT_EQ(pages[i].length, 2000u);
    EXPECT_EQ(pages[i].first_row, 2000 * i);
    EXPECT_EQ(pages[i].ready_row, 2000 * (i + 1));
  }
}

TEST(PageWriter, ARowOfManyItems) {
  auto values = std::make_shared<arrow::Int32Builder>();
  arrow::ListBuilder b(arrow::default_memory_pool(), values);
  ASSERT_TRUE(b.Append().ok());
  for (int i = 0; i < 70000; ++i) ASSERT_TRUE(values->Append(i).ok());
  for (int i = 0; i < 200000; ++i) ASSERT_TRUE(b.AppendEmptyValue().ok());
  auto pages = Pages(b.Finish().ValueOrDie()).ValueOrDie();
  EXPECT_GT(pages.size(), 1u);  // more levels than a chunk can count
  uint64_t rows = 0;
  for (const EncodedPage& p : pages) {
    CheckChunks(p);
    EXPECT_EQ(p.first_row, rows);
    rows += p.length;
  }
  EXPECT_EQ(rows, 200001u);
}

TEST(PageWriter, DictionariesOfBatchesBecomeOne) {
  auto type = arrow::dictionary(arrow::int8(), arrow::utf8());
  auto make = [&](const std::string& keys, const std::string& values) {
    return arrow::DictionaryArray::FromArrays(type, Json(arrow::int8(), keys), Json(arrow::utf8(), values))
        .ValueOrDie();
  };
  auto field = arrow::field("c", type);
  auto columns = LeafColumnsOf(*arrow::schema({field})).ValueOrDie();
  auto write = [&](std::vector<std::shared_ptr<arrow::Array>> batches) {
    auto writer = ColumnWriter::Make(&columns[0], *field, {}).ValueOrDie();
    std::vector<EncodedPage> out;
    for (const auto& b : batches) EXPECT_TRUE(writer->Append(b, &out).ok());
    EXPECT_TRUE(writer->Finish(&out).ok());
    return out;
  };
  auto two = write({make("[1,0,null]", R"(["x","yy"])"), make("[0,1,2]", R"(["z","x",null])")});
  auto one = write({make("[3,1,0,2,1,0]", R"([null,"x","z","yy"])")});
  EXPECT_EQ(Fingerprint(two), Fingerprint(one));
  ASSERT_EQ(two.size(), 1u);
  EXPECT_EQ(two[0].layout.num_dictionary_items, 3u);
  EXPECT_EQ(two[0].layout.layers[0], RepDefLayer::kNullableItem);

  // More distinct values than int8 has keys: a new page, at the same row however batched.
  std::vector<std::shared_ptr<arrow::Array>> batches;
  for (int b = 0; b < 3; ++b) {
    arrow::StringBuilder values;
    arrow::Int8Builder keys;
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(values.Append("v" + std::to_string(b * 100 + i)).ok());
      ASSERT_TRUE(keys.Append(static_cast<int8_t>(i)).ok());
    }
    batches.push_back(arrow::DictionaryArray::FromArrays(type, keys.Finish().ValueOrDie(), values.Finish().ValueOrDie())
                          .ValueOrDie());
  }
  auto pages = write(batches);
  ASSERT_EQ(pages.size(), 3u);
  EXPECT_EQ(pages[0].length, 128u);
  EXPECT_EQ(pages[0].ready_row, 129u);
  std::vector<std::shared_ptr<arrow::Array>> ones;
  for (const auto& b : batches) {
    for (int64_t i = 0; i < b->length(); ++i) ones.push_back(b->Slice(i, 1));
  }
  EXPECT_EQ(Fingerprint(write(ones)), Fingerprint(pages));
}

TEST(PageWriter, AutoDictionary) {
  arrow::StringBuilder b;
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(b.Append("value number " + std::to_string(i * i % 50)).ok());
  auto p = Pages(b.Finish().ValueOrDie()).ValueOrDie().at(0);
  EXPECT_TRUE(p.choice.dictionary);
  EXPECT_EQ(p.layout.value_codec->kind, CodecKind::kInlineBitpacking);
  EXPECT_LT(p.buffers[1]->size(), 8000);
  EXPECT_FALSE(Pages(Numbers(5000, 0xFFFFFFFFFF), {FileVersion::kV2_2}).ValueOrDie().at(0).choice.dictionary);
}

// Long values are told apart by length and ends; those that agree in both are still compared.
TEST(PageWriter, LongValuesAreADictionaryWhereTheyRepeat) {
  const auto page = [](int distinct, bool same_ends) {
    arrow::BinaryBuilder b;
    for (int i = 0; i < 400; ++i) {
      std::string v(3000, 'x');
      const std::string number = std::to_string(1000 + i * 7 % distinct);
      v.replace(same_ends ? 1500 : 2996, 4, number);
      EXPECT_TRUE(b.Append(v).ok());
    }
    return Pages(b.Finish().ValueOrDie(), {FileVersion::kV2_2, 8 << 20}).ValueOrDie().at(0);
  };
  for (const bool same_ends : {false, true}) {
    const auto few = page(5, same_ends), many = page(400, same_ends);
    EXPECT_TRUE(few.choice.dictionary) << few.choice.why;
    EXPECT_EQ(few.layout.num_dictionary_items, 5u);
    EXPECT_FALSE(many.choice.dictionary) << many.choice.why;
  }
}

// Columns that hold no values at all have none to compare.
TEST(PageWriter, ManyRowsOfNothing) {
  const auto null = arrow::MakeArrayOfNull(arrow::null(), 2500).ValueOrDie();
  const auto structs = arrow::MakeArrayOfNull(arrow::struct_({arrow::field("n", arrow::null())}), 2500).ValueOrDie();
  for (const auto& array : {null, structs}) {
    for (const auto version : {FileVersion::kV2_1, FileVersion::kV2_2})
      EXPECT_FALSE(Pages(array, {version}).ValueOrDie().at(0).choice.dictionary);
  }
}

TEST(PageWriter, Blobs) {
  struct Sink : BlobSink {
    Result<uint64_t> WritePayload(std::string_view bytes) override {
      payloads.emplace_back(bytes);
      return 64 * (payloads.size() - 1);
    }
    std::vector<std::string> payloads;
  } sink;
  auto field =
      arrow::field("c", arrow::large_binary(), true, arrow::key_value_metadata({"lance-encoding:blob"}, {"true"}));
  auto pages = Pages(field, Json(arrow::large_binary(), R"(["abc",null,""])")).ValueOrDie();
  ASSERT_EQ(pages.size(), 1u);
  ASSERT_TRUE(pages[0].seal(&sink, &pages[0]).ok());
  EXPECT_EQ(sink.payloads, std::vector<std::string>{"abc"});
  EXPECT_EQ(pages[0].layout.kind, LayoutKind::kBlob);
  const auto* rows = reinterpret_cast<const uint64_t*>(pages[0].buffers[1]->data() + 8);
  EXPECT_EQ(std::vector<uint64_t>(rows, rows + 6), (std::vector<uint64_t>{0, 3, 0x10000, 0, 0, 0}));
}

TEST(PageWriter, Refusals) {
  auto refused = [](const std::shared_ptr<arrow::Field>& f, FileVersion v, const char* says) {
    auto st = Pages(f, arrow::MakeArrayOfNull(f->type(), 1).ValueOrDie(), {v}).status();
    EXPECT_EQ(KindOf(st), ErrorKind::kUnsupported) << f->ToString();
    EXPECT_NE(st.message().find(says), std::string::npos) << st.message();
  };
  auto meta = [](const char* k, const char* v) { return arrow::key_value_metadata({k}, {v}); };
  refused(arrow::field("m", arrow::map(arrow::utf8(), arrow::int8())), FileVersion::kV2_1, "'m");
  refused(arrow::field("f", arrow::fixed_size_list(arrow::struct_({arrow::field("x", arrow::int8())}), 2)),
          FileVersion::kV2_1, "2.2");
  refused(arrow::field("s", arrow::int8(), true, meta("lance-encoding:structural-encoding", "sparse")),
          FileVersion::kV2_2, "sparse");
  refused(arrow::field("s", arrow::int8(), true, meta("lance-encoding:compression", "brotli")), FileVersion::kV2_2,
          "brotli");
  refused(arrow::field("e", arrow::struct_({})), FileVersion::kV2_2, "'e'");
  refused(arrow::field("c", arrow::int8()), FileVersion::kV2_0, "2.0");
}

TEST(Policy, SaysWhy) {
  PageStats s;
  s.num_values = 1000;
  s.bits_per_value = 64;
  s.max_length = 8;
  s.can_pack = true;
  s.bitpacked_bytes = 1000;
  EncodingHints hints;
  Choice c = ChooseEncoding(s, hints, FileVersion::kV2_1);
  EXPECT_EQ(c.codec, CodecKind::kInlineBitpacking);
  EXPECT_EQ(c.estimated_size, 1000u);
  hints.compression = Compression::kZstd;
  c = ChooseEncoding(s, hints, FileVersion::kV2_1);
  EXPECT_NE(c.why.find("zstd asked for"), std::string::npos) << c.why;
  hints.compression = Compression::kNone;
  EXPECT_EQ(ChooseEncoding(s, hints, FileVersion::kV2_1).codec, CodecKind::kFlat);
  s = {};
  s.num_values = 10;
  s.data_bytes = 5000;
  s.max_length = 256;
  EXPECT_EQ(ChooseEncoding(s, {}, FileVersion::kV2_2).layout, LayoutKind::kFullZip);
  s.max_length = 255;
  EXPECT_EQ(ChooseEncoding(s, {}, FileVersion::kV2_2).layout, LayoutKind::kMiniBlock);
  s.num_nulls = 10;
  EXPECT_EQ(ChooseEncoding(s, {}, FileVersion::kV2_1).layout, LayoutKind::kConstant);
}

}  // namespace
}  // namespace pilum
