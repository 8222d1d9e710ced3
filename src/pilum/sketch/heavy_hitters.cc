#include "pilum/sketch/heavy_hitters.h"

#include <algorithm>

#include <arrow/api.h>

#include "pilum/sketch/bloom.h"
#include "pilum/sketch/value_hash.h"

namespace pilum {
namespace {

constexpr std::string_view kMagic = "PLMHEAVY";
constexpr uint64_t kMaxRows = uint64_t{1} << 62;

int32_t ScaleOf(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::DICTIONARY: return ScaleOf(*static_cast<const arrow::DictionaryType&>(type).value_type());
    case arrow::Type::EXTENSION: return ScaleOf(*static_cast<const arrow::ExtensionType&>(type).storage_type());
    default: return arrow::is_decimal(type.id()) ? static_cast<const arrow::DecimalType&>(type).scale() : 0;
  }
}

}  // namespace

Result<HeavyHitters> HeavyHitters::Empty(const Params& params) {
  if (params.capacity < kMinCapacity || params.capacity > kMaxCapacity) {
    return UsageError("HeavyHitters: capacity must be {} to {}, not {}", kMinCapacity, kMaxCapacity, params.capacity);
  }
  return HeavyHitters(params);
}

HeavyHitters::Counter& HeavyHitters::Find(uint64_t hash) {
  const size_t mask = table_.size() - 1;
  for (size_t at = hash * 0x9E3779B97F4A7C15ull >> 40 & mask;; at = (at + 1) & mask) {
    if (table_[at].count == 0 || table_[at].hash == hash) return table_[at];
  }
}

void HeavyHitters::Count(uint64_t hash, int64_t row) {
  ++total_;
  if (!table_.empty()) {
    Counter& c = Find(hash);
    if (c.count != 0) {
      ++c.count;
      return;
    }
  }
  Add({hash, 1, row});
}

void HeavyHitters::Add(const Counter& from) {
  if (table_.size() < (used_ + 1) * 2) Rebuild(0, std::max<size_t>(16, table_.size() * 2));
  Counter& c = Find(from.hash);
  if (c.count != 0) {
    c.count += from.count;
    return;
  }
  c = from;
  if (++used_ > params_.capacity) Reduce();
}

// Takes `floor` from every counter, drops those that had no more, and gives the others a table of `slots`.
void HeavyHitters::Rebuild(uint64_t floor, size_t slots) {
  std::vector<Counter> old(slots);
  old.swap(table_);
  used_ = 0;
  for (const Counter& c : old) {
    if (c.count <= floor) continue;
    Find(c.hash) = {c.hash, c.count - floor, c.at};
    ++used_;
  }
}

void HeavyHitters::Reduce() {
  std::vector<uint64_t> counts;
  counts.reserve(used_);
  for (const Counter& c : table_) {
    if (c.count != 0) counts.push_back(c.count);
  }
  const auto at = counts.begin() + params_.capacity / 2;  // this one and all larger: capacity / 2 + 1 counters lose it
  std::nth_element(counts.begin(), at, counts.end(), std::greater<>());
  error_ += *at;
  Rebuild(*at, table_.size());
}

void HeavyHitters::Count(const HashBlock& block) {
  for (size_t i = 0; i < block.hashes.size(); ++i) Count(block.hashes[i], block.row(i));
}

const HeavyHitters::Kept& HeavyHitters::KeptOf(const Counter& c) const {
  static const Kept none;
  return c.at < 0 ? kept_[static_cast<size_t>(-1 - c.at)] : none;
}

Status HeavyHitters::KeepValues(const arrow::Array& array) {
  if (used_ == 0) return Status::OK();
  const int32_t scale = ScaleOf(*array.type());
  Status status;
  for (Counter& c : table_) {
    if (c.count == 0 || c.at < 0) continue;
    Kept kept;
    const auto value = ValueAt(array, c.at);
    if (!value.ok()) status = value.status();
    if (value.ok() && *value) AppendHashBytes(**value, scale, &kept.hash_bytes);
    kept.truncated = kept.hash_bytes.size() > kMaxItemBytes;
    if (kept.truncated) kept.hash_bytes.resize(kMaxItemBytes);
    c.at = -1 - static_cast<int64_t>(kept_.size());
    kept_.push_back(std::move(kept));
  }
  TidyKept();
  return status;
}

// Without what no counter points to any more.
void HeavyHitters::TidyKept() {
  if (kept_.size() <= used_) return;
  std::vector<Kept> kept;
  kept.reserve(used_);
  for (Counter& c : table_) {
    if (c.count == 0 || c.at >= 0) continue;
    kept.push_back(std::move(kept_[static_cast<size_t>(-1 - c.at)]));
    c.at = -static_cast<int64_t>(kept.size());
  }
  kept_ = std::move(kept);
}

Status HeavyHitters::Update(const arrow::Array& array) {
  if (total_ + static_cast<uint64_t>(array.length()) > kMaxRows) return UsageError("HeavyHitters: more than 2^62 rows");
  const Status read = VisitHashes(array, params_.seed, [this](const HashBlock& block) { Count(block); });
  const Status kept = KeepValues(array);
  return read.ok() ? kept : read;
}

