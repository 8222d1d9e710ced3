#include "pilum/io/s3/client.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <random>
#include <set>

#include "pilum/io/s3/xml.h"

namespace pilum::s3 {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kFirstWait{50}, kLongestWait{5000};

bool IsTransient(int status, std::string_view code) {
  if (status == 500 || status == 502 || status == 503 || status == 504 || status == 429 || status == 408) return true;
  for (const char* known :
       {"SlowDown", "InternalError", "ServiceUnavailable", "RequestTimeout", "Throttling", "ThrottlingException",
        "RequestLimitExceeded", "OperationAborted", "ConditionalRequestConflict", "RequestTimeTooSkewed"}) {
    if (code == known) return true;
  }
  return false;
}

// Full jitter over the upper half: callers that were turned away together do not come back together.
milliseconds Backoff(int attempts) {
  thread_local std::minstd_rand random(std::random_device{}());
  const auto most = std::min(kLongestWait, kFirstWait * (1 << std::min(attempts - 1, 10)));
  return milliseconds(std::uniform_int_distribution<int64_t>(most.count() / 2, most.count())(random));
}

// Servers, by address, that were seen to mind conditions.
class MindingServers {
 public:
  static MindingServers& Get() {
    static MindingServers servers;
    return servers;
  }
  bool Has(const std::string& endpoint) {
    std::lock_guard lock(mutex_);
    return known_.contains(endpoint);
  }
  void Add(const std::string& endpoint) {
    std::lock_guard lock(mutex_);
    known_.insert(endpoint);
  }

 private:
  std::mutex mutex_;
  std::set<std::string> known_;
};

}  // namespace

std::string Call::Header(const std::string& name) const {
  auto at = received.find(name);
  return at == received.end() ? std::string() : at->second;
}

// One call within one Run.
class Client::Exchange : public HttpExchange {
 public:
  Exchange(Client* client, Call* call, ReadContext* ctx) : client_(client), call_(call), ctx_(ctx) {
    payload_ = HexSha256(call->body, client->sha256_);
  }

  void Prepare(HttpRequest* request) override {
    ++call_->attempts;
    if (call_->attempts > 1 && call_->out && ctx_->stats) ctx_->stats->requests += 1;
    const Config& config = client_->config_;
    ToSign sign;
    sign.method = call_->method;
    sign.host = client_->Host();
    sign.path = client_->Path(call_->key);
    sign.query = call_->query;
    sign.headers = call_->headers;
    sign.payload_sha256 = payload_;
    sign.region = config.region;
    sign.now = std::time(nullptr) + client_->clock_offset_;
    const std::string query = QueryString(call_->query);
    const size_t scheme = config.endpoint.find("://") + 3;
    request->method = call_->method;
    request->url = config.endpoint.substr(0, scheme) + sign.host + sign.path + (query.empty() ? "" : "?" + query);
    request->headers = SignedHeaders(sign, config.credentials, client_->sha256_);
    request->body = call_->body;
    request->out = call_->out;
    request->out_size = call_->out_size;
    request->stall = config.stall;
  }

  std::optional<milliseconds> Finish(HttpResponse response) override {
    using Failure = HttpResponse::Failure;
    call_->status = response.failure == Failure::kNone || response.failure == Failure::kTooLong ? response.status : 0;
    call_->received = std::move(response.headers);
    call_->answer = std::move(response.body);
    call_->filled = response.filled;
    call_->code.clear();
    call_->message.clear();
    error.clear();
    bool transient;
    if (response.failure != Failure::kNone) {
      error = response.error;
      transient = response.failure == Failure::kConnect || response.failure == Failure::kBroken;
      if (response.failure == Failure::kTooLong) error = "the answer is longer than what was asked for";
      if (response.failure == Failure::kBroken) call_->repeated_blindly = true;
    } else {
      transient = Judge();
    }
    if (!transient || call_->attempts >= client_->config_.attempts) return std::nullopt;
    return Backoff(call_->attempts);
  }

