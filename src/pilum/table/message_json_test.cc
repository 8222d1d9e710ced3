#include "pilum/table/message_json.h"

#include <gtest/gtest.h>

#include "lance_table.pb.h"

namespace pilum {
namespace {

using Json = nlohmann::ordered_json;

TEST(MessageJson, AFragmentWithAllItsParts) {
  wire::Manifest m;
  m.set_version(7);
  m.set_transaction_section(0);
  (*m.mutable_config())["a"] = "b";
  auto* f = m.add_fragments();
  f->set_physical_rows(5);
  auto* file = f->add_files();
  file->set_path("x.lance");
  file->add_fields(0), file->add_fields(-2);
  f->mutable_deletion_file()->set_file_type(wire::DeletionFile::BITMAP);
  wire::RowIdSequence ids;
  auto* segment = ids.add_segments()->mutable_sorted_array()->mutable_u16_array();
  segment->set_base(100);
  segment->set_offsets(std::string("\x01\0\x05\0", 4));
  f->set_inline_row_ids(ids.SerializeAsString());
  const Json j = MessageToJson(m.SerializeAsString(), TableMessage::kManifest).ValueOrDie();
  EXPECT_EQ(j["version"], 7);
  EXPECT_EQ(j["transaction_section"], 0);
  EXPECT_EQ(j["config"], Json::object({{"a", "b"}}));
  const Json& one = j["fragments"][0];
  EXPECT_EQ(one["id"], 0);  // not written, and told all the same
  EXPECT_EQ(one["files"][0]["fields"], Json::array({0, -2}));
  EXPECT_EQ(one["deletion_file"]["file_type"], "bitmap");
  EXPECT_EQ(one["row_ids"]["segments"][0]["sorted_array"]["u16_array"],
            Json::object({{"base", 100}, {"offsets", {1, 5}}}));
  EXPECT_FALSE(j.contains("unknown"));
  EXPECT_FALSE(j.contains("branch"));
}

TEST(MessageJson, UnknownFieldsAreToldByNumber) {
  // Field 3 = 7, field 99 = 300 as a number, field 98 as bytes, field 2 (fragments) as a number, which it never is.
  const std::string bytes(
      "\x18\x07\x98\x06\xac\x02\x92\x06\x03"
      "abc"
      "\x10\x05",
      14);
  const Json j = MessageToJson(bytes, TableMessage::kManifest).ValueOrDie();
  ASSERT_EQ(j["unknown"].size(), 3);
  EXPECT_EQ(j["unknown"][0], Json::object({{"number", 99}, {"wire_type", "varint"}, {"value", 300}}));
  EXPECT_EQ(j["unknown"][1],
            Json::object({{"number", 98}, {"wire_type", "bytes"}, {"bytes", 3}, {"begins", "616263"}}));
  EXPECT_EQ(j["unknown"][2]["number"], 2);
  const auto shares = FieldShares(bytes, TableMessage::kManifest).ValueOrDie();
  uint64_t sum = 0;
  for (const FieldShare& s : shares) sum += s.bytes;
  EXPECT_EQ(sum, bytes.size());
  EXPECT_EQ(shares.back().name, "");
  EXPECT_EQ(shares[1].name, "version");
}

TEST(MessageJson, ATransactionWithItsOperation) {
  wire::Transaction t;
  t.set_read_version(3);
  auto* rewrite = t.mutable_rewrite();
  rewrite->add_groups()->add_old_fragments()->set_id(4);
  rewrite->add_rewritten_indices()->mutable_old_id()->set_uuid(std::string(16, '\x01'));
  const Json j = MessageToJson(t.SerializeAsString(), TableMessage::kTransaction).ValueOrDie();
  EXPECT_EQ(j["rewrite"]["groups"][0]["old_fragments"][0]["id"], 4);
  EXPECT_EQ(j["rewrite"]["rewritten_indices"][0]["old_id"], "01010101-0101-0101-0101-010101010101");
}

TEST(MessageJson, WhatIsNoMessageIsAnError) {
  for (const std::string bytes : {"\xff", "\x0a\x05x", "\x0b"}) {
    EXPECT_EQ(KindOf(MessageToJson(bytes, TableMessage::kManifest).status()), ErrorKind::kCorrupt);
    EXPECT_EQ(KindOf(FieldShares(bytes, TableMessage::kManifest).status()), ErrorKind::kCorrupt);
  }
  // Deeper down too.
  EXPECT_FALSE(MessageToJson(std::string("\x12\x01\xff", 3), TableMessage::kManifest).ok());
}

TEST(MessageJson, IndexDetailsByTheirType) {
  const Json vector =
      IndexDetailsToJson("/lance.index.pb.VectorIndexDetails", std::string("\x08\x01\x22\x04\x08\x08\x10\x10", 8))
          .ValueOrDie();
  EXPECT_EQ(vector, Json::object({{"metric_type", "Cosine"}, {"pq", {{"num_bits", 8}, {"num_sub_vectors", 16}}}}));
  EXPECT_EQ(IndexDetailsToJson("/lance.index.pb.VectorIndexDetails", "").ValueOrDie()["metric_type"], "L2");
  EXPECT_EQ(IndexDetailsToJson("/x.Other", "ab").ValueOrDie(), Json::object({{"bytes", 2}, {"begins", "6162"}}));
}

// Details of a JSON index hold details of another, which may be one of JSON, and so on without end.
TEST(MessageJson, DepthIsBounded) {
  std::string any;
  const std::string url = "/lance.index.pb.JsonIndexDetails";
  const auto bytes = [](uint32_t number, const std::string& b) {
    std::string out(1, static_cast<char>(number << 3 | 2));
    for (size_t n = b.size();; n >>= 7) {
      out += static_cast<char>((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
      if (n <= 0x7f) break;
    }
    return out + b;
  };
  for (int i = 0; i < 1000; ++i) any = bytes(1, url) + bytes(2, bytes(2, any));
  auto j = IndexDetailsToJson(url, bytes(2, any));
  ASSERT_TRUE(j.ok());
  EXPECT_LT(j->dump().size(), 10000);
}

}  // namespace
}  // namespace pilum