std::vector<const HeavyHitters::Counter*> HeavyHitters::Sorted() const {
  std::vector<const Counter*> out;
  out.reserve(used_);
  for (const Counter& c : table_) {
    if (c.count != 0) out.push_back(&c);
  }
  std::sort(out.begin(), out.end(), [](const Counter* a, const Counter* b) { return a->hash < b->hash; });
  return out;
}

Status HeavyHitters::Merge(const HeavyHitters& other) {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  if (total_ + other.total_ > kMaxRows) return UsageError("HeavyHitters: more than 2^62 rows");
  // All are added before any is dropped, so that the order of the two does not matter.
  HeavyHitters sum = *this;
  sum.params_.capacity = params_.capacity * 2;
  for (const Counter* c : other.Sorted()) {
    sum.kept_.push_back(other.KeptOf(*c));
    sum.Add({c->hash, c->count, -static_cast<int64_t>(sum.kept_.size())});
  }
  sum.params_ = params_;
  sum.total_ += other.total_;
  sum.error_ += other.error_;
  if (sum.used_ > params_.capacity) sum.Reduce();
  sum.TidyKept();
  *this = std::move(sum);
  return Status::OK();
}

std::vector<HeavyHitters::Item> HeavyHitters::Top(uint64_t n) const {
  std::vector<const Counter*> all = Sorted();
  std::sort(all.begin(), all.end(), [this](const Counter* a, const Counter* b) {
    return a->count != b->count ? a->count > b->count : KeptOf(*a).hash_bytes < KeptOf(*b).hash_bytes;
  });
  std::vector<Item> out;
  for (size_t i = 0; i < all.size() && i < n; ++i) {
    const Kept& kept = KeptOf(*all[i]);
    out.push_back({kept.hash_bytes, kept.truncated, all[i]->count, all[i]->count + error_});
  }
  return out;
}

std::string HeavyHitters::ToBytes() const {
  std::string out;
  AppendHeader(kMagic, {.size = params_.capacity, .seed = params_.seed, .extra = used_}, &out);
  AppendLE<uint64_t>(&out, total_);
  AppendLE<uint64_t>(&out, error_);
  for (const Counter* c : Sorted()) {
    AppendLE<uint64_t>(&out, c->hash);
    AppendLE<uint64_t>(&out, c->count);
    const Kept& kept = KeptOf(*c);
    AppendLE<uint16_t>(&out, static_cast<uint16_t>(kept.hash_bytes.size() | (kept.truncated ? 0x8000u : 0)));
    out += kept.hash_bytes;
  }
  return out;
}

Result<HeavyHitters> HeavyHitters::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  PILUM_ASSIGN_OR_RETURN(const SketchHeader h, ReadHeader(kMagic, SketchHeader::kXxh64, source, &in));
  const auto corrupt = [&](std::string what) { return Corrupt(source, "HeavyHitters", what); };
  if (h.layout != 1 || h.size < kMinCapacity || h.size > kMaxCapacity || h.extra > h.size) {
    return corrupt(fmt::format("layout {}, {} values of {}", h.layout, h.extra, h.size));
  }
  HeavyHitters out({h.size, h.seed});
  out.total_ = in.Read<uint64_t>();
  out.error_ = in.Read<uint64_t>();
  unsigned __int128 sum = static_cast<unsigned __int128>(out.error_) * (h.size / 2 + 1);
  uint64_t before = 0;
  for (uint64_t i = 0; i < h.extra; ++i) {
    Counter c;
    Kept kept;
    c.hash = in.Read<uint64_t>();
    c.count = in.Read<uint64_t>();
    c.at = -1 - static_cast<int64_t>(i);
    const auto length = in.Read<uint16_t>();
    kept.truncated = (length & 0x8000) != 0;
    kept.hash_bytes = in.ReadBytes(length & 0x7FFF);
    if (!in.ok()) return corrupt(fmt::format("cut short at value {} of {}", i, h.extra));
    const bool right = kept.truncated ? kept.hash_bytes.size() == kMaxItemBytes
                                      : kept.hash_bytes.size() <= kMaxItemBytes &&
                                            WithSeed(BloomFilter::HashOf(kept.hash_bytes), h.seed) == c.hash;
    if (!right || !ParseHashBytes(kept.hash_bytes) || c.count == 0 || (i > 0 && c.hash <= before)) {
      return corrupt(fmt::format("value {} of {}", i, h.extra));
    }
    before = c.hash;
    sum += c.count;
    out.kept_.push_back(std::move(kept));
    out.Add(c);
  }
  if (!in.ok() || in.remaining() != 0 || out.total_ > kMaxRows || sum > out.total_) {
    return corrupt(fmt::format("{} rows, error {}, {} bytes left over", out.total_, out.error_, in.remaining()));
  }
  return out;
}

}  // namespace pilum
