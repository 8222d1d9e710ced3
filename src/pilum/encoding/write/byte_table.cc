// Distinct byte strings, numbered as they come.
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

constexpr uint64_t k0 = 0x9E3779B97F4A7C15ULL, k1 = 0xD6E8FEB86659FD93ULL;

uint64_t Fold(uint64_t a, uint64_t b) {
  __uint128_t m = static_cast<__uint128_t>(a) * b;
  return static_cast<uint64_t>(m) ^ static_cast<uint64_t>(m >> 64);
}

// Masks of the first n bytes of a 16-byte pair of words.
struct Masks {
  uint64_t low[17], high[17];
  constexpr Masks() : low(), high() {
    auto first = [](int n) { return n >= 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * n)) - 1; };
    for (int n = 0; n <= 16; ++n) {
      low[n] = first(n);
      high[n] = n <= 8 ? 0 : first(n - 8);
    }
  }
};
constexpr Masks kMasks;

bool SameLong(const uint8_t* a, const uint8_t* b, size_t n) {  // 16 bytes or more
  for (size_t i = 0; i + 16 <= n; i += 8) {
    if (LoadLE<uint64_t>(a + i) != LoadLE<uint64_t>(b + i)) return false;
  }
  return LoadLE<uint64_t>(a + n - 16) == LoadLE<uint64_t>(b + n - 16) &&
         LoadLE<uint64_t>(a + n - 8) == LoadLE<uint64_t>(b + n - 8);
}

}  // namespace

// A multiply-fold hash in the manner of wyhash: 16 bytes a step, good enough for tables, never stored.
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

ByteTable::Key ByteTable::KeyOf(std::string_view v, size_t readable) {
  const size_t n = v.size();
  const auto* p = reinterpret_cast<const uint8_t*>(v.data());
  Key key{0, 0, static_cast<uint32_t>(n), 0};
  if (n > 16) {
    const uint64_t h = HashBytes(p, n);
    key.a = h;
    key.hash = static_cast<uint32_t>(h >> 32);
    return key;
  }
  if (readable >= 16) {
    key.a = LoadLE<uint64_t>(p) & kMasks.low[n];
    key.b = LoadLE<uint64_t>(p + 8) & kMasks.high[n];
  } else if (n > 0) {
    std::memcpy(&key.a, p, std::min<size_t>(n, 8));
    if (n > 8) std::memcpy(&key.b, p + 8, n - 8);
  }
  key.hash = static_cast<uint32_t>(Fold(key.a ^ k1 ^ n, key.b ^ k0) >> 16);
  return key;
}

int32_t ByteTable::Insert(std::string_view v, size_t readable) {
  if (slots_.size() < 2 * (ends_.size() + 1)) Grow();
  const Key key = KeyOf(v, readable);
  const size_t mask = slots_.size() - 1;
  for (size_t i = key.hash & mask;; i = (i + 1) & mask) {
    const int32_t id = slots_[i];
    if (id < 0) {
      slots_[i] = size();
      Append(&bytes_, v.data(), v.size());
      ends_.push_back(bytes_.size());
      keys_.push_back(key);
      return size() - 1;
    }
    const Key& k = keys_[static_cast<size_t>(id)];
    if (k.a != key.a || k.b != key.b || k.length != key.length) continue;
    if (key.length <= 16) return id;  // those words are all of it
    if (SameLong(reinterpret_cast<const uint8_t*>(at(id).data()), reinterpret_cast<const uint8_t*>(v.data()), v.size()))
      return id;
  }
}

void ByteTable::Grow() {
  slots_.assign(std::max<size_t>(64, slots_.size() * 4), -1);
  const size_t mask = slots_.size() - 1;
  for (size_t id = 0; id < keys_.size(); ++id) {
    size_t i = keys_[id].hash & mask;
    while (slots_[i] >= 0) i = (i + 1) & mask;
    slots_[i] = static_cast<int32_t>(id);
  }
}

void ByteTable::Clear() {
  bytes_.clear();
  ends_.clear();
  keys_.clear();
  slots_.clear();
}

}  // namespace pilum::write
