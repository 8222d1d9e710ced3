#include <gtest/gtest.h>

#include <arrow/api.h>

#include "pilum/io/object_store.h"
#include "pilum/source/snapshot.h"
#include "tests/support/paths/source_dir.h"

namespace pilum {
namespace {

TEST(FileSnapshot, IsOneUnitThatIsAlwaysScanned) {
  ReadStats stats;
  ReadContext ctx;
  ctx.stats = &stats;
  const std::string path = testing::SourceDir() + "/tests/golden/file/v2_1/bitpack_uint16_11bit.lance";
  auto snapshot = OpenFileSnapshot(OpenLocalFile(path, ctx).ValueOrDie(), ctx).ValueOrDie();
  ASSERT_EQ(snapshot->units().size(), 1u);
  const Unit& unit = *snapshot->units()[0];
  EXPECT_EQ(unit.name(), path);
  EXPECT_EQ(snapshot->name(), path);
  EXPECT_GT(unit.num_rows(), 0u);
  EXPECT_EQ(unit.index_note(), "");
  const Probe probe{Probe::Kind::kInSet, {{snapshot->schema()->field(0)->name()}}, ValueSet::None(), true};
  EXPECT_TRUE(unit.MayMatch(probe, ctx).ValueOrDie());
  const Candidates c = unit.Narrow(probe, ctx).ValueOrDie();
  EXPECT_TRUE(c.certain.empty());
  EXPECT_EQ(c.possible, RowSet::All(unit.num_rows()));
  EXPECT_TRUE(snapshot->CheckColumn(snapshot->schema()->field(0)->name()).ok());
}

TEST(FileSnapshot, DamagedFilesAreErrors) {
  ReadContext ctx;
  const std::string path = testing::SourceDir() + "/tests/golden/broken/wrong_magic.lance";
  EXPECT_EQ(KindOf(OpenFileSnapshot(OpenLocalFile(path, ctx).ValueOrDie(), ctx).status()), ErrorKind::kCorrupt);
}

}  // namespace
}  // namespace pilum
