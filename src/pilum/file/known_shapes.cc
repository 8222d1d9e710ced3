#include "pilum/file/known_shapes.h"

#include <utility>

namespace pilum {

KnownShapes& KnownShapes::OfProcess() {
  static KnownShapes& all = *new KnownShapes;  // threads may still read while the process ends
  return all;
}

std::shared_ptr<const FileShape> KnownShapes::Find(std::string_view schema) const {
  return kept_.Find(schema).value_or(nullptr);
}

void KnownShapes::Keep(std::string_view schema, std::shared_ptr<const FileShape> shape) {
  if (schema.size() > kMostBytes || Find(schema)) return;  // two threads made it
  kept_.Keep(std::string(schema), std::move(shape));
}

}  // namespace pilum
