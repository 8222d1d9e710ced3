// libcurl behind HttpClient, against sockets of our own.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "pilum/io/http/http_load.h"

namespace pilum {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// Listens on loopback; gives each connection's requests to `serve`, which is handed the socket.
class Listener {
 public:
  explicit Listener(std::function<void(int)> serve = {}) {
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(::listen(fd_, 16), 0);
    ::getsockname(fd_, reinterpret_cast<sockaddr*>(&at), &size);
    url_ = fmt::format("http://127.0.0.1:{}/", ntohs(at.sin_port));
    if (!serve) return;  // connections are taken by the system, and nobody answers
    thread_ = std::thread([this, serve] {
      for (int fd; (fd = ::accept(fd_, nullptr, nullptr)) >= 0;) {
        ++connections;
        current_ = fd;
        serve(fd);
        current_ = -1;
        ::close(fd);
      }
    });
  }
  ~Listener() {
    ::shutdown(fd_, SHUT_RDWR);
    if (const int fd = current_; fd >= 0) ::shutdown(fd, SHUT_RDWR);  // one that is kept open, waiting
    if (thread_.joinable()) thread_.join();
    ::close(fd_);
  }
  const std::string& url() const { return url_; }
  std::atomic<int> connections{0};

 private:
  int fd_;
  std::atomic<int> current_{-1};
  std::string url_;
  std::thread thread_;
};

// Up to the empty line; false at the end of the connection.
bool ReadHead(int fd) {
  std::string head;
  char c;
  while (!head.ends_with("\r\n\r\n")) {
    if (::recv(fd, &c, 1, 0) != 1) return false;
    head += c;
  }
  return true;
}
void Send(int fd, const std::string& text) { (void)!::send(fd, text.data(), text.size(), MSG_NOSIGNAL); }

struct Get : HttpExchange {
  std::string url, body;
  std::string out;
  int tries = 1, prepared = 0;
  std::chrono::seconds stall{1};
  HttpResponse response;
  void Prepare(HttpRequest* r) override {
    ++prepared;
    r->method = body.empty() ? "GET" : "PUT";
    r->url = url;
    r->body = body;
    r->stall = stall;
    if (!out.empty()) {
      r->out = reinterpret_cast<uint8_t*>(out.data());
      r->out_size = out.size();
    }
  }
  std::optional<milliseconds> Finish(HttpResponse r) override {
    response = std::move(r);
    return prepared < tries ? std::optional(milliseconds(10)) : std::nullopt;
  }
};

bool RunOne(
    Get* get, const std::function<bool()>& go_on = [] { return true; }) {
  HttpExchange* one = get;
  return (*LoadHttp())->client()->Run(std::span(&one, 1), 4, go_on);
}

TEST(Http, ASilentServerIsLeftInTime) {
  Listener silent;
  Get get;
  get.url = silent.url();
  get.stall = std::chrono::seconds(60);
  const auto begun = Clock::now(), deadline = begun + milliseconds(200);
  EXPECT_FALSE(RunOne(&get, [&] { return Clock::now() < deadline; }));
  EXPECT_LT(Clock::now() - begun, std::chrono::seconds(30)) << "it waited for the server";
}

TEST(Http, ASilentServerIsATimeoutAtLast) {
  Listener silent;
  Get get;
  get.url = silent.url();
  EXPECT_TRUE(RunOne(&get));
  EXPECT_EQ(get.response.failure, HttpResponse::Failure::kBroken);
}

TEST(Http, ConnectionsAreKept) {
  Listener server([](int fd) {
    while (ReadHead(fd)) Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-One: a  b \r\n\r\nhi");
  });
  for (int i = 0; i < 5; ++i) {
    Get get;
    get.url = server.url();
    ASSERT_TRUE(RunOne(&get));
    EXPECT_EQ(get.response.status, 200);
    EXPECT_EQ(get.response.body, "hi");
    EXPECT_EQ(get.response.headers["x-one"], "a  b");
  }
  EXPECT_EQ(server.connections, 1);
}

TEST(Http, CutAndOverlongBodiesAreTold) {
  std::string answer;
  Listener server([&](int fd) {
    if (ReadHead(fd)) Send(fd, answer);
  });
  Get get;
  get.url = server.url();
  get.out.resize(5);
  answer = "HTTP/1.1 206 P\r\nContent-Length: 5\r\n\r\nabc";
  ASSERT_TRUE(RunOne(&get));
  EXPECT_EQ(get.response.failure, HttpResponse::Failure::kBroken);
  answer = "HTTP/1.1 206 P\r\nContent-Length: 9\r\n\r\nabcdefghi";
  ASSERT_TRUE(RunOne(&get));
  EXPECT_EQ(get.response.failure, HttpResponse::Failure::kTooLong);
  answer = "HTTP/1.1 206 P\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc";
  ASSERT_TRUE(RunOne(&get));
  EXPECT_EQ(get.response.failure, HttpResponse::Failure::kNone);
  EXPECT_EQ(get.response.filled, 3u);
  answer = "gibberish\r\n\r\n";
  ASSERT_TRUE(RunOne(&get));
  EXPECT_NE(get.response.failure, HttpResponse::Failure::kNone);
}

TEST(Http, NobodyThereIsTriedAgainAsOftenAsAsked) {
  std::string url;
  {
    Listener gone;
    url = gone.url();
  }
  Get get;
  get.url = url;
  get.tries = 3;
  ASSERT_TRUE(RunOne(&get));
  EXPECT_EQ(get.prepared, 3);
  EXPECT_EQ(get.response.failure, HttpResponse::Failure::kConnect);
  get.url = "nonsense://x";
  get.prepared = 0;
  get.tries = 1;
  ASSERT_TRUE(RunOne(&get));
  EXPECT_EQ(get.response.failure, HttpResponse::Failure::kRefused);
}

// The server goes away in the middle of what is sent to it.
TEST(Http, AClosedConnectionIsNoSignal) {
  Listener server([](int fd) { ReadHead(fd); });
  Get get;
  get.url = server.url();
  get.body = std::string(50 << 20, 'x');
  ASSERT_TRUE(RunOne(&get));
  EXPECT_EQ(get.response.failure, HttpResponse::Failure::kBroken);
}

}  // namespace
}  // namespace pilum
