#include "pilum/io/object_store.h"

#include "pilum/base/hash.h"
#include "pilum/io/store_impl.h"

namespace pilum {
namespace {

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

}  // namespace

Result<std::vector<ObjectInfo>> ObjectStore::ListBetween(const std::string& prefix, const std::string& after,
                                                         const std::string& up_to) const {
  PILUM_ASSIGN_OR_RETURN(auto listed, List(prefix));
  std::erase_if(listed, [&](const ObjectInfo& o) { return o.path <= after || (!up_to.empty() && o.path > up_to); });
  return listed;
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

Result<std::shared_ptr<ObjectStore>> ObjectStore::Open(std::string_view uri) {
  if (uri.empty()) return UsageError("the store's path is empty; give a folder");
  size_t colon = uri.find("://");
  if (colon == std::string_view::npos) return MakeLocalStore(std::string(uri));
  std::string_view scheme = uri.substr(0, colon);
  if (scheme == "file") return MakeLocalStore(PercentDecode(uri.substr(colon + 3)));
  return Unsupported("{}: stores on '{}://' are not supported yet; give a local folder", uri, scheme);
}

}  // namespace pilum
