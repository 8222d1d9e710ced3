#include "pilum/sketch/bloom.h"

#include <algorithm>

#include <immintrin.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pilum/base/bytes.h"
#include "pilum/sketch/array_hash.h"

namespace pilum {
namespace {

constexpr char kMagic[] = "PLMBLOOM";
constexpr uint16_t kVersion = 1;
constexpr uint8_t kHashXxh64 = 1, kLayoutSplit256 = 1;

alignas(32) constexpr uint32_t kSalt[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                                           0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

uint64_t BlockOf(uint64_t hash, uint64_t blocks) { return ((hash >> 32) * blocks) >> 32; }

// The kernels over many hashes, by words and by whole blocks; a test compares them.
using InsertKernel = void (*)(uint32_t* words, uint64_t blocks, std::span<const uint64_t> hashes);
using ProbeKernel = void (*)(const uint32_t* words, uint64_t blocks, std::span<const uint64_t> hashes, uint8_t* out);

void InsertScalar(uint32_t* words, uint64_t blocks, std::span<const uint64_t> hashes) {
  for (uint64_t hash : hashes) {
    uint32_t* block = words + BlockOf(hash, blocks) * 8;
    for (int i = 0; i < 8; ++i) block[i] |= 1u << ((static_cast<uint32_t>(hash) * kSalt[i]) >> 27);
  }
}

void ProbeScalar(const uint32_t* words, uint64_t blocks, std::span<const uint64_t> hashes, uint8_t* out) {
  for (uint64_t hash : hashes) {
    const uint32_t* block = words + BlockOf(hash, blocks) * 8;
    uint32_t missing = 0;
    for (int i = 0; i < 8; ++i) missing |= ~block[i] & (1u << ((static_cast<uint32_t>(hash) * kSalt[i]) >> 27));
    *out++ = missing == 0;
  }
}

#define PILUM_AVX2 __attribute__((target("avx2")))

PILUM_AVX2 inline __m256i BitsOf(uint64_t hash) {
  const __m256i salt = _mm256_load_si256(reinterpret_cast<const __m256i*>(kSalt));
  const __m256i product = _mm256_mullo_epi32(_mm256_set1_epi32(static_cast<int>(hash)), salt);
  return _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_srli_epi32(product, 27));
}

PILUM_AVX2 void InsertAvx2(uint32_t* words, uint64_t blocks, std::span<const uint64_t> hashes) {
  for (uint64_t hash : hashes) {
    auto* block = reinterpret_cast<__m256i*>(words + BlockOf(hash, blocks) * 8);
    _mm256_storeu_si256(block, _mm256_or_si256(_mm256_loadu_si256(block), BitsOf(hash)));
  }
}

PILUM_AVX2 void ProbeAvx2(const uint32_t* words, uint64_t blocks, std::span<const uint64_t> hashes, uint8_t* out) {
  for (uint64_t hash : hashes) {
    const __m256i block = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words + BlockOf(hash, blocks) * 8));
    *out++ = static_cast<uint8_t>(_mm256_testc_si256(block, BitsOf(hash)));
  }
}

bool HasAvx2() { return __builtin_cpu_supports("avx2"); }

}  // namespace

Result<BloomFilter> BloomFilter::Empty(const Params& params) {
  if (params.blocks == 0 || params.blocks > kMaxBlocks) {
    return UsageError("Bloom: blocks must be 1 to {}, not {}", kMaxBlocks, params.blocks);
  }
  return BloomFilter(params.blocks);
}

Status BloomFilter::Update(const arrow::Array& array) {
  return VisitHashes(array, 0, [this](const HashBlock& block) { Insert(block.hashes); });
}

uint32_t BloomFilter::BlocksForItems(uint64_t n) {
  n = std::clamp<uint64_t>(n, kFloorItems, uint64_t{kMaxBlocks} * 1024 / 43);
  return static_cast<uint32_t>((n * 43 + 1023) / 1024);  // 10.75 bits an item
}

BloomFilter BloomFilter::ForItems(uint64_t n) { return BloomFilter(BlocksForItems(n)); }

uint64_t BloomFilter::HashOf(std::string_view hash_bytes) { return XXH64(hash_bytes.data(), hash_bytes.size(), 0); }

void BloomFilter::Insert(uint64_t hash) { InsertScalar(words_.data(), blocks(), {&hash, 1}); }

void BloomFilter::Insert(std::span<const uint64_t> hashes) {
  static const InsertKernel kernel = HasAvx2() ? InsertAvx2 : InsertScalar;
  kernel(words_.data(), blocks(), hashes);
}

bool BloomFilter::MayContain(uint64_t hash) const {
  uint8_t out;
  ProbeScalar(words_.data(), blocks(), {&hash, 1}, &out);
  return out != 0;
}

void BloomFilter::MayContain(std::span<const uint64_t> hashes, uint8_t* out) const {
  static const ProbeKernel kernel = HasAvx2() ? ProbeAvx2 : ProbeScalar;
  kernel(words_.data(), blocks(), hashes, out);
}

Status BloomFilter::Merge(const BloomFilter& other) {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  return Status::OK();
}

std::string BloomFilter::ToBytes() const {
  std::string out(kMagic, 8);
  out.reserve(kHeaderBytes + words_.size() * 4);
  AppendLE<uint16_t>(&out, kVersion);
  AppendLE<uint8_t>(&out, kHashXxh64);
  AppendLE<uint8_t>(&out, kLayoutSplit256);
  AppendLE<uint32_t>(&out, blocks());
  AppendLE<uint64_t>(&out, 0);
  AppendLE<uint64_t>(&out, 0);
  out.append(reinterpret_cast<const char*>(words_.data()), words_.size() * 4);
  return out;
}

Result<BloomFilter> BloomFilter::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  const std::string_view magic = in.ReadBytes(8);
  const auto version = in.Read<uint16_t>();
  const auto hash = in.Read<uint8_t>();
  const auto layout = in.Read<uint8_t>();
  const auto blocks = in.Read<uint32_t>();
  const auto seed = in.Read<uint64_t>();
  const auto reserved = in.Read<uint64_t>();
  if (!in.ok() || magic != std::string_view(kMagic, 8))
    return Corrupt(source, "Bloom filter", "no Bloom filter header");
  if (version != kVersion || hash != kHashXxh64 || layout != kLayoutSplit256 || seed != 0 || reserved != 0) {
    return Unsupported("{}: Bloom filter version {}, hash {}, layout {} is not known", source, version, hash, layout);
  }
  if (blocks == 0 || blocks > kMaxBlocks || in.remaining() != kBlockBytes * blocks) {
    return Corrupt(source, "Bloom filter", fmt::format("{} blocks in {} bytes", blocks, in.remaining()));
  }
  BloomFilter out(blocks);
  std::memcpy(out.words_.data(), bytes.data() + kHeaderBytes, kBlockBytes * blocks);
  return out;
}

}  // namespace pilum
