#include "pilum/table/commit/index_coverage.h"

#include <gtest/gtest.h>

#include "pilum/table/roaring.h"

namespace pilum {
namespace {

wire::IndexMetadata* AddIndex(const std::string& name, int32_t field, const RowSet& covered, const std::string& type,
                              wire::IndexSection* out) {
  auto* index = out->add_indices();
  index->set_name(name);
  index->mutable_uuid()->set_uuid(name);
  index->add_fields(field);
  index->set_fragment_bitmap(SerializeRoaring32(covered));
  index->mutable_index_details()->set_type_url("/lance.table." + type + "IndexDetails");
  return index;
}

std::string Covered(const wire::IndexSection& indices, int i) {
  return ParseRoaring32(indices.indices(i).fragment_bitmap()).ValueOrDie().ToString();
}
std::string Text(const RowSet& rows) { return rows.ToString(); }

wire::Manifest TableOf(std::vector<int32_t> fields, std::vector<uint64_t> fragments) {
  wire::Manifest m;
  for (const int32_t id : fields) m.add_fields()->set_id(id);
  for (const uint64_t id : fragments) m.add_fragments()->set_id(id);
  return m;
}

TEST(IndexCoverage, DroppedColumnsTakeTheirIndices) {
  wire::IndexSection indices;
  AddIndex("a", 0, RowSet::Range(0, 2), "BTree", &indices);
  AddIndex("b", 1, RowSet::Range(0, 2), "BTree", &indices);
  indices.add_indices()->set_name("__lance_frag_reuse");
  KeepRelevantIndices(TableOf({1}, {0, 1}), &indices);
  ASSERT_EQ(indices.indices_size(), 2);
  EXPECT_EQ(indices.indices(0).name(), "b");
  EXPECT_EQ(indices.indices(1).name(), "__lance_frag_reuse");
}

TEST(IndexCoverage, EmptySegmentsGo) {
  wire::IndexSection indices;
  AddIndex("a", 0, RowSet::Range(0, 1), "BTree", &indices)->set_dataset_version(3);
  AddIndex("a", 0, RowSet::Range(5, 6), "BTree", &indices)->set_dataset_version(2);
  AddIndex("v", 0, RowSet::Range(0, 1), "Vector", &indices);
  auto some = indices, none = indices;
  KeepRelevantIndices(TableOf({0}, {5}), &some);
  ASSERT_EQ(some.indices_size(), 1);
  EXPECT_EQ(Covered(some, 0), Text(RowSet::Range(5, 6)));
  KeepRelevantIndices(TableOf({0}, {9}), &none);  // of a scalar index the oldest stays
  ASSERT_EQ(none.indices_size(), 1);
  EXPECT_EQ(none.indices(0).dataset_version(), 2u);
}

TEST(IndexCoverage, OldWritersAreNotBelieved) {
  wire::IndexSection indices;
  AddIndex("a", 0, RowSet::Range(0, 2), "BTree", &indices);
  for (const auto& [library, version, kept] :
       std::vector<std::tuple<std::string, std::string, bool>>{{"lance", "0.8.14", false},
                                                               {"lance", "0.8.15", true},
                                                               {"lance", "14.0.2", true},
                                                               {"pilum", "0.1.0", true},
                                                               {"", "", false}}) {
    auto copy = indices;
    wire::Manifest m;
    m.mutable_writer_version()->set_library(library);
    m.mutable_writer_version()->set_version(version);
    ForgetUnsureCoverage(m, &copy);
    EXPECT_EQ(!copy.indices(0).fragment_bitmap().empty(), kept) << library << version;
  }
}

TEST(IndexCoverage, ReplacedColumnsAreCut) {
  wire::IndexSection indices;
  AddIndex("a", 0, RowSet::Range(0, 3), "BTree", &indices);
  AddIndex("b", 1, RowSet::Range(0, 3), "BTree", &indices);
  CutCoverage(TableOf({}, {1}).fragments(), {0}, &indices);
  EXPECT_EQ(Covered(indices, 0), Text(RowSet::FromRanges({{0, 1}, {2, 3}})));
  EXPECT_EQ(Covered(indices, 1), Text(RowSet::Range(0, 3)));
}

TEST(IndexCoverage, MovedRowsStayIndexedByTheirIds) {
  wire::IndexSection indices;
  AddIndex("a", 0, RowSet::Range(0, 3), "Bitmap", &indices);
  AddIndex("addresses", 0, RowSet::Range(0, 3), "BTree", &indices)->set_index_version(1);
  AddIndex("b", 1, RowSet::Range(0, 3), "Bitmap", &indices);
  AddIndex("part", 0, RowSet::Range(0, 1), "Bitmap", &indices);
  ExtendCoverage({7}, {1, 2}, {1}, &indices);
  EXPECT_EQ(Covered(indices, 0), Text(RowSet::FromRanges({{0, 3}, {7, 8}})));
  EXPECT_EQ(Covered(indices, 1), Text(RowSet::Range(0, 3)));
  EXPECT_EQ(Covered(indices, 2), Text(RowSet::Range(0, 3)));
  EXPECT_EQ(Covered(indices, 3), Text(RowSet::Range(0, 1)));
}

TEST(IndexCoverage, RewrittenFragments) {
  wire::IndexSection indices;
  AddIndex("ids", 0, RowSet::Range(0, 3), "Bitmap", &indices);
  AddIndex("addresses", 0, RowSet::Range(0, 3), "BTree", &indices)->set_index_version(1);
  auto renewed = indices, mixed = indices;
  wire::Transaction::Rewrite op;
  ASSERT_TRUE(MoveCoverage({{{0, 1}, {7}}}, op, /*stable_row_ids=*/true, &indices).ok());
  EXPECT_EQ(Covered(indices, 0), Text(RowSet::FromRanges({{2, 3}, {7, 8}})));
  EXPECT_EQ(Covered(indices, 1), Text(RowSet::Range(0, 3)));
  auto* r = op.add_rewritten_indices();
  r->mutable_old_id()->set_uuid("addresses");
  r->mutable_new_id()->set_uuid("other");
  ASSERT_TRUE(MoveCoverage({{{0, 1}, {7}}}, op, /*stable_row_ids=*/false, &renewed).ok());
  EXPECT_EQ(Covered(renewed, 0), Text(RowSet::Range(0, 3)));
  EXPECT_EQ(Covered(renewed, 1), Text(RowSet::FromRanges({{2, 3}, {7, 8}})));
  EXPECT_EQ(renewed.indices(1).uuid().uuid(), "other");
  EXPECT_FALSE(MoveCoverage({{{2, 3}, {7}}}, op, true, &mixed).ok());
}

}  // namespace
}  // namespace pilum
