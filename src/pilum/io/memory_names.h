// What memory:// names: stores that live in this process and go with it.
//
// A name ("memory://x", "memory://db/t") keeps its store as long as the process, or until it is given to another. Who makes
// a table by a name that has one gets a store of his own by it, as in pylance, where each does. Tables that are open stay
// what they were: each store has a URI of its own ("memory://x#2"), which leads to it as long as anybody holds it. A store
// of no name ("memory://#3") has that alone. All calls are thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pilum/io/object_store.h"

namespace pilum {

bool IsMemoryUri(std::string_view uri);

// A store and its own URI.
struct MemoryPlace {
  std::string uri;
  std::shared_ptr<ObjectStore> store;
};
// Where `uri` leads now; "memory://" alone: to a store of no name, and another each time.
Result<MemoryPlace> FindMemoryPlace(std::string_view uri);
// Where nothing lies yet: what the name leads to, if that is empty, else a new store, which the name belongs to from now on.
// "memory://" alone: a store of no name.
Result<MemoryPlace> EmptyMemoryPlace(std::string_view uri);

// From now on this process opens none: for programs that end with the one thing that they do.
void RefuseMemoryStores();

}  // namespace pilum
