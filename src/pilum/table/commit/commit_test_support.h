// Tables of which only the manifests are real, in memory: commits never look into data files.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "pilum/table/commit/commit.h"
#include "pilum/table/find_version.h"

namespace pilum::testing {

inline wire::DataFragment NewFragment(const std::string& path, uint64_t rows, std::vector<int32_t> fields = {0, 1}) {
  wire::DataFragment f;
  f.set_physical_rows(rows);
  auto* file = f.add_files();
  file->set_path(path);
  for (size_t i = 0; i < fields.size(); ++i) {
    file->add_fields(fields[i]);
    file->add_column_indices(static_cast<int32_t>(i));
  }
  file->set_file_major_version(2);
  file->set_file_minor_version(2);
  return f;
}

inline wire::Field NewField(int32_t id, const std::string& name, bool nullable = true) {
  wire::Field f;
  f.set_id(id);
  f.set_name(name);
  f.set_parent_id(-1);
  f.set_logical_type("int64");
  f.set_nullable(nullable);
  return f;
}

inline wire::Transaction OverwriteOf(std::vector<wire::DataFragment> fragments) {
  wire::Transaction t;
  *t.mutable_overwrite()->add_schema() = NewField(0, "a");
  *t.mutable_overwrite()->add_schema() = NewField(1, "b");
  for (auto& f : fragments) *t.mutable_overwrite()->add_fragments() = std::move(f);
  return t;
}

inline wire::Transaction AppendOf(std::vector<wire::DataFragment> fragments) {
  wire::Transaction t;
  t.mutable_append();
  for (auto& f : fragments) *t.mutable_append()->add_fragments() = std::move(f);
  return t;
}

struct MemoryTable {
  std::shared_ptr<ObjectStore> store = ObjectStore::Memory();
  ReadContext ctx;

  std::shared_ptr<const StoredVersion> At(uint64_t version) {
    auto found = FindVersion(*store, version, ctx).ValueOrDie();
    return LoadStored(*store, found.listed, found.manifest, ctx).ValueOrDie();
  }
  std::shared_ptr<const StoredVersion> Newest() {
    auto found = FindLatest(*store, ctx).ValueOrDie();
    return LoadStored(*store, found.listed, found.manifest, ctx).ValueOrDie();
  }
  Result<Committed> Try(const wire::Transaction& t, std::shared_ptr<const StoredVersion> read,
                        CommitOptions options = {}, std::optional<TakenRows> taken = std::nullopt) {
    Committer committer(store, std::move(read), options);
    if (taken) committer.SetTaken(std::move(*taken));
    return committer.Commit(t, ctx);
  }
  uint64_t Commit(const wire::Transaction& t, std::shared_ptr<const StoredVersion> read, CommitOptions options = {},
                  std::optional<TakenRows> taken = std::nullopt) {
    auto done = Try(t, std::move(read), options, std::move(taken));
    EXPECT_TRUE(done.ok()) << done.status().ToString();
    return done.ok() ? done->version : 0;
  }
  // Version 1: two fragments of ten rows.
  void Create(CommitOptions options = {}) {
    ASSERT_EQ(Commit(OverwriteOf({NewFragment("f0", 10), NewFragment("f1", 10)}), nullptr, options), 1u);
  }
  // A deletion of rows of `fragment`, with its file, on the version that is read.
  std::pair<wire::Transaction, TakenRows> DeleteOf(const StoredVersion& read, uint64_t fragment, const RowSet& rows);
};

}  // namespace pilum::testing
