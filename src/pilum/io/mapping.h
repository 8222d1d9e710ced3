// A local file as memory, read-only, guarded against the file being cut while it is mapped: what would be SIGBUS becomes
// zeros and a mark. For local_file.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace pilum {

// Unmapped by the destructor. Const calls are thread-safe.
class FileMapping {
 public:
  // The first `size` bytes of `fd`, readable for ByteSource::kReadSlack bytes past their end. Null where the system
  // refuses (no address space, a file system without mappings) or size is 0: read by ranges then.
  static std::unique_ptr<const FileMapping> Make(int fd, uint64_t size);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  // Bytes may change at any time: each number is read once into a local, checked, and used from there.
  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  // Whether a page that was read is no longer in the file. Once true it stays.
  bool broken() const;

 private:
  struct Guard;
  friend struct MappingGuards;
  FileMapping(const uint8_t* data, uint64_t size, uint64_t reserved, Guard* guard)
      : data_(data), size_(size), reserved_(reserved), guard_(guard) {}
  const uint8_t* data_;
  uint64_t size_, reserved_;
  Guard* guard_;
};

}  // namespace pilum
