// The fields of a protobuf message one after another, as views into its bytes: for messages that are looked through once,
// where generated classes would copy everything. For footer.cc.
#pragma once

#include <cstdint>
#include <string_view>

namespace pilum {

class WireFields {
 public:
  explicit WireFields(std::string_view message) : p_(message.data()), end_(message.data() + message.size()) {}

  // The next field; false at the end, and where the bytes are no message (then ok() is false).
  bool Next() {
    begin_ = p_;
    if (p_ == end_) return false;
    uint64_t tag = 0;
    if (!Varint(&tag) || tag >> 3 == 0 || tag > UINT32_MAX) return Fail();
    number_ = static_cast<uint32_t>(tag >> 3);
    type_ = static_cast<uint32_t>(tag & 7);
    value_ = 0;
    bytes_ = {};
    switch (type_) {
      case kVarint: return Varint(&value_) || Fail();
      case kFixed64: return Skip(8) || Fail();
      case kFixed32: return Skip(4) || Fail();
      case kBytes: {
        uint64_t size = 0;
        if (!Varint(&size) || size > static_cast<uint64_t>(end_ - p_)) return Fail();
        bytes_ = {p_, static_cast<size_t>(size)};
        p_ += size;
        return true;
      }
      default: return Fail();  // groups, which this format has none of
    }
  }

  static constexpr uint32_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
  uint32_t number() const { return number_; }
  uint32_t type() const { return type_; }
  bool Is(uint32_t number, uint32_t type) const { return number_ == number && type_ == type; }
  uint64_t value() const { return value_; }                                              // kVarint
  std::string_view bytes() const { return bytes_; }                                      // kBytes
  std::string_view whole() const { return {begin_, static_cast<size_t>(p_ - begin_)}; }  // tag and all
  bool ok() const { return ok_; }

  // Adds the numbers of a repeated field, packed or one at a time; false where they are neither.
  template <typename Vector>
  bool AddTo(Vector* out) const {
    if (type_ == kVarint) {
      out->push_back(value_);
      return true;
    }
    if (type_ != kBytes) return false;
    WireFields in(bytes_);
    while (in.p_ != in.end_) {
      uint64_t v = 0;
      if (!in.Varint(&v)) return false;
      out->push_back(v);
    }
    return true;
  }

 private:
  bool Varint(uint64_t* out) {
    uint64_t v = 0;
    for (int shift = 0; shift < 70 && p_ != end_; shift += 7) {
      const auto byte = static_cast<uint8_t>(*p_++);
      v |= static_cast<uint64_t>(byte & 0x7f) << (shift < 64 ? shift : 63);
      if (byte < 0x80) {
        *out = v;
        return true;
      }
    }
    return false;
  }
  bool Skip(std::ptrdiff_t n) {
    if (end_ - p_ < n) return false;
    p_ += n;
    return true;
  }
  bool Fail() {
    ok_ = false;
    p_ = end_;
    return false;
  }

  const char *p_, *end_, *begin_ = nullptr;
  uint32_t number_ = 0, type_ = 0;
  uint64_t value_ = 0;
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace pilum
