// Internal to io: the factories behind ObjectStore::Open.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pilum/io/object_store.h"

namespace pilum {

std::shared_ptr<ObjectStore> MakeLocalStore(std::string root);
// kUsage unless relative, without empty, "." or ".." steps.
Status CheckObjectPath(std::string_view path);

}  // namespace pilum
