#include "pilum/file/footer.h"

#include <arrow/buffer.h>
#include <gtest/gtest.h>

#include "pilum/base/bytes.h"
#include "tests/support/hand_made_file.h"
#include "tests/support/lance_test_files.h"
#include "pilum/io/object_store.h"

namespace pilum {
namespace {

Result<FileMetadata> Parse(std::string bytes, ReadStats* stats = nullptr) {
  ReadContext ctx;
  ctx.stats = stats;
  return ReadFileMetadata(*MakeMemorySource("x.lance", arrow::Buffer::FromString(std::move(bytes))), SchemaWanted::kYes,
                          ctx);
}

std::string ErrorOf(std::string bytes) {
  auto r = Parse(std::move(bytes));
  return r.ok() ? "OK" : std::string(r.status().message());
}

// A small good file: one int32 column, one page.
std::string Good() { return *testing::ReadBytes(testing::GoldenDir() + "/file/v2_2/type_int32.lance"); }

template <typename T>
std::string With(std::string bytes, size_t from_end, T value) {
  StoreLE<T>(bytes.data() + bytes.size() - from_end, value);
  return bytes;
}

TEST(Footer, ReadsTheMetadata) {
  ReadStats stats;
  auto meta = Parse(Good(), &stats);
  ASSERT_TRUE(meta.ok()) << meta.status();
  EXPECT_EQ(meta->version, FileVersion::kV2_2);
  ASSERT_EQ(meta->columns.size(), 1u);
  ASSERT_EQ(meta->columns[0].size(), 1u);
  EXPECT_EQ(meta->columns[0][0].head.length, meta->schema.num_rows);
  EXPECT_EQ(ParsePageLayout(meta->columns[0][0].layout.bytes, meta->version)->kind, LayoutKind::kMiniBlock);
  EXPECT_EQ(meta->global_buffers.size(), 1u);
  EXPECT_EQ(stats.requests, 1u);
}

TEST(Footer, GlobalBuffers) {
  auto meta = Parse(*testing::ReadBytes(testing::GoldenDir() + "/file/special/global_buffers_2.1.lance"));
  ASSERT_TRUE(meta.ok()) << meta.status();
  EXPECT_EQ(meta->version, FileVersion::kV2_1);
  ASSERT_EQ(meta->global_buffers.size(), 3u);
  EXPECT_EQ(meta->global_buffers[1].size, 11u);
  EXPECT_EQ(meta->global_buffers[2].size, 100u);
}

TEST(Footer, OtherVersionsAreNamed) {
  auto version = [](uint16_t major, uint16_t minor) { return Parse(With(With(Good(), 8, major), 6, minor)).status(); };
  for (auto [major, minor, text] : {std::tuple{2, 3, "version 2.3 "},
                                    {0, 1, "legacy Lance file version 0.1"},
                                    {0, 2, "0.2"},
                                    {9, 7, "version 9.7"}}) {
    Status st = version(static_cast<uint16_t>(major), static_cast<uint16_t>(minor));
    EXPECT_EQ(KindOf(st), ErrorKind::kUnsupported);
    EXPECT_NE(st.message().find(text), std::string::npos) << st;
    EXPECT_TRUE(st.message().starts_with("x.lance: ")) << st;
  }
}

TEST(Footer, Version20HasTwoNumbers) {
  std::string good = *testing::ReadBytes(testing::GoldenDir() + "/file/special/global_buffers_2.0.lance");
  EXPECT_EQ(good.substr(good.size() - 8, 4), std::string("\0\0\3\0", 4));
  for (auto [major, minor] : {std::pair{0, 3}, {2, 0}}) {
    auto meta = Parse(With(With(good, 8, static_cast<uint16_t>(major)), 6, static_cast<uint16_t>(minor)));
    ASSERT_TRUE(meta.ok()) << meta.status();
    EXPECT_EQ(meta->version, FileVersion::kV2_0);
    EXPECT_EQ(meta->global_buffers.size(), 3u);
  }
  // The layouts of another version are not taken for those of this one.
  EXPECT_EQ(KindOf(Parse(With(With(good, 8, uint16_t{2}), 6, uint16_t{1})).status()), ErrorKind::kCorrupt);
}

TEST(Footer, NumbersFromOutsideAreChecked) {
  const std::string good = Good();
  for (size_t field : {40u, 32u, 24u}) {
    for (uint64_t v : {uint64_t{1} << 60, UINT64_MAX, uint64_t{good.size()}, UINT64_MAX - 15}) {
      EXPECT_NE(ErrorOf(With(good, field, v)), "OK") << field << " " << v;
    }
  }
  for (uint32_t v : {0xffffffffu, 1000000u}) {
    EXPECT_NE(ErrorOf(With(good, 16, v)), "OK");
    EXPECT_NE(ErrorOf(With(good, 12, v)), "OK");
  }
  EXPECT_NE(ErrorOf(With(good, 16, 0u)).find("no global buffers"), std::string::npos);
  EXPECT_EQ(ErrorOf(""), "x.lance: not a Lance file, or a cut one: its 0 bytes do not end with LANC");
  EXPECT_NE(ErrorOf("LANC"), "OK");
  EXPECT_NE(ErrorOf(good.substr(good.size() - 20)), "OK");
  EXPECT_NE(ErrorOf(good.substr(good.size() - 40)), "OK");
}

TEST(Footer, EveryCutAndEveryByteOfTheTail) {
  const std::string good = Good();
  for (size_t n = 0; n < good.size(); ++n) EXPECT_NE(ErrorOf(good.substr(0, n)), "OK");
  for (size_t i = good.size() - std::min<size_t>(good.size(), 500); i < good.size(); ++i) {
    for (int flip : {1, 0x80, 0xff}) {
      std::string bytes = good;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      std::string error = ErrorOf(bytes);  // no crash; a reading or an error that names the file
      EXPECT_TRUE(error == "OK" || error.starts_with("x.lance: ")) << error;
    }
  }
}

TEST(Footer, MadeByHand) {
  testing::HandMadeFile m({"a"}, {3});
  auto meta = Parse(m.Build());
  ASSERT_TRUE(meta.ok()) << meta.status();
  EXPECT_EQ(meta->columns[0][0].head.length, 3u);
  for (int i = 0; i < 2000; ++i) m.AddPage(0, 3);
  m.filler = 64 * 1000;
  ReadStats stats;
  meta = Parse(m.Build(), &stats);
  ASSERT_TRUE(meta.ok()) << meta.status();
  EXPECT_EQ(meta->columns[0].size(), 2001u);
  EXPECT_EQ(stats.requests, 2u);  // the metadata is larger than the tail
}

TEST(Footer, BadMessages) {
  auto edited = [](const std::function<void(testing::HandMadeFile*)>& edit) {
    testing::HandMadeFile m({"a"}, {3});
    edit(&m);
    return ErrorOf(m.Build());
  };
  auto has = [](const std::string& s, std::string_view text) { EXPECT_NE(s.find(text), std::string::npos) << s; };
  has(edited([](auto* m) { m->columns[0].mutable_pages(0)->mutable_encoding()->mutable_indirect(); }),
      "page 0: an indirect encoding");
  has(edited([](auto* m) { m->columns[0].mutable_pages(0)->clear_encoding(); }),
      "x.lance: column 0: page 0: its encoding is missing");
  has(edited([](auto* m) { m->columns[0].clear_encoding(); }), "x.lance: column 0: its encoding is missing");
  has(edited([](auto* m) { m->AddPage(0, 3, "/lance.encodings.ArrayEncoding"); }),
      "page 1: its encoding is a '/lance.encodings.Arr");
  has(edited([](auto* m) { m->columns[0].mutable_pages(0)->add_buffer_offsets(0); }), "1 buffer offsets but 0 sizes");
  auto buffer = [&](uint64_t offset, uint64_t size) {
    return edited([&](auto* m) {
      m->filler = 128;
      m->columns[0].mutable_pages(0)->add_buffer_offsets(offset),
          m->columns[0].mutable_pages(0)->add_buffer_sizes(size);
    });
  };
  EXPECT_EQ(buffer(64, 64), "OK");  // an extra buffer is tolerated here
  has(buffer(uint64_t{1} << 50, 8), "ends past the file");
  has(buffer(64, uint64_t{1} << 40), "ends past the file");
  has(buffer(UINT64_MAX - 63, 128), "ends past the file");
  has(buffer(8, 8), "not aligned to 64");
  has(edited([](auto* m) { m->columns[0].mutable_pages(0)->set_length(uint64_t{1} << 60); }), "rows");
  has(edited([](auto* m) { m->schema_shift = 1; }), "global buffer 0 at 1 is not aligned to 64");
}

}  // namespace
}  // namespace pilum
