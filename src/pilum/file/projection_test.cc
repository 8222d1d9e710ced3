#include "pilum/file/projection.h"

#include <arrow/array.h>
#include <arrow/array/builder_nested.h>
#include <arrow/util/key_value_metadata.h>
#include <gtest/gtest.h>

namespace pilum {
namespace {

using arrow::field;

class ProjectionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto in = arrow::struct_({field("x", arrow::int32()),
                              field("y", arrow::struct_({field("z", arrow::utf8()), field("w", arrow::int8())}))});
    auto packed = arrow::struct_({field("p", arrow::int32()), field("q", arrow::int16())});
    schema_ = arrow::schema({field("a", arrow::int64()), field("st", in), field("ls", arrow::list(in)),
                             field("m", arrow::map(arrow::utf8(), in)),
                             field("pk", packed, true, arrow::key_value_metadata({{"lance-encoding:packed", "true"}})),
                             field("twice", arrow::int8()), field("twice", arrow::int16())},
                            arrow::key_value_metadata({{"k", "v"}}));
    leaves_ = *LeafColumnsOf(*schema_);
  }

  Result<Projection> Project(std::vector<std::vector<std::string>> paths) {
    std::vector<FieldPath> columns;
    for (auto& p : paths) columns.push_back({p});
    return ProjectFields("f.lance", *schema_, leaves_, columns);
  }
  std::string Leaves(const ReadField& read) {
    std::string out;
    for (int l : read.leaves) out += leaves_[static_cast<size_t>(l)].name + " ";
    return out;
  }
  std::string ErrorOf(std::vector<std::vector<std::string>> paths, ErrorKind kind) {
    auto r = Project(std::move(paths));
    EXPECT_FALSE(r.ok());
    EXPECT_EQ(KindOf(r.status()), kind) << r.status();
    return std::string(r.status().message());
  }

  std::shared_ptr<arrow::Schema> schema_;
  std::vector<LeafColumn> leaves_;
};

TEST_F(ProjectionTest, All) {
  auto p = *ProjectFields("f", *schema_, leaves_, std::nullopt);
  EXPECT_TRUE(p.schema->Equals(*schema_, true));
  EXPECT_EQ(p.reads.size(), 7u);
  EXPECT_EQ(Leaves(p.reads[1]), "st.x st.y.z st.y.w ");
}

TEST_F(ProjectionTest, OrderDuplicatesAndMerging) {
  auto p = *Project({{"st", "y", "w"}, {"a"}, {"a"}, {"st", "x"}});
  EXPECT_EQ(p.schema->ToString(false), "st: struct<x: int32, y: struct<w: int8>>\na: int64\na: int64");
  EXPECT_EQ(p.outputs, (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(Leaves(p.reads[0]), "st.x st.y.w ");
  p = *Project({{"st", "x"}, {"st"}});
  EXPECT_EQ(p.schema->num_fields(), 1);
  EXPECT_TRUE(p.schema->field(0)->Equals(*schema_->field(1)));
  EXPECT_EQ(Project({})->schema->num_fields(), 0);
}

TEST_F(ProjectionTest, ThroughListsAndIntoPackedStructs) {
  auto p = *Project({{"ls", "y", "z"}, {"pk", "q"}, {"m"}});
  EXPECT_EQ(p.schema->field(0)->type()->ToString(), "list<item: struct<y: struct<z: string>>>");
  EXPECT_EQ(Leaves(p.reads[0]), "ls.item.y.z ");
  EXPECT_EQ(p.reads[1].merged->type()->num_fields(), 2);
  EXPECT_EQ(p.reads[1].field->type()->ToString(), "struct<q: int16>");
  EXPECT_EQ(Leaves(p.reads[1]), "pk ");
  EXPECT_EQ(p.reads[2].leaves.size(), 4u);
}

TEST_F(ProjectionTest, Errors) {
  EXPECT_EQ(ErrorOf({{"sst"}}, ErrorKind::kNotFound),
            "f.lance: no column 'sst'; nearest are 'st', 'ls', 'a', 'm', 'pk'");
  EXPECT_EQ(ErrorOf({{"st", "k"}}, ErrorKind::kNotFound), "f.lance: column 'st' has no field 'k'; there are 'x', 'y'");
  EXPECT_EQ(ErrorOf({{"a", "k"}}, ErrorKind::kNotFound), "f.lance: column 'a.k': 'a' has no fields inside");
  EXPECT_EQ(ErrorOf({{"m", "value"}}, ErrorKind::kUsage),
            "f.lance: column 'm.value': a map is read whole: ask for 'm'");
  ErrorOf({{"twice"}}, ErrorKind::kUsage);
  ErrorOf({{}}, ErrorKind::kUsage);
}

TEST_F(ProjectionTest, Prune) {
  auto from = schema_->field(1)->type();
  auto to = arrow::struct_({field("y", arrow::struct_({field("w", arrow::int8())}))});
  auto array = *arrow::MakeArrayOfNull(from, 3);
  auto pruned = *PruneArray(array, to);
  EXPECT_TRUE(pruned->type()->Equals(*to));
  EXPECT_EQ(pruned->length(), 3);
  EXPECT_TRUE(pruned->ValidateFull().ok());
}

}  // namespace
}  // namespace pilum
