#include "pilum/io/percent.h"
#include "pilum/io/s3/list.h"

#include <algorithm>
#include <charconv>

#include "pilum/io/s3/xml.h"
#include "pilum/io/store_impl.h"

namespace pilum::s3 {
namespace {

StoreTime TimeOf(int64_t micros) { return StoreTime(std::chrono::microseconds(micros)); }

// One page of a listing, whose answers are `root` elements.
Result<XmlElement> Page(Client& client, Pairs query, const std::string& prefix, std::string_view root,
                        ReadContext& ctx) {
  Call call;
  call.method = "GET";
  call.what = fmt::format("the list of '{}'", prefix);
  call.query = std::move(query);
  call.query.emplace_back("encoding-type", "url");
  if (!prefix.empty()) call.query.emplace_back("prefix", prefix);
  PILUM_RETURN_NOT_OK(client.Run(&call, ctx));
  PILUM_ASSIGN_OR_RETURN(XmlElement page, ParseXml(call.answer, client.Name(prefix)));
  if (page.name != root) {
    return Corrupt(client.Name(prefix), "", fmt::format("the server's list is a <{}>, not a <{}>", page.name, root));
  }
  return page;
}

// Keys come percent-encoded where the answer says so; it is the form of an HTML form, where '+' is a space.
std::string Decoded(const XmlElement& page, const std::string& text) {
  if (page.TextOf("EncodingType") != "url") return text;
  std::string spaced = text;
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return PercentDecode(spaced);
}

Status AddObjects(Client& client, const XmlElement& page, const std::string& prefix, std::vector<ObjectInfo>* out) {
  for (const XmlElement& e : page.children) {
    if (e.name != "Contents") continue;
    ObjectInfo info;
    info.path = Decoded(page, e.TextOf("Key"));
    const std::string size = e.TextOf("Size");
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), info.size);
    const int64_t modified = ParseIsoTime(e.TextOf("LastModified"));
    if (error != std::errc() || end != size.data() + size.size() || modified < 0 || !info.path.starts_with(prefix)) {
      return Corrupt(client.Name(prefix), "",
                     fmt::format("the server's list has an entry '{}' of size '{}', modified '{}'", info.path, size,
                                 e.TextOf("LastModified")));
    }
    info.modified = TimeOf(modified);
    info.written = info.modified;
    out->push_back(std::move(info));
  }
  return Status::OK();
}

// One request of a listing: from `token` on, else from after `after`. `token`: where it goes on; empty: it does not.
Status NextObjects(Client& client, const std::string& prefix, const std::string& after, std::string* token,
                   std::vector<ObjectInfo>* out, ReadContext& ctx) {
  Pairs query = {{"list-type", "2"}};
  if (!token->empty()) {
    query.emplace_back("continuation-token", *token);
  } else if (!after.empty()) {
    query.emplace_back("start-after", after);
  }
  PILUM_ASSIGN_OR_RETURN(XmlElement page, Page(client, std::move(query), prefix, "ListBucketResult", ctx));
  const size_t before = out->size();
  PILUM_RETURN_NOT_OK(AddObjects(client, page, prefix, out));
  std::string next;
  if (page.TextOf("IsTruncated") == "true") {
    next = page.TextOf("NextContinuationToken");
    if (next.empty() || next == *token || out->size() == before) {
      return Corrupt(client.Name(prefix), "", "the server's list says that it goes on, but not where");
    }
  }
  *token = std::move(next);
  return Status::OK();
}

void SortBetween(const std::string& after, const std::string& up_to, std::vector<ObjectInfo>* objects) {
  std::erase_if(*objects, [&](const ObjectInfo& o) { return o.path <= after || (!up_to.empty() && o.path > up_to); });
  std::sort(objects->begin(), objects->end(), [](const ObjectInfo& a, const ObjectInfo& b) { return a.path < b.path; });
}

}  // namespace

Result<std::vector<ObjectInfo>> ListObjects(Client& client, const std::string& prefix, const std::string& after,
                                            const std::string& up_to, ReadContext& ctx) {
  std::vector<ObjectInfo> out;
  std::string token;
  do {
    PILUM_RETURN_NOT_OK(NextObjects(client, prefix, after, &token, &out, ctx));
  } while (!token.empty() && (up_to.empty() || out.back().path <= up_to));
  SortBetween(after, up_to, &out);
  return out;
}

Result<std::vector<ObjectInfo>> ListFirstObjects(Client& client, const std::string& prefix, const std::string& after,
                                                 bool* more, ReadContext& ctx) {
  std::vector<ObjectInfo> out;
  std::string token;
  PILUM_RETURN_NOT_OK(NextObjects(client, prefix, after, &token, &out, ctx));
  *more = !token.empty();
  SortBetween(after, "", &out);
  return out;
}

Result<std::vector<Unfinished>> ListUploads(Client& client, const std::string& prefix, ReadContext& ctx) {
  std::vector<Unfinished> out;
  std::string key_marker, id_marker;
  for (;;) {
    Pairs query = {{"uploads", ""}};
    if (!key_marker.empty()) query.emplace_back("key-marker", key_marker);
    if (!id_marker.empty()) query.emplace_back("upload-id-marker", id_marker);
    PILUM_ASSIGN_OR_RETURN(XmlElement page, Page(client, std::move(query), prefix, "ListMultipartUploadsResult", ctx));
    for (const XmlElement& e : page.children) {
      if (e.name != "Upload") continue;
      Unfinished one{Decoded(page, e.TextOf("Key")), e.TextOf("UploadId"), {}};
      const int64_t begun = ParseIsoTime(e.TextOf("Initiated"));
      if (begun < 0) {
        return Corrupt(client.Name(one.key), "", fmt::format("its upload began at '{}'", e.TextOf("Initiated")));
      }
      one.begun = TimeOf(begun);
      if (one.key.starts_with(prefix)) out.push_back(std::move(one));
    }
    if (page.TextOf("IsTruncated") != "true") return out;
    std::string key = Decoded(page, page.TextOf("NextKeyMarker")), id = page.TextOf("NextUploadIdMarker");
    if (key.empty() || (key == key_marker && id == id_marker)) {
      return Corrupt(client.Name(prefix), "", "the server's list of uploads says that it goes on, but not where");
    }
    key_marker = std::move(key);
    id_marker = std::move(id);
  }
}

}  // namespace pilum::s3
