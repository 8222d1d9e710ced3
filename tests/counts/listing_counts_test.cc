// What a cold point read of a thousand parts asks an object store for, request by request, with and without bundles. A bucket in
// memory answers, a hundred names a page of a listing, as a real one does a thousand: all is a tenth of a dataset of ten thousand
// parts. Counts only, no times.
#include <gtest/gtest.h>

#include <arrow/api.h>
#include <arrow/json/from_string.h>

#include "pilum/io/http/http_load.h"
#include "pilum/io/s3/fake_s3.h"
#include "pilum/io/s3/s3_store.h"
#include "pilum/part/list_uniform.h"
#include "pilum/part/part_store.h"
#include "pilum/query/query.h"

namespace pilum {
namespace {

std::string Conversation(int64_t number) {
  uint64_t h = static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15ull;
  h ^= h >> 29;
  return fmt::format("conv-{:016x}", h * 0xbf58476d1ce4e5b9ull);
}

constexpr int64_t kRows = 40'000, kEach = 5;  // rows of a conversation, which follow one another

class ListingCounts : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.endpoint = "http://fake";
    config_.region = "r";
    config_.credentials = {"A", "S", ""};
    config_.path_style = true;
    config_.aws = true;
    fake_.page = 100;
    store_ = s3::MakeStore("bucket", "", config_, &fake_, (*LoadHttp())->sha256);
    static std::map<std::string, s3::FakeS3::Object> made;  // once for all tests
    static uint64_t parts = 0;
    if (made.empty()) {
      MakeParts();
      made = fake_.objects;
      parts = parts_;
    }
    fake_.objects = made;
    parts_ = parts;
  }
  void MakeParts() {
    arrow::StringBuilder ids, texts;
    arrow::Int64Builder rows;
    for (int64_t i = 0; i < kRows; ++i) {
      ASSERT_TRUE(ids.Append(Conversation(i / kEach)).ok());
      ASSERT_TRUE(rows.Append(i).ok());
      ASSERT_TRUE(texts.Append(fmt::format("{:x}", static_cast<uint64_t>(i) * 0x9e3779b97f4a7c15ull)).ok());
    }
    const auto batch = arrow::RecordBatch::Make(
        arrow::schema({arrow::field("conversation_id", arrow::utf8()), arrow::field("row", arrow::int64()),
                       arrow::field("text", arrow::utf8())}),
        kRows, {ids.Finish().ValueOrDie(), rows.Finish().ValueOrDie(), texts.Finish().ValueOrDie()});
    auto reader = arrow::RecordBatchReader::Make({batch}).ValueOrDie();
    ReadContext ctx;
    PutOptions options;
    options.target_part_bytes = 2000;
    const auto put = Handle()->Put(*reader, options, ctx).ValueOrDie();
    parts_ = put.new_parts;
    ASSERT_GT(parts_, 900u);
    ASSERT_LT(parts_, 1300u);
  }
  std::shared_ptr<PartStore> Handle() { return PartStore::OpenIn(store_, "d").ValueOrDie(); }

  struct Cost {
    uint64_t rows = 0, parts_read = 0, requests = 0, lists = 0, bundles = 0, headers = 0, others = 0;
  };
  // By a handle that knows nothing, or by `handle`.
  Cost Ask(const std::string& sql, std::shared_ptr<PartStore> handle = nullptr) {
    fake_.log.clear();
    ReadContext ctx;
    if (!handle) handle = Handle();
    auto snapshot = handle->OpenSnapshot(true, ctx).ValueOrDie();
    auto result = RunQuery(snapshot, BindQuery(sql, *snapshot, {}).ValueOrDie(), {}, ctx).ValueOrDie();
    Cost cost;
    while (auto batch = result->Next().ValueOrDie()) cost.rows += static_cast<uint64_t>(batch->num_rows());
    cost.parts_read = result->counts().units_read;
    EXPECT_TRUE(result->counts().notes.empty());
    cost.requests = fake_.log.size();
    for (const std::string& line : fake_.log) {
      if (line.find("list-type") != line.npos)
        ++cost.lists;
      else if (line.find("/bundles/") != line.npos)
        ++cost.bundles;
      else if (line.ends_with(".idxh"))
        ++cost.headers;
      else
        ++cost.others;
    }
    return cost;
  }

  s3::FakeS3 fake_;
  s3::Config config_;
  std::shared_ptr<ObjectStore> store_;
  uint64_t parts_ = 0;
};

