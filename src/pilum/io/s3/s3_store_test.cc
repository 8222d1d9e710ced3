// The store over a bucket in memory whose answers are spoilt, one after the other and all of them.
#include "pilum/io/s3/s3_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <arrow/buffer.h>

#include "pilum/io/http/http_load.h"
#include "pilum/io/s3/fake_s3.h"

namespace pilum::s3 {
namespace {

class S3Store : public ::testing::Test {
 protected:
  S3Store() : temp_(TempDir::Make().ValueOrDie()) {
    config_.endpoint = "http://fake";
    config_.region = "r";
    config_.credentials = {"A", "S", ""};
    config_.path_style = true;
    config_.aws = true;  // not asked whether it minds conditions, but where a test says so
    config_.part_bytes = 1000;
    Open();
  }
  void Open() { store_ = MakeStore("bucket", "pre fix", config_, &fake_, (*LoadHttp())->sha256); }
  std::string File(const std::string& bytes) {
    const std::string path = temp_->path() + "/file";
    std::ofstream(path) << bytes;
    return path;
  }
  Result<std::string> Read(const std::string& path) {
    ReadContext ctx;
    PILUM_ASSIGN_OR_RETURN(auto source, store_->OpenSource(path, ctx));
    PILUM_ASSIGN_OR_RETURN(auto bytes, source->ReadRange({0, source->size()}, ctx));
    return bytes->ToString();
  }

