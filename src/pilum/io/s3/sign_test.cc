#include <gtest/gtest.h>

#include "pilum/io/http/http_load.h"
#include "pilum/io/s3/sign.h"

namespace pilum::s3 {
namespace {

Sha256 TheSha256() { return (*LoadHttp())->sha256; }

// The examples of Amazon's own page on signing S3 requests.
std::string SignatureOf(const std::string& method, const std::string& path, Pairs query, Pairs headers,
                        const std::string& body) {
  ToSign r{method,
           "examplebucket.s3.amazonaws.com",
           path,
           std::move(query),
           std::move(headers),
           HexSha256(body, TheSha256()),
           "us-east-1",
           1369353600};
  const auto out =
      SignedHeaders(r, {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""}, TheSha256());
  return out.back().substr(out.back().rfind('=') + 1);
}

TEST(S3Sign, PublishedExamples) {
  EXPECT_EQ(SignatureOf("GET", "/test.txt", {}, {{"range", "bytes=0-9"}}, ""),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
  EXPECT_EQ(SignatureOf("PUT", "/" + UriEncode("test$file.text", true), {},
                        {{"date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}},
                        "Welcome to Amazon S3."),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
  EXPECT_EQ(SignatureOf("GET", "/", {{"lifecycle", ""}}, {}, ""),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  EXPECT_EQ(SignatureOf("GET", "/", {{"prefix", "J"}, {"max-keys", "2"}}, {}, ""),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST(S3Sign, Sha256AndEncoding) {
  EXPECT_EQ(HexSha256("", TheSha256()), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(HexSha256("abc", TheSha256()), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(UriEncode("a b+c=d%e/é~-_.(1)", true), "a%20b%2Bc%3Dd%25e/%C3%A9~-_.%281%29");
  EXPECT_EQ(UriEncode("a/b", false), "a%2Fb");
  EXPECT_EQ(QueryString({{"uploads", ""}, {"prefix", "x=&"}}), "prefix=x%3D%26&uploads=");
}

TEST(S3Sign, TokensAreSignedAndNobodyIsNot) {
  ToSign r{"GET", "h", "/", {}, {{"range", "bytes=0-1"}}, "x", "r", 0};
  const auto with = SignedHeaders(r, {"A", "B", "T"}, TheSha256());
  EXPECT_NE(with.back().find(";x-amz-security-token,"), std::string::npos) << with.back();
  EXPECT_EQ(SignedHeaders(r, {}, TheSha256()), (std::vector<std::string>{"range: bytes=0-1"}));
}

}  // namespace
}  // namespace pilum::s3
