#include "pilum/sketch/hll.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <emmintrin.h>

#include "pilum/sketch/array_hash.h"

namespace pilum {
namespace {

constexpr std::string_view kMagic = "PLMHLLOG";
constexpr uint8_t kSparse = 1, kDense = 2;
constexpr uint64_t kMaxSparseEntries = 8192;
constexpr uint32_t kSparseRankMax = 64 - Hll::kSparseP + 1;

uint32_t EntryOf(uint64_t h) {
  const uint32_t index = static_cast<uint32_t>(h >> (64 - Hll::kSparseP));
  const uint64_t rest = h << Hll::kSparseP | uint64_t{1} << (Hll::kSparseP - 1);
  return index << 6 | static_cast<uint32_t>(std::countl_zero(rest) + 1);
}

// An entry at precision p: its register, and the rank there.
std::pair<uint32_t, uint8_t> RegisterOf(uint32_t entry, uint32_t p) {
  const uint32_t index = entry >> 6, rank = entry & 63, low_bits = Hll::kSparseP - p;
  const uint32_t low = index & ((1u << low_bits) - 1);
  if (low == 0) return {index >> low_bits, static_cast<uint8_t>(low_bits + rank)};
  return {index >> low_bits, static_cast<uint8_t>(std::countl_zero(low << (32 - low_bits)) + 1)};
}

// The series of Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017), algorithm 6.
double Sigma(double x) {
  if (x == 1) return INFINITY;
  double y = 1, z = x, before;
  do {
    x *= x;
    before = z;
    z += x * y;
    y += y;
  } while (z != before);
  return z;
}

double Tau(double x) {
  if (x == 0 || x == 1) return 0;
  double y = 1, z = 1 - x, before;
  do {
    x = std::sqrt(x);
    before = z;
    y *= 0.5;
    z -= (1 - x) * (1 - x) * y;
  } while (z != before);
  return z / 3;
}

double DenseEstimate(const std::vector<uint8_t>& registers, uint32_t p) {
  const uint32_t q = 64 - p;
  uint32_t counts[66] = {};
  for (uint8_t r : registers) ++counts[r];
  const double m = static_cast<double>(registers.size());
  double z = m * Tau(1 - counts[q + 1] / m);
  for (uint32_t k = q; k >= 1; --k) z = 0.5 * (z + counts[k]);
  z += m * Sigma(counts[0] / m);
  return m * m / (2 * std::log(2.0) * z);
}

}  // namespace

std::string Hll::Params::ToString() const { return fmt::format("p={} seed={}", p, seed); }

Result<Hll> Hll::Empty(const Params& params) {
  if (params.p < kMinP || params.p > kMaxP) {
    return UsageError("HLL: p must be {} to {}, not {}", kMinP, kMaxP, params.p);
  }
  return Hll(params);
}

uint64_t Hll::SparseLimit() const { return std::min(registers() * 6 / 8 / 4, kMaxSparseEntries); }

Status Hll::Update(const arrow::Array& array) {
  return VisitHashes(array, params_.seed, [this](const HashBlock& block) { InsertSeeded(block.hashes); });
}

void Hll::Insert(uint64_t hash) {
  hash = WithSeed(hash, params_.seed);
  InsertSeeded({&hash, 1});
}

void Hll::InsertSeeded(std::span<const uint64_t> hashes) {
  size_t i = 0;
  for (; i < hashes.size() && sparse(); ++i) InsertSparse(EntryOf(hashes[i]));
  if (i < hashes.size()) InsertDense(hashes.subspan(i));
}

void Hll::InsertDense(std::span<const uint64_t> hashes) {
  const uint32_t p = params_.p;
  uint8_t* const registers = registers_.data();
  for (uint64_t h : hashes) {
    uint8_t& r = registers[h >> (64 - p)];
    const uint8_t rank = static_cast<uint8_t>(std::countl_zero(h << p | uint64_t{1} << (p - 1)) + 1);
    if (rank > r) r = rank;
  }
}

void Hll::InsertSparse(uint32_t entry) {
  if ((entries_ + 1) * 2 > table_.size()) GrowTable();
  PutSparse(entry);
  if (entries_ > SparseLimit()) MakeDense();
}

void Hll::PutSparse(uint32_t entry) {
  const size_t mask = table_.size() - 1;
  for (size_t at = ((entry >> 6) * 0x9E3779B1u >> 12) & mask;; at = (at + 1) & mask) {
    if (table_[at] == 0) {
      table_[at] = entry;
      ++entries_;
      return;
    }
    if (table_[at] >> 6 == entry >> 6) {
      table_[at] = std::max(table_[at], entry);
      return;
    }
  }
}

void Hll::GrowTable() {
  std::vector<uint32_t> old(std::max<size_t>(16, table_.size() * 2), 0);
  old.swap(table_);
  entries_ = 0;
  for (uint32_t entry : old) {
    if (entry != 0) PutSparse(entry);
  }
}

void Hll::MakeDense() {
  registers_.assign(registers(), 0);
  for (uint32_t entry : table_) {
    if (entry == 0) continue;
    const auto [index, rank] = RegisterOf(entry, params_.p);
    registers_[index] = std::max(registers_[index], rank);
  }
  table_ = {};
  entries_ = 0;
}

Status Hll::Merge(const Hll& other) {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  if (this == &other) return Status::OK();
  if (other.sparse()) {
    for (uint32_t entry : other.table_) {
      if (entry == 0) continue;
      if (sparse()) {
        InsertSparse(entry);
      } else {
        const auto [index, rank] = RegisterOf(entry, params_.p);
        registers_[index] = std::max(registers_[index], rank);
      }
    }
    return Status::OK();
  }
  if (sparse()) MakeDense();
  for (size_t i = 0; i < registers_.size(); i += 16) {  // 2^p is a multiple of 16
    auto* mine = reinterpret_cast<__m128i*>(registers_.data() + i);
    const auto* theirs = reinterpret_cast<const __m128i*>(other.registers_.data() + i);
    _mm_storeu_si128(mine, _mm_max_epu8(_mm_loadu_si128(mine), _mm_loadu_si128(theirs)));
  }
  return Status::OK();
}

double Hll::StandardError() const {
  if (!sparse()) return 1.04 / std::sqrt(static_cast<double>(registers()));
  // n values on 2^25 places: about n^2 / 2^26 meet, and as many is the variance.
  const double n = static_cast<double>(entries_);
  return n == 0 ? 0 : std::sqrt(0.5 / static_cast<double>(1u << kSparseP));
}

Estimate Hll::Count() const {
  double n;
  if (sparse()) {
    const double places = static_cast<double>(1u << kSparseP);
    n = -places * std::log1p(-static_cast<double>(entries_) / places);
  } else {
    n = DenseEstimate(registers_, params_.p);
  }
  const double side = n == 0 ? 0 : std::max(0.5, 1.96 * StandardError() * n);
  return {n, std::max(0.0, n - side), n + side, 0.95};
}

std::vector<uint32_t> Hll::SortedEntries() const {
  std::vector<uint32_t> out;
  out.reserve(entries_);
  for (uint32_t entry : table_) {
    if (entry != 0) out.push_back(entry);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string Hll::ToBytes() const {
  std::string out;
  AppendHeader(kMagic,
               {.layout = sparse() ? kSparse : kDense, .size = params_.p, .seed = params_.seed, .extra = entries_},
               &out);
  if (sparse()) {
    for (uint32_t entry : SortedEntries()) AppendLE<uint32_t>(&out, entry);
    return out;
  }
  for (size_t i = 0; i < registers_.size(); i += 4) {  // four registers of 6 bits in three bytes
    const uint32_t four = registers_[i] | registers_[i + 1] << 6 | registers_[i + 2] << 12 | registers_[i + 3] << 18;
    out.append(reinterpret_cast<const char*>(&four), 3);
  }
  return out;
}

Result<Hll> Hll::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  PILUM_ASSIGN_OR_RETURN(const SketchHeader h, ReadHeader(kMagic, SketchHeader::kXxh64, source, &in));
  const auto corrupt = [&](std::string what) { return Corrupt(source, "HLL", what); };
  if (h.size < kMinP || h.size > kMaxP) return corrupt(fmt::format("p={}", h.size));
  Hll out({h.size, h.seed});
  if (h.layout == kSparse) {
    if (h.extra > out.SparseLimit() || in.remaining() != h.extra * 4) {
      return corrupt(fmt::format("{} entries in {} bytes at p={}", h.extra, in.remaining(), h.size));
    }
    uint32_t before = 0;
    for (uint64_t i = 0; i < h.extra; ++i) {
      const auto entry = in.Read<uint32_t>();
      const uint32_t rank = entry & 63;
      if (rank == 0 || rank > kSparseRankMax || entry >> 6 >= 1u << kSparseP || (i > 0 && entry >> 6 <= before >> 6)) {
        return corrupt(fmt::format("entry {} is {:#x} after {:#x}", i, entry, before));
      }
      before = entry;
      out.InsertSparse(entry);
    }
    return out;
  }
  if (h.layout != kDense || h.extra != 0) return corrupt(fmt::format("layout {}, {} entries", h.layout, h.extra));
  if (in.remaining() != out.registers() * 6 / 8) {
    return corrupt(fmt::format("{} bytes of registers at p={}", in.remaining(), h.size));
  }
  out.registers_.resize(out.registers());
  uint64_t used = 0;
  for (size_t i = 0; i < out.registers_.size(); i += 4) {
    const std::string_view three = in.ReadBytes(3);
    uint32_t four = 0;
    std::memcpy(&four, three.data(), 3);
    for (size_t j = 0; j < 4; ++j) {
      const uint8_t rank = four >> (6 * j) & 63;
      if (rank > 64 - h.size + 1) return corrupt(fmt::format("register {} holds {}", i + j, rank));
      out.registers_[i + j] = rank;
      used += rank != 0;
    }
  }
  if (used == 0) return corrupt("dense and empty");
  return out;
}

}  // namespace pilum
