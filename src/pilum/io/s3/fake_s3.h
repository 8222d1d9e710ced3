// For tests: a bucket in memory behind HttpClient, without sockets, whose every answer a test may spoil. It has no clock but
// its own, which goes a second on with each request.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "pilum/base/hash.h"
#include "pilum/io/percent.h"
#include "pilum/io/http/http.h"
#include "pilum/io/s3/sign.h"
#include "pilum/io/store_impl.h"

namespace pilum::s3 {

enum class Spoil : uint8_t {
  kNothing,
  kNotSent,      // no connection
  kLost,         // done, but no answer comes
  kUnavailable,  // 503 SlowDown, not done
  kErrorDone,    // done, but the answer is 500
  kHalf,         // half of the body comes, and no error
  kGarbage,      // 200 with a body that is no XML
  kBadRequest,   // 400, which no retry mends
};

class FakeS3 : public HttpClient {
 public:
  struct Object {
    std::string bytes, etag;
    std::map<std::string, std::string> metadata;
    int64_t modified = 0;
  };

  std::function<Spoil(const HttpRequest&)> spoil;  // asked for each request, in order
  bool minds_conditions = true;
  size_t page = 3;  // entries of a list's page
  std::map<std::string, Object> objects;
  std::vector<std::string> log;  // "PUT key?query"
  std::map<std::string, std::map<int, std::string>> uploads;

  bool Run(std::span<HttpExchange* const> exchanges, int, const std::function<bool()>& go_on) override {
    for (HttpExchange* exchange : exchanges) {
      for (;;) {
        if (!go_on()) return false;
        HttpRequest request;
        exchange->Prepare(&request);
        std::unique_lock lock(mutex_);
        HttpResponse response = Answer(request);
        lock.unlock();
        if (!exchange->Finish(std::move(response))) break;
      }
    }
    return true;
  }

 private:
  struct Asked {
    std::string key;
    std::map<std::string, std::string> query, headers;
  };

  static Asked Parse(const HttpRequest& r) {
    Asked out;
    std::string rest = r.url.substr(std::string("http://fake/bucket").size());
    const size_t mark = rest.find('?');
    if (mark != rest.npos) {
      std::string query = rest.substr(mark + 1) + "&";
      for (size_t at = 0, end; (end = query.find('&', at)) != query.npos; at = end + 1) {
        const std::string one = query.substr(at, end - at);
        const size_t equals = one.find('=');
        out.query[PercentDecode(one.substr(0, equals))] = PercentDecode(one.substr(equals + 1));
      }
      rest.resize(mark);
    }
    if (!rest.empty()) out.key = PercentDecode(rest.substr(1));
    for (const std::string& h : r.headers) {
      const size_t colon = h.find(": ");
      out.headers[h.substr(0, colon)] = h.substr(colon + 2);
    }
    return out;
  }

  HttpResponse Answer(const HttpRequest& r) {
    const Asked asked = Parse(r);
    log.push_back(r.method + " " + r.url.substr(std::string("http://fake/bucket").size()));
    ++now_;
    const Spoil how = spoil ? spoil(r) : Spoil::kNothing;
    HttpResponse none;
    none.failure = how == Spoil::kLost ? HttpResponse::Failure::kBroken : HttpResponse::Failure::kConnect;
    none.error = "spoilt";
    if (how == Spoil::kNotSent) return none;
    if (how == Spoil::kUnavailable) return Error(503, "SlowDown");
    if (how == Spoil::kBadRequest) return Error(400, "InvalidRequest");
    HttpResponse response = Work(r, asked);
    if (how == Spoil::kLost) return none;
    if (how == Spoil::kErrorDone) return Error(500, "InternalError");
    if (how == Spoil::kGarbage) response.body = "<html>not what you want";
    if (response.status / 100 == 2 && r.out) {
      if (how == Spoil::kHalf) response.body.resize(response.body.size() / 2);
      if (response.body.size() > r.out_size) {
        response.failure = HttpResponse::Failure::kTooLong;
        response.error = "too long";
        return response;
      }
      std::memcpy(r.out, response.body.data(), response.body.size());
      response.filled = response.body.size();
      response.body.clear();
    }
    return response;
  }

  static HttpResponse Error(int status, const std::string& code) {
    HttpResponse out;
    out.status = status;
    out.body = "<?xml version=\"1.0\"?>\n<Error><Code>" + code + "</Code><Message>m &amp; n</Message></Error>";
    return out;
  }
  HttpResponse Ok(std::string body = "", int status = 200) const {
    HttpResponse out;
    out.status = status;
    out.body = std::move(body);
    out.headers["date"] = Time("%a, %d %b %Y %H:%M:%S GMT", now_);
    return out;
  }
  static std::string Time(const char* format, int64_t seconds) {
    const std::time_t t = seconds;
    std::tm tm;
    gmtime_r(&t, &tm);
    char text[64];
    std::strftime(text, sizeof text, format, &tm);
    return text;
  }

  HttpResponse Work(const HttpRequest& r, const Asked& asked) {
    const bool list = asked.query.contains("list-type");
    if (asked.key.empty() && r.method == "HEAD") return Ok();
    if (asked.key.empty() && list) return List(asked.query);
    if (asked.key.empty()) return ListUploads();
    const auto id = asked.query.find("uploadId");
    if (r.method == "PUT" && id != asked.query.end()) return PutPart(id->second, asked, r);
    if (r.method == "PUT") return Put(asked, std::string(r.body), asked.headers);
    if (r.method == "POST" && asked.query.contains("uploads")) return Begin(asked);
    if (r.method == "POST") return Complete(id->second, asked);
    if (r.method == "DELETE" && id != asked.query.end()) {
      return uploads.erase(id->second) ? Ok("", 204) : Error(404, "NoSuchUpload");
    }
    if (r.method == "DELETE") {
      objects.erase(asked.key);
      return Ok("", 204);
    }
    return Get(r, asked);
  }

