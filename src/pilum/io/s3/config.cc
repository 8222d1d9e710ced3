#include "pilum/io/s3/config.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <optional>

#include "pilum/io/store_impl.h"

namespace pilum::s3 {
namespace {

// One setting and its names; the first that is there counts, from left to right, then those of the profile.
struct Setting {
  const char* option;
  std::vector<const char*> variables;
  const char* profile_key;
};

const Setting kEndpoint = {"endpoint", {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}, "endpoint_url"};
const Setting kRegion = {"region", {"AWS_REGION", "AWS_DEFAULT_REGION"}, "region"};
const Setting kAccessKey = {"access_key_id", {"AWS_ACCESS_KEY_ID"}, "aws_access_key_id"};
const Setting kSecretKey = {"secret_access_key", {"AWS_SECRET_ACCESS_KEY"}, "aws_secret_access_key"};
const Setting kToken = {"session_token", {"AWS_SESSION_TOKEN"}, "aws_session_token"};
const Setting kProfile = {"profile", {"AWS_PROFILE", "AWS_DEFAULT_PROFILE"}, nullptr};
const Setting kVirtualHost = {"virtual_hosted_style_request", {"AWS_VIRTUAL_HOSTED_STYLE_REQUEST"}, nullptr};
const Setting kAnonymous = {"skip_signature", {"AWS_SKIP_SIGNATURE"}, nullptr};
const Setting kTimeout = {"timeout", {"PILUM_S3_TIMEOUT"}, nullptr};
const Setting* const kSettings[] = {&kEndpoint, &kRegion,      &kAccessKey, &kSecretKey, &kToken,
                                    &kProfile,  &kVirtualHost, &kAnonymous, &kTimeout};

std::string_view Trim(std::string_view s) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t from = s.find_first_not_of(kSpace);
  if (from == s.npos) return {};
  return s.substr(from, s.find_last_not_of(kSpace) - from + 1);
}

// One section of ~/.aws/credentials or ~/.aws/config, added to *out (what is there stays). Keys in lower case; those
// indented below "s3 =" as "s3.KEY". False: no such section.
bool ReadSection(const std::string& path, const std::vector<std::string>& names,
                 std::map<std::string, std::string>* out) {
  std::ifstream file(path);
  std::string line, parent;
  bool inside = false, found = false;
  while (std::getline(file, line)) {
    const std::string_view text = Trim(line);
    if (text.empty() || text.front() == '#' || text.front() == ';') continue;
    if (text.front() == '[') {
      const std::string name(Trim(text.substr(1, text.find(']') - 1)));
      inside = std::find(names.begin(), names.end(), name) != names.end();
      found |= inside;
      continue;
    }
    const size_t equals = text.find('=');
    if (!inside || equals == text.npos) continue;
    std::string key(Trim(text.substr(0, equals)));
    for (char& c : key) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    const std::string value(Trim(text.substr(equals + 1)));
    const bool indented = line.front() == ' ' || line.front() == '\t';
    if (!indented) parent = value.empty() ? key : "";
    out->emplace(indented && !parent.empty() ? parent + "." + key : key, value);
  }
  return found;
}

class Resolver {
 public:
  Resolver(std::string_view uri, const StoreOptions& options, const Environment& environment)
      : uri_(uri), environment_(environment) {
    for (const auto& [name, value] : options) options_[name.starts_with("aws_") ? name.substr(4) : name] = value;
    if (auto at = options_.find("endpoint_url"); at != options_.end()) options_.emplace("endpoint", at->second);
    options_.erase("endpoint_url");
  }

  Result<Config> Resolve(std::string_view bucket) {
    for (const auto& [name, value] : options_) {
      if (std::none_of(std::begin(kSettings), std::end(kSettings), [&](auto* s) { return name == s->option; })) {
        return UsageError("{}: there is no storage option '{}'", uri_, name);
      }
    }
    PILUM_RETURN_NOT_OK(ReadProfile());
    Config out;
    PILUM_RETURN_NOT_OK(ResolveCredentials(&out));
    out.region = Get(kRegion).value_or("us-east-1");
    PILUM_RETURN_NOT_OK(ResolveEndpoint(bucket, &out));
    if (auto timeout = Get(kTimeout)) {
      int seconds = 0;
      const auto [end, error] = std::from_chars(timeout->data(), timeout->data() + timeout->size(), seconds);
      if (error != std::errc() || end != timeout->data() + timeout->size() || seconds < 1) {
        return UsageError("{}: PILUM_S3_TIMEOUT (option timeout) is '{}', not a number of seconds", uri_, *timeout);
      }
      out.stall = std::chrono::seconds(seconds);
    }
    return out;
  }

 private:
  std::optional<std::string> Get(const Setting& setting) const {
    if (auto at = options_.find(setting.option); at != options_.end() && !at->second.empty()) return at->second;
    for (const char* name : setting.variables) {
      if (const char* value = environment_(name); value && *value) return value;
    }
    if (!setting.profile_key) return std::nullopt;
    auto at = profile_.find(setting.profile_key);
    return at == profile_.end() ? std::nullopt : std::optional(at->second);
  }

  bool IsSet(const Setting& setting) const {
    const std::string value = Get(setting).value_or("");
    return value == "true" || value == "1" || value == "True" || value == "TRUE" || value == "yes";
  }

