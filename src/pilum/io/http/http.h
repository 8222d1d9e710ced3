// HTTP requests, many at once, over kept-alive connections. The one implementation is the shared library pilum_http over
// libcurl (curl_plugin.cc), loaded at the first remote URI: most commands never need it (tests/packaging). This header is
// what both sides share, so it names nothing but the standard library.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pilum {

struct HttpRequest {
  std::string method, url;
  std::vector<std::string> headers;  // "name: value"
  std::string_view body;             // kept alive by the exchange
  // Where the body of a 2xx answer goes; more than fits ends the request with kTooLong. Null: into HttpResponse::body.
  uint8_t* out = nullptr;
  uint64_t out_size = 0;
  std::chrono::seconds stall{20};  // no byte either way for so long: kBroken
};

struct HttpResponse {
  enum class Failure : uint8_t {
    kNone,     // an answer, of whatever status
    kRefused,  // it cannot work: a malformed URL, a certificate that is not trusted
    kConnect,  // no connection: the server saw nothing
    kBroken,   // after the connection: the server may have done what was asked
    kTooLong,  // the answer has more bytes than there is room for
  };
  Failure failure = Failure::kNone;
  std::string error;                           // in words, where failure is not kNone
  int status = 0;                              // of the last answer seen; 0: none
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // at most kMaxHttpBody bytes
  uint64_t filled = 0;                         // bytes in HttpRequest::out
};

inline constexpr uint64_t kMaxHttpBody = 8 << 20;

// One thing that is asked for, in as many attempts as it says. Both calls come from within Run, never two at once.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual void Prepare(HttpRequest* request) = 0;  // before each attempt (the request is empty)
  // Nothing: it is over. Else: another attempt after so long.
  virtual std::optional<std::chrono::milliseconds> Finish(HttpResponse response) = 0;
};

class HttpClient {
 public:
  virtual ~HttpClient() = default;
  // Runs all of `exchanges`, at most `parallel` at once. `go_on` is asked at least each 20 ms; once it says no, what is
  // under way is dropped (Finish is not called for it) and false returned. Thread-safe.
  virtual bool Run(std::span<HttpExchange* const> exchanges, int parallel, const std::function<bool()>& go_on) = 0;
};

// What the shared library gives.
struct HttpPlugin {
  const char* version;      // PILUM_VERSION: a library of another build is refused
  HttpClient* (*client)();  // one for the process, never freed
  void (*sha256)(const void* data, size_t size, uint8_t out[32]);
};

inline constexpr char kHttpPluginFile[] = "libpilum_http.so";
inline constexpr char kHttpPluginSymbol[] = "pilum_http_plugin";

}  // namespace pilum
