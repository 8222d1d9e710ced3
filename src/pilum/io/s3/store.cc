// A prefix of a bucket as a store.
#include <unistd.h>

#include <cstdlib>

#include "pilum/io/http/http_load.h"
#include "pilum/io/s3/client.h"
#include "pilum/io/s3/list.h"
#include "pilum/io/s3/s3_store.h"
#include "pilum/io/s3/source.h"
#include "pilum/io/s3/upload.h"
#include "pilum/io/store_impl.h"

namespace pilum {
namespace s3 {
namespace {

class Store : public ObjectStore {
 public:
  Store(std::shared_ptr<Client> client, const std::string& prefix)
      : client_(std::move(client)), prefix_(prefix.empty() ? "" : prefix + "/"), uri_(client_->Name(prefix)) {}
  const std::string& uri() const override { return uri_; }

  Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(std::string key, Key(path));
    return s3::OpenSource(client_, key, ctx);
  }

  Result<std::unique_ptr<ByteSink>> Create(const std::string& path) override {
    PILUM_ASSIGN_OR_RETURN(std::string key, Key(path));
    return MakeSink(client_, std::move(key));
  }

  Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) override {
    PILUM_ASSIGN_OR_RETURN(std::string key, Key(path));
    ReadContext ctx;
    return s3::PutIfAbsent(client_, key, bytes, ctx);
  }

  Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) override {
    PILUM_ASSIGN_OR_RETURN(std::string key, Key(path));
    ReadContext ctx;
    PILUM_ASSIGN_OR_RETURN(bool put, s3::PutFileIfAbsent(client_, key, local_file, ctx));
    if (put) ::unlink(local_file.c_str());
    return put;
  }

  Result<std::vector<ObjectInfo>> ListBetween(const std::string& prefix, const std::string& after,
                                              const std::string& up_to, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto out, ListObjects(*client_, prefix_ + prefix, Under(after), Under(up_to), ctx));
    return Paths(std::move(out));
  }

  Result<Page> ListPage(const std::string& prefix, const std::string& after, ReadContext& ctx) const override {
    Page page;
    PILUM_ASSIGN_OR_RETURN(page.objects, ListFirstObjects(*client_, prefix_ + prefix, Under(after), &page.more, ctx));
    page.objects = Paths(std::move(page.objects));
    return page;
  }

  const ReadCost& cost() const override { return kCost; }

  Result<StoreTime> Now() const override {
    ReadContext ctx;
    Call call;
    call.method = "HEAD";
    call.what = "the bucket, for the time";
    PILUM_RETURN_NOT_OK(client_->Run(&call, ctx));
    const int64_t now = ParseHttpDate(call.Header("date"));
    if (now < 0) return Corrupt(uri_, "", fmt::format("the server's date is '{}'", call.Header("date")));
    return StoreTime(std::chrono::microseconds(now));
  }

  Result<std::vector<ObjectInfo>> ListUnfinished(const std::string& prefix) const override {
    ReadContext ctx;
    PILUM_ASSIGN_OR_RETURN(auto uploads, ListUploads(*client_, prefix_ + prefix, ctx));
    std::vector<ObjectInfo> out;
    for (const Unfinished& u : uploads) {
      out.push_back({u.key.substr(prefix_.size()) + std::string(kUploadMark) + u.id, 0, u.begun, u.begun});
    }
    return out;
  }

  Status RemoveUnfinished(const ObjectInfo& unfinished) override {
    const size_t mark = unfinished.path.rfind(kUploadMark);
    if (mark == std::string::npos) return UsageError("{}: '{}' is no unfinished upload", uri_, unfinished.path);
    Call call;
    call.method = "DELETE";
    call.key = prefix_ + unfinished.path.substr(0, mark);
    call.query = {{"uploadId", unfinished.path.substr(mark + kUploadMark.size())}};
    call.answers = {404};
    ReadContext ctx;
    return client_->Run(&call, ctx);
  }

  Result<bool> Exists(const std::string& path) const override {
    Call call;
    call.method = "HEAD";
    PILUM_ASSIGN_OR_RETURN(call.key, Key(path));
    call.answers = {404};
    ReadContext ctx;
    PILUM_RETURN_NOT_OK(client_->Run(&call, ctx));
    return call.ok();
  }

  Status Remove(const std::string& path) override {
    Call call;
    call.method = "DELETE";
    PILUM_ASSIGN_OR_RETURN(call.key, Key(path));
    call.answers = {404};
    ReadContext ctx;
    return client_->Run(&call, ctx);
  }

 private:
  static constexpr std::string_view kUploadMark = "?uploadId=";
  static constexpr ReadCost kCost = ReadCost::Remote();

  std::string Under(const std::string& path) const { return path.empty() ? path : prefix_ + path; }

  std::vector<ObjectInfo> Paths(std::vector<ObjectInfo> keys) const {
    for (ObjectInfo& o : keys) o.path = o.path.substr(prefix_.size());
    // Keys that no path of ours names: "folders" that consoles make, empty steps.
    std::erase_if(keys, [](const ObjectInfo& o) { return !CheckObjectPath(o.path).ok(); });
    return keys;
  }

  Result<std::string> Key(const std::string& path) const {
    PILUM_RETURN_NOT_OK(CheckObjectPath(path));
    std::string key = prefix_ + path;
    if (key.size() > 1024) return UsageError("{}/{}: a name in a bucket has at most 1,024 bytes", uri_, path);
    return key;
  }

  std::shared_ptr<Client> client_;
  std::string prefix_, uri_;
};

}  // namespace

std::shared_ptr<ObjectStore> MakeStore(std::string bucket, const std::string& prefix, Config config, HttpClient* http,
                                       Sha256 sha256) {
  return std::make_shared<Store>(std::make_shared<Client>(std::move(bucket), std::move(config), http, sha256), prefix);
}

}  // namespace s3

Result<std::shared_ptr<ObjectStore>> OpenS3Store(std::string_view uri, const StoreOptions& options) {
  PILUM_ASSIGN_OR_RETURN(auto place, s3::ParseS3Uri(uri));
  PILUM_ASSIGN_OR_RETURN(auto config,
                         s3::ResolveConfig(uri, place.bucket, options, [](const char* n) { return std::getenv(n); }));
  PILUM_ASSIGN_OR_RETURN(const HttpPlugin* http, LoadHttp());
  return s3::MakeStore(std::move(place.bucket), place.prefix, std::move(config), http->client(), http->sha256);
}

}  // namespace pilum
