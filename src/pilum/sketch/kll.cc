#include "pilum/sketch/kll.h"

#include <algorithm>
#include <cmath>

#include <arrow/array.h>

#include "pilum/sketch/array_hash.h"
#include "pilum/sketch/array_numbers.h"
#include "pilum/sketch/sort_keys.h"

namespace pilum {
namespace {

constexpr std::string_view kMagic = "PLMKLLSK";
constexpr size_t kBuffer = 2048;    // keys that wait in the first level while rows come
constexpr uint64_t kLeastSize = 8;  // of a level
constexpr size_t kMaxLevels = 61;
constexpr uint64_t kMaxRows = uint64_t{1} << 60;

}  // namespace

std::string Kll::Params::ToString() const {
  return fmt::format("k={} kind={} seed={}", k, kind == Kind::kFloat ? "float" : "int", seed);
}

Result<Kll> Kll::Empty(const Params& params) {
  if (params.k < kMinK || params.k > kMaxK) {
    return UsageError("KLL: k must be {} to {}, not {}", kMinK, kMaxK, params.k);
  }
  return Kll(params);
}

Status Kll::Update(const arrow::Array& array) {
  if (n_ + static_cast<uint64_t>(array.length()) > kMaxRows) return UsageError("KLL: more than 2^60 rows");
  if (params_.kind == Kind::kInt) {
    return VisitInts(array, [this](std::span<const int64_t> block, bool is_unsigned) -> Status {
      if (is_unsigned && std::any_of(block.begin(), block.end(), [](int64_t v) { return v < 0; })) {
        return UsageError("KLL: a uint64 above 2^63 - 1; use kind float");
      }
      AddKeys(block.data(), block.size());
      return Status::OK();
    });
  }
  return VisitDoubles(array, [this](std::span<const double> block) {
    int64_t keys[kNumberBlock];
    for (size_t i = 0; i < block.size(); ++i) keys[i] = KeyOf(block[i]);
    AddKeys(keys, block.size());
  });
}

void Kll::AddKeys(const int64_t* keys, size_t n) {
  if (n == 0) return;
  if (n_ == 0) min_ = max_ = keys[0];
  int64_t low = min_, high = max_;
  for (size_t i = 0; i < n; ++i) {
    low = std::min(low, keys[i]);
    high = std::max(high, keys[i]);
  }
  min_ = low;
  max_ = high;
  for (size_t at = 0; at < n;) {
    std::vector<int64_t>& first = levels_[0];
    const size_t taken = std::min(n - at, kBuffer - first.size());
    first.insert(first.end(), keys + at, keys + at + taken);
    first_sorted_ = false;
    n_ += taken;
    at += taken;
    if (first.size() == kBuffer) Compact();
  }
}

void Kll::SortFirstLevel() {
  if (!first_sorted_) SortKeys(&levels_[0]);
  first_sorted_ = true;
}

// The size of a level, from the one above it: two thirds, k at the top. In 1/65536 and whole numbers, so that all machines
// agree.
uint64_t Kll::SizeBelow(uint64_t above) { return std::max(kLeastSize << 16, above * 2 / 3); }

void Kll::Compact() {
  SortFirstLevel();
  while (true) {
    uint64_t held = 0, allowed = 0, size = uint64_t{params_.k} << 16;
    size_t full = levels_.size();
    for (size_t h = levels_.size(); h-- > 0; size = SizeBelow(size)) {
      const uint64_t whole = (size + 65535) >> 16;
      held += levels_[h].size();
      allowed += whole;
      if (levels_[h].size() >= whole) full = h;
    }
    if (held <= allowed || full == levels_.size()) return;
    CompactLevel(full);
  }
}

// Every other key of level h, from the first or the second, goes up with twice the weight; of an odd number one stays.
void Kll::CompactLevel(size_t h) {
  if (h + 1 == levels_.size()) levels_.emplace_back();
  std::vector<int64_t>& from = levels_[h];
  const uint64_t content = static_cast<uint64_t>(from.front()) ^ static_cast<uint64_t>(from.back()) * 3;
  const uint64_t coin = WithSeed(WithSeed(n_ ^ content, params_.seed + 1), h + 1);
  const size_t odd = from.size() % 2;
  const size_t stays_at = odd != 0 && (coin & 2) != 0 ? from.size() - 1 : 0;  // the first or the last key
  const size_t begin = odd != 0 && stays_at == 0 ? 1 : 0;
  std::vector<int64_t> up;
  up.reserve(from.size() / 2);
  for (size_t i = begin + (coin & 1); i < begin + from.size() - odd; i += 2) up.push_back(from[i]);
  if (odd != 0) {
    from = {from[stays_at]};
  } else {
    from.clear();
  }
  std::vector<int64_t>& to = levels_[h + 1];
  const auto middle = static_cast<std::ptrdiff_t>(to.size());
  to.insert(to.end(), up.begin(), up.end());
  std::inplace_merge(to.begin(), to.begin() + middle, to.end());
}

Kll Kll::Settled() const {
  Kll out = *this;
  out.Compact();
  return out;
}

Status Kll::Merge(const Kll& other) {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  if (n_ + other.n_ > kMaxRows) return UsageError("KLL: more than 2^60 rows");
  if (other.n_ == 0) return Status::OK();
  if (n_ == 0) {
    *this = other;
    return Status::OK();
  }
  const Kll theirs = other.Settled();
  Compact();
  n_ += theirs.n_;
  min_ = std::min(min_, theirs.min_);
  max_ = std::max(max_, theirs.max_);
  if (levels_.size() < theirs.levels_.size()) levels_.resize(theirs.levels_.size());
  for (size_t h = 0; h < theirs.levels_.size(); ++h) {
    std::vector<int64_t> both;
    both.reserve(levels_[h].size() + theirs.levels_[h].size());
    std::merge(levels_[h].begin(), levels_[h].end(), theirs.levels_[h].begin(), theirs.levels_[h].end(),
               std::back_inserter(both));
    levels_[h] = std::move(both);
  }
  Compact();
  return Status::OK();
}

double Kll::RankErrorOf(uint32_t k) { return 1.3 / std::pow(k, 0.95); }
double Kll::RankError() const { return n_ <= params_.k ? 0 : RankErrorOf(params_.k); }

std::vector<std::pair<int64_t, uint64_t>> Kll::Weighted() const {
  std::vector<std::pair<int64_t, uint64_t>> out;
  for (size_t h = 0; h < levels_.size(); ++h) {
    for (int64_t key : levels_[h]) out.emplace_back(key, uint64_t{1} << h);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<int64_t> Kll::QuantileKey(double q) const {
  if (n_ == 0) return UsageError("KLL: no values, so no quantiles");
  if (!(q >= 0 && q <= 1)) return UsageError("KLL: a quantile must be 0 to 1, not {}", q);
  const double wanted = std::ceil(q * static_cast<double>(n_));
  if (wanted <= 1) return min_;
  if (wanted >= static_cast<double>(n_)) return max_;
  double rank = 0;
  for (const auto& [key, weight] : Weighted()) {
    rank += static_cast<double>(weight);
    if (rank >= wanted) return key;
  }
  return max_;
}

Result<Estimate> Kll::Quantile(double q) const {
  const auto number = [&](double at) -> Result<double> {
    PILUM_ASSIGN_OR_RETURN(const int64_t key, QuantileKey(at));
    return params_.kind == Kind::kFloat ? DoubleOf(key) : static_cast<double>(key);
  };
  Estimate out{0, 0, 0, 0.99};
  PILUM_ASSIGN_OR_RETURN(out.value, number(q));
  PILUM_ASSIGN_OR_RETURN(out.low, number(std::max(0.0, q - RankError())));
  PILUM_ASSIGN_OR_RETURN(out.high, number(std::min(1.0, q + RankError())));
  return out;
}

double Kll::RankOfKey(int64_t key) const {
  if (n_ == 0 || key < min_) return 0;
  if (key >= max_) return 1;
  double below = 0;
  for (size_t h = 0; h < levels_.size(); ++h) {
    const auto count = std::count_if(levels_[h].begin(), levels_[h].end(), [&](int64_t k) { return k <= key; });
    below += std::ldexp(static_cast<double>(count), static_cast<int>(h));
  }
  return below / static_cast<double>(n_);
}

std::string Kll::ToBytes() const {
  const Kll settled = Settled();
  std::string out;
  AppendHeader(kMagic,
               {.hash = SketchHeader::kNoHash,
                .layout = static_cast<uint8_t>(params_.kind),
                .size = params_.k,
                .seed = params_.seed,
                .extra = n_},
               &out);
  AppendLE<int64_t>(&out, settled.min_);
  AppendLE<int64_t>(&out, settled.max_);
  AppendLE<uint32_t>(&out, static_cast<uint32_t>(settled.levels_.size()));
  for (const auto& level : settled.levels_) AppendLE<uint32_t>(&out, static_cast<uint32_t>(level.size()));
  for (const auto& level : settled.levels_) {
    out.append(reinterpret_cast<const char*>(level.data()), level.size() * 8);
  }
  return out;
}

Result<Kll> Kll::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  PILUM_ASSIGN_OR_RETURN(const SketchHeader h, ReadHeader(kMagic, SketchHeader::kNoHash, source, &in));
  const auto corrupt = [&](std::string what) { return Corrupt(source, "KLL", what); };
  const Params params{h.size, static_cast<Kind>(h.layout), h.seed};
  if ((params.kind != Kind::kFloat && params.kind != Kind::kInt) || h.size < kMinK || h.size > kMaxK ||
      h.extra > kMaxRows) {
    return corrupt(fmt::format("layout {}, k={}, {} rows", h.layout, h.size, h.extra));
  }
  Kll out(params);
  out.n_ = h.extra;
  out.min_ = in.Read<int64_t>();
  out.max_ = in.Read<int64_t>();
  const auto levels = in.Read<uint32_t>();
  if (!in.ok() || levels == 0 || levels > kMaxLevels) return corrupt(fmt::format("{} levels", levels));
  out.levels_.resize(levels);
  uint64_t keys = 0, allowed = 0, allowance = uint64_t{h.size} << 16;
  unsigned __int128 rows = 0;
  for (size_t level = 0; level < levels; ++level) {
    const auto size = in.Read<uint32_t>();
    if (size > in.remaining() / 8) return corrupt(fmt::format("level {} of {} keys is cut short", level, size));
    out.levels_[level].resize(size);
    keys += size;
    allowed += (allowance + 65535) >> 16;
    allowance = SizeBelow(allowance);
    rows += static_cast<unsigned __int128>(size) << level;
  }
  if (!in.ok() || in.remaining() != keys * 8 || keys > allowed || rows != h.extra) {
    return corrupt(fmt::format("{} keys in {} bytes, {} rows", keys, in.remaining(), h.extra));
  }
  for (auto& level : out.levels_) {
    const std::string_view raw = in.ReadBytes(level.size() * 8);
    if (!level.empty()) std::memcpy(level.data(), raw.data(), raw.size());
    if (!std::is_sorted(level.begin(), level.end()) ||
        (!level.empty() && (level.front() < out.min_ || level.back() > out.max_))) {
      return corrupt("keys out of order or out of bounds");
    }
  }
  if (h.extra == 0 && (out.min_ != 0 || out.max_ != 0 || levels != 1)) return corrupt("empty, but with bounds");
  return out;
}

}  // namespace pilum
