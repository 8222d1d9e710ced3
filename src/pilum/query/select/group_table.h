// Row keys to group numbers: 0, 1, … in order of first appearance. Open addressing; keys lie in one block.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pilum {

class GroupTable {
 public:
  GroupTable() : slots_(64, kFree) {}
  // The key's number; *fresh says whether it is new.
  uint32_t Find(std::string_view key, bool* fresh);
  size_t size() const { return hashes_.size(); }
  std::string_view key(size_t group) const {
    return std::string_view(bytes_).substr(ends_[group], ends_[group + 1] - ends_[group]);
  }
  uint64_t bytes() const { return bytes_.capacity() + slots_.size() * 4 + hashes_.capacity() * 16; }
  // Most groups there can be; Find must not be asked for more.
  static constexpr size_t kMost = (size_t{1} << 32) - 2;

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  void Grow();
  std::vector<uint32_t> slots_;
  std::vector<uint64_t> hashes_;  // one a group
  std::vector<size_t> ends_ = {0};
  std::string bytes_;
};

}  // namespace pilum
