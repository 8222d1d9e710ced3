#include "pilum/io/s3/sign.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "pilum/base/hash.h"

namespace pilum::s3 {
namespace {

using Digest = std::array<uint8_t, 32>;

Digest Hmac(std::string_view key, std::string_view text, Sha256 sha256) {
  std::array<uint8_t, 64> block{};
  if (key.size() > block.size()) {
    sha256(key.data(), key.size(), block.data());
  } else {
    std::memcpy(block.data(), key.data(), key.size());
  }
  std::string inner, outer;
  for (uint8_t b : block) {
    inner += static_cast<char>(b ^ 0x36);
    outer += static_cast<char>(b ^ 0x5c);
  }
  inner += text;
  Digest digest;
  sha256(inner.data(), inner.size(), digest.data());
  outer.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  sha256(outer.data(), outer.size(), digest.data());
  return digest;
}

std::string_view View(const Digest& d) { return {reinterpret_cast<const char*>(d.data()), d.size()}; }

std::string TimeText(std::time_t now) {
  std::tm utc;
  gmtime_r(&now, &utc);
  char text[17];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return text;
}

}  // namespace

std::string UriEncode(std::string_view text, bool keep_slash) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
                       c == '_' || c == '.' || c == '~' || (keep_slash && c == '/');
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    }
  }
  return out;
}

std::string QueryString(const Pairs& query) {
  Pairs encoded;
  for (const auto& [name, value] : query) encoded.emplace_back(UriEncode(name, false), UriEncode(value, false));
  std::sort(encoded.begin(), encoded.end());
  std::string out;
  for (const auto& [name, value] : encoded) out += (out.empty() ? "" : "&") + name + "=" + value;
  return out;
}

std::string HexSha256(std::string_view bytes, Sha256 sha256) {
  Digest digest;
  sha256(bytes.data(), bytes.size(), digest.data());
  return Hex(digest);
}

std::vector<std::string> SignedHeaders(const ToSign& request, const Credentials& credentials, Sha256 sha256) {
  const std::string time = TimeText(request.now), day = time.substr(0, 8);
  Pairs headers = request.headers;
  std::vector<std::string> out;
  if (!credentials.access_key.empty()) {
    headers.emplace_back("x-amz-content-sha256", request.payload_sha256);
    headers.emplace_back("x-amz-date", time);
    if (!credentials.session_token.empty()) headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  for (const auto& [name, value] : headers) out.push_back(name + ": " + value);
  if (credentials.access_key.empty()) return out;

  headers.emplace_back("host", request.host);
  std::sort(headers.begin(), headers.end());
  std::string canonical, names;
  for (const auto& [name, value] : headers) {
    canonical += name + ":" + value + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string asked = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, request.path,
                                        QueryString(request.query), canonical, names, request.payload_sha256);
  const std::string scope = fmt::format("{}/{}/s3/aws4_request", day, request.region);
  const std::string text = fmt::format("AWS4-HMAC-SHA256\n{}\n{}\n{}", time, scope, HexSha256(asked, sha256));
  Digest key = Hmac("AWS4" + credentials.secret_key, day, sha256);
  for (std::string_view step :
       {std::string_view(request.region), std::string_view("s3"), std::string_view("aws4_request")}) {
    key = Hmac(View(key), step, sha256);
  }
  out.push_back(fmt::format("authorization: AWS4-HMAC-SHA256 Credential={}/{},SignedHeaders={},Signature={}",
                            credentials.access_key, scope, names, Hex(Hmac(View(key), text, sha256))));
  return out;
}

}  // namespace pilum::s3
