// The matrix of docs/formats/table.md, "Conflicts", pair by pair: A was committed, B read the version before it.
#include "pilum/table/commit/conflict.h"

#include <map>

#include <gtest/gtest.h>

#include "pilum/table/commit/commit_test_support.h"
#include "pilum/table/roaring.h"

namespace pilum::testing {
namespace {

using Map = wire::Transaction::UpdateMap;

wire::DataFragment At(uint64_t id) {
  auto f = NewFragment("f" + std::to_string(id), 10);
  f.set_id(id);
  return f;
}

void Set(const std::string& key, Map* map) {
  auto* entry = map->add_entries();
  entry->set_key(key);
  entry->set_value("v");
}

wire::Transaction DeleteAt(uint64_t id) {
  wire::Transaction t;
  *t.mutable_delete_()->add_updated_fragments() = At(id);
  return t;
}

wire::Transaction UpdateAt(uint64_t id) {
  wire::Transaction t;
  *t.mutable_update()->add_updated_fragments() = At(id);
  return t;
}

wire::Transaction IndexOf(const std::string& name, int32_t field) {
  wire::Transaction t;
  auto* index = t.mutable_create_index()->add_new_indices();
  index->set_name(name);
  index->add_fields(field);
  index->set_fragment_bitmap(SerializeRoaring32(RowSet::Range(0, 4)));
  return t;
}

wire::Transaction ReplaceAt(uint64_t id, int32_t field) {
  wire::Transaction t;
  auto* r = t.mutable_data_replacement()->add_replacements();
  r->set_fragment_id(id);
  r->mutable_new_file()->add_fields(field);
  return t;
}

wire::Transaction SettingOf(const std::string& what, const std::string& key) {
  wire::Transaction t;
  auto* op = t.mutable_update_config();
  if (what == "config") Set(key, op->mutable_config_updates());
  if (what == "table") Set(key, op->mutable_table_metadata_updates());
  if (what == "schema") Set(key, op->mutable_schema_metadata_updates());
  if (what == "field") Set(key, &(*op->mutable_field_metadata_updates())[0]);
  return t;
}

wire::Transaction BaseOf(const std::string& path) {
  wire::Transaction t;
  t.mutable_update_bases()->add_new_bases()->set_path(path);
  return t;
}

std::map<std::string, wire::Transaction> Operations() {
  std::map<std::string, wire::Transaction> out;
  out["append"] = AppendOf({At(0)});
  out["overwrite"] = OverwriteOf({});
  out["delete-f0"] = DeleteAt(0);
  out["delete-f1"] = DeleteAt(1);
  out["update-f0"] = UpdateAt(0);
  out["insert"].mutable_update()->add_new_fragments();
  out["merge"].mutable_merge();
  out["project"].mutable_project()->set_preserves_nullability(true);
  out["tighten"].mutable_project();
  out["index-a"] = IndexOf("a_idx", 0);
  out["index-b"] = IndexOf("b_idx", 1);
  *out["compact-f0f1"].mutable_rewrite()->add_groups()->add_old_fragments() = At(0);
  *out["compact-f0f1"].mutable_rewrite()->mutable_groups(0)->add_old_fragments() = At(1);
  out["restore"].mutable_restore()->set_version(1);
  out["reserve"].mutable_reserve_fragments()->set_num_fragments(3);
  out["config-k"] = SettingOf("config", "k");
  out["config-j"] = SettingOf("config", "j");
  out["table-k"] = SettingOf("table", "k");
  out["schema-k"] = SettingOf("schema", "k");
  out["field-k"] = SettingOf("field", "k");
  out["base-p"] = BaseOf("/p");
  out["base-q"] = BaseOf("/q");
  out["replace-f0"] = ReplaceAt(0, 0);
  out["replace-f1"] = ReplaceAt(1, 0);
  return out;
}

char Judged(const std::string& a, const std::string& b, bool knows_rows = false) {
  auto ops = Operations();
  EXPECT_TRUE(ops.contains(a) && ops.contains(b)) << a << " " << b;
  const Status st = JudgeConflict(ops[b], knows_rows, ops[a], 7);
  if (st.ok()) return '.';
  EXPECT_NE(st.message().find("version 7"), std::string::npos);
  return KindOf(st) == ErrorKind::kRetry ? 'R' : 'X';
}

// B by B: for each A, in the order of Operations(), what is said of B.
TEST(Conflict, Matrix) {
  std::string names;
  for (const auto& [name, t] : Operations()) names += name + " ";
  ASSERT_EQ(
      names,
      "append base-p base-q compact-f0f1 config-j config-k delete-f0 delete-f1 field-k index-a index-b insert merge "
      "overwrite project replace-f0 replace-f1 reserve restore schema-k table-k tighten update-f0 ");
  const std::map<std::string, std::string> expected = {
      //               ap bp bq co cj ck d0 d1 fk ia ib in me ov pr r0 r1 rs re sk tk ti u0
      {"append", ". . . . . . . . . . . . . X . . . . X . . . ."},
      {"overwrite", ". . . . . . . . . . . . . R . . . . . . . . ."},
      {"delete-f0", ". . . R . . R . . . . . R X . R . . X . . . R"},
      {"delete-f1", ". . . R . . . R . . . . R X . . R . X . . . ."},
      {"update-f0", ". . . R . . R . . . . . R X . R . . X . . . R"},
      {"insert", ". . . . . . . . . . . . R X . . . . X . . . ."},
      {"merge", "R . . R . . R R . . . R R X R R R . X . . R R"},
      {"project", ". . . . . . . . . . . . R X R . . . X . . R ."},
      {"tighten", "R . . . . . . . . . . R R X R R R . X . . R R"},
      {"index-a", ". . . R . . . . . R . . . X . R R . X . . . ."},
      {"index-b", ". . . R . . . . . . R . . X . . . . X . . . ."},
      {"compact-f0f1", ". . . R . . R R . R R . R X . R R . X . . . R"},
      {"restore", ". . . . . . . . . . . . . . . . . . . . . . ."},
      {"reserve", ". . . . . . . . . . . . . X . . . . X . . . ."},
      {"config-k", ". . . . . X . . . . . . . . . . . . . . . . ."},
      {"config-j", ". . . . X . . . . . . . . . . . . . . . . . ."},
      {"table-k", ". . . . . . . . . . . . . . . . . . . . X . ."},
      {"schema-k", ". . . . . . . . . . . . . X . . . . X X . . ."},
      {"field-k", ". . . . . . . . X . . . . X . . . . X . . . ."},
      {"base-p", ". X . . . . . . . . . . . . . . . . . . . . ."},
      {"base-q", ". . X . . . . . . . . . . . . . . . . . . . ."},
      {"replace-f0", ". . . R . . . . . R . . R X . R . . X . . . R"},
      {"replace-f1", ". . . R . . . . . R . . R X . . R . X . . . ."},
  };
  ASSERT_EQ(expected.size(), Operations().size());
  for (const auto& [b, wanted] : expected) {
    std::string got;
    for (const auto& [a, t] : Operations()) got += std::string(got.empty() ? "" : " ") + Judged(a, b);
    EXPECT_EQ(got, wanted) << "B is " << b;
  }
}

TEST(Conflict, KnownRowsLetOthersDelete) {
  EXPECT_EQ(Judged("delete-f0", "delete-f0", true), '.');
  EXPECT_EQ(Judged("update-f0", "delete-f0", true), '.');
  EXPECT_EQ(Judged("delete-f0", "update-f0", true), '.');
  EXPECT_EQ(Judged("compact-f0f1", "delete-f0", true), 'R');
  EXPECT_EQ(Judged("replace-f0", "delete-f0", true), 'R');
  EXPECT_EQ(Judged("merge", "delete-f0", true), 'R');
  EXPECT_EQ(Judged("overwrite", "delete-f0", true), 'X');
}

TEST(Conflict, WhatIsNotKnownIsTriedAgain) {
  wire::Transaction unknown;
  EXPECT_EQ(KindOf(JudgeConflict(AppendOf({At(0)}), false, unknown, 3)), ErrorKind::kRetry);
}

}  // namespace
}  // namespace pilum::testing
