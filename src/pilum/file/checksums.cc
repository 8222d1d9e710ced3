#include "pilum/file/checksums.h"

#include <algorithm>
#include <bit>
#include <utility>

#include <arrow/buffer.h>

#include "pilum/base/bytes.h"
#include "pilum/base/checksum.h"

namespace pilum {
namespace {

constexpr std::string_view kFront = "PLMCHKS1", kBack = "1SKHCMLP";
constexpr uint32_t kVersion = 1;
constexpr uint64_t kBlock = 4096;  // what we write
constexpr uint64_t kMinBlock = 512, kMaxBlock = 1 << 20;
constexpr uint64_t kSegment = 64 * 1024;  // bytes of block checksums behind one segment checksum
constexpr uint64_t kPerSegment = kSegment / 4;
constexpr uint64_t kWordBits = 64;
constexpr uint64_t kAlignment = 64;
constexpr uint64_t kPiece = 1 << 20, kRemotePiece = 16 << 20;  // read at once by FindDamage
constexpr uint64_t kHashedAtOnce = 1 << 20;                    // between two looks at whether the read must stop

uint64_t CeilDiv(uint64_t a, uint64_t b) { return a / b + (a % b != 0); }
uint64_t RoundUp(uint64_t a, uint64_t b) { return CeilDiv(a, b) * b; }

uint64_t BlockBytes(uint64_t blocks) { return RoundUp(blocks * 4, 8); }
uint64_t SizeOf(uint64_t blocks) {
  return RoundUp(BlockBytes(blocks) + CeilDiv(blocks, kPerSegment) * 8, kAlignment) + Checksums::kTrailerSize;
}

uint64_t HashOf(std::string_view bytes) { return Checksum64(bytes.data(), bytes.size()); }

Status Bad(std::string what) { return MakeError(ErrorKind::kCorrupt, std::move(what)); }

Status Disagrees(const std::string& place, ByteRange block) {
  return Bad(
      fmt::format("{}: bytes {} to {} of the file do not agree with their checksum; the file is damaged, "
                  "restore it ('pilum file check' lists all that is)",
                  place, block.offset, block.end() - 1));
}

}  // namespace

// --- writing

void ChecksumBuilder::Update(const void* data, uint64_t size) {
  const char* at = static_cast<const char*>(data);
  size_ += size;
  if (!partial_.empty()) {
    const uint64_t n = std::min(size, kBlock - partial_.size());
    partial_.append(at, n);
    at += n;
    size -= n;
    if (partial_.size() < kBlock) return;
    blocks_.push_back(static_cast<uint32_t>(HashOf(partial_)));
    partial_.clear();
  }
  for (; size >= kBlock; at += kBlock, size -= kBlock) blocks_.push_back(static_cast<uint32_t>(Checksum64(at, kBlock)));
  partial_.append(at, size);
}

uint64_t ChecksumBuilder::BufferSize() const { return SizeOf(blocks_.size() + !partial_.empty()); }

std::string ChecksumBuilder::Finish(std::string_view metadata) {
  if (!partial_.empty()) blocks_.push_back(static_cast<uint32_t>(HashOf(partial_)));
  partial_.clear();
  std::string out;
  out.reserve(BufferSize());
  for (uint32_t b : blocks_) AppendLE<uint32_t>(&out, b);
  out.resize(BlockBytes(blocks_.size()));
  const uint64_t leaves = out.size();
  for (uint64_t at = 0; at < leaves; at += kSegment)
    AppendLE<uint64_t>(&out, HashOf(std::string_view(out).substr(at, std::min(kSegment, leaves - at))));
  out.resize(RoundUp(out.size(), kAlignment));
  const uint64_t segments_hash = HashOf(std::string_view(out).substr(leaves));
  const uint64_t trailer = out.size();
  out += kFront;
  AppendLE<uint32_t>(&out, kVersion);
  AppendLE<uint32_t>(&out, kBlock);
  AppendLE<uint64_t>(&out, size_);
  AppendLE<uint64_t>(&out, HashOf(metadata));
  AppendLE<uint64_t>(&out, segments_hash);
  AppendLE<uint64_t>(&out, 0);
  AppendLE<uint64_t>(&out, HashOf(std::string_view(out).substr(trailer)));
  out += kBack;
  return out;
}

// --- reading

Result<std::unique_ptr<Checksums>> Checksums::Parse(std::string_view bytes, uint64_t end) {
  if (bytes.size() != kTrailerSize) return nullptr;
  const bool front = bytes.starts_with(kFront), back = bytes.ends_with(kBack);
  if (!front && !back) return nullptr;
  const auto place = fmt::format("checksums: their trailer at offset {}", end - kTrailerSize);
  if (!front || !back || HashOf(bytes.substr(0, 48)) != LoadLE<uint64_t>(bytes.data() + 48))
    return Bad(place + " is damaged");
  ByteCursor c(bytes.substr(8));
  if (c.Read<uint32_t>() != kVersion) return nullptr;
  auto out = std::make_unique<Checksums>();
  Trailer& t = out->trailer_;
  t.block = c.Read<uint32_t>();
  t.data_size = c.Read<uint64_t>();
  t.metadata_hash = c.Read<uint64_t>();
  t.segments_hash = c.Read<uint64_t>();
  if (c.Read<uint64_t>() != 0 || !std::has_single_bit(t.block) || t.block < kMinBlock || t.block > kMaxBlock)
    return Bad(fmt::format("{} has blocks of {} bytes, or fields that version {} has not", place, t.block, kVersion));
  if (t.data_size > end || SizeOf(out->num_blocks()) != end - t.data_size)
    return Bad(fmt::format("{} covers {} bytes of data, which do not end where it begins", place, t.data_size));
  const uint64_t leaves = BlockBytes(out->num_blocks());
  out->segments_at_ = {t.data_size + leaves, end - kTrailerSize - t.data_size - leaves};
  out->loaded_ = std::vector<std::atomic<const Segment*>>(out->num_segments());
  return out;
}

Status Checksums::Load(std::string_view segments) {
  if (segments.size() != segments_at_.size || HashOf(segments) != trailer_.segments_hash)
    return Bad(fmt::format("checksums: those of their segments at offset {} are damaged", segments_at_.offset));
  segment_hashes_.resize(num_segments());
  for (size_t i = 0; i < segment_hashes_.size(); ++i) segment_hashes_[i] = LoadLE<uint64_t>(segments.data() + i * 8);
  return Status::OK();
}

Status Checksums::CheckMetadata(std::string_view metadata) const {
  if (HashOf(metadata) == trailer_.metadata_hash) return Status::OK();
  return Bad(
      fmt::format("the metadata (schema, pages, tables, footer: the last {} bytes of the file) do not agree with "
                  "their checksum; the file is damaged, restore it",
                  metadata.size()));
}

ByteRange Checksums::buffer() const { return {trailer_.data_size, SizeOf(num_blocks())}; }
uint64_t Checksums::num_blocks() const { return CeilDiv(trailer_.data_size, trailer_.block); }
uint64_t Checksums::num_segments() const { return CeilDiv(num_blocks(), kPerSegment); }

ByteRange Checksums::SegmentAt(uint64_t segment) const {
  const uint64_t leaves = BlockBytes(num_blocks()), at = segment * kSegment;
  return {trailer_.data_size + at, std::min(kSegment, leaves - at)};
}

bool Checksums::InData(ByteRange r) const {
  return r.size > 0 && r.offset < trailer_.data_size && r.size <= trailer_.data_size - r.offset;
}

Status Checksums::LoadSegments(const ByteSource& source, std::span<const ByteRange> blocks, ReadContext& ctx) const {
  const uint64_t reach = kPerSegment * trailer_.block;
  for (const ByteRange& r : blocks) {
    for (uint64_t s = r.offset / reach; s <= (r.end() - 1) / reach; ++s) {
      if (loaded_[s].load(std::memory_order_acquire) != nullptr) continue;
      std::lock_guard lock(mutex_);  // who else needs it waits
      if (loaded_[s].load(std::memory_order_relaxed) != nullptr) continue;
      PILUM_ASSIGN_OR_RETURN(auto bytes, source.ReadRange(SegmentAt(s), ctx));
      PILUM_RETURN_NOT_OK(AddSegment(s, std::string_view(*bytes)));
    }
  }
  return Status::OK();
}

Status Checksums::AddSegment(uint64_t segment, std::string_view bytes) const {
  if (HashOf(bytes) != segment_hashes_[segment])
    return Bad(fmt::format("checksums: those of blocks at offset {} are damaged", SegmentAt(segment).offset));
  const uint64_t blocks = bytes.size() / 4;
  auto made = std::make_unique<Segment>();
  made->sums = std::make_unique_for_overwrite<uint32_t[]>(blocks);
  std::memcpy(made->sums.get(), bytes.data(), bytes.size());
  made->agreed = std::make_unique<std::atomic<uint64_t>[]>(CeilDiv(blocks, kWordBits));
  loaded_[segment].store(made.get(), std::memory_order_release);
  owned_.push_back(std::move(made));
  return Status::OK();
}

Status Checksums::LoadBlocks(const std::function<std::string_view(ByteRange)>& bytes) {
  for (uint64_t s = num_segments(); s > 0; --s) {
    const std::string_view have = bytes(SegmentAt(s - 1));
    if (have.empty()) break;
    PILUM_RETURN_NOT_OK(AddSegment(s - 1, have));
  }
  return Status::OK();
}

const Checksums::Segment& Checksums::SegmentOf(uint64_t block) const {
  return *loaded_[block / kPerSegment].load(std::memory_order_acquire);
}

ByteRange Checksums::BlockAt(uint64_t block) const {
  const uint64_t begin = block * trailer_.block;
  return {begin, std::min(trailer_.block, trailer_.data_size - begin)};
}

bool Checksums::Agrees(uint64_t block, const uint8_t* bytes) const {
  return static_cast<uint32_t>(Checksum64(bytes, BlockAt(block).size)) == SegmentOf(block).sums[block % kPerSegment];
}

ByteRange Checksums::FirstDamage(ByteRange at, const uint8_t* bytes) const {
  for (uint64_t b = at.offset / trailer_.block; b * trailer_.block < at.end(); ++b) {
    if (!Agrees(b, bytes + (b * trailer_.block - at.offset))) return BlockAt(b);
  }
  return {};
}

Status Checksums::VerifyMapped(const ByteSource& source, const uint8_t* map, std::span<const ByteRange> ranges,
                               const std::function<std::string(size_t)>& place, ReadContext& ctx) const {
  const int shift = std::countr_zero(trailer_.block);
  uint64_t hashed = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!InData(ranges[i])) continue;
    for (uint64_t b = ranges[i].offset >> shift; b <= (ranges[i].end() - 1) >> shift; ++b) {
      if (loaded_[b / kPerSegment].load(std::memory_order_acquire) == nullptr)
        PILUM_RETURN_NOT_OK(LoadSegments(source, ranges.subspan(i, 1), ctx));
      std::atomic<uint64_t>& word = SegmentOf(b).agreed[b % kPerSegment / kWordBits];
      const uint64_t bit = uint64_t{1} << (b % kWordBits);
      if (word.load(std::memory_order_relaxed) & bit) continue;
      if (!Agrees(b, map + b * trailer_.block)) return Disagrees(place(i), BlockAt(b));
      word.fetch_or(bit, std::memory_order_relaxed);
      hashed += trailer_.block;
      if (hashed < kHashedAtOnce) continue;
      hashed = 0;
      PILUM_RETURN_NOT_OK(ctx.Check());
    }
  }
  return Status::OK();
}

