// Where a bucket is and who asks: from options, the usual environment variables and the files of the AWS tools.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "pilum/io/object_store.h"
#include "pilum/io/s3/sign.h"

namespace pilum::s3 {

struct Config {
  std::string endpoint;  // "https://host[:port]", no path
  std::string region;
  Credentials credentials;
  bool path_style = false;  // http://host/bucket/key, not http://bucket.host/key
  bool aws = true;          // no endpoint was given: Amazon's own
  std::chrono::seconds stall{20};
  int attempts = 7;
  uint64_t part_bytes = 8 << 20;  // of an upload; what is smaller goes in one request
};

using Environment = std::function<const char*(const char*)>;  // getenv

// "s3://bucket/prefix" -> bucket and prefix (no slash at its ends; taken as it is, nothing is decoded).
struct BucketAndPrefix {
  std::string bucket, prefix;
};
Result<BucketAndPrefix> ParseS3Uri(std::string_view uri);

// kUsage, naming the variable or option, where something is missing or makes no sense. `uri` is for the messages.
Result<Config> ResolveConfig(std::string_view uri, std::string_view bucket, const StoreOptions& options,
                             const Environment& environment);

}  // namespace pilum::s3
