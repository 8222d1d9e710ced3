// AWS Signature Version 4 for S3: what goes into the headers of one request. Pure but for SHA-256, which is passed in.
#pragma once

#include <ctime>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace pilum::s3 {

struct Credentials {
  std::string access_key, secret_key, session_token;  // an empty access key: requests are not signed
};

using Sha256 = void (*)(const void* data, size_t size, uint8_t out[32]);
using Pairs = std::vector<std::pair<std::string, std::string>>;

// RFC 3986: all but letters, digits and -_.~ (and '/' where kept) as %XX.
std::string UriEncode(std::string_view text, bool keep_slash);
// "a=1&b=2", encoded, sorted as signatures want it.
std::string QueryString(const Pairs& query);
std::string HexSha256(std::string_view bytes, Sha256 sha256);

// What is signed of a request.
struct ToSign {
  std::string method, host;
  std::string path;            // encoded, beginning with '/'
  Pairs query, headers;        // headers: those to sign beside host and x-amz-*; names in lower case
  std::string payload_sha256;  // hex
  std::string region;
  std::time_t now = 0;
};

// The headers to send, "name: value": those of `request`, the date, the payload's hash, the token and the signature.
// Host is signed, but left to the transport to send.
std::vector<std::string> SignedHeaders(const ToSign& request, const Credentials& credentials, Sha256 sha256);

}  // namespace pilum::s3
