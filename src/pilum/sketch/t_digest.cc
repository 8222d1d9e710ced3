#include "pilum/sketch/t_digest.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <arrow/array.h>

#include "pilum/sketch/array_numbers.h"
#include "pilum/sketch/sort_keys.h"

namespace pilum {
namespace {

constexpr std::string_view kMagic = "PLMTDIGE";
constexpr size_t kBuffer = 4096;
constexpr double kTwoPi = 6.283185307179586, kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kMaxRows = uint64_t{1} << 52;  // weights stay whole numbers

}  // namespace

Result<TDigest> TDigest::Empty(const Params& params) {
  if (params.delta < kMinDelta || params.delta > kMaxDelta) {
    return UsageError("TDigest: delta must be {} to {}, not {}", kMinDelta, kMaxDelta, params.delta);
  }
  return TDigest(params);
}

uint64_t TDigest::count() const {
  return low_infinities_ + high_infinities_ + nans_ + static_cast<uint64_t>(weight_) + waiting_.size();
}

Status TDigest::Update(const arrow::Array& array) {
  if (count() + static_cast<uint64_t>(array.length()) > kMaxRows) return UsageError("TDigest: more than 2^52 rows");
  return VisitDoubles(array, [this](std::span<const double> block) { Add(block.data(), block.size()); });
}

void TDigest::Add(const double* values, size_t n) {
  double low = kInfinity, high = -kInfinity;
  int64_t keys[kNumberBlock];
  size_t finite = 0;
  for (size_t i = 0; i < n; ++i) {
    const double v = values[i];
    if (!(std::abs(v) < kInfinity)) {
      ++(v != v ? nans_ : v > 0 ? high_infinities_ : low_infinities_);
      continue;
    }
    low = std::min(low, v);
    high = std::max(high, v);
    keys[finite++] = KeyOf(v);
  }
  if (finite == 0) return;
  const bool first = weight_ == 0 && waiting_.empty();
  min_ = first ? low : std::min(min_, low);
  max_ = first ? high : std::max(max_, high);
  for (size_t at = 0; at < finite;) {
    const size_t taken = std::min(finite - at, kBuffer - waiting_.size());
    waiting_.insert(waiting_.end(), keys + at, keys + at + taken);
    at += taken;
    if (waiting_.size() == kBuffer) Flush();
  }
}

void TDigest::Flush() {
  if (waiting_.empty()) return;
  SortKeys(&waiting_);
  std::vector<Centroid> all;
  all.reserve(centroids_.size() + waiting_.size());
  auto old = centroids_.begin();
  for (int64_t key : waiting_) {
    const Centroid one{DoubleOf(key), 1};
    while (old != centroids_.end() && *old < one) all.push_back(*old++);
    all.push_back(one);
  }
  all.insert(all.end(), old, centroids_.end());
  weight_ += static_cast<double>(waiting_.size());
  waiting_.clear();
  Compress(std::move(all));
}

// One pass from below: a centroid takes its neighbour while their weight keeps to the limit at their middle.
void TDigest::Compress(std::vector<Centroid> sorted) {
  if (weight_ <= params_.delta) {
    centroids_ = std::move(sorted);
    return;
  }
  const double n = weight_, delta2 = static_cast<double>(params_.delta) * params_.delta, limit = kTwoPi * kTwoPi;
  std::vector<Centroid> out;
  out.reserve(params_.delta + 16);
  double before = 0, weight = sorted[0].weight, sum = sorted[0].mean * weight, first = sorted[0].mean, last = first;
  const auto emit = [&] {
    double mean = weight == 1 ? first : sum / weight;
    if (!(mean >= first)) mean = first;  // the sum may overflow
    out.push_back({std::min(mean, last), weight});
  };
  for (size_t i = 1; i < sorted.size(); ++i) {
    const Centroid& c = sorted[i];
    const double both = weight + c.weight, middle = before + both * 0.5;
    if (both * both * delta2 <= limit * middle * (n - middle)) {
      weight = both;
      sum += c.mean * c.weight;
    } else {
      emit();
      before += weight;
      weight = c.weight;
      first = c.mean;
      sum = c.mean * weight;
    }
    last = c.mean;
  }
  emit();
  centroids_ = std::move(out);
}

TDigest TDigest::Flushed() const {
  TDigest out = *this;
  out.Flush();
  return out;
}

Status TDigest::Merge(const TDigest& other) {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  if (count() + other.count() > kMaxRows) return UsageError("TDigest: more than 2^52 rows");
  const TDigest theirs = other.Flushed();
  low_infinities_ += theirs.low_infinities_;
  high_infinities_ += theirs.high_infinities_;
  nans_ += theirs.nans_;
  if (theirs.weight_ == 0) return Status::OK();
  Flush();
  if (weight_ == 0) {
    min_ = theirs.min_;
    max_ = theirs.max_;
    weight_ = theirs.weight_;
    centroids_ = theirs.centroids_;
    return Status::OK();
  }
  min_ = std::min(min_, theirs.min_);
  max_ = std::max(max_, theirs.max_);
  weight_ += theirs.weight_;
  std::vector<Centroid> all = centroids_;
  all.insert(all.end(), theirs.centroids_.begin(), theirs.centroids_.end());
  std::sort(all.begin(), all.end());  // not merged: centroids of one mean lie in any order of weight
  Compress(std::move(all));
  return Status::OK();
}

// Rank in rows, from 0.5 (the first) to weight - 0.5 (the last). A centroid of weight 1 is a value; between the middles of
// two centroids goes a line, and from the outer ones to the minimum and the maximum.
double TDigest::ValueIn(double rank) const {
  if (rank <= 0.5) return min_;
  if (rank >= weight_ - 0.5) return max_;
  double before = 0, at = 0.5, value = min_;
  for (const Centroid& c : centroids_) {
    const double middle = before + c.weight * 0.5;
    if (rank <= middle) {
      if (middle <= at) return c.mean;
      const double t = (rank - at) / (middle - at);
      return std::clamp(value * (1 - t) + c.mean * t, value, c.mean);
    }
    before += c.weight;
    at = middle;
    value = c.mean;
  }
  const double t = (rank - at) / (weight_ - 0.5 - at);
  return std::clamp(value * (1 - t) + max_ * t, value, max_);
}

Result<double> TDigest::ValueAtRank(double q) const {
  const TDigest flushed = Flushed();
  const double n = static_cast<double>(count());
  if (n == 0) return UsageError("TDigest: no values, so no quantiles");
  if (!(q >= 0 && q <= 1)) return UsageError("TDigest: a quantile must be 0 to 1, not {}", q);
  const double low = static_cast<double>(low_infinities_), high = static_cast<double>(high_infinities_);
  // While all values are kept: the smallest whose rank is at least q, as KLL answers.
  const bool exact = flushed.weight_ <= params_.delta;
  const double wanted = exact ? std::max(1.0, std::ceil(q * n)) - 0.5 : q * n;
  if (wanted < low) return -kInfinity;
  if (wanted < low + flushed.weight_ || (flushed.weight_ > 0 && high + static_cast<double>(nans_) == 0)) {
    if (!exact) return flushed.ValueIn(wanted - low);
    return flushed.centroids_[static_cast<size_t>(wanted - low)].mean;
  }
  if (high > 0 && (wanted < low + flushed.weight_ + high || nans_ == 0)) return kInfinity;
  return nans_ > 0 ? std::numeric_limits<double>::quiet_NaN() : -kInfinity;
}

double TDigest::RankError(double q) const {
  const double n = static_cast<double>(count());
  if (n <= params_.delta) return 0;
  return kTwoPi * std::sqrt(std::max(0.0, q * (1 - q))) / params_.delta + 1 / n;
}

Result<Estimate> TDigest::Quantile(double q) const {
  Estimate out{0, 0, 0, 0.99};
  PILUM_ASSIGN_OR_RETURN(out.value, ValueAtRank(q));
  const double side = RankError(q);
  PILUM_ASSIGN_OR_RETURN(out.low, ValueAtRank(std::max(0.0, q - side)));
  PILUM_ASSIGN_OR_RETURN(out.high, ValueAtRank(std::min(1.0, q + side)));
  return out;
}

double TDigest::RankOf(double v) const {
  const double n = static_cast<double>(count());
  if (n == 0) return 0;
  if (v != v) return 1;
  if (v == kInfinity) return 1 - static_cast<double>(nans_) / n;
  const double low = static_cast<double>(low_infinities_);
  const TDigest flushed = Flushed();
  if (flushed.weight_ == 0 || v < min_) return low / n;
  if (v >= max_) return (low + flushed.weight_) / n;
  double before = 0, at = 0.5, value = min_;
  for (const Centroid& c : flushed.centroids_) {
    const double middle = before + c.weight * 0.5;
    if (v < c.mean) {
      const double t = c.mean > value ? (v - value) / (c.mean - value) : 1;
      const double line = at + std::max(0.0, middle - at) * t;
      // Between two values of weight 1 the rank does not grow.
      const double rank = c.weight == 1 ? std::min(line, before) : line;
      return (low + rank) / n;
    }
    before += c.weight;
    at = c.weight == 1 ? before : middle;
    value = c.mean;
  }
  const double t = max_ > value ? (v - value) / (max_ - value) : 1;
  return (low + at + (flushed.weight_ - at) * t) / n;
}

std::string TDigest::ToBytes() const {
  const TDigest flushed = Flushed();
  std::string out;
  AppendHeader(kMagic, {.hash = SketchHeader::kNoHash, .size = params_.delta, .extra = flushed.centroids_.size()},
               &out);
  for (uint64_t n : {low_infinities_, high_infinities_, nans_}) AppendLE<uint64_t>(&out, n);
  AppendLE<double>(&out, flushed.min_);
  AppendLE<double>(&out, flushed.max_);
  for (const Centroid& c : flushed.centroids_) AppendLE<double>(&out, c.mean);
  for (const Centroid& c : flushed.centroids_) AppendLE<uint64_t>(&out, static_cast<uint64_t>(c.weight));
  return out;
}

Result<TDigest> TDigest::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  PILUM_ASSIGN_OR_RETURN(const SketchHeader h, ReadHeader(kMagic, SketchHeader::kNoHash, source, &in));
  const auto corrupt = [&](std::string what) { return Corrupt(source, "TDigest", what); };
  if (h.layout != 1 || h.seed != 0 || h.size < kMinDelta || h.size > kMaxDelta) {
    return corrupt(fmt::format("layout {}, seed {}, delta={}", h.layout, h.seed, h.size));
  }
  TDigest out({h.size});
  for (uint64_t* n : {&out.low_infinities_, &out.high_infinities_, &out.nans_}) {
    *n = in.Read<uint64_t>();
    if (*n > kMaxRows) return corrupt(fmt::format("{} infinities or NaN", *n));
  }
  out.min_ = in.Read<double>();
  out.max_ = in.Read<double>();
  if (!in.ok() || h.extra > in.remaining() / 16 || in.remaining() != h.extra * 16 || h.extra > 4ull * h.size + 16) {
    return corrupt(fmt::format("{} centroids in {} bytes", h.extra, in.remaining()));
  }
  out.centroids_.resize(h.extra);
  for (Centroid& c : out.centroids_) c.mean = in.Read<double>();
  double before = out.min_;
  for (Centroid& c : out.centroids_) {
    const auto weight = in.Read<uint64_t>();
    c.weight = static_cast<double>(weight);
    if (!(c.mean >= before && c.mean <= out.max_) || weight == 0 || weight > kMaxRows) {
      return corrupt(fmt::format("a centroid of mean {} and weight {} after {}", c.mean, weight, before));
    }
    before = c.mean;
    out.weight_ += c.weight;
  }
  const bool finite = std::abs(out.min_) < kInfinity && std::abs(out.max_) < kInfinity;
  if (!finite || (h.extra == 0 && (out.min_ != 0 || out.max_ != 0)) || out.weight_ > static_cast<double>(kMaxRows) ||
      out.count() > kMaxRows) {
    return corrupt(fmt::format("{} rows from {} to {}", out.count(), out.min_, out.max_));
  }
  return out;
}

}  // namespace pilum
