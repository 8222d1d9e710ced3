// MD5 and SHA-2 of bytes. Called by query. (What the project itself names by content is BLAKE3: base/hash.h.)
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pilum {

enum class Digest { kMd5, kSha224, kSha256, kSha384, kSha512 };

// "sha256", in lower case.
std::optional<Digest> DigestNamed(std::string_view name);
// 16, 28, 32, 48 or 64 bytes.
std::string DigestOf(Digest kind, std::string_view bytes);

}  // namespace pilum
