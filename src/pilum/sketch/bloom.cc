#include "pilum/sketch/bloom.h"

#include <algorithm>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

constexpr char kMagic[] = "PLMBLOOM";
constexpr uint16_t kVersion = 1;
constexpr uint8_t kHashXxh64 = 1, kLayoutSplit256 = 1;

constexpr uint32_t kSalt[8] = {0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d,
                               0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31};

uint64_t BlockOf(uint64_t hash, uint64_t blocks) { return ((hash >> 32) * blocks) >> 32; }

}  // namespace

uint32_t BloomFilter::BlocksForItems(uint64_t n) {
  n = std::clamp<uint64_t>(n, kFloorItems, uint64_t{kMaxBlocks} * 1024 / 43);
  return static_cast<uint32_t>((n * 43 + 1023) / 1024);  // 10.75 bits an item
}

BloomFilter BloomFilter::ForItems(uint64_t n) { return BloomFilter(BlocksForItems(n)); }

uint64_t BloomFilter::HashOf(std::string_view hash_bytes) { return XXH64(hash_bytes.data(), hash_bytes.size(), 0); }

void BloomFilter::Insert(uint64_t hash) {
  uint32_t* block = words_.data() + BlockOf(hash, blocks()) * 8;
  for (int i = 0; i < 8; ++i) block[i] |= 1u << ((static_cast<uint32_t>(hash) * kSalt[i]) >> 27);
}

bool BloomFilter::MayContain(uint64_t hash) const {
  const uint32_t* block = words_.data() + BlockOf(hash, blocks()) * 8;
  uint32_t missing = 0;
  for (int i = 0; i < 8; ++i) missing |= ~block[i] & (1u << ((static_cast<uint32_t>(hash) * kSalt[i]) >> 27));
  return missing == 0;
}

Status BloomFilter::Merge(const BloomFilter& other) {
  if (other.words_.size() != words_.size()) {
    return UsageError("Bloom filters of {} and {} blocks cannot be merged", blocks(), other.blocks());
  }
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
