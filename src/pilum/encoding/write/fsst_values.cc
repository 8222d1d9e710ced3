// A page's strings through a table of symbols of their own.
#include "pilum/encoding/write/internal.h"

namespace pilum::write {

namespace {

constexpr uint64_t kLeastSample = 32 << 10;  // bytes to make a table from: a sixteenth of the page's within these
constexpr uint64_t kMostSample = 128 << 10;
constexpr uint64_t kTrialBytes = 8 << 10;  // to try one on: other places
constexpr double kWorse = 1.02;            // times what it left of its first page's: another is made
constexpr uint64_t kPieceBytes = 256;      // values are taken at each sampled place until they are so many bytes
constexpr uint64_t kLongestPiece = 512;    // of one value

// Pieces of values at even distances in the page's bytes, the first so many bytes from its start.
std::vector<std::string_view> Sample(const PageContext& page, uint64_t sample_bytes, uint64_t start) {
  const PageSlice& s = page.slice;
  const ValueStore& v = *s.values;
  const uint64_t last = s.first_slot + s.slots, base = s.first_slot ? v.ends[s.first_slot - 1] : 0;
  const uint64_t total = v.ends[last - 1] - base, places = sample_bytes / kPieceBytes;
  std::vector<std::string_view> out;
  for (uint64_t k = 0, done = base; k < places; ++k) {
    uint64_t at = base + std::min(total - 1, start + total / places * k + total % places * k / places);
    if (k > 0 && at < done) continue;
    auto found = std::upper_bound(v.ends.begin() + static_cast<std::ptrdiff_t>(s.first_slot),
                                  v.ends.begin() + static_cast<std::ptrdiff_t>(last), at);
    uint64_t got = 0;
    for (auto slot = static_cast<uint64_t>(found - v.ends.begin()); got < kPieceBytes && slot < last; ++slot) {
      std::string_view value = v.Variable(slot);
      const uint64_t begin = v.ends[slot] - value.size();
      if (value.size() > kLongestPiece) {
        value.remove_prefix(at > begin ? (at - begin) / kLongestPiece * kLongestPiece : 0);
        value = value.substr(0, kLongestPiece);
      }
      if (!value.empty()) out.push_back(value);
      got += value.size();
      done = v.ends[slot];
    }
  }
  return out;
}

}  // namespace

namespace {
double RatioOn(const FsstEncoder& encoder, std::span<const std::string_view> sample) {
  uint64_t plain = 0;
  for (std::string_view piece : sample) plain += piece.size();
  return plain ? static_cast<double>(encoder.EncodedBytes(sample)) / static_cast<double>(plain) : 1;
}
}  // namespace

std::shared_ptr<const FsstEncoder> SymbolsFor(const PageContext& page, uint64_t* estimate) {
  const PageSlice& s = page.slice;
  SymbolMemory& memory = *page.symbols;
  const uint64_t total =
      s.values->ends[s.first_slot + s.slots - 1] - (s.first_slot ? s.values->ends[s.first_slot - 1] : 0);
  const uint64_t sample_bytes = std::clamp(total / 16, kLeastSample, kMostSample);
  const std::vector<std::string_view> trial = Sample(page, kTrialBytes, total / (sample_bytes / kPieceBytes) / 2);
  double ratio = memory.encoder ? RatioOn(*memory.encoder, trial) : 1;
  if (!memory.encoder || ratio > memory.ratio * kWorse) {
    auto fresh = std::make_shared<const FsstEncoder>(FsstEncoder::Train(Sample(page, sample_bytes, 0)));
    const double better = RatioOn(*fresh, trial);
    if (!memory.encoder || better * kWorse < ratio) {
      memory.encoder = std::move(fresh);
      ratio = better;
    }
    memory.ratio = ratio;
  }
  *estimate = static_cast<uint64_t>(static_cast<double>(total) * ratio) + s.slots * (page.kind().large ? 8 : 4) +
              FsstEncoder::kTableBytes;
  return memory.encoder;
}

constexpr uint64_t kStretchBytes = 256 << 10;  // with its codes well within a core's cache

EncodedValues FsstValues(const PageContext& page, const FsstEncoder& encoder) {
  const PageSlice& s = page.slice;
  const ValueStore& v = *s.values;
  const uint64_t base = s.first_slot ? v.ends[s.first_slot - 1] : 0;
  EncodedValues out;
  out.store.kind = page.kind();
  out.store.slots = s.slots;
  out.store.ends.resize(s.slots);
  // A stretch at a time, in its place: what is not known beforehand is the size, and room for the worst of a whole page
  // is memory that nothing comes of.
  const uint64_t* ends = v.ends.data() + s.first_slot;
  const double total = static_cast<double>(ends[s.slots - 1] - base), ratio = page.symbols ? page.symbols->ratio : 1;
  Bytes& bytes = out.store.bytes;
  bytes.reserve(static_cast<size_t>(total * ratio * 1.05) + 2 * kStretchBytes + FsstEncoder::kSlack);
  for (uint64_t slot = 0, begin = base; slot < s.slots;) {
    const uint64_t* past = std::upper_bound(ends + slot, ends + s.slots, begin + kStretchBytes);
    const uint64_t n = std::max<uint64_t>(static_cast<uint64_t>(past - ends) - slot, 1);
    const uint64_t end = ends[slot + n - 1], before = bytes.size();
    bytes.resize(before + 2 * (end - begin) + FsstEncoder::kSlack);
    uint64_t* out_ends = out.store.ends.data() + slot;
    bytes.resize(before + encoder.Encode(v.bytes.data(), begin, {ends + slot, n}, bytes.data() + before, out_ends));
    for (uint64_t i = 0; i < n; ++i) out_ends[i] += before;
    slot += n;
    begin = end;
  }
  out.wrap.kind = CodecKind::kFsst;
  out.wrap.bytes = encoder.TableBytes();
  return out;
}

PageContext WithValues(PageContext page, const EncodedValues& values) {
  page.slice.values = &values.store;
  page.slice.first_slot = 0;
  page.wrap = values.wrap;
  return page;
}

CodecDesc Wrapped(const PageContext& page, CodecDesc values) {
  if (!page.wrap) return values;
  CodecDesc d = *page.wrap;
  d.children = {std::move(values)};
  return d;
}

}  // namespace pilum::write
