// Distinct byte strings, numbered in the order in which they come first.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "pilum/base/bytes.h"
#include "pilum/encoding/write/vec.h"

namespace pilum::write {

// A multiply-fold hash in the manner of wyhash: good enough for tables, never stored.
uint64_t HashBytes(const void* p, size_t n);

// Of a pair of words, their first n bytes.
struct FirstOfSixteen {
  uint64_t low[17], high[17];
  constexpr FirstOfSixteen() : low(), high() {
    auto first = [](int n) { return n >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * n)) - 1; };
    for (int n = 0; n <= 16; ++n) {
      low[n] = first(n);
      high[n] = n <= 8 ? 0 : first(n - 8);
    }
  }
};
inline constexpr FirstOfSixteen kFirstOfSixteen;

class ByteTable {
 public:
  // Its number. `readable`: bytes that may be read from its first on, if more than its own.
  int32_t Insert(std::string_view v, size_t readable = 0) {
    const Key key = v.size() <= kWhole && readable >= kWhole ? ShortKey(v) : OtherKey(v);
    if (!slots_.empty()) {  // what has been met before is mostly where it belongs
      const Slot& slot = slots_[HomeOf(key)];
      if (slot.key == key && slot.id >= 0 && v.size() <= kWhole) return slot.id;
    }
    return Find(key, v);
  }
  int32_t size() const { return static_cast<int32_t>(ends_.size()); }
  std::string_view at(int32_t i) const {
    uint64_t b = i ? ends_[i - 1] : 0;
    return {reinterpret_cast<const char*>(bytes_.data()) + b, ends_[i] - b};
  }
  uint64_t data_bytes() const { return bytes_.size(); }
  void Clear();

 private:
  static constexpr size_t kWhole = 16;
  struct Key {  // up to 16 bytes: all of them; longer: a hash
    uint64_t a, b;
    uint32_t length;
    bool operator==(const Key& o) const { return ((a ^ o.a) | (b ^ o.b) | (length ^ o.length)) == 0; }
  };
  struct Slot {
    Key key;
    int32_t id;  // below 0: free
  };
  static Key ShortKey(std::string_view v) {  // 16 bytes may be read
    const size_t n = v.size();
    return {LoadLE<uint64_t>(v.data()) & kFirstOfSixteen.low[n],
            LoadLE<uint64_t>(v.data() + 8) & kFirstOfSixteen.high[n], static_cast<uint32_t>(n)};
  }
  static Key OtherKey(std::string_view v);
  size_t HomeOf(const Key& key) const {
    const __uint128_t m =
        static_cast<__uint128_t>(key.a ^ 0xD6E8FEB86659FD93ULL ^ key.length) * (key.b ^ 0x9E3779B97F4A7C15ULL);
    return static_cast<size_t>((static_cast<uint64_t>(m) ^ static_cast<uint64_t>(m >> 64)) >> 16) & (slots_.size() - 1);
  }
  int32_t Find(const Key& key, std::string_view v);
  void Grow();

  Bytes bytes_;
  Vec<uint64_t> ends_;
  std::vector<Slot> slots_;  // a power of two, at least twice as many as are taken
};

}  // namespace pilum::write