  HttpResponse Get(const HttpRequest& r, const Asked& asked) {
    auto at = objects.find(asked.key);
    if (at == objects.end()) return r.method == "HEAD" ? NoBody(404) : Error(404, "NoSuchKey");
    const Object& o = at->second;
    HttpResponse out = Ok();
    for (const auto& [name, value] : o.metadata) out.headers[name] = value;
    out.headers["etag"] = o.etag;
    if (r.method == "HEAD") return out;
    if (auto match = asked.headers.find("if-match"); match != asked.headers.end() && match->second != o.etag) {
      return Error(412, "PreconditionFailed");
    }
    const std::string range = asked.headers.at("range").substr(6);  // "5-9" or "-100"
    const size_t dash = range.find('-'), size = o.bytes.size();
    if (size == 0) return Error(416, "InvalidRange");
    const size_t first = dash == 0 ? size - std::min(size, std::stoul(range.substr(1))) : std::stoul(range);
    const size_t last = dash == 0 ? size - 1 : std::min(size - 1, std::stoul(range.substr(dash + 1)));
    if (first > last) return Error(416, "InvalidRange");
    out.status = 206;
    out.body = o.bytes.substr(first, last - first + 1);
    out.headers["content-range"] = fmt::format("bytes {}-{}/{}", first, last, size);
    return out;
  }
  static HttpResponse NoBody(int status) {
    HttpResponse out;
    out.status = status;
    return out;
  }

  HttpResponse Put(const Asked& asked, std::string bytes, const std::map<std::string, std::string>& headers) {
    if (minds_conditions && asked.headers.contains("if-none-match") && objects.contains(asked.key)) {
      return Error(412, "PreconditionFailed");
    }
    Object o{std::move(bytes), fmt::format("\"{}\"", ++etags_), {}, now_};
    for (const auto& [name, value] : headers) {
      if (name.starts_with("x-amz-meta-")) o.metadata[name] = value;
    }
    HttpResponse out = Ok();
    out.headers["etag"] = o.etag;
    objects[asked.key] = std::move(o);
    return out;
  }

  HttpResponse Begin(const Asked& asked) {
    const std::string id = fmt::format("id+/{}", ++etags_);
    uploads[id];
    begun_[id] = {asked.key, asked.headers};
    return Ok("<InitiateMultipartUploadResult><UploadId>" + id + "</UploadId></InitiateMultipartUploadResult>");
  }
  HttpResponse PutPart(const std::string& id, const Asked& asked, const HttpRequest& r) {
    if (!uploads.contains(id)) return Error(404, "NoSuchUpload");
    uploads[id][std::stoi(asked.query.at("partNumber"))] = std::string(r.body);
    HttpResponse out = Ok();
    out.headers["etag"] = "\"p\"";
    return out;
  }
  HttpResponse Complete(const std::string& id, const Asked& asked) {
    if (!uploads.contains(id)) return Error(404, "NoSuchUpload");
    std::string bytes;
    for (const auto& [number, part] : uploads[id]) bytes += part;
    HttpResponse out = Put(asked, bytes, begun_[id].second);
    if (out.status != 200) return out;
    uploads.erase(id);
    return Ok("<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>");
  }

  HttpResponse List(const std::map<std::string, std::string>& query) {
    const auto get = [&](const char* name) { return query.contains(name) ? query.at(name) : std::string(); };
    const std::string prefix = get("prefix");
    const std::string after = query.contains("continuation-token") ? get("continuation-token") : get("start-after");
    std::string body = "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><EncodingType>url</EncodingType>";
    size_t n = 0;
    bool more = false;
    std::string last;
    for (auto at = objects.upper_bound(after); at != objects.end(); ++at) {
      if (!at->first.starts_with(prefix)) continue;
      if (n++ == page) {
        more = true;
        break;
      }
      last = at->first;
      body += fmt::format("<Contents><Key>{}</Key><LastModified>{}</LastModified><Size>{}</Size></Contents>",
                          UriEncode(last, true), Time("%Y-%m-%dT%H:%M:%S.000Z", at->second.modified),
                          at->second.bytes.size());
    }
    body += fmt::format("<IsTruncated>{}</IsTruncated>", more);
    if (more) body += "<NextContinuationToken>" + last + "</NextContinuationToken>";
    return Ok(body + "</ListBucketResult>");
  }
  HttpResponse ListUploads() {
    std::string body = "<ListMultipartUploadsResult>";
    for (const auto& [id, parts] : uploads) {
      body += fmt::format("<Upload><Key>{}</Key><UploadId>{}</UploadId><Initiated>{}</Initiated></Upload>",
                          begun_[id].first, id, Time("%Y-%m-%dT%H:%M:%S.000Z", now_));
    }
    return Ok(body + "<IsTruncated>false</IsTruncated></ListMultipartUploadsResult>");
  }

  std::mutex mutex_;
  int64_t now_ = 1'800'000'000;
  int etags_ = 0;
  std::map<std::string, std::pair<std::string, std::map<std::string, std::string>>> begun_;
};

}  // namespace pilum::s3
