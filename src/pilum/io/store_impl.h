// Internal to io: the factories behind ObjectStore::Open.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pilum/io/object_store.h"

namespace pilum {

std::shared_ptr<ObjectStore> MakeLocalStore(std::string root);
Result<std::shared_ptr<ObjectStore>> OpenS3Store(std::string_view uri, const StoreOptions& options);
// kUsage unless relative, without empty, "." or ".." steps.
Status CheckObjectPath(std::string_view path);

}  // namespace pilum
