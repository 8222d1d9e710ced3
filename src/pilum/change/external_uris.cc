#include "pilum/change/external_uris.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>

#include "pilum/io/percent.h"

namespace pilum {
namespace {

// "s3" of "S3://bucket/a". None: a path.
std::optional<std::string> SchemeOf(std::string_view uri) {
  const size_t at = uri.find("://");
  if (at == std::string_view::npos || at < 2) return std::nullopt;
  std::string scheme(uri.substr(0, at));
  const auto is_part = [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '-' || c == '.'; };
  if (!std::all_of(scheme.begin(), scheme.end(), is_part)) return std::nullopt;
  std::transform(scheme.begin(), scheme.end(), scheme.begin(), [](unsigned char c) { return std::tolower(c); });
  return scheme;
}

std::string Normal(const std::string& path) { return std::filesystem::path(path).lexically_normal().string(); }

// What a file:// URI may not hold as it is.
std::string Encoded(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte >= 0x7f || std::string_view("\"#%<>?`{}").find(c) != std::string_view::npos)
      out += fmt::format("%{:02X}", byte);
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string PlainName(std::string_view uri) {
  const auto scheme = SchemeOf(uri);
  if (!scheme) {
    std::error_code failed;
    const auto whole = std::filesystem::absolute(std::string(uri), failed);
    return Normal(failed ? std::string(uri) : whole.string());
  }
  const std::string rest(uri.substr(scheme->size() + 3));
  return *scheme == "file" ? Normal(PercentDecode(rest)) : *scheme + "://" + rest;
}

ExternalUris::ExternalUris(const std::vector<BasePath>& bases, bool outside) : outside_(outside) {
  for (const BasePath& base : bases) {
    if (base.is_dataset_root) continue;
    std::string name = PlainName(base.path);
    if (!name.ends_with('/')) name += '/';
    bases_.emplace_back(base.id, std::move(name));
  }
}

Result<ExternalUris::Place> ExternalUris::Resolve(const std::string& uri) const {
  const std::string name = PlainName(uri);
  const std::pair<uint32_t, std::string>* best = nullptr;
  for (const auto& base : bases_) {
    if (!name.starts_with(base.second) || name.size() == base.second.size()) continue;
    if (!best || base.second.size() > best->second.size()) best = &base;
  }
  if (best) return Place{best->first, name.substr(best->second.size())};
  if (!outside_) {
    return UsageError(
        "External blob URI '{}' is outside registered external bases (dataset root is not allowed). Set "
        "allow_external_blob_outside_bases=true to store it as absolute external URI, or give the table a base path "
        "(initial_bases, add_bases) that it lies below",
        uri);
  }
  const auto scheme = SchemeOf(uri);
  if (!scheme) {
    return UsageError("External URI '{}' is outside registered external bases and is not a valid absolute URI", uri);
  }
  return Place{0, *scheme == "file" ? "file://" + Encoded(name) : name};
}

}  // namespace pilum
