#include "pilum/io/object_store.h"

#include "pilum/base/hash.h"
#include "pilum/io/memory_names.h"
#include "pilum/io/percent.h"
#include "pilum/io/store_impl.h"

namespace pilum {

std::string PercentDecode(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '%' && i + 2 < s.size() && HexDigit(s[i + 1]) >= 0 && HexDigit(s[i + 2]) >= 0) {
      out += static_cast<char>(HexDigit(s[i + 1]) * 16 + HexDigit(s[i + 2]));
      i += 2;
    } else {
      out += s[i];
    }
  }
  return out;
}

std::string PercentEncode(std::string_view s) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : s) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
    const auto byte = static_cast<unsigned char>(c);
    out += plain ? std::string(1, c) : std::string{'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return out;
}

Result<std::vector<ObjectInfo>> ReadOnlyStore::List(const std::string& prefix) const {
  ReadContext ctx;
  return List(prefix, ctx);
}

Result<std::vector<std::string>> ReadOnlyStore::ListPaths(const std::string& prefix, ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto objects, List(prefix, ctx));
  std::vector<std::string> out;
  out.reserve(objects.size());
  for (ObjectInfo& o : objects) out.push_back(std::move(o.path));
  return out;
}

Result<ReadOnlyStore::Page> ReadOnlyStore::ListPage(const std::string& prefix, const std::string& after,
                                                    ReadContext& ctx) const {
  PILUM_ASSIGN_OR_RETURN(auto all, ListBetween(prefix, after, "", ctx));
  return Page{std::move(all), false};
}

Status CheckObjectPath(std::string_view path) {
  std::string_view rest = path;
  bool bad = path.empty() || path.front() == '/' || path.back() == '/';
  while (!bad && !rest.empty()) {
    size_t slash = rest.find('/');
    std::string_view step = rest.substr(0, slash);
    bad = step.empty() || step == "." || step == ".." || step.find('\0') != std::string_view::npos;
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
  }
  if (bad) return UsageError("'{}' is not a path inside a store", path);
  return Status::OK();
}

Result<std::shared_ptr<ObjectStore>> ObjectStore::Open(std::string_view uri, const StoreOptions& options) {
  if (uri.empty()) return UsageError("the store's path is empty; give a folder");
  const size_t colon = uri.find("://");
  const std::string_view scheme = colon == uri.npos ? std::string_view() : uri.substr(0, colon);
  if (scheme == "s3") return OpenS3Store(uri, options);
  if (!options.empty()) return UsageError("{}: storage options are for s3:// only", uri);
  if (colon == uri.npos) return MakeLocalStore(std::string(uri));
  if (IsMemoryUri(uri)) {
    PILUM_ASSIGN_OR_RETURN(MemoryPlace place, FindMemoryPlace(uri));
    return std::move(place.store);
  }
  if (scheme == "file") return MakeLocalStore(PercentDecode(uri.substr(colon + 3)));
  return Unsupported(
      "{}: stores on '{}://' are not supported; give a local folder, s3://BUCKET/PREFIX, or memory://NAME", uri,
      scheme);
}

Result<std::shared_ptr<const ReadOnlyStore>> ReadOnlyStore::Open(std::string_view uri, const StoreOptions& options) {
  PILUM_ASSIGN_OR_RETURN(auto store, ObjectStore::Open(uri, options));
  return std::shared_ptr<const ReadOnlyStore>(std::move(store));
}

bool IsRemoteUri(std::string_view uri) { return uri.find("://") != uri.npos && !uri.starts_with("file://"); }

namespace {

// The store of all but the last step of a URI, and that step.
Result<std::pair<std::shared_ptr<ObjectStore>, std::string>> SplitUri(const std::string& uri,
                                                                      const StoreOptions& options) {
  const size_t slash = uri.rfind('/');
  const std::string name = uri.substr(slash + 1);
  const bool one_step = slash < uri.find("://") + 3;
  if (name.empty() || (one_step && !IsMemoryUri(uri))) {
    return UsageError("{}: names no object; give s3://BUCKET/NAME", uri);
  }
  // In memory a single step is a store's name: the file lies in that.
  PILUM_ASSIGN_OR_RETURN(auto store, ObjectStore::Open(one_step ? uri : uri.substr(0, slash + 1), options));
  return std::pair(std::move(store), name);
}

}  // namespace

Result<std::shared_ptr<const ByteSource>> OpenFileOrObject(const std::string& uri, ReadContext& ctx,
                                                           const StoreOptions& options) {
  if (uri.find("://") == uri.npos && options.empty()) return OpenLocalFile(uri, ctx);
  if (uri.starts_with("file://") && options.empty()) return OpenLocalFile(PercentDecode(uri.substr(7)), ctx);
  PILUM_ASSIGN_OR_RETURN(auto place, SplitUri(uri, options));
  return place.first->OpenSource(place.second, ctx);
}

Result<std::unique_ptr<ByteSink>> CreateFileOrObject(const std::string& uri, const StoreOptions& options) {
  if (uri.find("://") == uri.npos && options.empty()) return CreateLocalFile(uri);
  if (uri.starts_with("file://") && options.empty()) return CreateLocalFile(PercentDecode(uri.substr(7)));
  PILUM_ASSIGN_OR_RETURN(auto place, SplitUri(uri, options));
  return place.first->Create(place.second);
}

}  // namespace pilum
