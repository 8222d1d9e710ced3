// The shared library pilum_http: HttpClient over libcurl's multi interface, and OpenSSL's SHA-256.
// A call to Run drives one multi handle, which keeps its connections for the next call; handles that nobody uses wait in a
// pool. No thread is started (but libcurl's own, for names).
#include <curl/curl.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>

#include "pilum/io/http/http.h"

namespace pilum {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kPollMs = 20;  // how soon a stop is noticed
constexpr long kConnectTimeoutMs = 5000;
constexpr size_t kIdleHandles = 64;
constexpr size_t kMaxHeaderBytes = 64 << 10;

// One attempt under way.
struct Transfer {
  HttpExchange* exchange = nullptr;
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  HttpRequest request;
  HttpResponse response;
  uint64_t sent = 0, header_bytes = 0;
  bool too_long = false;

  ~Transfer() {
    if (easy) curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
};

size_t OnBody(char* data, size_t one, size_t count, void* user) {
  auto* t = static_cast<Transfer*>(user);
  const size_t size = one * count;
  long status = 0;
  curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
  if (t->request.out && status / 100 == 2) {
    if (size > t->request.out_size - t->response.filled) {
      t->too_long = true;
      return 0;
    }
    std::memcpy(t->request.out + t->response.filled, data, size);
    t->response.filled += size;
    return size;
  }
  if (t->response.body.size() + size > kMaxHttpBody) {
    t->too_long = true;
    return 0;
  }
  t->response.body.append(data, size);
  return size;
}

size_t OnHeader(char* data, size_t one, size_t count, void* user) {
  auto* t = static_cast<Transfer*>(user);
  std::string_view line(data, one * count);
  t->header_bytes += line.size();
  if (t->header_bytes > kMaxHeaderBytes) return 0;
  if (line.starts_with("HTTP/")) t->response.headers.clear();  // an interim answer went before
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return line.size();
  std::string name(line.substr(0, colon));
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && std::strchr(" \t\r\n", value.front())) value.remove_prefix(1);
  while (!value.empty() && std::strchr(" \t\r\n", value.back())) value.remove_suffix(1);
  t->response.headers[name] = std::string(value);
  return line.size();
}

size_t OnSend(char* data, size_t one, size_t count, void* user) {
  auto* t = static_cast<Transfer*>(user);
  const size_t n = std::min<uint64_t>(one * count, t->request.body.size() - t->sent);
  std::memcpy(data, t->request.body.data() + t->sent, n);
  t->sent += n;
  return n;
}

// A kept-alive connection that turned out closed: libcurl sends the body again on a new one.
int OnSeek(void* user, curl_off_t offset, int origin) {
  auto* t = static_cast<Transfer*>(user);
  if (origin != SEEK_SET || offset < 0 || static_cast<uint64_t>(offset) > t->request.body.size())
    return CURL_SEEKFUNC_FAIL;
  t->sent = static_cast<uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

void SetMethod(Transfer* t) {
  CURL* c = t->easy;
  const HttpRequest& r = t->request;
  if (r.method == "HEAD") {
    curl_easy_setopt(c, CURLOPT_NOBODY, 1L);
  } else if (r.method == "PUT" || r.method == "POST") {
    curl_easy_setopt(c, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r.method.c_str());
    curl_easy_setopt(c, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(r.body.size()));
    curl_easy_setopt(c, CURLOPT_READFUNCTION, OnSend);
    curl_easy_setopt(c, CURLOPT_READDATA, t);
    curl_easy_setopt(c, CURLOPT_SEEKFUNCTION, OnSeek);
    curl_easy_setopt(c, CURLOPT_SEEKDATA, t);
  } else if (r.method != "GET") {
    curl_easy_setopt(c, CURLOPT_CUSTOMREQUEST, r.method.c_str());
  }
}

bool SetUp(Transfer* t) {
  CURL* c = t->easy = curl_easy_init();
  if (!c) return false;
  t->exchange->Prepare(&t->request);
  const HttpRequest& r = t->request;
  curl_easy_setopt(c, CURLOPT_URL, r.url.c_str());
  curl_easy_setopt(c, CURLOPT_PATH_AS_IS, 1L);  // what was signed is what is sent
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_QUICK_EXIT, 1L);  // a stop does not wait for a name being looked up
  curl_easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(c, CURLOPT_BUFFERSIZE, 256L << 10);
  curl_easy_setopt(c, CURLOPT_UPLOAD_BUFFERSIZE, 256L << 10);
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS, kConnectTimeoutMs);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, static_cast<long>(r.stall.count()));
  if (const char* ca = std::getenv("AWS_CA_BUNDLE"); ca && *ca) curl_easy_setopt(c, CURLOPT_CAINFO, ca);
  SetMethod(t);
  for (const std::string& h : r.headers) t->headers = curl_slist_append(t->headers, h.c_str());
  for (const char* none : {"Expect:", "Transfer-Encoding:", "Accept:"}) {
    t->headers = curl_slist_append(t->headers, none);
  }
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, t->headers);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, OnBody);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, t);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, OnHeader);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, t);
  curl_easy_setopt(c, CURLOPT_PRIVATE, t);
  return true;
}

