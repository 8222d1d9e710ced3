#include "pilum/table/commit/commit.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "pilum/table/commit/commit_test_support.h"
#include "pilum/table/commit/put_deletions.h"
#include "pilum/table/deletions.h"
#include "pilum/table/feature_flags.h"
#include "pilum/table/row_ids.h"

namespace pilum::testing {

std::pair<wire::Transaction, TakenRows> MemoryTable::DeleteOf(const StoredVersion& read, uint64_t fragment,
                                                              const RowSet& rows) {
  wire::Transaction t;
  std::vector<std::string> written;
  auto* f = t.mutable_delete_()->add_updated_fragments();
  *f = read.manifest.fragments(static_cast<int>(fragment));
  EXPECT_TRUE(PutDeletions(rows, read.version(), store.get(), f, &written).ok());
  return {t, {{fragment, rows}}};
}

namespace {

std::vector<uint64_t> Ids(const StoredVersion& v) {
  std::vector<uint64_t> out;
  for (const auto& f : v.manifest.fragments()) out.push_back(f.id());
  return out;
}

RowSet DeletedRows(MemoryTable& table, const StoredVersion& v, size_t fragment) {
  const Fragment& f = v.read->fragments[fragment];
  auto source = table.store->OpenSource(f.deletions->Path(f.id), table.ctx).ValueOrDie();
  auto bytes = source->ReadRange({0, source->size()}, table.ctx).ValueOrDie();
  return ParseDeletions(*f.deletions, bytes, f.physical_rows, table.ctx).ValueOrDie();
}

TEST(Commit, MakesVersions) {
  MemoryTable table;
  table.Create();
  auto v1 = table.Newest();
  EXPECT_EQ(Ids(*v1), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(v1->manifest.max_fragment_id(), 1u);
  EXPECT_EQ(v1->manifest.data_format().version(), "2.2");
  EXPECT_EQ(v1->listed.name.scheme, ManifestScheme::kV2);
  EXPECT_EQ(v1->manifest.reader_feature_flags(), 0u);
  EXPECT_EQ(table.Commit(AppendOf({NewFragment("f2", 5)}), v1), 2u);
  auto v2 = table.Newest();
  EXPECT_EQ(Ids(*v2), (std::vector<uint64_t>{0, 1, 2}));
  // What made it lies in the manifest, and in a file of its own.
  auto inside = LoadTransaction(*table.store, v2->listed, table.ctx).ValueOrDie();
  ASSERT_TRUE(inside.has_value());
  EXPECT_EQ(inside->read_version(), 1u);
  EXPECT_EQ(inside->append().fragments(0).id(), 0u);
  auto file = table.store->OpenSource("_transactions/" + v2->manifest.transaction_file(), table.ctx).ValueOrDie();
  EXPECT_EQ(file->ReadRange({0, file->size()}, table.ctx).ValueOrDie()->ToString(), SerializeWire(*inside));
  EXPECT_TRUE(table.store->Exists("_versions/latest_version_hint.json").ValueOrDie());
}

// The hint on a disk stays one file; what others see of the table by another name of it keeps its own.
TEST(Commit, HintOfADiskStaysWhereItLies) {
  namespace fs = std::filesystem;
  auto temp = TempDir::Make().ValueOrDie();
  MemoryTable table;
  table.store = ObjectStore::Open(temp->path()).ValueOrDie();
  const std::string hint = temp->path() + "/_versions/latest_version_hint.json", kept = temp->path() + "/kept";
  const auto text = [](const std::string& at) {
    std::ifstream in(at);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  table.Create();
  EXPECT_EQ(text(hint), "{\"version\":1}");
  std::ifstream open(hint);  // of the file as it is now
  table.Commit(AppendOf({NewFragment("f2", 5)}), table.Newest());
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(open), {}), "{\"version\":2}");
  fs::create_hard_link(hint, kept);
  table.Commit(AppendOf({NewFragment("f3", 5)}), table.Newest());
  EXPECT_EQ(text(hint), "{\"version\":3}");
  EXPECT_EQ(text(kept), "{\"version\":2}");
  fs::remove(hint);
  table.Commit(AppendOf({NewFragment("f4", 5)}), table.Newest());
  EXPECT_EQ(text(hint), "{\"version\":4}");
}

TEST(Commit, KeepsTheNamesOfTheTable) {
  MemoryTable table;
  table.Create({.v1_names = true});
  table.Commit(AppendOf({NewFragment("f2", 5)}), table.Newest());
  EXPECT_TRUE(table.store->Exists("_versions/1.manifest").ValueOrDie());
  EXPECT_TRUE(table.store->Exists("_versions/2.manifest").ValueOrDie());
}

TEST(Commit, CreatingTwiceFails) {
  MemoryTable table;
  table.Create();
  auto again = table.Try(OverwriteOf({NewFragment("g", 1)}), nullptr);
  EXPECT_EQ(KindOf(again.status()), ErrorKind::kRetry) << again.status().ToString();
  auto append = MemoryTable().Try(AppendOf({NewFragment("g", 1)}), nullptr);
  EXPECT_EQ(KindOf(append.status()), ErrorKind::kUsage) << append.status().ToString();
}

TEST(Commit, GivesStableRowIds) {
  MemoryTable table;
  table.Create({.stable_row_ids = true});
  table.Commit(AppendOf({NewFragment("f2", 5)}), table.Newest());
  auto v2 = table.Newest();
  EXPECT_EQ(v2->manifest.next_row_id(), 25u);
  EXPECT_EQ(v2->manifest.reader_feature_flags(), table_flags::kStableRowIds);
  auto ids = RowIdSequence::Parse(v2->manifest.fragments(2).inline_row_ids(), 5).ValueOrDie();
  std::vector<uint64_t> got;
  ids.Append(RowSet::All(5), &got);
  EXPECT_EQ(got, (std::vector<uint64_t>{20, 21, 22, 23, 24}));
  auto made = RowVersionSequence::Parse(v2->manifest.fragments(2).inline_created_at(), 5).ValueOrDie();
  got.clear();
  made.Append(RowSet::All(5), &got);
  EXPECT_EQ(got, (std::vector<uint64_t>(5, 2)));
  // An overwrite goes on counting rows and fragments.
  table.Commit(OverwriteOf({NewFragment("g", 3)}), v2);
  auto v3 = table.Newest();
  EXPECT_EQ(v3->manifest.next_row_id(), 28u);
  EXPECT_EQ(Ids(*v3), (std::vector<uint64_t>{3}));
}

TEST(Commit, MovedRowsKeepIdAndOrigin) {
  MemoryTable table;
  table.Create({.stable_row_ids = true});
  table.Commit(AppendOf({NewFragment("f2", 2)}), table.Newest());
  auto v2 = table.Newest();
  wire::Transaction t;
  auto* op = t.mutable_update();
  op->add_removed_fragment_ids(2);
  wire::DataFragment moved = NewFragment("f3", 3);
  wire::RowIdSequence two;
  two.add_segments()->mutable_range()->set_start(20);
  two.mutable_segments(0)->mutable_range()->set_end(22);
  moved.set_inline_row_ids(SerializeWire(two));
  *op->add_new_fragments() = moved;
  table.Commit(t, v2);
  auto v3 = table.Newest();
  const auto& f = v3->manifest.fragments(2);
  EXPECT_EQ(f.id(), 3u);
  std::vector<uint64_t> got;
  RowIdSequence::Parse(f.inline_row_ids(), 3).ValueOrDie().Append(RowSet::All(3), &got);
  EXPECT_EQ(got, (std::vector<uint64_t>{20, 21, 22}));
  got.clear();
  RowVersionSequence::Parse(f.inline_created_at(), 3).ValueOrDie().Append(RowSet::All(3), &got);
  EXPECT_EQ(got, (std::vector<uint64_t>{2, 2, 3}));
  got.clear();
  RowVersionSequence::Parse(f.inline_last_updated_at(), 3).ValueOrDie().Append(RowSet::All(3), &got);
  EXPECT_EQ(got, (std::vector<uint64_t>{3, 3, 3}));
}

TEST(Commit, AppendsFollowOnOneAnother) {
  MemoryTable table;
  table.Create();
  auto v1 = table.Newest();
  EXPECT_EQ(table.Commit(AppendOf({NewFragment("x", 1)}), v1), 2u);
  EXPECT_EQ(table.Commit(AppendOf({NewFragment("y", 1)}), v1), 3u);
  EXPECT_EQ(Ids(*table.Newest()), (std::vector<uint64_t>{0, 1, 2, 3}));
}

TEST(Commit, DisjointDeletesAreMerged) {
  MemoryTable table;
  table.Create();
  auto v1 = table.Newest();
  auto [first, first_rows] = table.DeleteOf(*v1, 0, RowSet::Range(0, 3));
  auto [second, second_rows] = table.DeleteOf(*v1, 0, RowSet::Range(5, 7));
  auto [same, same_rows] = table.DeleteOf(*v1, 0, RowSet::Range(2, 4));
  auto [rest, rest_rows] = table.DeleteOf(*v1, 0, RowSet::FromRanges({{3, 5}, {7, 10}}));
  table.Commit(first, v1, {}, first_rows);
  EXPECT_EQ(KindOf(table.Try(second, v1).status()), ErrorKind::kRetry);  // which rows is not known
  EXPECT_EQ(KindOf(table.Try(same, v1, {}, same_rows).status()), ErrorKind::kRetry);
  EXPECT_EQ(table.Commit(second, v1, {}, second_rows), 3u);
  auto v3 = table.Newest();
  EXPECT_EQ(v3->manifest.fragments(0).deletion_file().num_deleted_rows(), 5u);
  EXPECT_EQ(v3->manifest.reader_feature_flags(), table_flags::kDeletionFiles);
  EXPECT_EQ(DeletedRows(table, *v3, 0), RowSet::FromRanges({{0, 3}, {5, 7}}));
  // With the last of its rows the fragment goes.
  EXPECT_EQ(table.Commit(rest, v1, {}, rest_rows), 4u);
  EXPECT_EQ(Ids(*table.Newest()), (std::vector<uint64_t>{1}));
  EXPECT_EQ(table.Newest()->manifest.reader_feature_flags(), 0u);
}

TEST(Commit, DroppedFilesStayDroppedUnderADelete) {
  MemoryTable table;
  wire::DataFragment f = NewFragment("a", 10, {0});
  *f.add_files() = NewFragment("b", 10, {1}).files(0);
  table.Commit(OverwriteOf({f}), nullptr);
  auto v1 = table.Newest();
  auto [gone, rows] = table.DeleteOf(*v1, 0, RowSet::Range(0, 3));
  wire::Transaction project;
  *project.mutable_project()->add_schema() = NewField(0, "a");
  table.Commit(project, v1);
  table.Commit(gone, v1, {}, rows);
  auto v3 = table.Newest();
  EXPECT_EQ(v3->manifest.fragments(0).files_size(), 1);
  EXPECT_EQ(v3->manifest.fragments(0).deletion_file().num_deleted_rows(), 3u);
}

TEST(Commit, RestoreKeepsCounting) {
  MemoryTable table;
  table.Create({.stable_row_ids = true});
  wire::Transaction config;
  auto* entry = config.mutable_update_config()->mutable_config_updates()->add_entries();
  entry->set_key("k");
  entry->set_value("v");
  table.Commit(config, table.Newest());
  EXPECT_EQ(table.Newest()->manifest.writer_feature_flags(), table_flags::kStableRowIds | table_flags::kConfig);
  table.Commit(AppendOf({NewFragment("x", 7)}), table.Newest());
  wire::Transaction restore;
  restore.mutable_restore()->set_version(1);
  EXPECT_EQ(table.Commit(restore, table.Newest()), 4u);
  auto v4 = table.Newest();
  EXPECT_EQ(Ids(*v4), (std::vector<uint64_t>{0, 1}));
  EXPECT_EQ(v4->manifest.max_fragment_id(), 2u);
  EXPECT_EQ(v4->manifest.next_row_id(), 27u);
  EXPECT_TRUE(v4->manifest.config().empty());
  EXPECT_EQ(v4->manifest.writer_feature_flags(), table_flags::kStableRowIds);
}

TEST(Commit, UnknownFieldsSurvive) {
  MemoryTable table;
  auto t = OverwriteOf({NewFragment("f", 10)});
  auto* f = t.mutable_overwrite()->mutable_fragments(0);
  const std::string unknown("\x78\x05", 2);  // field 15: 5
  ASSERT_TRUE(f->ParseFromString(f->SerializeAsString() + unknown));
  table.Commit(t, nullptr);
  table.Commit(AppendOf({NewFragment("x", 1)}), table.Newest());
  const std::string kept = table.Newest()->manifest.fragments(0).SerializeAsString();
  EXPECT_TRUE(kept.ends_with(unknown));
}

TEST(Commit, RefusesWhatItCannotKeep) {
  MemoryTable table;
  table.Create();
  auto v1 = std::make_shared<StoredVersion>(*table.Newest());
  v1->manifest.set_writer_feature_flags(1 << 13);
  auto done = table.Try(AppendOf({NewFragment("x", 1)}), v1);
  EXPECT_EQ(KindOf(done.status()), ErrorKind::kUnsupported) << done.status().ToString();
  v1->manifest.set_writer_feature_flags(0);
  v1->manifest.set_max_allocated_field_id(3);
  done = table.Try(AppendOf({NewFragment("x", 1)}), v1);
  EXPECT_EQ(KindOf(done.status()), ErrorKind::kUnsupported) << done.status().ToString();
}

TEST(Commit, OtherFileVersionsAreMarked) {
  MemoryTable table;
  table.Create();
  auto other = NewFragment("x", 1);
  other.mutable_files(0)->set_file_minor_version(1);
  table.Commit(AppendOf({other}), table.Newest());
  EXPECT_EQ(table.Newest()->manifest.reader_feature_flags(), table_flags::kMixedFileVersions);
  table.Commit(OverwriteOf({NewFragment("y", 1)}), table.Newest());
  EXPECT_EQ(table.Newest()->manifest.writer_feature_flags(), table_flags::kMixedFileVersions);
}

TEST(Commit, AppendsThatLackAColumnThatMayNotBeNull) {
  MemoryTable table;
  auto t = OverwriteOf({NewFragment("f", 10)});
  t.mutable_overwrite()->mutable_schema(1)->set_nullable(false);
  table.Commit(t, nullptr);
  auto v1 = table.Newest();
  auto done = table.Try(AppendOf({NewFragment("x", 1, {0})}), v1);
  EXPECT_EQ(KindOf(done.status()), ErrorKind::kUsage) << done.status().ToString();
  table.Commit(AppendOf({NewFragment("y", 1)}), v1);
  done = table.Try(AppendOf({NewFragment("x", 1, {0})}), v1);
  EXPECT_EQ(KindOf(done.status()), ErrorKind::kRetry) << done.status().ToString();
}

TEST(Commit, NewRowsDoNotMeetAColumnThatForbidsNulls) {
  const auto raced = [](bool nullable, bool is_new) {
    MemoryTable table;
    table.Create();
    auto v1 = table.Newest();
    wire::Transaction t;
    if (is_new) {
      *t.mutable_merge()->mutable_fragments() = v1->manifest.fragments();
      *t.mutable_merge()->mutable_schema() = v1->manifest.fields();
      *t.mutable_merge()->add_schema() = NewField(2, "c", nullable);
    } else {
      *t.mutable_project()->mutable_schema() = v1->manifest.fields();
      t.mutable_project()->mutable_schema(1)->set_nullable(nullable);
    }
    table.Commit(t, v1);
    const auto append = table.Try(AppendOf({NewFragment("x", 1)}), v1);
    wire::Transaction upsert;
    *upsert.mutable_update()->add_new_fragments() = NewFragment("y", 1);
    const auto update = table.Try(upsert, v1);
    EXPECT_EQ(append.ok(), nullable) << append.status().ToString();
    EXPECT_EQ(update.ok(), nullable && !is_new) << update.status().ToString();
    if (!append.ok()) EXPECT_EQ(KindOf(append.status()), ErrorKind::kRetry);
    if (!update.ok()) EXPECT_EQ(KindOf(update.status()), ErrorKind::kRetry);
  };
  for (const bool nullable : {true, false}) {
    for (const bool is_new : {true, false}) raced(nullable, is_new);
  }
}

TEST(Commit, DetachedVersionsStandBeside) {
  MemoryTable table;
  table.Create();
  const uint64_t version = table.Commit(AppendOf({NewFragment("x", 1)}), table.Newest(), {.detached = true});
  EXPECT_NE(version & kDetachedBit, 0u);
  EXPECT_EQ(table.Newest()->version(), 1u);
  auto detached = table.At(version);
  EXPECT_EQ(Ids(*detached), (std::vector<uint64_t>{0, 1, 2}));
  const uint64_t next = table.Commit(AppendOf({NewFragment("y", 1)}), detached, {.detached = true});
  EXPECT_EQ(Ids(*table.At(next)), (std::vector<uint64_t>{0, 1, 2, 3}));
}

TEST(Commit, GoneVersionsCannotBeJudged) {
  MemoryTable table;
  table.Create();
  auto v1 = table.Newest();
  table.Commit(AppendOf({NewFragment("x", 1)}), v1);
  table.Commit(AppendOf({NewFragment("y", 1)}), table.Newest());
  ASSERT_TRUE(table.store->Remove(table.At(2)->listed.path()).ok());
  auto done = table.Try(AppendOf({NewFragment("z", 1)}), v1);
  EXPECT_EQ(KindOf(done.status()), ErrorKind::kRetry) << done.status().ToString();
}

TEST(Commit, ManyAtOnce) {
  MemoryTable table;
  table.Create();
  constexpr int kThreads = 8, kEach = 10;
  auto v1 = table.Newest();
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          ReadContext ctx;
          Committer committer(table.store, v1, {.max_retries = 1000});
          auto done = committer.Commit(AppendOf({NewFragment(fmt::format("{}-{}", t, i), 1)}), ctx);
          EXPECT_TRUE(done.ok()) << done.status().ToString();
        }
      });
    }
  }
  auto last = table.Newest();
  EXPECT_EQ(last->version(), 1u + kThreads * kEach);
  std::set<std::string> paths;
  for (const auto& f : last->manifest.fragments()) paths.insert(f.files(0).path());
  EXPECT_EQ(paths.size(), 2u + kThreads * kEach);
}

}  // namespace
}  // namespace pilum::testing
