// A store in which writes come to nothing: it reads what lies below it, and keeps of what is put only what will be read
// again, in memory. So a dry run is the work itself, and what it says is what would happen. Called by write_verb.cc.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "pilum/io/object_store.h"

namespace pilum::cli {

// What was put and removed, by path below the table's root. Thread-safe.
class DryLog {
 public:
  void Put(const std::string& path, uint64_t bytes);
  void Remove(const std::string& path);  // what was put is forgotten
  std::map<std::string, uint64_t> put() const;
  std::set<std::string> removed() const;
  // What of it will be read again, by the same paths: of all stores that share the log.
  const std::shared_ptr<ObjectStore> kept = ObjectStore::Memory("dry run");

 private:
  mutable std::mutex mutex_;
  std::map<std::string, uint64_t> put_;
  std::set<std::string> removed_;
};

// `prefix`: of its paths in the log, "tree/dev/" of a branch. Rows that are put, data files and their blobs, are counted and
// dropped: to open them again is an error. `uri`: what it is called, where that is not to be taken for a place on disk.
std::shared_ptr<ObjectStore> MakeDryStore(std::shared_ptr<const ReadOnlyStore> below, std::string prefix,
                                          std::shared_ptr<DryLog> log, std::string uri = "");

}  // namespace pilum::cli
