// A folder of a store as a store of its own: what is written there goes by the store's own ways. Thread-safe as that is.
#pragma once

#include <memory>
#include <string>

#include "pilum/io/object_store.h"

namespace pilum {

// `folder`: "tree/dev", without a slash at its end.
std::shared_ptr<ObjectStore> FolderOf(std::shared_ptr<ObjectStore> store, const std::string& folder);

}  // namespace pilum