  std::unique_ptr<TempDir> temp_;
  FakeS3 fake_;
  Config config_;
  std::shared_ptr<ObjectStore> store_;
  ReadContext ctx_;
};

std::string Noise(size_t n) {
  std::string bytes(n, 0);
  for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  return bytes;
}

// All that a store does, each with its right outcome. Empty: all is well; else what was not.
std::string DoAll(ObjectStore* store, const std::string& file, const std::string& big) {
  const auto put = store->PutIfAbsent("a b/+%=é", "one");
  if (!put.ok() || !*put) return "first put: " + put.status().ToString();
  const auto again = store->PutIfAbsent("a b/+%=é", "two");
  if (!again.ok() || *again) return "second put: " + again.status().ToString();
  const auto moved = store->PutFileIfAbsent("big", file);
  if (!moved.ok() || !*moved) return "file: " + moved.status().ToString();
  const auto sink = store->Create("sunk");
  if (!sink.ok()) return "create: " + sink.status().ToString();
  for (size_t at = 0; at < big.size(); at += 7777) {
    const Status written = (*sink)->Write(big.data() + at, std::min<size_t>(7777, big.size() - at));
    if (!written.ok()) return "write: " + written.ToString();
  }
  const Status closed = (*sink)->Close();
  if (!closed.ok()) return "close: " + closed.ToString();
  const auto listed = store->List("");
  if (!listed.ok() || listed->size() != 3 || listed->front().path != "a b/+%=é" || listed->front().size != 3) {
    return "list: " + listed.status().ToString();
  }
  ReadContext ctx;
  for (const char* name : {"big", "sunk"}) {
    const auto source = store->OpenSource(name, ctx);
    if (!source.ok()) return "open: " + source.status().ToString();
    const auto bytes = (*source)->ReadRange({0, (*source)->size()}, ctx);
    if (!bytes.ok() || (*bytes)->ToString() != big) return std::string("read ") + name + bytes.status().ToString();
  }
  const auto exists = store->Exists("big");
  if (!exists.ok() || !*exists) return "exists: " + exists.status().ToString();
  const Status removed = store->Remove("big");
  if (!removed.ok()) return "remove: " + removed.ToString();
  const auto gone = store->Exists("big");
  if (!gone.ok() || *gone) return "gone: " + gone.status().ToString();
  return "";
}

TEST_F(S3Store, OneSpoiltAnswerChangesNothing) {
  const std::string big = Noise(300'000);
  config_.part_bytes = 30'000;
  Open();
  size_t requests = 0;
  for (Spoil how : {Spoil::kNotSent, Spoil::kLost, Spoil::kUnavailable, Spoil::kErrorDone, Spoil::kHalf}) {
    for (size_t n = 0;; ++n) {
      fake_.objects.clear();
      fake_.log.clear();
      fake_.spoil = [&](const HttpRequest& r) {
        const bool ranged = r.method == "GET" && r.out;
        return fake_.log.size() == n + 1 && (how != Spoil::kHalf || ranged) ? how : Spoil::kNothing;
      };
      EXPECT_EQ(DoAll(store_.get(), File(big), big), "") << "spoilt: request " << n << " " << fake_.log.at(n);
      // An upload whose beginning was answered by nobody is not known to us: it is left to the sweep.
      const bool lost_beginning = fake_.log.size() > n && fake_.log[n].ends_with("?uploads=");
      EXPECT_TRUE(fake_.uploads.empty() || lost_beginning) << "spoilt: request " << n;
      fake_.uploads.clear();
      if (fake_.log.size() <= n) break;
      ++requests;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(requests, 100u);
}

TEST_F(S3Store, LastingTroubleIsAnErrorThatNamesTheObject) {
  ASSERT_TRUE(store_->PutIfAbsent("o", Noise(70'000)).ValueOrDie());
  config_.attempts = 3;
  Open();
  for (Spoil how : {Spoil::kNotSent, Spoil::kLost, Spoil::kUnavailable, Spoil::kErrorDone, Spoil::kBadRequest}) {
    fake_.spoil = [&](const HttpRequest&) { return how; };
    ReadContext ctx;
    for (const Status& status :
         {store_->OpenSource("o", ctx).status(), store_->PutIfAbsent("o", "x").status(), store_->List("o").status(),
          store_->Exists("o").status(), store_->Remove("o"), store_->Now().status()}) {
      ASSERT_FALSE(status.ok());
      EXPECT_NE(status.message().find("s3://bucket"), std::string::npos) << status.message();
      EXPECT_NE(status.message().find("; "), std::string::npos) << status.message();
      EXPECT_EQ(status.message().find("3 times") == std::string::npos, how == Spoil::kBadRequest) << status.message();
    }
    fake_.objects["pre fix/o"].bytes = Noise(70'000);
  }
}

TEST_F(S3Store, GarbageForAListIsAnError) {
  fake_.spoil = [&](const HttpRequest&) { return Spoil::kGarbage; };
  EXPECT_EQ(KindOf(store_->List("").status()), ErrorKind::kCorrupt);
  EXPECT_EQ(KindOf(store_->ListUnfinished("").status()), ErrorKind::kCorrupt);
  EXPECT_FALSE(store_->PutFileIfAbsent("big", File(Noise(9000))).ok());
}

TEST_F(S3Store, APutWhoseAnswerWasLostIsReadBack) {
  // The first attempt does its work: the second finds the object there, and it is ours.
  fake_.spoil = [&](const HttpRequest&) { return fake_.log.size() == 1 ? Spoil::kLost : Spoil::kNothing; };
  EXPECT_TRUE(store_->PutIfAbsent("k", "mine").ValueOrDie());
  // Another one's object with the very same bytes is still not ours.
  fake_.log.clear();
  fake_.spoil = [&](const HttpRequest&) { return fake_.log.size() == 1 ? Spoil::kUnavailable : Spoil::kNothing; };
  EXPECT_FALSE(store_->PutIfAbsent("k", "mine").ValueOrDie());
  // No answer ever: what the object says decides, as long as that can be read.
  fake_.spoil = [&](const HttpRequest& r) { return r.method == "PUT" ? Spoil::kLost : Spoil::kNothing; };
  EXPECT_TRUE(store_->PutIfAbsent("l", "mine").ValueOrDie());
}

TEST_F(S3Store, AServerThatIgnoresConditionsIsRefused) {
  config_.aws = false;
  Open();
  EXPECT_TRUE(store_->PutIfAbsent("a", "x").ValueOrDie());
  EXPECT_EQ(fake_.log.size(), 2u);  // asked once
  EXPECT_TRUE(store_->PutIfAbsent("b", "x").ValueOrDie());
  EXPECT_EQ(fake_.log.size(), 3u);
  Open();
  EXPECT_TRUE(store_->PutIfAbsent("d", "x").ValueOrDie());
  EXPECT_EQ(fake_.log.size(), 4u) << "a process asks a server once";
  config_.endpoint = "http://another";
  Open();
  fake_.minds_conditions = false;
  const Status status = store_->PutIfAbsent("c", "x").status();
  EXPECT_EQ(KindOf(status), ErrorKind::kUnsupported);
  EXPECT_NE(status.message().find("If-None-Match"), std::string::npos);
}

TEST_F(S3Store, ASourceIsOneVersion) {
  ASSERT_TRUE(store_->PutIfAbsent("o", Noise(600'000)).ValueOrDie());
  ReadContext ctx;
  auto source = store_->OpenSource("o", ctx).ValueOrDie();
  EXPECT_EQ(source->ReadRange({5, 10}, ctx).ValueOrDie()->ToString(), Noise(600'000).substr(5, 10));
  ASSERT_TRUE(store_->Remove("o").ok());
  ASSERT_TRUE(store_->PutIfAbsent("o", std::string(600'000, 'x')).ValueOrDie());
  const Status status = source->ReadRange({0, 10}, ctx).status();
  EXPECT_NE(status.message().find("replaced"), std::string::npos) << status.message();
  ASSERT_TRUE(store_->Remove("o").ok());
  EXPECT_EQ(KindOf(source->ReadRange({0, 10}, ctx).status()), ErrorKind::kNotFound);
}

TEST_F(S3Store, OpeningIsOneRequestThatBringsTheEnd) {
  for (size_t n : {0, 1, 1000, 600'000}) {
    const std::string bytes = Noise(n);
    fake_.objects.clear();
    ASSERT_TRUE(store_->PutIfAbsent("o", bytes).ValueOrDie());
    fake_.log.clear();
    ReadStats stats;
    ReadContext ctx;
    ctx.stats = &stats;
    auto source = store_->OpenSource("o", ctx).ValueOrDie();
    EXPECT_EQ(source->size(), n);
    const uint64_t tail = std::min<uint64_t>(n, 1000);
    EXPECT_EQ(source->ReadRange({n - tail, tail}, ctx).ValueOrDie()->ToString(), bytes.substr(n - tail));
    EXPECT_EQ(fake_.log.size(), 1u);
    EXPECT_EQ(stats.opens, 1u);
    EXPECT_EQ(source->ReadRange({0, n}, ctx).ValueOrDie()->ToString(), bytes);
  }
}

TEST_F(S3Store, PagesBoundsAndOddKeys) {
  for (const char* key : {"pre fix/p/1", "pre fix/p/2", "pre fix/p/3 +%", "pre fix/p/4", "pre fix/p/5", "pre fix/p/",
                          "pre fix/p//x", "pre fix/q", "pre fiy", "other"}) {
    fake_.objects[key].bytes = "b";
  }
  const auto names = [](const Result<std::vector<ObjectInfo>>& listed) {
    std::string out;
    for (const auto& o : listed.ValueOrDie()) out += o.path + " ";
    return out;
  };
  EXPECT_EQ(names(store_->List("p/")), "p/1 p/2 p/3 +% p/4 p/5 ");
  EXPECT_EQ(names(store_->List("")), "p/1 p/2 p/3 +% p/4 p/5 q ");
  fake_.log.clear();
  EXPECT_EQ(names(store_->ListBetween("p/", "p/1", "p/3 +%", ctx_)), "p/2 p/3 +% ");
  EXPECT_EQ(fake_.log.size(), 1u);  // no page past the bound
  fake_.log.clear();
  const auto page = store_->ListPage("p/", "p/1", ctx_).ValueOrDie();
  EXPECT_EQ(names(page.objects), "p/2 p/3 +% p/4 ");
  EXPECT_TRUE(page.more);
  EXPECT_FALSE(store_->ListPage("p/", "p/3 +%", ctx_).ValueOrDie().more);
  EXPECT_EQ(fake_.log.size(), 2u);
  ReadContext late;
  late.deadline = std::chrono::steady_clock::now();
  EXPECT_EQ(KindOf(store_->List("p/", late).status()), ErrorKind::kDeadline);
}

TEST_F(S3Store, UploadsThatNobodyEndedAreFoundAndTakenBack) {
  const std::string big = Noise(9000);
  {
    auto sink = store_->Create("big").ValueOrDie();
    ASSERT_TRUE(sink->Write(big.data(), big.size()).ok());
    EXPECT_EQ(fake_.uploads.size(), 1u);
    const auto left = store_->ListUnfinished("b").ValueOrDie();
    ASSERT_EQ(left.size(), 1u);
    EXPECT_EQ(left[0].path.substr(0, 4), "big?");
    EXPECT_GT(left[0].modified, StoreTime{});
    EXPECT_EQ(left[0].written, left[0].modified) << "clean-up of tables goes by this one";
    ASSERT_TRUE(store_->RemoveUnfinished(left[0]).ok());
    ASSERT_TRUE(store_->RemoveUnfinished(left[0]).ok());
    const Status closed = sink->Close();
    EXPECT_NE(closed.message().find("taken back"), std::string::npos) << closed.message();
    EXPECT_EQ(KindOf(closed), ErrorKind::kOther);
  }
  {
    auto dropped = store_->Create("big").ValueOrDie();
    ASSERT_TRUE(dropped->Write(big.data(), big.size()).ok());
  }
  EXPECT_TRUE(fake_.uploads.empty());
  EXPECT_FALSE(store_->Exists("big").ValueOrDie());
}

TEST_F(S3Store, ADeadlineEndsRetries) {
  fake_.spoil = [&](const HttpRequest&) { return Spoil::kUnavailable; };
  ReadContext ctx;
  std::stop_source stop;
  ctx.stop = stop.get_token();
  stop.request_stop();
  const Status status = store_->OpenSource("o", ctx).status();
  EXPECT_EQ(KindOf(status), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace pilum::s3
