#include "pilum/file/known_shapes.h"

#include <utility>

namespace pilum {

KnownShapes& KnownShapes::OfProcess() {
  static KnownShapes& all = *new KnownShapes;  // threads may still read while the process ends
  return all;
}

std::shared_ptr<const FileShape> KnownShapes::Find(std::string_view schema) const {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return nullptr;
  for (const Entry& e : entries_) {
    if (e.schema == schema) return e.shape;
  }
  return nullptr;
}

void KnownShapes::Keep(std::string_view schema, std::shared_ptr<const FileShape> shape) {
  if (schema.size() > kMostBytes) return;
  Entry entry{std::string(schema), std::move(shape)};
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return;
  for (const Entry& e : entries_) {
    if (e.schema == schema) return;  // two threads made it
  }
  if (entries_.size() < kMost) {
    entries_.push_back(std::move(entry));
    return;
  }
  std::swap(entries_[oldest_], entry);  // the old one goes after the lock
  oldest_ = (oldest_ + 1) % kMost;
  lock.unlock();
}

}  // namespace pilum
