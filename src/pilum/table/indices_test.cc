#include "pilum/table/indices.h"

#include <gtest/gtest.h>

#include "lance_table.pb.h"
#include "pilum/table/index_kind.h"

namespace pilum {
namespace {

// The portable Roaring bitmap of one array container.
std::string Bitmap(const std::vector<uint16_t>& values) {
  std::string out = std::string("\x3a\x30\0\0\x01\0\0\0\0\0", 10);
  const auto put16 = [&](uint64_t v) { out += static_cast<char>(v), out += static_cast<char>(v >> 8); };
  put16(values.size() - 1);
  put16(16), put16(0);
  for (const uint16_t v : values) put16(v);
  return out;
}

std::string Bytes(uint32_t number, std::string_view bytes) {
  return std::string({static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())}) + std::string(bytes);
}

wire::IndexMetadata* Add(wire::IndexSection* section, const std::string& name, const std::string& url) {
  auto* m = section->add_indices();
  m->mutable_uuid()->set_uuid(std::string("\xe1\x96\x26\xbc\xe3\x90\x4e\x8d\xbb\xab\x37\x05\x09\xd2\x98\x63", 16));
  m->set_name(name);
  m->mutable_index_details()->set_type_url(url);
  return m;
}

std::vector<TableIndex> Parsed(const wire::IndexSection& section) {
  auto out = ParseIndexSection(section.SerializeAsString());
  EXPECT_TRUE(out.ok()) << out.status();
  return out.ok() ? *out : std::vector<TableIndex>();
}

TEST(Indices, AllFields) {
  wire::IndexSection section;
  auto* m = Add(&section, "num_idx", "/lance.table.BTreeIndexDetails");
  m->add_fields(2);
  m->set_dataset_version(7);
  m->set_fragment_bitmap(Bitmap({0, 1, 4}));
  m->set_index_version(0);
  m->set_created_at(1234);
  m->set_base_id(0);
  auto* f = m->add_files();
  f->set_path("page_data.lance"), f->set_size_bytes(1000);
  f = m->add_files();
  f->set_path("page_lookup.lance"), f->set_size_bytes(24);
  const auto all = Parsed(section);
  ASSERT_EQ(all.size(), 1);
  const TableIndex& i = all[0];
  EXPECT_EQ(i.uuid, "e19626bc-e390-4e8d-bbab-370509d29863");
  EXPECT_EQ(i.name, "num_idx");
  EXPECT_EQ(i.fields, std::vector<int32_t>({2}));
  EXPECT_EQ(i.dataset_version, 7);
  EXPECT_EQ(i.fragments->ToVector(), std::vector<uint64_t>({0, 1, 4}));
  EXPECT_EQ(i.kind, "BTree");
  EXPECT_EQ(i.index_version, 0);
  EXPECT_EQ(i.created_at_ms, 1234);
  EXPECT_EQ(i.base_id, 0);
  EXPECT_EQ(i.total_bytes(), 1024);
}

TEST(Indices, WhatIsNotToldIsNotThere) {
  wire::IndexSection section;
  Add(&section, "x", "");
  const TableIndex i = Parsed(section).at(0);
  EXPECT_EQ(i.kind, "Unknown");
  EXPECT_FALSE(i.fragments || i.index_version || i.created_at_ms || i.base_id || i.total_bytes());
}

TEST(Indices, Kinds) {
  const auto kind = [](const std::string& url, const std::string& details) {
    wire::IndexSection section;
    Add(&section, "x", url)->mutable_index_details()->set_value(details);
    return Parsed(section).at(0).kind;
  };
  EXPECT_EQ(kind("type.googleapis.com/lance.table.btreeindexdetails", ""), "BTree");
  EXPECT_EQ(kind("/lance.table.LabelListIndexDetails", ""), "LabelList");
  EXPECT_EQ(kind("/lance.index.pb.SpaceTimeIndexDetails", ""), "Unknown");
  EXPECT_EQ(kind("IndexDetails", ""), "Unknown");
  const std::string vector = "/lance.index.pb.VectorIndexDetails";
  EXPECT_EQ(kind(vector, ""), "Vector");
  EXPECT_EQ(kind(vector, std::string("\x08\x03", 2)), "IVF_FLAT");
  EXPECT_EQ(kind(vector, Bytes(4, "")), "IVF_PQ");
  EXPECT_EQ(kind(vector, Bytes(3, "") + Bytes(5, "")), "IVF_HNSW_SQ");
  EXPECT_EQ(kind(vector, Bytes(6, "")), "IVF_RQ");
  EXPECT_EQ(kind(vector, "\xff"), "Vector");
}

TEST(Indices, KindsOfFiles) {
  EXPECT_EQ(IndexKindOfFiles({"page_data.lance", "page_lookup.lance"}), "BTree");
  EXPECT_EQ(IndexKindOfFiles({"auxiliary.idx", "index.idx"}), "Vector");
  EXPECT_EQ(IndexKindOfFiles({"x"}), "Unknown");
}

TEST(Indices, DamagedSectionsSayWhat) {
  EXPECT_NE(ParseIndexSection("\xff\xff").status().message().find("does not parse"), std::string::npos);
  wire::IndexSection section;
  Add(&section, "x", "")->mutable_uuid()->set_uuid("short");
  auto status = ParseIndexSection(section.SerializeAsString()).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kCorrupt);
  EXPECT_NE(status.message().find("index 'x'"), std::string::npos);
  section.Clear();
  Add(&section, "x", "")->set_fragment_bitmap("nonsense");
  status = ParseIndexSection(section.SerializeAsString()).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kCorrupt);
  EXPECT_NE(status.message().find("fragments"), std::string::npos);
}

