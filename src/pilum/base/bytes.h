// Little-endian reads and writes, and a cursor that never reads past its end. For formats of ours and of Lance.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace pilum {

template <typename T>
T LoadLE(const void* p) {
  static_assert(std::is_trivially_copyable_v<T>);
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}

template <typename T>
void StoreLE(void* p, T v) {
  std::memcpy(p, &v, sizeof(T));
}

template <typename T>
void AppendLE(std::string* out, T v) {
  out->append(reinterpret_cast<const char*>(&v), sizeof(T));
}

// Reads fields one after another; once anything does not fit, ok() is false and all further reads give zeros.
class ByteCursor {
 public:
  explicit ByteCursor(std::string_view bytes) : bytes_(bytes) {}
  template <typename T>
  T Read() {
    if (!Take(sizeof(T))) return T{};
    return LoadLE<T>(bytes_.data() + at_ - sizeof(T));
  }
  std::string_view ReadBytes(uint64_t n) {
    if (!Take(n)) return {};
    return bytes_.substr(at_ - n, n);
  }
  bool ok() const { return ok_; }
  uint64_t offset() const { return at_; }
  uint64_t remaining() const { return bytes_.size() - at_; }

 private:
  bool Take(uint64_t n) {
    if (!ok_ || n > bytes_.size() - at_) {
      ok_ = false;
      return false;
    }
    at_ += n;
    return true;
  }
  std::string_view bytes_;
  uint64_t at_ = 0;
  bool ok_ = true;
};

// a * b and a + b, nothing on overflow: sizes and counts from outside go through these.
inline std::optional<uint64_t> CheckedMul(uint64_t a, uint64_t b) {
  uint64_t r;
  if (__builtin_mul_overflow(a, b, &r)) return std::nullopt;
  return r;
}
inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t r;
  if (__builtin_add_overflow(a, b, &r)) return std::nullopt;
  return r;
}

static_assert(std::endian::native == std::endian::little, "Pilum runs on little-endian machines only");

}  // namespace pilum
