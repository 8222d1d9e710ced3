#include "pilum/base/hash.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/base/hash_kernels.h"

namespace pilum {
namespace blake3 {

const uint32_t kIv[8] = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                         0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};

namespace {

inline void Mix(uint32_t* v, int a, int b, int c, int d, uint32_t x, uint32_t y) {
  v[a] = v[a] + v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] = v[c] + v[d];
  v[b] = std::rotr(v[b] ^ v[c], 12);
  v[a] = v[a] + v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 8);
  v[c] = v[c] + v[d];
  v[b] = std::rotr(v[b] ^ v[c], 7);
}

}  // namespace

void CompressPortable(uint32_t cv[8], const uint8_t block[64], uint64_t counter, uint32_t block_len, uint32_t flags) {
  uint32_t m[16];
  std::memcpy(m, block, 64);
  uint32_t v[16];
  std::memcpy(v, cv, 32);
  std::memcpy(v + 8, kIv, 16);
  v[12] = static_cast<uint32_t>(counter);
  v[13] = static_cast<uint32_t>(counter >> 32);
  v[14] = block_len;
  v[15] = flags;
  for (int r = 0; r < 7; ++r) {
    const uint8_t* s = kSchedule[r];
    Mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
    Mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
    Mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
    Mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
    Mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
    Mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
    Mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
    Mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
  }
  for (int i = 0; i < 8; ++i) cv[i] = v[i] ^ v[i + 8];
}

void HashManyPortable(const uint8_t* const* inputs, size_t count, size_t blocks, uint64_t counter, bool count_up,
                      uint32_t flags, uint32_t first_flag, uint32_t last_flag, uint32_t* out) {
  for (size_t i = 0; i < count; ++i) {
    uint32_t* cv = out + i * 8;
    std::memcpy(cv, kIv, 32);
    for (size_t b = 0; b < blocks; ++b) {
      const uint32_t f = flags | (b == 0 ? first_flag : 0) | (b + 1 == blocks ? last_flag : 0);
      CompressPortable(cv, inputs[i] + b * 64, count_up ? counter + i : counter, 64, f);
    }
  }
}

HashManyFn ChooseHashMany() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2")) return &HashManyAvx2;
#endif
  return &HashManyPortable;
}

}  // namespace blake3

namespace {

using namespace blake3;

using Cv = std::array<uint32_t, 8>;

// Chaining values of `count` whole chunks (a power of two, 8 to kMaxSubtree) folded to the one of their subtree.
Cv HashSubtree(const uint8_t* data, size_t count, uint64_t first_chunk) {
  static const HashManyFn hash_many = ChooseHashMany();
  uint32_t cvs[kMaxSubtree * 8];
  const uint8_t* inputs[kMaxSubtree] = {};
  for (size_t i = 0; i < count; ++i) inputs[i] = data + i * kChunk;
  hash_many(inputs, count, kChunk / 64, first_chunk, true, 0, kChunkStart, kChunkEnd, cvs);
  while (count > 1) {
    count /= 2;
    uint32_t parents[kMaxSubtree * 4];
    for (size_t i = 0; i < count; ++i) inputs[i] = reinterpret_cast<const uint8_t*>(cvs + i * 16);
    hash_many(inputs, count, 1, 0, false, kParent, 0, 0, parents);
    std::memcpy(cvs, parents, count * 32);
  }
  Cv out;
  std::memcpy(out.data(), cvs, 32);
  return out;
}

Cv ParentCv(const Cv& left, const Cv& right, uint32_t flags) {
  uint8_t block[64];
  std::memcpy(block, left.data(), 32);
  std::memcpy(block + 32, right.data(), 32);
  Cv cv;
  std::memcpy(cv.data(), kIv, 32);
  CompressPortable(cv.data(), block, 0, 64, kParent | flags);
  return cv;
}

}  // namespace

// The unfinished last chunk, and the chaining values of finished subtrees, largest first. The last block of a chunk is
// held back until more input comes, because it may turn out to be the root.
struct Blake3::Impl {
  Cv chunk_cv;
  uint8_t block[64];
  uint32_t block_len = 0;
  uint32_t blocks_done = 0;
  uint64_t chunks = 0;  // finished ones
  Cv stack[54];
  int depth = 0;

  Impl() { StartChunk(); }
  void StartChunk() {
    std::memcpy(chunk_cv.data(), kIv, 32);
    block_len = 0;
    blocks_done = 0;
  }
  uint64_t chunk_size() const { return blocks_done * 64ull + block_len; }
  uint32_t StartFlag() const { return blocks_done == 0 ? kChunkStart : 0; }

  // Adds a subtree of `count` chunks (a power of two that divides `chunks`); more input must follow.
  void Push(Cv cv, uint64_t count) {
    chunks += count;
    for (uint64_t total = chunks / count; (total & 1) == 0; total >>= 1) cv = ParentCv(stack[--depth], cv, 0);
    stack[depth++] = cv;
  }

  void FinishChunk() {
    std::memset(block + block_len, 0, 64 - block_len);
    Cv cv = chunk_cv;
    CompressPortable(cv.data(), block, chunks, block_len, StartFlag() | kChunkEnd);
    StartChunk();
    Push(cv, 1);
  }

  void Update(const uint8_t* p, size_t n) {
    while (n > 0) {
      if (chunk_size() == kChunk) FinishChunk();
      if (chunk_size() == 0 && n > 8 * kChunk && chunks % 8 == 0) {
        const size_t count = chunks % kMaxSubtree == 0 && n > kMaxSubtree * kChunk ? kMaxSubtree : 8;
        Push(HashSubtree(p, count, chunks), count);
        p += count * kChunk;
        n -= count * kChunk;
        continue;
      }
      if (block_len == 64) {
        CompressPortable(chunk_cv.data(), block, chunks, 64, StartFlag());
        ++blocks_done;
        block_len = 0;
      }
      const size_t take = std::min<size_t>(64 - block_len, n);
      std::memcpy(block + block_len, p, take);
      block_len += static_cast<uint32_t>(take);
      p += take;
      n -= take;
    }
  }

  Cv Root() const {
    uint8_t last[64] = {};
    std::memcpy(last, block, block_len);
    Cv cv = chunk_cv;
    const uint32_t root = depth == 0 ? kRoot : 0;
    CompressPortable(cv.data(), last, root ? 0 : chunks, block_len, StartFlag() | kChunkEnd | root);
    for (int i = depth - 1; i >= 0; --i) cv = ParentCv(stack[i], cv, i == 0 ? kRoot : 0);
    return cv;
  }
};

Blake3::Blake3() : impl_(std::make_unique<Impl>()) {}
Blake3::~Blake3() = default;
Blake3::Blake3(const Blake3& o) : impl_(std::make_unique<Impl>(*o.impl_)) {}
Blake3& Blake3::operator=(const Blake3& o) {
  *impl_ = *o.impl_;
  return *this;
}

void Blake3::Update(const void* data, size_t size) { impl_->Update(static_cast<const uint8_t*>(data), size); }

Hash256 Blake3::Finish() const {
  const Cv cv = impl_->Root();
  Hash256 out;
  std::memcpy(out.data(), cv.data(), 32);
  return out;
}

Hash256 Blake3Of(std::string_view bytes) {
  Blake3 h;
  h.Update(bytes);
  return h.Finish();
}

std::string Hex(std::span<const uint8_t> bytes) {
  static const char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (uint8_t b : bytes) {
    out.push_back(kDigits[b >> 4]);
    out.push_back(kDigits[b & 15]);
  }
  return out;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace pilum
