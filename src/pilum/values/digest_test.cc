// Digests: the examples of the standards.
#include "pilum/values/digest.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace pilum {
namespace {

std::string Hex(Digest kind, std::string_view bytes) {
  std::string out;
  for (char c : DigestOf(kind, bytes)) out += fmt::format("{:02x}", static_cast<uint8_t>(c));
  return out;
}

TEST(Digest, AreThoseOfTheStandards) {
  EXPECT_EQ(Hex(Digest::kMd5, ""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(Hex(Digest::kMd5, "message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(Hex(Digest::kSha224, "abc"), "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
  EXPECT_EQ(Hex(Digest::kSha256, "abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Hex(Digest::kSha384, "abc"),
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7");
  EXPECT_EQ(Hex(Digest::kSha512, "abc"),
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
            "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
}

// The message ends where the length just fits behind it, and where it does not.
TEST(Digest, LengthsAroundABlock) {
  EXPECT_EQ(Hex(Digest::kSha256, std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(Hex(Digest::kSha256, std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(Hex(Digest::kMd5, std::string(64, 'a')), "014842d480b571495a4a0363793f7367");
}

TEST(Digest, AreNamed) {
  EXPECT_EQ(DigestNamed("sha384"), Digest::kSha384);
  EXPECT_EQ(DigestNamed("sha1"), std::nullopt);
}

}  // namespace
}  // namespace pilum
