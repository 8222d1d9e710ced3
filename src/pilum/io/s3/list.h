// What is in a bucket, page by page.
#pragma once

#include <string>
#include <vector>

#include "pilum/io/object_store.h"
#include "pilum/io/s3/client.h"

namespace pilum::s3 {

// Objects with prefix `prefix` and after < key <= up_to (empty: no bound); paths are whole keys, sorted. The pages are asked
// for one after another.
Result<std::vector<ObjectInfo>> ListObjects(Client& client, const std::string& prefix, const std::string& after,
                                            const std::string& up_to, ReadContext& ctx);

// What the first of those requests tells, sorted. `more`: there are further ones.
Result<std::vector<ObjectInfo>> ListFirstObjects(Client& client, const std::string& prefix, const std::string& after,
                                                 bool* more, ReadContext& ctx);

// Uploads that were neither completed nor taken back; modified: when they began.
struct Unfinished {
  std::string key, id;
  StoreTime begun{};
};
Result<std::vector<Unfinished>> ListUploads(Client& client, const std::string& prefix, ReadContext& ctx);

}  // namespace pilum::s3
