#include "pilum/sketch/cuckoo.h"

#include <algorithm>

#include "pilum/sketch/array_hash.h"
#include "pilum/sketch/varint.h"

namespace pilum {
namespace {

constexpr std::string_view kMagic = "PLMCUCKO";
constexpr int kMaxKicks = 500;
constexpr uint32_t kMinBuckets = 16;

// Load at most 0.88: kicks stay short.
uint32_t BucketsFor(uint32_t items) {
  return std::max(kMinBuckets, static_cast<uint32_t>((uint64_t{items} * 100 + 351) / 352));
}

// Is one of the four 16-bit lanes equal to print?
bool HasLane(uint64_t bucket, uint16_t print) {
  const uint64_t x = bucket ^ (0x0001000100010001ull * print);
  return ((x - 0x0001000100010001ull) & ~x & 0x8000800080008000ull) != 0;
}

}  // namespace

CuckooFilter::CuckooFilter(const Params& params) : params_(params), buckets_(BucketsFor(params.items), 0) {}

Result<CuckooFilter> CuckooFilter::Empty(const Params& params) {
  if (params.items == 0 || params.items > kMaxItems) {
    return UsageError("Cuckoo: items must be 1 to {}, not {}", kMaxItems, params.items);
  }
  return CuckooFilter(params);
}

// bucket + other = a number of the fingerprint alone (modulo the buckets), so that each leads to the other.
uint32_t CuckooFilter::OtherBucket(uint32_t bucket, uint16_t print) const {
  const uint32_t n = static_cast<uint32_t>(buckets_.size());
  const uint32_t sum = static_cast<uint32_t>(uint64_t{print * 0x9E3779B1u ^ 0x5BD1E995u} * n >> 32);
  return sum >= bucket ? sum - bucket : sum + (n - bucket);
}

CuckooFilter::Place CuckooFilter::PlaceOf(uint64_t hash) const {
  Place p;
  p.bucket = static_cast<uint32_t>((hash & 0xFFFFFFFF) * buckets_.size() >> 32);
  p.print = std::max<uint16_t>(1, static_cast<uint16_t>(hash >> 48));
  p.other = OtherBucket(p.bucket, p.print);
  return p;
}

bool CuckooFilter::Holds(const Place& p) const {
  if (HasLane(buckets_[p.bucket], p.print) || HasLane(buckets_[p.other], p.print)) return true;
  if (stash_.empty()) return false;
  const uint64_t entry = uint64_t{std::min(p.bucket, p.other)} << 16 | p.print;
  return std::find(stash_.begin(), stash_.end(), entry) != stash_.end();
}

bool CuckooFilter::PutIn(uint32_t bucket, uint16_t print) {
  for (int shift = 0; shift < 64; shift += 16) {
    if ((buckets_[bucket] >> shift & 0xFFFF) == 0) {
      buckets_[bucket] |= uint64_t{print} << shift;
      return true;
    }
  }
  return false;
}

Status CuckooFilter::Put(Place p) {
  if (Holds(p)) return Status::OK();
  if (size_ >= params_.items) {
    return UsageError("Cuckoo: full, it holds at most {} distinct values; make one with more items", params_.items);
  }
  ++size_;
  if (PutIn(p.bucket, p.print) || PutIn(p.other, p.print)) return Status::OK();
  uint32_t bucket = p.other;
  for (int kick = 0; kick < kMaxKicks; ++kick) {
    const int shift = 16 * ((kick + p.print) & 3);  // whom it evicts: any, as long as it varies
    const uint16_t out = static_cast<uint16_t>(buckets_[bucket] >> shift);
    buckets_[bucket] ^= static_cast<uint64_t>(out ^ p.print) << shift;
    p.print = out;
    bucket = OtherBucket(bucket, out);
    if (PutIn(bucket, out)) return Status::OK();
  }
  stash_.push_back(uint64_t{std::min(bucket, OtherBucket(bucket, p.print))} << 16 | p.print);
  return Status::OK();
}

Status CuckooFilter::Insert(uint64_t hash) { return Put(PlaceOf(hash)); }

Status CuckooFilter::Update(const arrow::Array& array) {
  Status status;
  PILUM_RETURN_NOT_OK(VisitHashes(array, 0, [&](const HashBlock& block) {
    for (size_t i = 0; i < block.hashes.size() && status.ok(); ++i) status = Insert(block.hashes[i]);
  }));
  return status;
}

bool CuckooFilter::MayContain(uint64_t hash) const { return Holds(PlaceOf(hash)); }

void CuckooFilter::MayContain(std::span<const uint64_t> hashes, uint8_t* out) const {
  for (uint64_t h : hashes) *out++ = MayContain(h);
}

double CuckooFilter::FalsePositiveRate() const {
  return 2.0 * static_cast<double>(size_) / static_cast<double>(buckets_.size()) / 65535.0;
}

std::vector<uint64_t> CuckooFilter::Entries() const {
  std::vector<uint64_t> out = stash_;
  out.reserve(size_);
  for (uint32_t b = 0; b < buckets_.size(); ++b) {
    for (uint64_t lanes = buckets_[b]; lanes != 0; lanes >>= 16) {
      const uint16_t print = static_cast<uint16_t>(lanes);
      if (print != 0) out.push_back(uint64_t{std::min(b, OtherBucket(b, print))} << 16 | print);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

Status CuckooFilter::Merge(const CuckooFilter& other) {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  for (uint64_t entry : other.Entries()) {
    const uint32_t bucket = static_cast<uint32_t>(entry >> 16);
    const uint16_t print = static_cast<uint16_t>(entry);
    PILUM_RETURN_NOT_OK(Put({bucket, OtherBucket(bucket, print), print}));
  }
  return Status::OK();
}

std::string CuckooFilter::ToBytes() const {
  std::string out;
  AppendHeader(kMagic, {.size = params_.items, .extra = size_}, &out);
  const std::vector<uint64_t> entries = Entries();
  for (size_t bucket = 0, i = 0; bucket < buckets_.size(); ++bucket) {
    size_t end = i;
    while (end < entries.size() && entries[end] >> 16 == bucket) ++end;
    AppendVarint(end - i, &out);
    for (; i < end; ++i) AppendLE<uint16_t>(&out, static_cast<uint16_t>(entries[i]));
  }
  return out;
}

Result<CuckooFilter> CuckooFilter::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  PILUM_ASSIGN_OR_RETURN(const SketchHeader h, ReadHeader(kMagic, SketchHeader::kXxh64, source, &in));
  const auto corrupt = [&](std::string what) { return Corrupt(source, "Cuckoo", what); };
  if (h.layout != 1 || h.seed != 0 || h.size == 0 || h.size > kMaxItems || h.extra > h.size ||
      in.remaining() < BucketsFor(h.size) || (in.remaining() - BucketsFor(h.size)) / 2 < h.extra) {
    return corrupt(fmt::format("layout {}, seed {}, {} of {} values in {} bytes", h.layout, h.seed, h.extra, h.size,
                               in.remaining()));
  }
  CuckooFilter out({h.size});
  for (uint32_t bucket = 0; bucket < out.buckets_.size(); ++bucket) {
    const auto count = ReadVarint(&in);
    if (!count || *count > in.remaining() / 2) return corrupt(fmt::format("bucket {} is cut short", bucket));
    uint16_t before = 0;
    for (uint64_t i = 0; i < *count; ++i) {
      const auto print = in.Read<uint16_t>();
      const uint32_t other = out.OtherBucket(bucket, print);
      if (print <= before || other < bucket || out.size_ >= h.extra) {
        return corrupt(fmt::format("bucket {}: fingerprint {} after {}", bucket, print, before));
      }
      before = print;
      PILUM_RETURN_NOT_OK(out.Put({bucket, other, print}));
    }
  }
  if (out.size_ != h.extra || in.remaining() != 0) {
    return corrupt(fmt::format("{} values, not {}; {} bytes left over", out.size_, h.extra, in.remaining()));
  }
  return out;
}

}  // namespace pilum
