#include "pilum/table/manifest.h"

#include <filesystem>

#include <gtest/gtest.h>

#include <arrow/buffer.h>

#include "lance_table.pb.h"
#include "pilum/base/bytes.h"
#include "pilum/io/object_store.h"
#include "pilum/table/manifest_names.h"
#include "pilum/table/transaction.h"
#include "tests/support/paths/source_dir.h"

namespace pilum {
namespace {

std::string Golden(const std::string& table, const ManifestName& name) {
  return testing::SourceDir() + "/tests/golden/table/" + table + "/table.lance/" + ManifestPath(name);
}

std::string BytesOf(const std::string& path) {
  ReadContext ctx;
  auto source = OpenLocalFile(path, ctx).ValueOrDie();
  return source->ReadRange({0, source->size()}, ctx).ValueOrDie()->ToString();
}

Result<std::shared_ptr<const Manifest>> Read(std::string bytes) {
  ReadContext ctx;
  return ReadManifest(*MakeMemorySource("m", arrow::Buffer::FromString(std::move(bytes))), ctx);
}

// A message as a file.
std::string AsFile(const std::string& message) {
  std::string out;
  AppendLE(&out, static_cast<uint32_t>(message.size()));
  out += message;
  for (uint64_t v : {uint64_t{0}}) AppendLE(&out, v);
  for (uint16_t v : {0, 2}) AppendLE(&out, v);
  return out + "LANC";
}

TEST(Manifest, OfPylance14) {
  const auto m = Read(BytesOf(Golden("mainline", {5, ManifestScheme::kV2}))).ValueOrDie();
  EXPECT_EQ(m->version, 5u);
  EXPECT_EQ(m->schema.schema->field_names(), (std::vector<std::string>{"id", "s", "x"}));
  ASSERT_EQ(m->fragments.size(), 3u);
  EXPECT_EQ(m->fragments[1].id, 1u);
  EXPECT_EQ(m->fragments[1].physical_rows, 10u);
  EXPECT_EQ(m->fragments[1].files[0].fields, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(m->fragments[1].files[0].version(), "2.2");
  EXPECT_EQ(m->fragments[1].files[0].size, 1130u);
  EXPECT_EQ(m->max_fragment_id, 4u);
  EXPECT_EQ(m->data_version, "2.2");
  EXPECT_EQ(m->writer, "lance 14.0.2");
  EXPECT_GT(m->timestamp_ns, int64_t{1700000000} * 1000000000);
  EXPECT_EQ(m->transaction, 0u) << "0 is a place like any other";
  EXPECT_FALSE(m->has_stable_row_ids());
}

TEST(Manifest, OfPylance033WithStableRowIds) {
  const auto m = Read(BytesOf(Golden("old-0.33.0-stable", {1, ManifestScheme::kV1}))).ValueOrDie();
  EXPECT_TRUE(m->has_stable_row_ids());
  EXPECT_EQ(m->fragments[0].row_ids.where, SequenceBytes::Where::kInline);
  EXPECT_FALSE(m->transaction) << "only in a file of its own";
  EXPECT_EQ(m->fragments[0].files[0].version(), "2.0");
}

TEST(Manifest, WhatNobodyHereKnowsIsKept) {
  wire::Manifest m;
  m.set_version(3);
  std::string message = m.SerializeAsString();
  message += std::string("\xc2\x07\x03") + "new";  // field 120
  const auto read = Read(AsFile(message)).ValueOrDie();
  EXPECT_EQ(read->message, message);
  wire::Manifest again;
  ASSERT_TRUE(again.ParseFromString(read->message));
  again.set_version(4);
  EXPECT_NE(again.SerializeAsString().find("new"), std::string::npos);
}

TEST(Manifest, PointersOfOldAndNewWriters) {
  wire::Manifest m;
  m.set_transaction_section_before_14(0);
  EXPECT_EQ(Read(AsFile(m.SerializeAsString())).ValueOrDie()->transaction, 0u);
  m.set_transaction_section(9);
  EXPECT_EQ(Read(AsFile(m.SerializeAsString())).ValueOrDie()->transaction, 9u);
}

ErrorKind KindOfFile(const wire::Manifest& m) { return KindOf(Read(AsFile(m.SerializeAsString())).status()); }

TEST(Manifest, WhatCannotBeReadIsRefused) {
  wire::Manifest m;
  m.set_reader_feature_flags(uint64_t{1} << 20);
  EXPECT_EQ(KindOfFile(m), ErrorKind::kUnsupported);
  m.set_reader_feature_flags(2);
  EXPECT_EQ(KindOfFile(m), ErrorKind::kOther) << "no fragments: none without row ids";
  m.add_fragments();
  EXPECT_EQ(KindOfFile(m), ErrorKind::kCorrupt) << "a fragment without row ids";
  m.set_reader_feature_flags(0);
  m.mutable_fragments(0)->add_overlays("x");
  EXPECT_EQ(KindOfFile(m), ErrorKind::kUnsupported);
  m.mutable_fragments(0)->Clear();
  m.mutable_fragments(0)->set_physical_rows(uint64_t{1} << 40);
  EXPECT_EQ(KindOfFile(m), ErrorKind::kCorrupt);
  m.mutable_fragments(0)->set_physical_rows(5);
  m.mutable_fragments(0)->mutable_deletion_file()->set_num_deleted_rows(6);
  EXPECT_EQ(KindOfFile(m), ErrorKind::kCorrupt);
  m.mutable_fragments(0)->clear_deletion_file();
  auto* file = m.mutable_fragments(0)->add_files();
  file->set_path("x.lance"), file->set_file_major_version(2), file->add_fields(1);
  EXPECT_EQ(KindOfFile(m), ErrorKind::kCorrupt) << "a field without a column";
  m.clear_fragments();
  m.set_fragment_tree("x");
  EXPECT_EQ(KindOfFile(m), ErrorKind::kUnsupported);
  m.set_fragment_tree("");
  EXPECT_EQ(KindOfFile(m), ErrorKind::kOther);
}

TEST(Manifest, EveryCutIsAnErrorAndChangedBytesNeverCrash) {
  const std::string whole = BytesOf(Golden("merge-insert-stable", {6, ManifestScheme::kV2}));
  for (size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(Read(whole.substr(0, n)).ok()) << n;
  EXPECT_FALSE(Read(whole + "junk").ok());
  ReadContext ctx;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (int change : {1, 0x10, 0x80, 0xff}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ change);
      auto source = MakeMemorySource("m", arrow::Buffer::FromString(changed));
      auto m = ReadManifest(*source, ctx);
      if (!m.ok() || !(*m)->transaction) continue;
      auto section = ReadManifestSection(*source, *(*m)->transaction, ctx);
      if (section.ok()) (void)ParseTransaction(*section).ok();
    }
  }
}

TEST(Manifest, ErrorsNameTheFile) {
  const Status st = Read("LANC").status();
  EXPECT_EQ(KindOf(st), ErrorKind::kCorrupt);
  EXPECT_TRUE(st.message().starts_with("m: ")) << st.message();
}

TEST(Transaction, WhatItSays) {
  ReadContext ctx;
  auto source = OpenLocalFile(Golden("updates", {2, ManifestScheme::kV2}), ctx).ValueOrDie();
  const auto m = ReadManifest(*source, ctx).ValueOrDie();
  const auto t = ParseTransaction(ReadManifestSection(*source, *m->transaction, ctx).ValueOrDie()).ValueOrDie();
  EXPECT_EQ(t.operation, "Update");
  EXPECT_EQ(t.read_version, 1u);
  EXPECT_EQ(t.uuid.size(), 36u);
  EXPECT_FALSE(t.facts.empty());
  EXPECT_FALSE(ParseTransaction("\xff\xff").ok());
  EXPECT_EQ(ParseTransaction("").ValueOrDie().operation, "Unknown");
}

}  // namespace
}  // namespace pilum
