// The schemas that files stored last, as bytes, and what was made of them: who opens many files of one schema, or one
// again and again, has it parsed once. Called by footer.cc and file_reader.cc. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/file/projection.h"

namespace pilum {

// Waits for nobody (a process that was forked while another thread was in here has that lock for ever): who does not get
// in finds nothing.
class KnownShapes {
 public:
  static constexpr size_t kMost = 16, kMostBytes = 64 << 10;  // schemas, and bytes of each

  static KnownShapes& OfProcess();

  // `schema`: the message, to the byte. Null: not known.
  std::shared_ptr<const FileShape> Find(std::string_view schema) const;
  void Keep(std::string_view schema, std::shared_ptr<const FileShape> shape);

 private:
  struct Entry {
    std::string schema;
    std::shared_ptr<const FileShape> shape;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  size_t oldest_ = 0;  // of a full list
};

}  // namespace pilum