HttpResponse::Failure FailureOf(CURLcode code, const Transfer& t) {
  if (t.too_long) return HttpResponse::Failure::kTooLong;
  curl_off_t connected = 0;
  curl_easy_getinfo(t.easy, CURLINFO_PRETRANSFER_TIME_T, &connected);
  switch (code) {
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CACERT_BADFILE: return HttpResponse::Failure::kRefused;
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR: return HttpResponse::Failure::kConnect;
    default: return connected == 0 ? HttpResponse::Failure::kConnect : HttpResponse::Failure::kBroken;
  }
}

// OpenSSL may write to a connection that the other side closed: that is an error to report, not a signal that ends the process.
class NoSigPipe {
 public:
  NoSigPipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigPipe() {
    const timespec now = {0, 0};
    while (sigtimedwait(&pipe_, nullptr, &now) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_, before_;
};

// Runs the exchanges of one call on one multi handle.
class Runner {
 public:
  Runner(CURLM* multi, std::span<HttpExchange* const> exchanges, int parallel)
      : multi_(multi), parallel_(static_cast<size_t>(std::max(1, parallel))) {
    for (HttpExchange* e : exchanges) waiting_.push_back({e, Clock::time_point::min()});
  }
  ~Runner() {
    for (auto& t : running_) curl_multi_remove_handle(multi_, t->easy);
  }

  bool Run(const std::function<bool()>& go_on) {
    while (!waiting_.empty() || !running_.empty()) {
      if (!go_on()) return false;
      Start();
      int active = 0;
      curl_multi_perform(multi_, &active);
      if (Collect()) continue;  // places became free
      curl_multi_poll(multi_, nullptr, 0, PollMs(), nullptr);
    }
    return true;
  }

 private:
  struct Waiting {
    HttpExchange* exchange;
    Clock::time_point not_before;
  };

  void Start() {
    const auto now = Clock::now();
    for (size_t i = 0; i < waiting_.size() && running_.size() < parallel_;) {
      if (waiting_[i].not_before > now) {
        ++i;
        continue;
      }
      auto t = std::make_unique<Transfer>();
      t->exchange = waiting_[i].exchange;
      waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
      if (SetUp(t.get()) && curl_multi_add_handle(multi_, t->easy) == CURLM_OK) {
        running_.push_back(std::move(t));
      } else {
        t->response.failure = HttpResponse::Failure::kConnect;
        t->response.error = "libcurl has no memory left";
        Over(t->exchange, std::move(t->response));
      }
    }
  }

  bool Collect() {
    bool any = false;
    int left = 0;
    while (CURLMsg* message = curl_multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      any = true;
      const CURLcode code = message->data.result;
      auto at =
          std::find_if(running_.begin(), running_.end(), [&](auto& t) { return t->easy == message->easy_handle; });
      std::unique_ptr<Transfer> t = std::move(*at);
      running_.erase(at);
      long status = 0;
      curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
      t->response.status = static_cast<int>(status);
      if (code != CURLE_OK) {
        t->response.failure = FailureOf(code, *t);
        t->response.error = curl_easy_strerror(code);
      }
      curl_multi_remove_handle(multi_, t->easy);
      Over(t->exchange, std::move(t->response));
    }
    return any;
  }

  void Over(HttpExchange* exchange, HttpResponse response) {
    if (auto again = exchange->Finish(std::move(response))) waiting_.push_back({exchange, Clock::now() + *again});
  }

  int PollMs() const {
    auto wait = std::chrono::milliseconds(kPollMs);
    if (running_.size() < parallel_) {
      for (const Waiting& w : waiting_) {
        const auto until = std::chrono::ceil<std::chrono::milliseconds>(w.not_before - Clock::now());
        wait = std::clamp(until, std::chrono::milliseconds(0), wait);
      }
    }
    return static_cast<int>(wait.count());
  }

  CURLM* multi_;
  size_t parallel_;
  std::deque<Waiting> waiting_;
  std::vector<std::unique_ptr<Transfer>> running_;
};

class CurlClient : public HttpClient {
 public:
  CurlClient() { curl_global_init(CURL_GLOBAL_DEFAULT); }

  bool Run(std::span<HttpExchange* const> exchanges, int parallel, const std::function<bool()>& go_on) override {
    NoSigPipe quiet;
    CURLM* multi = Take();
    bool done = false;
    {
      Runner runner(multi, exchanges, parallel);
      done = runner.Run(go_on);
    }
    GiveBack(multi);
    return done;
  }

 private:
  CURLM* Take() {
    std::lock_guard lock(mutex_);
    // A forked child must not speak on its parent's connections; the handles are left alone, closing would speak too.
    if (const pid_t pid = ::getpid(); pid != pid_) {
      pid_ = pid;
      idle_.clear();
    }
    if (!idle_.empty()) {
      CURLM* multi = idle_.back();
      idle_.pop_back();
      return multi;
    }
    return curl_multi_init();
  }
  void GiveBack(CURLM* multi) {
    {
      std::lock_guard lock(mutex_);
      if (idle_.size() < kIdleHandles) {
        idle_.push_back(multi);
        return;
      }
    }
    curl_multi_cleanup(multi);
  }

  std::mutex mutex_;
  pid_t pid_ = ::getpid();
  std::vector<CURLM*> idle_;
};

HttpClient* Client() {
  static HttpClient* const client = new CurlClient;  // never freed: threads may use it until the process ends
  return client;
}

void Sha256(const void* data, size_t size, uint8_t out[32]) {
  unsigned length = 0;
  EVP_Digest(data, size, out, &length, EVP_sha256(), nullptr);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const HttpPlugin pilum_http_plugin = {PILUM_VERSION, Client, Sha256};

}  // namespace pilum
