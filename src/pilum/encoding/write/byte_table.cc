// Distinct byte strings, numbered as they come.
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

constexpr uint64_t k0 = 0x9E3779B97F4A7C15ULL, k1 = 0xD6E8FEB86659FD93ULL;

uint64_t Fold(uint64_t a, uint64_t b) {
  __uint128_t m = static_cast<__uint128_t>(a) * b;
  return static_cast<uint64_t>(m) ^ static_cast<uint64_t>(m >> 64);
}

bool SameLong(const uint8_t* a, const uint8_t* b, size_t n) {  // 16 bytes or more
  for (size_t i = 0; i + 16 <= n; i += 8) {
    if (LoadLE<uint64_t>(a + i) != LoadLE<uint64_t>(b + i)) return false;
  }
  return LoadLE<uint64_t>(a + n - 16) == LoadLE<uint64_t>(b + n - 16) &&
         LoadLE<uint64_t>(a + n - 8) == LoadLE<uint64_t>(b + n - 8);
}

}  // namespace

// 16 bytes a step.
uint64_t HashBytes(const void* data, size_t n) {
  const uint8_t* p = static_cast<const uint8_t*>(data);
  uint64_t h = n * k0 + k1, a = 0, b = 0;
  if (n >= 16) {
    const uint8_t* last = p + n - 16;
    for (; p < last; p += 16) h = Fold(LoadLE<uint64_t>(p) ^ k0, LoadLE<uint64_t>(p + 8) ^ h);
    a = LoadLE<uint64_t>(last);
    b = LoadLE<uint64_t>(last + 8);
  } else if (n >= 8) {
    a = LoadLE<uint64_t>(p);
    b = LoadLE<uint64_t>(p + n - 8);
  } else if (n > 0) {
    std::memcpy(&a, p, n);
  }
  return Fold(a ^ k1, Fold(b ^ h, k0));
}

ByteTable::Key ByteTable::OtherKey(std::string_view v) {
  const size_t n = v.size();
  Key key{0, 0, static_cast<uint32_t>(n)};
  if (n > kWhole) {
    key.a = HashBytes(v.data(), n);
    return key;
  }
  if (n > 0) std::memcpy(&key.a, v.data(), std::min<size_t>(n, 8));
  if (n > 8) std::memcpy(&key.b, v.data() + 8, n - 8);
  return key;
}

int32_t ByteTable::Find(const Key& key, std::string_view v) {
  if (slots_.size() < 2 * (ends_.size() + 1)) Grow();
  const size_t mask = slots_.size() - 1;
  for (size_t i = HomeOf(key);; i = (i + 1) & mask) {
    Slot& slot = slots_[i];
    if (slot.id < 0) {
      slot = {key, size()};
      Append(&bytes_, v.data(), v.size());
      ends_.push_back(bytes_.size());
      return slot.id;
    }
    if (!(slot.key == key)) continue;
    if (v.size() <= kWhole) return slot.id;  // those words are all of it
    const std::string_view known = at(slot.id);
    if (known.size() == v.size() &&
        SameLong(reinterpret_cast<const uint8_t*>(known.data()), reinterpret_cast<const uint8_t*>(v.data()), v.size()))
      return slot.id;
  }
}

void ByteTable::Grow() {
  constexpr size_t kSmall = 4096;  // slots: up to here they become four times as many
  const std::vector<Slot> old = std::exchange(slots_, {});
  slots_.assign(std::max<size_t>(64, old.size() * (old.size() < kSmall ? 4 : 2)), {{0, 0, 0}, -1});
  const size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    size_t i = HomeOf(slot.key);
    while (slots_[i].id >= 0) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

void ByteTable::Clear() {
  bytes_.clear();
  ends_.clear();
  slots_.clear();
}

}  // namespace pilum::write
