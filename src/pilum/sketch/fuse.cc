#include "pilum/sketch/fuse.h"

#include <algorithm>
#include <bit>

#include "pilum/sketch/array_hash.h"

namespace pilum {
namespace {

constexpr std::string_view kMagic = "PLMBFUSE";
constexpr uint8_t kOpen = 1, kSealed = 2;
constexpr uint64_t kMaxAttempts = 256;

uint64_t Mixed(uint64_t hash, uint64_t attempt) { return WithSeed(hash, 0x9E3779B97F4A7C15ull * (attempt + 1)); }

uint16_t PrintOf(uint64_t mixed) { return static_cast<uint16_t>(mixed ^ mixed >> 32); }

// log2(n) in 1/65536, between powers of two by the chord: whole numbers, so that all machines agree.
uint64_t Log2(uint64_t n) {
  const int whole = static_cast<int>(std::bit_width(n)) - 1;
  return (static_cast<uint64_t>(whole) << 16) +
         (whole <= 16 ? (n - (1ull << whole)) << (16 - whole) : (n - (1ull << whole)) >> (whole - 16));
}

}  // namespace

Result<FuseFilter> FuseFilter::Empty(const Params& params) {
  if (params.bits != 8 && params.bits != 16) return UsageError("Fuse: bits must be 8 or 16, not {}", params.bits);
  return FuseFilter(params);
}

Status FuseFilter::Insert(uint64_t hash) {
  if (sealed()) return UsageError("Fuse: sealed, and a sealed filter does not keep its values; update before sealing");
  waiting_.push_back(hash);
  if (waiting_.size() >= std::max<size_t>(4096, hashes_.size() / 2)) Settle();
  return Status::OK();
}

Status FuseFilter::Update(const arrow::Array& array) {
  Status status;
  PILUM_RETURN_NOT_OK(VisitHashes(array, 0, [&](const HashBlock& block) {
    for (size_t i = 0; i < block.hashes.size() && status.ok(); ++i) status = Insert(block.hashes[i]);
  }));
  return status;
}

void FuseFilter::Settle() {
  if (waiting_.empty()) return;
  std::sort(waiting_.begin(), waiting_.end());
  const auto middle = hashes_.insert(hashes_.end(), waiting_.begin(), waiting_.end());
  std::inplace_merge(hashes_.begin(), middle, hashes_.end());
  hashes_.erase(std::unique(hashes_.begin(), hashes_.end()), hashes_.end());
  waiting_ = {};
}

std::vector<uint64_t> FuseFilter::Hashes() const {
  if (waiting_.empty()) return hashes_;
  FuseFilter settled = *this;
  settled.Settle();
  return std::move(settled.hashes_);
}

uint64_t FuseFilter::size() const { return sealed() ? items_ : Hashes().size(); }

Status FuseFilter::Merge(const FuseFilter& other) {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  if (sealed() || other.sealed()) {
    return UsageError("Fuse: a sealed filter does not keep its values; merge the open ones, then seal");
  }
  const std::vector<uint64_t> theirs = other.Hashes();
  waiting_.insert(waiting_.end(), theirs.begin(), theirs.end());
  Settle();
  return Status::OK();
}

// The authors' sizes: segments of 2^(log2(n) / 1.7355 + 2.25) slots, and 0.875 + 4.983 / log2(n) slots a value, at least
// 1.125; here in whole numbers.
void FuseFilter::SetShape(uint64_t items) {
  const uint64_t n = std::max<uint64_t>(items, 2), log2 = Log2(n);
  const uint64_t exponent = ((log2 * 37762 >> 16) + 147456) >> 16;
  segment_length_ = 1ull << std::min<uint64_t>(exponent, 18);
  const uint64_t factor = std::max<uint64_t>(73728, 57344 + (326566ull << 16) / log2);  // in 1/65536
  const uint64_t slots = (n * factor + 65535) >> 16;
  const uint64_t all = (slots + segment_length_ - 1) / segment_length_;
  segments_ = all > 3 ? all - 2 : 1;
}

FuseFilter::Slots FuseFilter::SlotsOf(uint64_t mixed) const {
  const uint64_t mask = segment_length_ - 1;
  const uint64_t first =
      static_cast<uint64_t>(static_cast<unsigned __int128>(mixed) * (segments_ * segment_length_) >> 64);
  return {{first, (first + segment_length_) ^ (mixed >> 18 & mask), (first + 2 * segment_length_) ^ (mixed & mask)}};
}

uint16_t FuseFilter::PrintAt(uint64_t slot) const {
  return params_.bits == 8 ? prints_[slot] : LoadLE<uint16_t>(prints_.data() + slot * 2);
}

void FuseFilter::XorPrint(uint64_t slot, uint16_t print) {
  if (params_.bits == 8) {
    prints_[slot] ^= static_cast<uint8_t>(print);
  } else {
    StoreLE<uint16_t>(prints_.data() + slot * 2, LoadLE<uint16_t>(prints_.data() + slot * 2) ^ print);
  }
}

// Peels slots that only one value still uses, then gives the values their fingerprints in reverse. False: a core is left.
bool FuseFilter::Solve(std::span<const uint64_t> hashes) {
  struct Slot {
    uint64_t mixed = 0;  // of the values that use it, by xor
    uint32_t users = 0;
  };
  std::vector<Slot> slots((segments_ + 2) * segment_length_);
  for (uint64_t h : hashes) {
    const uint64_t mixed = Mixed(h, attempt_);
    for (uint64_t at : SlotsOf(mixed).at) {
      slots[at].mixed ^= mixed;
      ++slots[at].users;
    }
  }
  std::vector<std::pair<uint64_t, uint64_t>> order;  // (mixed, slot)
  std::vector<uint64_t> lonely;
  order.reserve(hashes.size());
  for (uint64_t at = 0; at < slots.size(); ++at) {
    if (slots[at].users == 1) lonely.push_back(at);
  }
  while (!lonely.empty()) {
    const uint64_t at = lonely.back();
    lonely.pop_back();
    if (slots[at].users != 1) continue;
    const uint64_t mixed = slots[at].mixed;
    order.emplace_back(mixed, at);
    for (uint64_t used : SlotsOf(mixed).at) {
      slots[used].mixed ^= mixed;
      if (--slots[used].users == 1) lonely.push_back(used);
    }
  }
  if (order.size() != hashes.size()) return false;
  prints_.assign(slots.size() * params_.bits / 8, 0);
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    uint16_t print = PrintOf(it->first);
    for (uint64_t at : SlotsOf(it->first).at) print ^= PrintAt(at);
    XorPrint(it->second, print);
  }
  return true;
}

