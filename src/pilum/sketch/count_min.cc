#include "pilum/sketch/count_min.h"

#include <algorithm>
#include <cmath>

#include "pilum/sketch/array_hash.h"

namespace pilum {
namespace {

constexpr std::string_view kMagic = "PLMCOUNT";
constexpr uint8_t kPlain = 1, kConservative = 2;

// The narrowest of 1, 2, 4 and 8 bytes that holds v.
uint32_t CellBytes(uint64_t v) { return v < 1ull << 8 ? 1 : v < 1ull << 16 ? 2 : v < 1ull << 32 ? 4 : 8; }

}  // namespace

std::string CountMin::Params::ToString() const {
  return fmt::format("width={} depth={} conservative={} seed={}", width, depth, conservative, seed);
}

Result<CountMin> CountMin::Empty(const Params& params) {
  if (params.depth == 0 || params.depth > kMaxDepth || params.width == 0 ||
      uint64_t{params.width} * params.depth > kMaxCells) {
    return UsageError("CountMin: width must be at least 1, depth 1 to {}, and width times depth at most {}; not {}",
                      kMaxDepth, kMaxCells, params.ToString());
  }
  return CountMin(params);
}

// Row after row of an arithmetic progression of 32-bit hashes, each scaled to the width.
uint64_t CountMin::CellOf(uint64_t hash, uint32_t row) const {
  const uint32_t h = static_cast<uint32_t>(hash) + row * (static_cast<uint32_t>(hash >> 32) | 1);
  return uint64_t{row} * params_.width + (uint64_t{h} * params_.width >> 32);
}

Status CountMin::Update(const arrow::Array& array) {
  return VisitHashes(array, params_.seed, [this](const HashBlock& block) {
    for (uint64_t h : block.hashes) InsertSeeded(h, 1);
  });
}

void CountMin::Insert(uint64_t hash, uint64_t times) { InsertSeeded(WithSeed(hash, params_.seed), times); }

void CountMin::InsertSeeded(uint64_t hash, uint64_t times) {
  total_ += times;
  if (!params_.conservative) {
    for (uint32_t row = 0; row < params_.depth; ++row) cells_[CellOf(hash, row)] += times;
    return;
  }
  uint64_t least = ~0ull, at[kMaxDepth];
  for (uint32_t row = 0; row < params_.depth; ++row) {
    at[row] = CellOf(hash, row);
    least = std::min(least, cells_[at[row]]);
  }
  for (uint32_t row = 0; row < params_.depth; ++row) cells_[at[row]] = std::max(cells_[at[row]], least + times);
}

Status CountMin::Merge(const CountMin& other) {
  PILUM_RETURN_NOT_OK(CheckCompatible(*this, other));
  if (!CheckedAdd(total_, other.total_)) return UsageError("CountMin: more than 2^64 rows");
  total_ += other.total_;  // no cell is above the total, so none overflows
  for (size_t i = 0; i < cells_.size(); ++i) cells_[i] += other.cells_[i];
  return Status::OK();
}

Estimate CountMin::Count(uint64_t hash) const {
  hash = WithSeed(hash, params_.seed);
  uint64_t least = ~0ull;
  for (uint32_t row = 0; row < params_.depth; ++row) least = std::min(least, cells_[CellOf(hash, row)]);
  const double value = static_cast<double>(least);
  const double over = std::exp(1.0) / params_.width * static_cast<double>(total_);
  return {value, std::max(0.0, std::ceil(value - over)), value, 1 - std::exp(-static_cast<double>(params_.depth))};
}

std::string CountMin::ToBytes() const {
  const uint32_t width = CellBytes(*std::max_element(cells_.begin(), cells_.end()));
  std::string out;
  AppendHeader(kMagic,
               {.layout = params_.conservative ? kConservative : kPlain,
                .size = params_.width,
                .seed = params_.seed,
                .extra = params_.depth | uint64_t{width} << 32},
               &out);
  AppendLE<uint64_t>(&out, total_);
  out.reserve(out.size() + cells_.size() * width);
  for (uint64_t cell : cells_) out.append(reinterpret_cast<const char*>(&cell), width);
  return out;
}

Result<CountMin> CountMin::FromBytes(std::string_view bytes, std::string_view source) {
  ByteCursor in(bytes);
  PILUM_ASSIGN_OR_RETURN(const SketchHeader h, ReadHeader(kMagic, SketchHeader::kXxh64, source, &in));
  const auto corrupt = [&](std::string what) { return Corrupt(source, "CountMin", what); };
  const uint32_t depth = static_cast<uint32_t>(h.extra), cell_bytes = static_cast<uint32_t>(h.extra >> 32);
  const auto total = in.Read<uint64_t>();
  if (h.layout != kPlain && h.layout != kConservative) return corrupt(fmt::format("layout {}", h.layout));
  if (depth == 0 || depth > kMaxDepth || h.size == 0 || uint64_t{h.size} * depth > kMaxCells) {
    return corrupt(fmt::format("width {}, depth {}", h.size, depth));
  }
  const uint64_t cells = uint64_t{h.size} * depth;
  if (std::popcount(cell_bytes) != 1 || cell_bytes > 8 || !in.ok() || in.remaining() != cells * cell_bytes) {
    return corrupt(fmt::format("{} bytes for {} cells of {} bytes", in.remaining(), cells, cell_bytes));
  }
  CountMin out({h.size, depth, h.layout == kConservative, h.seed});
  out.total_ = total;
  uint64_t highest = 0;
  for (uint64_t& cell : out.cells_) {
    std::memcpy(&cell, in.ReadBytes(cell_bytes).data(), cell_bytes);
    highest = std::max(highest, cell);
  }
  if (highest > total || CellBytes(highest) != cell_bytes) {
    return corrupt(fmt::format("highest counter {} of {} bytes, {} rows", highest, cell_bytes, total));
  }
  // Each row of a plain sketch holds every value once.
  for (uint32_t row = 0; row < depth; ++row) {
    unsigned __int128 sum = 0;
    for (uint64_t i = 0; i < h.size; ++i) sum += out.cells_[uint64_t{row} * h.size + i];
    if (h.layout == kPlain ? sum != total : sum > total) return corrupt(fmt::format("row {} does not add up", row));
  }
  return out;
}

}  // namespace pilum
