#include "pilum/sketch/min_hash.h"

#include <algorithm>
#include <cmath>

#include "pilum/sketch/array_hash.h"

namespace pilum {
namespace {

constexpr std::string_view kMagic = "PLMMINHA";

}  // namespace

Result<MinHash> MinHash::Empty(const Params& params) {
  if (params.k < kMinK || params.k > kMaxK) {
    return UsageError("MinHash: k must be {} to {}, not {}", kMinK, kMaxK, params.k);
  }
  return MinHash(params);
}

Status MinHash::Update(const arrow::Array& array) {
  return VisitHashes(array, params_.seed, [this](const HashBlock& block) { InsertSeeded(block.hashes); });
}

void MinHash::Insert(uint64_t hash) {
  hash = WithSeed(hash, params_.seed);
  InsertSeeded({&hash, 1});
}

// Once k are kept, few hashes are below the kth: n values cost n comparisons and about k ln(n / k) insertions.
void MinHash::InsertSeeded(std::span<const uint64_t> hashes) {
  const size_t room = std::max<size_t>(64, params_.k);
  bool full = kept_.size() >= params_.k;
  uint64_t limit = full ? kept_.back() : 0;
  for (const uint64_t h : hashes) {
    if (full && h >= limit) continue;
    waiting_.push_back(h);
    if (waiting_.size() < room) continue;
    Settle();
    full = kept_.size() >= params_.k;
    limit = full ? kept_.back() : 0;
  }
}

void MinHash::Settle() {
  if (waiting_.empty()) return;
  std::sort(waiting_.begin(), waiting_.end());
  std::vector<uint64_t> all;
  all.reserve(kept_.size() + waiting_.size());
  std::merge(kept_.begin(), kept_.end(), waiting_.begin(), waiting_.end(), std::back_inserter(all));
  all.erase(std::unique(all.begin(), all.end()), all.end());
  if (all.size() > params_.k) all.resize(params_.k);
  kept_ = std::move(all);
  waiting_.clear();
}

std::vector<uint64_t> MinHash::Kept() const {
  if (waiting_.empty()) return kept_;
  MinHash settled = *this;
  settled.Settle();
  return std::move(settled.kept_);
}

Status MinHash::Merge(const MinHash& other) {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  const std::vector<uint64_t> theirs = other.Kept();
  waiting_.insert(waiting_.end(), theirs.begin(), theirs.end());
  Settle();
  return Status::OK();
}

Result<Estimate> MinHash::Jaccard(const MinHash& other) const {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  const std::vector<uint64_t> a = Kept(), b = other.Kept();
  uint64_t seen = 0, both = 0;
  for (size_t i = 0, j = 0; seen < params_.k && (i < a.size() || j < b.size()); ++seen) {
    if (j == b.size() || (i < a.size() && a[i] < b[j])) {
      ++i;
    } else if (i == a.size() || b[j] < a[i]) {
      ++j;
    } else {
      ++both, ++i, ++j;
    }
  }
  if (seen == 0) return Estimate{1, 1, 1, 0.95};
  const double n = static_cast<double>(seen), jaccard = static_cast<double>(both) / n;
  if (seen < params_.k) return Estimate{jaccard, jaccard, jaccard, 0.95};
  const double side = std::max(1.96 * std::sqrt(jaccard * (1 - jaccard) / n), 1 / n);
  return Estimate{jaccard, std::max(0.0, jaccard - side), std::min(1.0, jaccard + side), 0.95};
}

Estimate MinHash::Count() const {
  const std::vector<uint64_t> kept = Kept();
  const double n = static_cast<double>(kept.size());
  if (kept.size() < params_.k) return {n, n, n, 0.95};
  const double value = (n - 1) / ((static_cast<double>(kept.back()) + 1) * 0x1p-64);
  const double side = 1.96 * value / std::sqrt(std::max(1.0, n - 2));
  return {value, std::max(n, value - side), value + side, 0.95};
}

std::string MinHash::ToBytes() const {
  const std::vector<uint64_t> kept = Kept();
  std::string out;
  AppendHeader(kMagic, {.size = params_.k, .seed = params_.seed, .extra = kept.size()}, &out);
  out.append(reinterpret_cast<const char*>(kept.data()), kept.size() * 8);
  return out;
}

Result<MinHash> MinHash::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  PILUM_ASSIGN_OR_RETURN(const SketchHeader h, ReadHeader(kMagic, SketchHeader::kXxh64, source, &in));
  if (h.layout != 1 || h.size < kMinK || h.size > kMaxK || h.extra > h.size || in.remaining() != h.extra * 8) {
    return Corrupt(source, "MinHash",
                   fmt::format("layout {}, k={}, {} hashes in {} bytes", h.layout, h.size, h.extra, in.remaining()));
  }
  MinHash out({h.size, h.seed});
  out.kept_.resize(h.extra);
  if (h.extra > 0) std::memcpy(out.kept_.data(), bytes.data() + SketchHeader::kBytes, h.extra * 8);
  if (std::adjacent_find(out.kept_.begin(), out.kept_.end(), std::greater_equal<>()) != out.kept_.end()) {
    return Corrupt(source, "MinHash", "hashes do not rise");
  }
  return out;
}

}  // namespace pilum