Status FuseFilter::Seal() {
  if (sealed()) return Status::OK();
  Settle();
  if (hashes_.size() > kMaxItems) return UsageError("Fuse: more than {} values", kMaxItems);
  SetShape(hashes_.size());
  for (attempt_ = 0; attempt_ < kMaxAttempts; ++attempt_) {
    if (!Solve(hashes_)) continue;
    items_ = hashes_.size();
    hashes_ = {};
    return Status::OK();
  }
  segment_length_ = segments_ = attempt_ = 0;
  return UsageError("Fuse: no filter found for {} values", hashes_.size());
}

bool FuseFilter::MayContain(uint64_t hash) const {
  uint8_t out;
  MayContain({&hash, 1}, &out);
  return out != 0;
}

void FuseFilter::MayContain(std::span<const uint64_t> hashes, uint8_t* out) const {
  if (!sealed()) {
    const std::vector<uint64_t> settled = waiting_.empty() ? std::vector<uint64_t>() : Hashes();
    const std::vector<uint64_t>& all = waiting_.empty() ? hashes_ : settled;
    for (uint64_t h : hashes) *out++ = std::binary_search(all.begin(), all.end(), h);
    return;
  }
  const uint16_t mask = params_.bits == 8 ? 0xFF : 0xFFFF;
  for (uint64_t h : hashes) {
    const uint64_t mixed = Mixed(h, attempt_);
    uint16_t print = PrintOf(mixed);
    for (uint64_t at : SlotsOf(mixed).at) print ^= PrintAt(at);
    *out++ = (print & mask) == 0 && items_ > 0;
  }
}

double FuseFilter::FalsePositiveRate() const { return sealed() && items_ > 0 ? 1.0 / (1u << params_.bits) : 0; }

std::string FuseFilter::ToBytes() const {
  std::string out;
  SketchHeader header{.layout = sealed() ? kSealed : kOpen, .size = params_.bits};
  if (sealed()) {
    header.extra = items_;
    AppendHeader(kMagic, header, &out);
    AppendLE<uint64_t>(&out, attempt_);
    out.append(reinterpret_cast<const char*>(prints_.data()), prints_.size());
    return out;
  }
  const std::vector<uint64_t> hashes = Hashes();
  header.extra = hashes.size();
  AppendHeader(kMagic, header, &out);
  out.append(reinterpret_cast<const char*>(hashes.data()), hashes.size() * 8);
  return out;
}

Result<FuseFilter> FuseFilter::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  PILUM_ASSIGN_OR_RETURN(const SketchHeader h, ReadHeader(kMagic, SketchHeader::kXxh64, source, &in));
  const auto corrupt = [&](std::string what) { return Corrupt(source, "Fuse", what); };
  if ((h.size != 8 && h.size != 16) || h.seed != 0 || h.extra > kMaxItems ||
      (h.layout != kOpen && h.layout != kSealed)) {
    return corrupt(fmt::format("layout {}, bits {}, seed {}, {} values", h.layout, h.size, h.seed, h.extra));
  }
  FuseFilter out({h.size});
  if (h.layout == kOpen) {
    if (in.remaining() != h.extra * 8) return corrupt(fmt::format("{} hashes in {} bytes", h.extra, in.remaining()));
    out.hashes_.resize(h.extra);
    if (h.extra > 0) std::memcpy(out.hashes_.data(), bytes.data() + SketchHeader::kBytes, h.extra * 8);
    if (std::adjacent_find(out.hashes_.begin(), out.hashes_.end(), std::greater_equal<>()) != out.hashes_.end()) {
      return corrupt("hashes do not rise");
    }
    return out;
  }
  out.attempt_ = in.Read<uint64_t>();
  out.items_ = h.extra;
  out.SetShape(h.extra);
  const uint64_t wanted = (out.segments_ + 2) * out.segment_length_ * (h.size / 8);
  if (!in.ok() || in.remaining() != wanted || out.attempt_ >= kMaxAttempts) {
    return corrupt(fmt::format("{} bytes of fingerprints, not {}; attempt {}", in.remaining(), wanted, out.attempt_));
  }
  const std::string_view prints = in.ReadBytes(wanted);
  out.prints_.assign(prints.begin(), prints.end());
  return out;
}

}  // namespace pilum
