// Changes of a table of blobs, which lie in the data files, in files that several share and in files of their own, over a
// store that fails, dies or loses its power at the n-th call: every value that a version names is there, byte for byte.
#include <gtest/gtest.h>

#include <arrow/api.h>

#include "pilum/change/cleanup.h"
#include "tests/faults/at_every_fault.h"

namespace pilum::testing {
namespace {

// Rows [begin, end): a, and b of 3, 12, 40 bytes or NULL by turns, of which the second lie in a file together and the third
// in files of their own.
std::shared_ptr<arrow::RecordBatchReader> Blobs(int64_t begin, int64_t end, char mark = 'x') {
  arrow::Int64Builder a;
  auto bytes = std::make_shared<arrow::LargeBinaryBuilder>();
  const auto storage =
      arrow::struct_({arrow::field("data", arrow::large_binary()), arrow::field("uri", arrow::utf8())});
  arrow::StructBuilder b(storage, arrow::default_memory_pool(), {bytes, std::make_shared<arrow::StringBuilder>()});
  auto& uris = static_cast<arrow::StringBuilder&>(*b.field_builder(1));
  constexpr size_t kSizes[] = {3, 12, 40};
  for (int64_t i = begin; i < end; ++i) {
    EXPECT_TRUE(a.Append(i).ok());
    if (i % 4 == 3) {
      EXPECT_TRUE(b.AppendNull().ok());
      continue;
    }
    const std::string value = std::to_string(i) + std::string(kSizes[i % 4], mark);
    EXPECT_TRUE(b.Append().ok() && bytes->Append(value).ok() && uris.AppendNull().ok());
  }
  const auto metadata = arrow::key_value_metadata({{"ARROW:extension:name", "lance.blob.v2"},
                                                   {"lance-encoding:blob-inline-size-threshold", "8"},
                                                   {"lance-encoding:blob-dedicated-size-threshold", "20"}});
  auto schema = arrow::schema({arrow::field("a", arrow::int64()), arrow::field("b", storage, true, metadata)});
  auto batch = arrow::RecordBatch::Make(schema, end - begin, {a.Finish().ValueOrDie(), b.Finish().ValueOrDie()});
  return arrow::RecordBatchReader::Make({batch}, schema).ValueOrDie();
}

TableChange WriteBlobs(WriteMode mode, int64_t begin, int64_t end) {
  return [=](const std::shared_ptr<ObjectStore>& store) {
    ReadContext ctx;
    auto options = TwentyRowsAFile(mode);
    options.max_rows_per_file = 6;
    return WriteTable(store, *Blobs(begin, end), options, ctx).status();
  };
}

std::shared_ptr<ObjectStore> BlobTable(bool with_table) {
  auto store = ObjectStore::Memory();
  if (with_table) EXPECT_TRUE(WriteBlobs(WriteMode::kCreate, 0, 16)(store).ok());
  return store;
}

// Each row with its bytes, sorted; nothing: there is no table.
using Values = std::optional<std::vector<std::string>>;

Result<Values> LookAtValues(const std::shared_ptr<ObjectStore>& store) {
  ReadContext ctx;
  auto table = Table::Open(store, {}, ctx);
  if (!table.ok() && KindOf(table.status()) == ErrorKind::kNotFound) return Values();
  PILUM_RETURN_NOT_OK(table.status());
  PILUM_ASSIGN_OR_RETURN(auto snapshot, (*table)->OpenSnapshot({.fragments = {}, .blobs = BlobHandling::kBytes}, ctx));
  std::vector<std::string> out;
  for (const auto& unit : snapshot->units()) {
    const std::vector<FieldPath> both = {FieldPath{{"a"}}, FieldPath{{"b"}}};
    PILUM_ASSIGN_OR_RETURN(auto stream, unit->Read(both, RowSet::All(unit->num_rows()), {}, ctx));
    for (;;) {
      PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
      if (!batch) break;
      for (int64_t i = 0; i < batch->num_rows(); ++i) {
        out.push_back(batch->column(0)->GetScalar(i).ValueOrDie()->ToString() + " " +
                      batch->column(1)->GetScalar(i).ValueOrDie()->ToString());
      }
    }
  }
  std::sort(out.begin(), out.end());
  return Values(std::move(out));
}

// Files of blobs that are left once all was cleaned up that the newest version does not need.
Result<size_t> BlobFilesLeft(const std::shared_ptr<ObjectStore>& store) {
  ReadContext ctx;
  CleanupOptions all;
  all.policy.retain = 1;
  all.policy.delete_unverified = true;
  PILUM_ASSIGN_OR_RETURN(const auto table, OpenToWrite(store, ctx));
  PILUM_RETURN_NOT_OK(CleanUp(table, all, ctx).status());
  PILUM_ASSIGN_OR_RETURN(const auto listed, store->List("data/"));
  return static_cast<size_t>(
      std::count_if(listed.begin(), listed.end(), [](const ObjectInfo& o) { return !o.path.ends_with(".lance"); }));
}

std::vector<std::pair<std::string, TableChange>> BlobChanges() {
  const auto update = [](auto table, ReadContext& ctx) {
    return UpdateRows(table, {{"a", "a + 100"}}, "a % 3 = 1", {}, ctx).status();
  };
  const auto compact = [](WritableTable table, ReadContext& ctx) {
    return CompactTable(table, {.target_rows_per_fragment = 30}, {}, ctx).status();
  };
  const auto merge = [](auto table, ReadContext& ctx) {
    MergeOptions how;
    how.on = {"a"};
    how.matched = WhenMatched::kUpdate;
    how.insert = true;
    return MergeRows(table, *Blobs(10, 20, 'y'), how, ctx).status();
  };
  return {{"append", WriteBlobs(WriteMode::kAppend, 20, 28)},
          {"overwrite", WriteBlobs(WriteMode::kOverwrite, 20, 28)},
          {"update", OnTable(update)},
          {"upsert", OnTable(merge)},
          {"compact", OnTable(compact)}};
}

struct Expected {
  Values before, after;
  size_t files_before = 0, files_after = 0;
};

Expected Expect(const TableChange& change, bool with_table) {
  Expected out;
  auto store = BlobTable(with_table);
  out.before = LookAtValues(store).ValueOrDie();
  if (with_table) out.files_before = BlobFilesLeft(BlobTable(true)).ValueOrDie();
  const Status done = change(store);
  EXPECT_TRUE(done.ok()) << done.ToString();
  out.after = LookAtValues(store).ValueOrDie();
  out.files_after = BlobFilesLeft(store).ValueOrDie();
  EXPECT_GT(out.files_after, 2u) << "the values lie in files of all kinds";
  return out;
}

// What is left after `change` ended with `done`.
void Judge(const std::shared_ptr<ObjectStore>& store, const Status& done, const Expected& expected,
           const std::string& what) {
  const auto left = LookAtValues(store);
  ASSERT_TRUE(left.ok()) << what << ": " << left.status().ToString();
  const bool is_after = *left == expected.after;
  ASSERT_TRUE(is_after || (!done.ok() && *left == expected.before)) << what;
  if (!*left) return;
  const size_t files = BlobFilesLeft(store).ValueOrDie();
  if (expected.before == expected.after) {  // compacted or not
    ASSERT_TRUE(files == expected.files_after || files == expected.files_before) << what << ": " << files;
  } else {
    ASSERT_EQ(files, is_after ? expected.files_after : expected.files_before) << what;
  }
  ASSERT_TRUE(LookAtValues(store).ValueOrDie() == *left) << what << ", cleaned up";
}

void AtEveryCall(const TableChange& change, bool with_table) {
  const Expected expected = Expect(change, with_table);
  AtEveryFault(
      change, [&] { return BlobTable(with_table); },
      [&](const auto& store, const Status& done, const std::string& what) { Judge(store, done, expected, what); });
}

void CutAtEveryCall(const TableChange& change, bool with_table) {
  const Expected expected = Expect(change, with_table);
  AtEveryCut(
      change, [&] { return BlobTable(with_table); },
      [&](const auto& store, size_t, const Status& done, const std::string& what) {
        Judge(store, done, expected, what);
      });
}

TEST(BlobFaults, Create) { AtEveryCall(WriteBlobs(WriteMode::kCreate, 0, 16), /*with_table=*/false); }
TEST(BlobPowerCut, Create) { CutAtEveryCall(WriteBlobs(WriteMode::kCreate, 0, 16), /*with_table=*/false); }

TEST(BlobFaults, EveryChange) {
  EachChange(BlobChanges(), [](const TableChange& change) { AtEveryCall(change, /*with_table=*/true); });
}

TEST(BlobPowerCut, EveryChange) {
  EachChange(BlobChanges(), [](const TableChange& change) { CutAtEveryCall(change, /*with_table=*/true); });
}

}  // namespace
}  // namespace pilum::testing