TEST_F(ListingCounts, APointRead) {
  const std::string sql = "conversation_id = '" + Conversation(4321) + "'";
  const Cost before = Ask(sql);
  EXPECT_EQ(before.rows, uint64_t{kEach});
  EXPECT_LE(before.parts_read, 2u);
  EXPECT_EQ(before.headers, parts_) << "one for each part";
  EXPECT_EQ(before.bundles, 0u);

  ReadContext ctx;
  ASSERT_EQ(Handle()->Maintain({}, ctx).ValueOrDie().caches.at(0).fresh, parts_);
  const Cost cold = Ask(sql);
  EXPECT_EQ(cold.rows, before.rows);
  EXPECT_EQ(cold.parts_read, before.parts_read) << "only parts that hold it";
  EXPECT_EQ(cold.headers, 0u);
  // A first page, then a range for each 88 names that are left, hardly any of two pages; merged/ and bundles/.
  const uint64_t ranges = (parts_ - 100 + 87) / 88;
  EXPECT_GE(cold.lists, 1 + (parts_ - 1) / 100 + 2);
  EXPECT_LE(cold.lists, 1 + ranges + 2 + 4);
  // Its tail, directory and table; bounds of all, filters of all.
  EXPECT_LE(cold.bundles, 4u);
  // The part's index, then the part: its tail, which is all of it.
  EXPECT_LE(cold.others, 2 * cold.parts_read);
  EXPECT_LE(cold.requests, 40u);

  // None holds it: the listing and the bundle.
  const Cost none = Ask("conversation_id = 'nobody'");
  EXPECT_EQ(none.rows, 0u);
  EXPECT_EQ(none.others, 0u);

  // A handle that knows the parts lists them, and asks for nothing that it has.
  const auto handle = Handle();
  (void)Ask(sql, handle);
  const Cost warm = Ask(sql, handle);
  EXPECT_EQ(warm.bundles, 0u);
  EXPECT_EQ(warm.headers, 0u);
  EXPECT_EQ(warm.rows, before.rows);
  EXPECT_EQ(warm.lists, cold.lists - 1) << "bundles are not looked for";
  std::printf("point read of %llu parts: %llu requests without bundles, %llu with, %llu by a handle that knows them\n",
              static_cast<unsigned long long>(parts_), static_cast<unsigned long long>(before.requests),
              static_cast<unsigned long long>(cold.requests), static_cast<unsigned long long>(warm.requests));
}

// Parts put since the bundles were made are read singly, and those only.
TEST_F(ListingCounts, PartsPutSince) {
  ReadContext ctx;
  ASSERT_TRUE(Handle()->Maintain({}, ctx).ok());
  const auto one =
      arrow::RecordBatch::Make(arrow::schema({arrow::field("conversation_id", arrow::utf8())}), 1,
                               {arrow::json::ArrayFromJSONString(arrow::utf8(), "[\"new\"]").ValueOrDie()});
  auto reader = arrow::RecordBatchReader::Make({one}).ValueOrDie();
  ASSERT_TRUE(Handle()->Put(*reader, {}, ctx).ok());
  const Cost cost = Ask("conversation_id = 'new'");
  EXPECT_EQ(cost.rows, 1u);
  EXPECT_EQ(cost.headers, 1u);
  EXPECT_EQ(cost.parts_read, 1u);
}

// Whatever the names are, and however few fit on a page: all of them, as the plain listing has them.
TEST_F(ListingCounts, ListingByRangesFindsAll) {
  for (const char* name : {"0", "zz", "by hand", "ffffffffff", "00000000", "éa"}) {
    fake_.objects["d/parts/" + std::string(name) + ".lance"].bytes = "no Lance file";
  }
  const auto names = [](const Result<std::vector<ObjectInfo>>& listed) {
    std::string out;
    for (const ObjectInfo& o : listed.ValueOrDie()) out += o.path + "\n";
    return out;
  };
  ReadContext ctx;
  for (const char* prefix : {"d/parts/", "d/side/", "d/", "d/none/"}) {
    fake_.page = 1000;
    const std::string plain = names(store_->List(prefix));
    for (const size_t page : {1, 7, 100, 1000, 5000}) {
      fake_.page = page;
      EXPECT_EQ(names(ListUniform(*store_, prefix, ctx)), plain) << prefix << ", pages of " << page;
    }
  }
}

// What the disk keeps of a bundle and of parts is not asked for again, by any process.
TEST_F(ListingCounts, ACacheOnDisk) {
  const auto dir = TempDir::Make().ValueOrDie();
  ReadContext ctx;
  ASSERT_TRUE(Handle()->Maintain({}, ctx).ok());
  const std::string sql = "conversation_id = '" + Conversation(77) + "'";
  ::setenv("PILUM_CACHE", dir->path().c_str(), 1);
  const Cost first = Ask(sql), second = Ask(sql);
  ::unsetenv("PILUM_CACHE");
  EXPECT_EQ(second.rows, first.rows);
  EXPECT_GT(first.bundles, 0u);
  EXPECT_EQ(second.bundles, 0u);
  EXPECT_EQ(second.headers, 0u);
  EXPECT_LE(second.others, second.parts_read) << "the part's index; its bytes are there";
  EXPECT_EQ(second.lists, first.lists);
}

}  // namespace
}  // namespace pilum