  std::string error;  // of the last attempt, where there was no usable answer

 private:
  // Looks at an answer; true: it may be better next time.
  bool Judge() {
    ReadError();
    if (call_->ok() && call_->code.empty()) {
      if (!call_->is_whole || call_->is_whole(*call_)) return false;
      error = fmt::format("only {} bytes came", call_->filled);
      return true;
    }
    if (std::find(call_->answers.begin(), call_->answers.end(), call_->status) != call_->answers.end() &&
        call_->code != "ConditionalRequestConflict") {
      return false;
    }
    if (call_->code == "RequestTimeTooSkewed") {
      const int64_t server = ParseHttpDate(call_->Header("date"));
      if (server >= 0) client_->clock_offset_ = server / 1'000'000 - std::time(nullptr);
      return server >= 0;
    }
    const bool transient = IsTransient(call_->status, call_->code);
    if (call_->status / 100 == 5) call_->repeated_blindly = true;
    return transient;
  }

  // An <Error>, which may also come with 200 where the work took long (completing an upload).
  void ReadError() {
    const std::string& text = call_->answer;
    if (text.empty() || (call_->ok() && text.find("<Error>") == std::string::npos)) return;
    auto xml = ParseXml(text, "");
    if (!xml.ok() || xml->name != "Error") return;
    call_->code = xml->TextOf("Code");
    call_->message = xml->TextOf("Message");
    if (call_->code.empty()) call_->code = "Error";
    if (call_->ok()) call_->status = call_->code == "PreconditionFailed" ? 412 : 500;
  }

  Client* client_;
  Call* call_;
  ReadContext* ctx_;
  std::string payload_;
};

Client::Client(std::string bucket, Config config, HttpClient* http, Sha256 sha256)
    : bucket_(std::move(bucket)), config_(std::move(config)), http_(http), sha256_(sha256) {}

std::string Client::Name(std::string_view key) const {
  return fmt::format("s3://{}{}{}", bucket_, key.empty() ? "" : "/", key);
}

std::string Client::Path(std::string_view key) const {
  return (config_.path_style ? "/" + bucket_ + (key.empty() ? "" : "/") : "/") + UriEncode(key, true);
}

std::string Client::Host() const {
  const std::string host = config_.endpoint.substr(config_.endpoint.find("://") + 3);
  return config_.path_style ? host : bucket_ + "." + host;
}

Status Client::Run(std::span<Call> calls, int parallel, ReadContext& ctx) {
  PILUM_RETURN_NOT_OK(ctx.Check());
  std::vector<Exchange> exchanges;
  std::vector<HttpExchange*> pointers;
  exchanges.reserve(calls.size());
  for (Call& call : calls) pointers.push_back(&exchanges.emplace_back(this, &call, &ctx));
  if (!http_->Run(pointers, parallel, [&] { return ctx.Check().ok(); })) {
    Status stopped = ctx.Check();
    if (stopped.ok()) stopped = MakeError(ErrorKind::kCancelled, "stopped");
    return WithContext(fmt::format("{}: {} {}", Name(calls.front().key), calls.front().method, calls.front().what),
                       stopped);
  }
  for (size_t i = 0; i < calls.size(); ++i) {
    const Call& call = calls[i];
    const bool expected = std::find(call.answers.begin(), call.answers.end(), call.status) != call.answers.end();
    if (!exchanges[i].error.empty() || !(call.ok() || expected)) return Failure(call, exchanges[i].error);
  }
  return Status::OK();
}

Status Client::CheckConditions(const Call& won, ReadContext& ctx) {
  if (config_.aws || MindingServers::Get().Has(config_.endpoint)) return Status::OK();
  Call again;
  again.method = won.method;
  again.key = won.key;
  again.headers = won.headers;
  again.body = won.body;
  again.answers = {412};
  PILUM_RETURN_NOT_OK(Run(&again, ctx));
  if (again.ok()) {
    return Unsupported(
        "{}: the server at {} ignores If-None-Match, so that writers would overwrite each other; use one with "
        "conditional "
        "writes",
        Name(won.key), config_.endpoint);
  }
  MindingServers::Get().Add(config_.endpoint);
  return Status::OK();
}