  std::string FileName(const char* variable, const char* name) const {
    if (const char* value = environment_(variable); value && *value) return value;
    const char* home = environment_("HOME");
    return std::string(home ? home : "") + "/.aws/" + name;
  }

  Status ReadProfile() {
    const auto named = Get(kProfile);
    profile_name_ = named.value_or("default");
    const std::string credentials = FileName("AWS_SHARED_CREDENTIALS_FILE", "credentials");
    const std::string config = FileName("AWS_CONFIG_FILE", "config");
    bool found = ReadSection(credentials, {profile_name_}, &profile_);
    std::vector<std::string> sections = {"profile " + profile_name_};
    if (profile_name_ == "default") sections.push_back("default");
    found |= ReadSection(config, sections, &profile_);
    if (named && !found) {
      return UsageError("{}: there is no profile '{}' (AWS_PROFILE) in {} or {}", uri_, *named, credentials, config);
    }
    return Status::OK();
  }

  Status ResolveCredentials(Config* out) const {
    if (IsSet(kAnonymous)) return Status::OK();
    const auto access = Get(kAccessKey), secret = Get(kSecretKey);
    if (access && secret) {
      out->credentials = {*access, *secret, ""};
      // A token belongs to its keys: that of a profile does not go with keys from elsewhere.
      auto own = profile_.find("aws_access_key_id");
      const auto token = Get(kToken);
      auto stored = profile_.find("aws_session_token");
      const bool from_profile = token && stored != profile_.end() && *token == stored->second;
      if (token && (!from_profile || (own != profile_.end() && own->second == *access))) {
        out->credentials.session_token = *token;
      }
      return Status::OK();
    }
    if (access) return UsageError("{}: AWS_ACCESS_KEY_ID is set, AWS_SECRET_ACCESS_KEY is not; set it", uri_);
    if (secret) return UsageError("{}: AWS_SECRET_ACCESS_KEY is set, AWS_ACCESS_KEY_ID is not; set it", uri_);
    for (const char* key :
         {"role_arn", "sso_start_url", "sso_session", "credential_process", "web_identity_token_file"}) {
      if (!profile_.contains(key)) continue;
      return UsageError(
          "{}: profile '{}' gets its keys by {}, which Pilum does not do; put them into the environment first: eval "
          "\"$(aws configure export-credentials --format env)\"",
          uri_, profile_name_, key);
    }
    return UsageError(
        "{}: no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE with ~/.aws/credentials, "
        "or "
        "AWS_SKIP_SIGNATURE=true for what is public",
        uri_);
  }

  Status ResolveEndpoint(std::string_view bucket, Config* out) const {
    const auto given = Get(kEndpoint);
    const bool dotted = bucket.find('.') != bucket.npos;  // no certificate covers bucket.name.s3.amazonaws.com
    out->aws = !given;
    out->path_style = (given || dotted) && !IsSet(kVirtualHost);
    if (auto style = profile_.find("s3.addressing_style"); style != profile_.end() && !Get(kVirtualHost)) {
      if (style->second == "path") out->path_style = true;
      if (style->second == "virtual") out->path_style = false;
    }
    out->endpoint = given.value_or(
        fmt::format("https://s3.{}.amazonaws.com{}", out->region, out->region.starts_with("cn-") ? ".cn" : ""));
    while (out->endpoint.ends_with('/')) out->endpoint.pop_back();
    const size_t scheme = out->endpoint.find("://");
    const std::string_view name = std::string_view(out->endpoint).substr(0, scheme == std::string::npos ? 0 : scheme);
    const std::string_view host = std::string_view(out->endpoint).substr(scheme == std::string::npos ? 0 : scheme + 3);
    if ((name != "http" && name != "https") || host.empty() || host.find_first_of("/?#@ \t\r\n") != host.npos) {
      return UsageError("{}: AWS_ENDPOINT_URL (option endpoint) is '{}'; give http://HOST:PORT or https://HOST", uri_,
                        out->endpoint);
    }
    if (out->region.find_first_of("/ \t\r\n") != std::string::npos) {
      return UsageError("{}: AWS_REGION (option region) is '{}', which is no region", uri_, out->region);
    }
    return Status::OK();
  }

  std::string uri_;
  StoreOptions options_;
  const Environment& environment_;
  std::map<std::string, std::string> profile_;
  std::string profile_name_;
};

bool IsBucketName(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= 255 && std::all_of(name.begin(), name.end(), fits) && name != "." &&
         name != "..";
}

}  // namespace

Result<BucketAndPrefix> ParseS3Uri(std::string_view uri) {
  constexpr std::string_view kScheme = "s3://";
  std::string_view rest = uri.substr(kScheme.size());
  BucketAndPrefix out;
  const size_t slash = rest.find('/');
  out.bucket = std::string(rest.substr(0, slash));
  if (!IsBucketName(out.bucket))
    return UsageError("{}: '{}' is no bucket name; give s3://BUCKET/PREFIX", uri, out.bucket);
  if (slash == rest.npos) return out;
  out.prefix = std::string(rest.substr(slash + 1));
  while (out.prefix.ends_with('/')) out.prefix.pop_back();
  if (!out.prefix.empty()) PILUM_RETURN_NOT_OK(WithContext(uri, CheckObjectPath(out.prefix)));
  return out;
}

Result<Config> ResolveConfig(std::string_view uri, std::string_view bucket, const StoreOptions& options,
                             const Environment& environment) {
  return Resolver(uri, options, environment).Resolve(bucket);
}

}  // namespace pilum::s3
