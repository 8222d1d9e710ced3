// Signed requests to one bucket, tried again where that can help. Thread-safe.
#pragma once

#include <atomic>
#include <ctime>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "pilum/base/context.h"
#include "pilum/base/status.h"
#include "pilum/io/http/http.h"
#include "pilum/io/s3/config.h"

namespace pilum::s3 {

// One request and, after Client::Run, its outcome.
struct Call {
  std::string method;
  std::string key;  // of the object; empty: the bucket
  Pairs query, headers;
  std::string_view body;
  std::string what;        // for messages: "bytes 0 to 99", "part 3"
  uint8_t* out = nullptr;  // for the body of a 2xx answer, if not null
  uint64_t out_size = 0;
  // Is a 2xx answer whole? If not it is asked for again. Null: it is.
  bool (*is_whole)(const Call&) = nullptr;
  std::vector<int> answers;  // statuses of 300 and above that are no failure here, e.g. 404, 412

  int status = 0;
  std::map<std::string, std::string> received;  // headers, names in lower case
  std::string answer;                           // the body, where out is null or the status is no 2xx
  std::string code, message;                    // of the <Error> in it
  uint64_t filled = 0;
  // An earlier attempt may have done its work although no answer to it came: what the last one says is about both.
  bool repeated_blindly = false;
  int attempts = 0;

  bool ok() const { return status / 100 == 2; }
  std::string Header(const std::string& name) const;
};

class Client {
 public:
  Client(std::string bucket, Config config, HttpClient* http, Sha256 sha256);

  // Status of the first that failed: an answer that is neither 2xx nor in its `answers`, or none at all. kNotFound for
  // 404, what ctx.Check() says where the deadline passes or it is cancelled (within 50 ms).
  Status Run(std::span<Call> calls, int parallel, ReadContext& ctx);
  Status Run(Call* call, ReadContext& ctx) { return Run(std::span(call, 1), 1, ctx); }

  // After a conditional put that won: does the server, which is not Amazon's, mind the condition at all? The same put must
  // lose now. A process asks each server once; an error says that this one cannot be written to safely.
  Status CheckConditions(const Call& won, ReadContext& ctx);

  const std::string& bucket() const { return bucket_; }
  const Config& config() const { return config_; }
  std::string Name(std::string_view key) const;  // "s3://bucket/key"

 private:
  class Exchange;
  std::string Path(std::string_view key) const;
  std::string Host() const;
  Status Failure(const Call& call, const std::string& last_error) const;
  std::string Advice(const Call& call) const;

  const std::string bucket_;
  const Config config_;
  HttpClient* const http_;
  const Sha256 sha256_;
  std::atomic<int64_t> clock_offset_{0};  // seconds that the server's clock is ahead of ours
};

// The time of an HTTP date ("Mon, 30 Nov 2026 06:29:49 GMT") or of one in XML ("2026-11-30T06:29:49.000Z"), in
// microseconds since 1970; -1: it is neither.
int64_t ParseHttpDate(std::string_view text);
int64_t ParseIsoTime(std::string_view text);

}  // namespace pilum::s3