Status Client::Failure(const Call& call, const std::string& last_error) const {
  std::string text = fmt::format("{}: {}{}{}", Name(call.key), call.method, call.what.empty() ? "" : " ", call.what);
  if (!last_error.empty()) {
    text += fmt::format(": {}", last_error);
  } else {
    text += fmt::format(": the server answered {}", call.status);
    if (!call.code.empty()) text += " " + call.code;
    if (!call.message.empty()) text += fmt::format(" ({})", call.message.substr(0, 300));
  }
  if (call.attempts > 1) text += fmt::format(", {} times", call.attempts);
  text += "; " + Advice(call);
  return call.status == 404 && call.code != "NoSuchUpload" ? MakeError(ErrorKind::kNotFound, text)
                                                           : Status::IOError(text);
}

std::string Client::Advice(const Call& call) const {
  const std::string region = call.Header("x-amz-bucket-region");
  if (!region.empty() && region != config_.region) {
    return fmt::format("the bucket is in region {}: set AWS_REGION={}", region, region);
  }
  if (call.status == 0) return fmt::format("is {} right (AWS_ENDPOINT_URL), and reachable?", config_.endpoint);
  if (call.code == "SignatureDoesNotMatch") return "is AWS_SECRET_ACCESS_KEY right?";
  if (call.code == "InvalidAccessKeyId") {
    return fmt::format("{} does not know this AWS_ACCESS_KEY_ID", config_.endpoint);
  }
  if (call.code == "ExpiredToken" || call.code == "InvalidToken") return "renew AWS_SESSION_TOKEN and its keys";
  if (call.code == "NoSuchBucket")
    return fmt::format("there is no such bucket at {}; make it, or check the name", config_.endpoint);
  if (call.status == 401 || call.status == 403) {
    return "may these credentials do this here? (S3 says so too of what is not there, to whom may not list)";
  }
  if (call.status == 301 || call.status == 307 || call.status == 400) {
    return fmt::format("are region {} (AWS_REGION) and {} (AWS_ENDPOINT_URL) right?", config_.region, config_.endpoint);
  }
  if (call.code == "NoSuchUpload")
    return "it was taken back meanwhile, by a sweep or a rule of the bucket; write it again";
  if (call.status == 404) return "there is no such object";
  if (call.status == 412) return "the object was replaced meanwhile; start again";
  if (IsTransient(call.status, call.code)) return "try again later";
  return fmt::format("is {} an S3 server?", config_.endpoint);
}

int64_t ParseHttpDate(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  std::tm tm{};
  char month[4] = {};
  int end = 0;  // not by strptime: the names of months would be those of the locale
  const std::string copy(text);
  std::sscanf(copy.c_str(), "%*3s, %2d %3s %4d %2d:%2d:%2d GMT%n", &tm.tm_mday, month, &tm.tm_year, &tm.tm_hour,
              &tm.tm_min, &tm.tm_sec, &end);
  const size_t at = kMonths.find(month);
  if (end == 0 || at == kMonths.npos || at % 3 != 0) return -1;
  tm.tm_mon = static_cast<int>(at / 3);
  tm.tm_year -= 1900;
  return static_cast<int64_t>(timegm(&tm)) * 1'000'000;
}

int64_t ParseIsoTime(std::string_view text) {
  std::tm tm{};
  const std::string copy(text);
  const char* at = ::strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &tm);
  if (!at) return -1;
  int64_t micros = 0;
  if (*at == '.') {
    int64_t scale = 100'000;
    for (++at; *at >= '0' && *at <= '9'; ++at, scale /= 10) micros += (*at - '0') * scale;
  }
  return std::string_view(at) == "Z" ? static_cast<int64_t>(timegm(&tm)) * 1'000'000 + micros : -1;
}

}  // namespace pilum::s3