Checksums::Plan Checksums::MakePlan(std::span<const ByteRange> ranges) const {
  Plan plan;
  std::vector<ByteRange> grown;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (!InData(ranges[i])) {
      plan.outside.push_back(i);
      continue;
    }
    const uint64_t begin = ranges[i].offset & ~(trailer_.block - 1);
    const uint64_t end = std::min(RoundUp(ranges[i].end(), trailer_.block), trailer_.data_size);
    grown.push_back({begin, end - begin});
  }
  std::sort(grown.begin(), grown.end(), [](const ByteRange& a, const ByteRange& b) { return a.offset < b.offset; });
  for (const ByteRange& r : grown) {
    if (!plan.runs.empty() && r.offset <= plan.runs.back().end())
      plan.runs.back().size = std::max(plan.runs.back().end(), r.end()) - plan.runs.back().offset;
    else
      plan.runs.push_back(r);
  }
  return plan;
}

Result<std::vector<BufferPtr>> Checksums::ReadRanges(const ByteSource& source, std::span<const ByteRange> ranges,
                                                     const std::function<std::string(size_t)>& place,
                                                     ReadContext& ctx) const {
  const Plan plan = MakePlan(ranges);
  PILUM_RETURN_NOT_OK(LoadSegments(source, plan.runs, ctx));
  std::vector<ByteRange> wanted = plan.runs;
  for (size_t i : plan.outside) wanted.push_back(ranges[i]);  // the source judges them
  PILUM_ASSIGN_OR_RETURN(auto buffers, source.ReadRanges(wanted, ctx));
  const std::span<const BufferPtr> fetched(buffers);
  for (size_t i = 0; i < plan.runs.size(); ++i) {
    const ByteRange bad = FirstDamage(plan.runs[i], fetched[i]->data());
    if (bad.size == 0) continue;
    auto touched = std::find_if(ranges.begin(), ranges.end(),
                                [&](const ByteRange& r) { return r.offset < bad.end() && bad.offset < r.end(); });
    return Disagrees(place(static_cast<size_t>(touched - ranges.begin())), bad);
  }
  std::vector<BufferPtr> out(ranges.size());
  for (size_t k = 0; k < plan.outside.size(); ++k) out[plan.outside[k]] = fetched[plan.runs.size() + k];
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (out[i]) continue;
    auto next = std::upper_bound(plan.runs.begin(), plan.runs.end(), ranges[i].offset,
                                 [](uint64_t at, const ByteRange& r) { return at < r.offset; });
    const auto run = static_cast<size_t>(next - plan.runs.begin()) - 1;
    out[i] = arrow::SliceBuffer(fetched[run], static_cast<int64_t>(ranges[i].offset - plan.runs[run].offset),
                                static_cast<int64_t>(ranges[i].size));
  }
  return out;
}

Result<std::vector<ByteRange>> Checksums::FindDamage(const ByteSource& source, size_t most, ReadContext& ctx) const {
  std::vector<ByteRange> out;
  const uint64_t size = source.cost().remote ? kRemotePiece : kPiece;
  for (uint64_t at = 0; at < trailer_.data_size; at += size) {
    const ByteRange piece{at, std::min(size, trailer_.data_size - at)};
    PILUM_RETURN_NOT_OK(LoadSegments(source, std::span(&piece, 1), ctx));
    PILUM_ASSIGN_OR_RETURN(auto bytes, source.ReadRange(piece, ctx));
    for (ByteRange left = piece; left.size > 0;) {
      const ByteRange bad = FirstDamage(left, bytes->data() + (left.offset - at));
      if (bad.size == 0) break;
      if (out.size() >= most) return out;
      out.push_back(bad);
      left = {bad.end(), piece.end() - bad.end()};
    }
  }
  return out;
}

}  // namespace pilum
