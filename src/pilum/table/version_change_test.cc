#include "pilum/table/version_change.h"

#include <gtest/gtest.h>

#include <arrow/type.h>

namespace pilum {
namespace {

Manifest Empty() {
  Manifest m;
  m.schema.schema = arrow::schema({});
  return m;
}

Fragment* Add(Manifest* m, uint64_t id, uint64_t rows, const std::string& path) {
  Fragment& f = m->fragments.emplace_back();
  f.id = id;
  f.physical_rows = rows;
  f.files.emplace_back().path = path;
  return &f;
}

VersionChange Compare(const Manifest& before, const Manifest& after) {
  static const std::vector<TableIndex> kNone;
  return CompareVersions({before, kNone}, {after, kNone});
}

TEST(VersionChange, SameIsNothing) {
  Manifest m = Empty();
  Add(&m, 0, 5, "a");
  EXPECT_TRUE(Compare(m, m).empty());
}

TEST(VersionChange, FragmentsComeAndGo) {
  Manifest a = Empty(), b = Empty();
  Add(&a, 0, 5, "a"), Add(&a, 1, 7, "b")->deletions = DeletionFile{DeletionFile::Kind::kBitmap, 1, 1, 3};
  Add(&b, 0, 5, "a"), Add(&b, 2, 4, "c");
  const auto c = Compare(a, b);
  EXPECT_EQ(c.added, std::vector<uint64_t>({2}));
  EXPECT_EQ(c.added_rows, 4);
  EXPECT_EQ(c.removed, std::vector<uint64_t>({1}));
  EXPECT_EQ(c.removed_rows, 4);
  ASSERT_EQ(c.new_files.size(), 1);
  EXPECT_EQ(c.new_files[0].path, "c");
  ASSERT_EQ(c.dropped_files.size(), 1);
  EXPECT_EQ(c.dropped_files[0].path, "b");
}

TEST(VersionChange, DeletionsGrow) {
  Manifest a = Empty(), b = Empty();
  Add(&a, 0, 9, "a")->deletions = DeletionFile{DeletionFile::Kind::kArrowArray, 1, 1, 2};
  Add(&b, 0, 9, "a")->deletions = DeletionFile{DeletionFile::Kind::kArrowArray, 2, 5, 6};
  const auto c = Compare(a, b);
  EXPECT_EQ(c.deleted_in, std::vector<uint64_t>({0}));
  EXPECT_EQ(c.deleted_rows, 4);
  ASSERT_EQ(c.new_deletions.size(), 1);
  EXPECT_TRUE(c.new_files.empty());
}

TEST(VersionChange, AnIdThatBeganAnewIsAnotherFragment) {
  Manifest a = Empty(), b = Empty();
  Add(&a, 0, 5, "a"), Add(&b, 0, 6, "b");
  const auto c = Compare(a, b);
  EXPECT_EQ(c.added.size(), 1);
  EXPECT_EQ(c.removed.size(), 1);
  EXPECT_TRUE(c.files_in.empty());
}

TEST(VersionChange, ColumnsOfOtherFiles) {
  Manifest a = Empty(), b = Empty();
  Add(&a, 0, 5, "a");
  Add(&b, 0, 5, "a")->files.emplace_back().path = "b";
  const auto c = Compare(a, b);
  EXPECT_EQ(c.files_in, std::vector<uint64_t>({0}));
  EXPECT_TRUE(c.added.empty() && c.removed.empty());
}

// The same path below another base path is another file.
TEST(VersionChange, FilesAreToldApartByTheirBase) {
  Manifest a = Empty(), b = Empty();
  Add(&a, 0, 5, "a");
  Add(&b, 0, 5, "a")->files[0].base_id = 0;
  b.base_paths = {{0, "", "/other", true}};
  const auto c = Compare(a, b);
  EXPECT_EQ(c.new_files.size(), 1);
  EXPECT_EQ(c.new_bases, std::vector<std::string>({"/other"}));
}

WireField Field(int32_t id, const std::string& name, const std::string& type, int32_t parent = -1) {
  WireField f;
  f.id = id, f.name = name, f.logical_type = type, f.parent_id = parent;
  return f;
}

TEST(VersionChange, Fields) {
  Manifest a = Empty(), b = Empty();
  a.schema.fields = {Field(0, "id", "int64"),    Field(1, "x", "double"),    Field(2, "s", "struct"),
                     Field(3, "t", "string", 2), Field(4, "gone", "struct"), Field(5, "in", "int32", 4)};
  b.schema.fields = {Field(0, "key", "int64"),   Field(1, "x", "float"),    Field(2, "s", "struct"),
                     Field(3, "t", "string", 2), Field(6, "u", "int32", 2), Field(7, "new", "struct"),
                     Field(8, "in", "int32", 7)};
  b.schema.fields[3].nullable = false;
  const auto fields = Compare(a, b).fields;
  using Kind = FieldChange::Kind;
  std::map<std::string, Kind> kinds;
  for (const FieldChange& f : fields) kinds.emplace(f.name, f.kind);
  EXPECT_EQ(kinds, (std::map<std::string, Kind>{{"key", Kind::kRenamed},
                                                {"x", Kind::kRetyped},
                                                {"s.t", Kind::kNullable},
                                                {"s.u", Kind::kAdded},
                                                {"new", Kind::kAdded},
                                                {"gone", Kind::kDropped}}));
  EXPECT_EQ(fields[0].before, "id");
}

TEST(VersionChange, KeysAndReservedIds) {
  Manifest a = Empty(), b = Empty();
  a.config = {{"gone", "1"}, {"same", "2"}, {"other", "3"}};
  b.config = {{"same", "2"}, {"other", "4"}, {"new", "5"}};
  a.max_fragment_id = 3;
  b.max_fragment_id = 5;
  const auto c = Compare(a, b);
  EXPECT_EQ(c.config, (MapChange{{"gone", {"1", std::nullopt}}, {"other", {"3", "4"}}, {"new", {std::nullopt, "5"}}}));
  EXPECT_EQ(c.reserved, 2);
}

TEST(VersionChange, IndicesByUuid) {
  Manifest m = Empty();
  std::vector<TableIndex> before(1), after(1);
  before[0].uuid = "a", before[0].name = "i", after[0].uuid = "b", after[0].name = "i";
  const auto c = CompareVersions({m, before}, {m, after});
  EXPECT_EQ(c.new_indices.size(), 1);
  EXPECT_EQ(c.dropped_indices.size(), 1);
}

}  // namespace
}  // namespace pilum