Manifest WithFragments(const std::vector<uint64_t>& ids) {
  Manifest m;
  for (const uint64_t id : ids) m.fragments.emplace_back().id = id;
  return m;
}

TEST(Indices, CoverageIsOfFragmentsThatAreThere) {
  wire::IndexSection section;
  Add(&section, "x", "")->set_fragment_bitmap(Bitmap({0, 1, 2}));
  Add(&section, "y", "");
  const auto all = Parsed(section);
  EXPECT_EQ((*LiveCoverage(all[0], all, WithFragments({1, 2, 3})))->ToVector(), std::vector<uint64_t>({1, 2}));
  EXPECT_EQ(*LiveCoverage(all[1], all, WithFragments({1})), std::nullopt);
}

TEST(Indices, CoverageFollowsCompaction) {
  const auto fragment = [](uint32_t number, char id) { return Bytes(number, std::string({'\x08', id})); };
  // 0, 1 became 4; then 4, 5 became 6, of which 5 was never covered by the first index.
  const std::string first = Bytes(3, Bytes(2, "") + fragment(2, 1) + fragment(3, 4));
  const std::string second = Bytes(3, fragment(2, 4) + fragment(2, 5) + fragment(3, 6));
  wire::IndexSection section;
  Add(&section, "part", "")->set_fragment_bitmap(Bitmap({0, 1, 2}));
  Add(&section, "whole", "")->set_fragment_bitmap(Bitmap({0, 1, 5}));
  Add(&section, "__lance_frag_reuse", "/lance.table.FragmentReuseIndexDetails")
      ->mutable_index_details()
      ->set_value(Bytes(1, Bytes(1, first) + Bytes(1, second)));
  const auto all = Parsed(section);
  EXPECT_EQ((*LiveCoverage(all[0], all, WithFragments({2, 4, 6})))->ToVector(), std::vector<uint64_t>({2, 4}));
  EXPECT_EQ((*LiveCoverage(all[1], all, WithFragments({2, 6})))->ToVector(), std::vector<uint64_t>({6}));
  auto broken = all;
  broken[2].details = "\x0a\x05";
  EXPECT_FALSE(LiveCoverage(broken[0], broken, WithFragments({2})).ok());
}

}  // namespace
}  // namespace pilum
