// Row keys to group numbers: 0, 1, … in order of first appearance. Open addressing; keys lie in blocks that never move.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace pilum {

class GroupTable {
 public:
  GroupTable() : slots_(64, kFree) {}
  // The key's number; *fresh says whether it is new.
  uint32_t Find(std::string_view key, bool* fresh);
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t Lookup(std::string_view key) const;  // kNone: it was never given to Find
  size_t size() const { return groups_.size(); }
  std::string_view key(size_t group) const {
    uint32_t size;
    std::memcpy(&size, groups_[group].key, sizeof(size));
    return {groups_[group].key + sizeof(size), size};
  }
  // With the half more that a table takes while it grows.
  uint64_t bytes() const { return block_bytes_ + (slots_.size() * 4 + groups_.capacity() * sizeof(Group)) * 3 / 2; }
  // Most groups there can be; Find must not be asked for more.
  static constexpr size_t kMost = (size_t{1} << 32) - 2;

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  static constexpr size_t kBlock = 64 * 1024;
  struct Group {
    uint64_t hash;
    const char* key;  // its length in 4 bytes, then the bytes
  };
  void Grow();
  const char* Keep(std::string_view key);

  std::vector<uint32_t> slots_;
  std::vector<Group> groups_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  char* next_ = nullptr;
  size_t left_ = 0;  // bytes of the last block
  uint64_t block_bytes_ = 0;
};

}  // namespace pilum
