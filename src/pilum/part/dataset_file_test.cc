// dataset.toml chooses the indexes of what is put; store check holds every index against the rows.
#include "pilum/part/dataset_file.h"

#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/index/sidecar_builder.h"
#include "pilum/part/part_store.h"

namespace pilum {
namespace {

constexpr int64_t kRows = 5000;

std::shared_ptr<arrow::RecordBatch> Rows(int shift = 0, const std::string& indexes = "") {
  arrow::Int64Builder id, group;
  arrow::StringBuilder text;
  arrow::TimestampBuilder ts(arrow::timestamp(arrow::TimeUnit::SECOND), arrow::default_memory_pool());
  auto item = std::make_shared<arrow::Int64Builder>();
  arrow::ListBuilder tags(arrow::default_memory_pool(), item);
  for (int64_t i = 0; i < kRows; ++i) {
    ARROW_UNUSED(id.Append((i * 7919 + shift) % kRows));
    ARROW_UNUSED(i % 50 == shift ? group.AppendNull() : group.Append((i + shift) * 31 % 97));
    ARROW_UNUSED(text.Append("text number " + std::to_string((i * 13 + shift) % kRows)));
    ARROW_UNUSED(ts.Append(i == 100 + shift ? 5 : 1'700'000'000 + i));
    ARROW_UNUSED(tags.Append());
    ARROW_UNUSED(item->Append((i + shift) % 40));
  }
  arrow::FieldVector fields = {
      arrow::field("id", arrow::int64()), arrow::field("group", arrow::int64()), arrow::field("text", arrow::utf8()),
      arrow::field("ts", arrow::timestamp(arrow::TimeUnit::SECOND)), arrow::field("tags", arrow::list(arrow::int64()))};
  if (!indexes.empty()) {
    for (auto& f : fields) f = f->WithMetadata(arrow::key_value_metadata({"pilum:index"}, {indexes}));
  }
  return arrow::RecordBatch::Make(arrow::schema(fields), kRows,
                                  {id.Finish().ValueOrDie(), group.Finish().ValueOrDie(), text.Finish().ValueOrDie(),
                                   ts.Finish().ValueOrDie(), tags.Finish().ValueOrDie()});
}

std::shared_ptr<arrow::RecordBatch> Paired(const std::shared_ptr<arrow::RecordBatch>& rows) {
  arrow::FieldVector fields = rows->schema()->fields();
  fields[1] = fields[1]->WithMetadata(arrow::key_value_metadata({"pilum:pair"}, {"tags\nid"}));
  return arrow::RecordBatch::Make(arrow::schema(fields), rows->num_rows(), rows->columns());
}

class DatasetFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& bytes) {
    auto sink = objects_->Create(path).ValueOrDie();
    ASSERT_TRUE(sink->Write(bytes.data(), bytes.size()).ok());
    ASSERT_TRUE(sink->Close().ok());
  }
  Result<PutResult> Put(const std::shared_ptr<arrow::RecordBatch>& batch) {
    auto reader = arrow::RecordBatchReader::Make({batch}, batch->schema()).ValueOrDie();
    return store_->Put(*reader, {}, ctx_);
  }
  // "id:key text:trigrams …" of all sections that are about one column, but bounds and zones.
  std::string Built(const std::string& name) {
    std::string out;
    for (const auto& [end, kind] :
         {std::pair(".lance.idxh", SidecarKind::kHeader), {".lance.idx", SidecarKind::kIndex}}) {
      auto source = objects_->OpenSource("d/side/" + name + end, ctx_).ValueOrDie();
      auto reader = SidecarReader::Open(source, kind, ctx_).ValueOrDie();
      for (const SectionEntry& e : reader->entries()) {
        const auto family = FamilyName(e.family);
        if (e.state != SectionState::kPresent || e.columns.empty() || family == "bounds" || family == "zones") continue;
        out += fmt::format("{}:{} ", e.columns[0].ToString(), family);
      }
    }
    return out;
  }

  ReadContext ctx_;
  std::shared_ptr<ObjectStore> objects_ = ObjectStore::Memory();
  std::shared_ptr<PartStore> store_ = PartStore::OpenIn(objects_, "d").ValueOrDie();
};

TEST_F(DatasetFileTest, ChoosesWhatIsBuiltAndNothingElse) {
  const std::string plain = Put(Rows())->parts.at(0);
  Write("d/dataset.toml",
        "time = 'ts'\nkey = 'id'\n[index]\ntext = ['trigrams']\ntags = 'members'\nmissing = 'bloom'\n");
  const std::string chosen = Put(Rows(1))->parts.at(0);
  EXPECT_EQ(Built(chosen), "ts:ranges id:fuse tags:member bloom text:trigrams tags:members id:key ");
  EXPECT_NE(Built(plain).find("group:inverted"), std::string::npos) << Built(plain);
  EXPECT_EQ(Put(Rows())->new_parts, 0u) << "the file changes no part";
  const auto checked = store_->Check(ctx_).ValueOrDie();
  EXPECT_TRUE(checked.faults.empty()) << checked.faults[0].ToString();
}

TEST_F(DatasetFileTest, AFaultyFileStopsThePut) {
  Write("d/dataset.toml", "owners = 'x'\n");
  const auto st = Put(Rows()).status();
  EXPECT_NE(st.message().find("line 1: 'owners' is not known"), std::string::npos) << st.ToString();
  EXPECT_TRUE(objects_->List("d/parts/").ValueOrDie().empty());
  Write("d/dataset.toml", "target_part_bytes = 60000\n");
  EXPECT_GT(Put(Rows())->parts.size(), 1u);
}

TEST_F(DatasetFileTest, AnIndexThatDoesNotExistIsRefused) {
  const auto st = Put(Rows(0, "inverted, magic")).status();
  EXPECT_EQ(KindOf(st), ErrorKind::kUsage);
  EXPECT_NE(st.message().find("'magic'"), std::string::npos);
}

TEST_F(DatasetFileTest, PairsOfColumns) {
  Write("d/dataset.toml", "pairs = [['group', 'id'], [\"text\", 'nothing']]\n");
  const std::string name = Put(Rows())->parts.at(0);
  EXPECT_EQ(Built(name), "group:pair bloom group:pairs ");
  EXPECT_TRUE(store_->Check(ctx_).ValueOrDie().faults.empty());
  Write("d/dataset.toml", "# nothing yet\npairs = ['group', 'id']\n");
  EXPECT_NE(Put(Rows(1)).status().message().find("line 2: pairs of columns are wanted"), std::string::npos);
  Write("d/dataset.toml", "pairs = [['group']]\n");
  EXPECT_FALSE(Put(Rows(1)).ok());
}

// Sidecars of other rows under this part's name and identity: hashes are right, what they say is not.
TEST_F(DatasetFileTest, CheckFindsEachIndexThatLies) {
  for (const std::string index : {"inverted", "nulls", "members", "key", "time", "trigrams", "words", "pairs"}) {
    SCOPED_TRACE(index);
    objects_ = ObjectStore::Memory();
    store_ = PartStore::OpenIn(objects_, "d").ValueOrDie();
    const bool pairs = index == "pairs";
    const auto rows = [&](int shift) { return pairs ? Paired(Rows(shift)) : Rows(shift, index); };
    const auto batch = rows(0);
    const std::string name = Put(batch)->parts.at(0);
    Hash128 identity;
    for (size_t i = 0; i < identity.size(); ++i)
      identity[i] = static_cast<uint8_t>(std::stoi(name.substr(2 * i, 2), nullptr, 16));
    SidecarBuilder liar(*batch->schema());
    ASSERT_TRUE(liar.Append(*rows(1)).ok());
    const auto files = liar.Finish(*batch->schema(), identity).ValueOrDie();
    Write("d/side/" + name + ".lance.idx", files.index);
    Write("d/side/" + name + ".lance.idxh", files.header);
    if (!files.terms.empty()) Write("d/side/" + name + ".lance.terms", files.terms);
    bool found = false;
    for (const Status& fault : store_->Check(ctx_).ValueOrDie().faults) {
      for (const char* what : {"its rows are not those", "its NULL rows are not", "its key loses", "its ranges lose"})
        found |= fault.message().find(what) != std::string::npos;
    }
    EXPECT_TRUE(found);
  }
}

// The dictionary of words comes and goes with what asks for it; who lacks it scans.
TEST_F(DatasetFileTest, TermsAreBuiltLostFoundAndRemoved) {
  const std::string name = Put(Rows())->parts.at(0), path = "d/side/" + name + ".lance.terms";
  const auto exists = [&] { return objects_->Exists(path).ValueOrDie(); };
  const auto faults = [&] { return store_->Check(ctx_).ValueOrDie().faults; };
  const auto rebuild = [&](bool all) { return store_->Backfill({all}, ctx_).ValueOrDie().rebuilt; };
  EXPECT_FALSE(exists()) << "nobody asked";
  Write("d/dataset.toml", "[index]\ntext = 'words'\n");
  EXPECT_EQ(rebuild(true), 1u);
  EXPECT_TRUE(exists());
  EXPECT_TRUE(faults().empty());
  uint64_t bytes = 0;
  for (const auto& a : store_->Attribute(ctx_).ValueOrDie())
    bytes += a.object == "terms" && a.family == "words" && a.column == "text" ? a.bytes : 0;
  EXPECT_GT(bytes, 1000u);
  bool told = false;
  const auto explained = store_->ExplainBuild(ctx_).ValueOrDie();
  for (const auto& d : explained.at(0).decisions) told |= d.family == "words" && d.built && d.column == "text";
  EXPECT_TRUE(told);

  ASSERT_TRUE(objects_->Remove(path).ok());
  ASSERT_EQ(faults().size(), 1u);
  EXPECT_NE(faults()[0].message().find(".terms: missing"), std::string::npos) << faults()[0].ToString();
  EXPECT_EQ(rebuild(false), 1u) << "the index speaks of it";
  EXPECT_TRUE(exists());
  ASSERT_TRUE(objects_->Remove(path).ok());
  EXPECT_EQ(Put(Rows())->new_parts, 0u);
  EXPECT_TRUE(exists()) << "put makes good what is lacking, too";

  Write("d/dataset.toml", "[index]\ntext = 'trigrams'\n");
  EXPECT_EQ(rebuild(true), 1u);
  EXPECT_FALSE(exists());
  EXPECT_TRUE(faults().empty());
}

}  // namespace
}  // namespace pilum
