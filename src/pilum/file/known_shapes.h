// The schemas that files stored last, as bytes, and what was made of them: who opens many files of one schema, or one
// again and again, has it parsed once. Called by footer.cc and file_reader.cc. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "pilum/base/few_kept.h"
#include "pilum/file/projection.h"

namespace pilum {

class KnownShapes {
 public:
  static constexpr size_t kMost = 16, kMostBytes = 64 << 10;  // schemas, and bytes of each

  static KnownShapes& OfProcess();

  // `schema`: the message, to the byte. Null: not known.
  std::shared_ptr<const FileShape> Find(std::string_view schema) const;
  void Keep(std::string_view schema, std::shared_ptr<const FileShape> shape);

 private:
  FewKept<std::string, std::shared_ptr<const FileShape>, kMost> kept_;
};

}  // namespace pilum
