#include "pilum/io/s3/config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace pilum::s3 {
namespace {

class S3Config : public ::testing::Test {
 protected:
  S3Config() : temp_(TempDir::Make().ValueOrDie()) { env_["HOME"] = temp_->path(); }
  Result<Config> Resolve(const StoreOptions& options = {}, const std::string& bucket = "bucket") {
    return ResolveConfig("s3://bucket/p", bucket, options,
                         [this](const char* name) { return env_.contains(name) ? env_[name].c_str() : nullptr; });
  }
  std::string Error(const StoreOptions& options = {}) {
    const Status status = Resolve(options).status();
    EXPECT_EQ(KindOf(status), ErrorKind::kUsage);
    EXPECT_TRUE(status.message().starts_with("s3://bucket/p: ")) << status.message();
    return status.message();
  }
  void Keys() {
    env_["AWS_ACCESS_KEY_ID"] = "A";
    env_["AWS_SECRET_ACCESS_KEY"] = "S";
  }
  std::unique_ptr<TempDir> temp_;
  std::map<std::string, std::string> env_;
};

TEST_F(S3Config, SaysWhatIsMissing) {
  EXPECT_NE(Error().find("no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"), std::string::npos);
  env_["AWS_ACCESS_KEY_ID"] = "A";
  EXPECT_NE(Error().find("AWS_SECRET_ACCESS_KEY is not"), std::string::npos);
  env_.erase("AWS_ACCESS_KEY_ID");
  env_["AWS_SECRET_ACCESS_KEY"] = "S";
  EXPECT_NE(Error().find("AWS_ACCESS_KEY_ID is not"), std::string::npos);
  Keys();
  env_["AWS_PROFILE"] = "nobody";
  EXPECT_NE(Error().find("no profile 'nobody'"), std::string::npos);
  env_.erase("AWS_PROFILE");
  EXPECT_NE(Error({{"regoin", "x"}}).find("no storage option 'regoin'"), std::string::npos);
  EXPECT_NE(Error({{"timeout", "soon"}}).find("PILUM_S3_TIMEOUT"), std::string::npos);
  for (const char* bad : {"localhost:9000", "ftp://h", "http://", "http://h/path", "http://u@h"}) {
    env_["AWS_ENDPOINT_URL"] = bad;
    EXPECT_NE(Error().find("AWS_ENDPOINT_URL"), std::string::npos) << bad;
  }
}

TEST_F(S3Config, AmazonByRegionAndOthersByEndpoint) {
  Keys();
  EXPECT_EQ(Resolve()->endpoint, "https://s3.us-east-1.amazonaws.com");
  EXPECT_FALSE(Resolve()->path_style);
  EXPECT_TRUE(Resolve({}, "my.bucket")->path_style);
  env_["AWS_DEFAULT_REGION"] = "eu-west-1";
  EXPECT_EQ(Resolve()->endpoint, "https://s3.eu-west-1.amazonaws.com");
  env_["AWS_REGION"] = "cn-north-1";
  EXPECT_EQ(Resolve()->endpoint, "https://s3.cn-north-1.amazonaws.com.cn");
  env_["AWS_ENDPOINT_URL"] = "http://127.0.0.1:9000/";
  EXPECT_EQ(Resolve()->endpoint, "http://127.0.0.1:9000");
  EXPECT_TRUE(Resolve()->path_style);
  EXPECT_FALSE(Resolve()->aws);
  env_["AWS_ENDPOINT_URL_S3"] = "https://s3.example";
  EXPECT_EQ(Resolve()->endpoint, "https://s3.example");
  env_["AWS_VIRTUAL_HOSTED_STYLE_REQUEST"] = "true";
  EXPECT_FALSE(Resolve()->path_style);
  EXPECT_EQ(Resolve({{"aws_endpoint", "http://o"}, {"aws_region", "r"}, {"aws_access_key_id", "O"}})->endpoint,
            "http://o");
  env_["AWS_SKIP_SIGNATURE"] = "true";
  EXPECT_EQ(Resolve()->credentials.access_key, "");
}

TEST_F(S3Config, ProfilesOfTheAwsTools) {
  std::filesystem::create_directory(temp_->path() + "/.aws");
  std::ofstream(temp_->path() + "/.aws/credentials")
      << "# c\n[default]\naws_access_key_id = D\naws_secret_access_key = E=/+\n\n"
         "[work]\naws_access_key_id=W\naws_secret_access_key=X\n"
         "aws_session_token=T\n";
  std::ofstream(temp_->path() + "/.aws/config") << "[default]\nregion = eu-north-1\n[profile work]\nregion=ap-south-1\n"
                                                   "endpoint_url = https://w\ns3 =\n  addressing_style = virtual\n"
                                                   "[profile role]\nrole_arn = arn:x\nsource_profile = default\n";
  Config config = Resolve().ValueOrDie();
  EXPECT_EQ(config.credentials.access_key, "D");
  EXPECT_EQ(config.credentials.secret_key, "E=/+");
  EXPECT_EQ(config.credentials.session_token, "");
  EXPECT_EQ(config.region, "eu-north-1");
  env_["AWS_PROFILE"] = "work";
  config = Resolve().ValueOrDie();
  EXPECT_EQ(config.credentials.access_key, "W");
  EXPECT_EQ(config.credentials.session_token, "T");
  EXPECT_EQ(config.endpoint, "https://w");
  EXPECT_FALSE(config.path_style);
  Keys();  // the environment's own keys do not take a profile's token along
  EXPECT_EQ(Resolve()->credentials.access_key, "A");
  EXPECT_EQ(Resolve()->credentials.session_token, "");
  env_.erase("AWS_ACCESS_KEY_ID");
  env_.erase("AWS_SECRET_ACCESS_KEY");
  env_["AWS_PROFILE"] = "role";
  EXPECT_NE(Error().find("role_arn"), std::string::npos);
}

TEST_F(S3Config, Uris) {
  auto place = ParseS3Uri("s3://b/p/q r%20+/").ValueOrDie();
  EXPECT_EQ(place.bucket, "b");
  EXPECT_EQ(place.prefix, "p/q r%20+");
  EXPECT_EQ(ParseS3Uri("s3://b")->prefix, "");
  EXPECT_EQ(ParseS3Uri("s3://b/")->prefix, "");
  for (const char* bad : {"s3://", "s3:///p", "s3://b c/p", "s3://b/../p", "s3://b//p", "s3://b@h/p", "s3://./p"}) {
    EXPECT_EQ(KindOf(ParseS3Uri(bad).status()), ErrorKind::kUsage) << bad;
  }
}

}  // namespace
}  // namespace pilum::s3
