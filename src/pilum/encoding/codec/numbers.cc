#include "pilum/encoding/codec/numbers.h"

#include <algorithm>
#include <cstring>

#include "pilum/base/bytes.h"

namespace pilum::codec {

namespace {

// Numbers that a few bytes may claim to hold: what is more must have bytes to show for it.
constexpr uint64_t kFreeNumbers = uint64_t{1} << 22, kNumbersPerByte = 1024;

using Vector = std::vector<uint64_t>;

Result<Vector> Decode(const CodecDesc& d, Bytes in, uint64_t n);

Result<uint64_t> ConstantOf(const CodecDesc& d) {
  if (!d.has_bytes || d.bytes.empty() || d.bytes.size() > 8)
    return BadBytes("a constant number of {} bytes", d.bytes.size());
  uint64_t v = 0;
  std::memcpy(&v, d.bytes.data(), d.bytes.size());
  return v;
}

Result<Vector> Widened(const DataBlock& block) {
  Vector out(block.count);
  const uint8_t* p = block.data->data();
  const uint64_t width = block.bits / 8;
  for (uint64_t& v : out) {
    v = 0;
    std::memcpy(&v, p, width);
    p += width;
  }
  return out;
}

Result<Vector> DecodePlain(const CodecDesc& d, Bytes in, uint64_t n) {
  if (d.bits != 8 && d.bits != 16 && d.bits != 32 && d.bits != 64) return BadBytes("numbers of {} bits", d.bits);
  DecodeSpec spec;
  spec.pool = arrow::default_memory_pool();
  PILUM_ASSIGN_OR_RETURN(DataBlock block, DecodeBlock(d, in, n, spec));
  return Widened(block);
}

Result<Vector> DecodeDelta(const CodecDesc& d, Bytes in, uint64_t n) {
  PILUM_ASSIGN_OR_RETURN(Vector out, Decode(d.children[0], in, n - 1));
  out.insert(out.begin(), d.start);
  for (size_t i = 1; i < out.size(); ++i) {
    if (__builtin_add_overflow(out[i], out[i - 1], &out[i])) return BadBytes("numbers that pass 64 bits");
  }
  return out;
}

// Two payloads behind the sizes of both, or (runs) of the first.
struct Pair {
  Bytes first, second;
};
Result<Pair> SplitDictionary(Bytes in) {
  if (in.size() < 16) return BadBytes("a dictionary of {} bytes", in.size());
  const uint64_t a = LoadLE<uint64_t>(in.data()), b = LoadLE<uint64_t>(in.data() + 8);
  if (a > in.size() - 16 || b > in.size() - 16 - a)
    return BadBytes("a dictionary of {} and {} bytes in {}", a, b, in.size());
  return Pair{in.subspan(16, a), in.subspan(16 + a, b)};
}

Result<Vector> DecodeDictionary(const CodecDesc& d, Bytes in, uint64_t n) {
  Pair p;
  if (HasPayload(d)) {
    PILUM_ASSIGN_OR_RETURN(p, SplitDictionary(in));
  }
  PILUM_ASSIGN_OR_RETURN(Vector out, Decode(d.children[0], p.first, n));
  PILUM_ASSIGN_OR_RETURN(Vector items, Decode(d.children[1], p.second, d.num_items));
  for (uint64_t& v : out) {
    if (v >= items.size()) return BadBytes("a key of {} in a dictionary of {} numbers", v, items.size());
    v = items[v];
  }
  return out;
}

// How many numbers these bytes are, where they tell.
Result<std::optional<uint64_t>> CountIn(const CodecDesc& d, Bytes in) {
  if (d.kind == CodecKind::kFlat && d.bits >= 8) return std::optional<uint64_t>(in.size() / (d.bits / 8));
  if (d.kind == CodecKind::kGeneral && d.children[0].kind == CodecKind::kFlat && d.children[0].bits >= 8) {
    PILUM_ASSIGN_OR_RETURN(uint64_t size, DecompressedSize(d.scheme, in));
    return std::optional<uint64_t>(size / (d.children[0].bits / 8));
  }
  return std::optional<uint64_t>();
}

struct Runs {
  Vector values, lengths;
};

Result<Runs> DecodeRuns(const CodecDesc& d, Bytes values, Bytes lengths, uint64_t n) {
  PILUM_ASSIGN_OR_RETURN(std::optional<uint64_t> count, CountIn(d.children[1], lengths));
  if (!count) {
    PILUM_ASSIGN_OR_RETURN(count, CountIn(d.children[0], values));
  }
  Runs runs;
  if (!count) {  // as many as it takes
    if (HasPayload(d.children[1])) return Unsupported("runs whose number nothing tells: {}", d.ToString());
    PILUM_ASSIGN_OR_RETURN(Numbers all, DecodeNumbers(d.children[1], {}, n));
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n && sum < n; ++i) {
      if (all[i] == 0 || all[i] > n - sum) return BadBytes("runs that do not add up to {} values", n);
      sum += all[i];
      runs.lengths.push_back(all[i]);
    }
  } else {
    if (*count > n) return BadBytes("{} runs of {} values", *count, n);
    PILUM_ASSIGN_OR_RETURN(runs.lengths, Decode(d.children[1], lengths, *count));
  }
  PILUM_ASSIGN_OR_RETURN(runs.values, Decode(d.children[0], values, runs.lengths.size()));
  uint64_t sum = 0;
  for (uint64_t length : runs.lengths) {
    if (length > n - sum) return BadBytes("runs pass their {} values", n);
    sum += length;
  }
  if (sum != n) return BadBytes("runs hold {} values, not {}", sum, n);
  return runs;
}

Result<Vector> DecodeRle(const CodecDesc& d, Bytes in, uint64_t n) {
  Bytes values, lengths;
  if (HasPayload(d)) {
    if (in.size() < 8) return BadBytes("runs of {} bytes", in.size());
    const uint64_t size = LoadLE<uint64_t>(in.data());
    if (size > in.size() - 8) return BadBytes("run values of {} bytes in {}", size, in.size());
    values = in.subspan(8, size);
    lengths = in.subspan(8 + size);
  }
  PILUM_ASSIGN_OR_RETURN(Runs runs, DecodeRuns(d, values, lengths, n));
  Vector out;
  out.reserve(n);
  for (size_t i = 0; i < runs.lengths.size(); ++i) out.insert(out.end(), runs.lengths[i], runs.values[i]);
  return out;
}

Result<Vector> Decode(const CodecDesc& d, Bytes in, uint64_t n) {
  if (n > kFreeNumbers && n / kNumbersPerByte > in.size()) return BadBytes("{} numbers in {} bytes", n, in.size());
  if (n == 0) return Vector();
  switch (d.kind) {
    case CodecKind::kConstant: {
      PILUM_ASSIGN_OR_RETURN(uint64_t v, ConstantOf(d));
      return Vector(n, v);
    }
    case CodecKind::kRange: {
      Vector out(n);
      for (uint64_t i = 0; i < n; ++i) out[i] = d.start + i * d.step;
      return out;
    }
    case CodecKind::kFlat:
    case CodecKind::kInlineBitpacking:
    case CodecKind::kOutOfLineBitpacking: return DecodePlain(d, in, n);
    case CodecKind::kDelta: return DecodeDelta(d, in, n);
    case CodecKind::kDictionary: return DecodeDictionary(d, in, n);
    case CodecKind::kRle: return DecodeRle(d, in, n);
    case CodecKind::kGeneral: {
      PILUM_ASSIGN_OR_RETURN(auto plain, Decompress(d.scheme, in, std::nullopt, arrow::default_memory_pool()));
      return Decode(d.children[0], Bytes(plain->data(), static_cast<size_t>(plain->size())), n);
    }
    default: return Unsupported("{} as numbers", d.ToString());
  }
}

}  // namespace

bool HasPayload(const CodecDesc& d) {
  switch (d.kind) {
    case CodecKind::kConstant:
    case CodecKind::kRange: return false;
    case CodecKind::kDelta:
    case CodecKind::kDictionary:
    case CodecKind::kRle:
    case CodecKind::kGeneral: return std::any_of(d.children.begin(), d.children.end(), HasPayload);
    default: return true;
  }
}

uint64_t NumberBits(const CodecDesc& d) {
  switch (d.kind) {
    case CodecKind::kRle:
    case CodecKind::kGeneral: return NumberBits(d.children[0]);
    case CodecKind::kDictionary: return NumberBits(d.children[1]);
    default: return d.bits;
  }
}

bool IsPlainRle(const CodecDesc& d) {
  return d.children[0].kind == CodecKind::kFlat && d.children[1].kind == CodecKind::kFlat && d.children[1].bits == 8;
}

Result<Numbers> DecodeNumbers(const CodecDesc& d, Bytes payload, uint64_t n) {
  Numbers out;
  out.size_ = n;
  if (n == 0) return out;
  if (d.kind == CodecKind::kConstant) {
    PILUM_ASSIGN_OR_RETURN(out.start_, ConstantOf(d));
  } else if (d.kind == CodecKind::kRange) {
    out.start_ = d.start;
    out.step_ = d.step;
    uint64_t last = 0;
    if (__builtin_mul_overflow(n - 1, d.step, &last) || __builtin_add_overflow(last, d.start, &last))
      return BadBytes("{} numbers that pass 64 bits", n);
  } else {
    PILUM_ASSIGN_OR_RETURN(out.stored_, Decode(d, payload, n));
  }
  return out;
}

uint64_t Numbers::LowerBound(uint64_t value) const {
  if (!stored_.empty())
    return static_cast<uint64_t>(std::lower_bound(stored_.begin(), stored_.end(), value) - stored_.begin());
  if (size_ == 0 || value <= start_) return 0;
  if (step_ == 0) return size_;
  return std::min(size_, (value - start_ - 1) / step_ + 1);
}

Status Numbers::CheckPositions(uint64_t limit) const {
  if (size_ == 0) return Status::OK();
  bool ascending = size_ == 1 || step_ > 0;
  if (!stored_.empty()) {
    ascending = std::adjacent_find(stored_.begin(), stored_.end(), std::greater_equal<uint64_t>()) == stored_.end();
  }
  if (!ascending) return BadBytes("positions that do not ascend");
  if ((*this)[size_ - 1] >= limit) return BadBytes("a position of {} in {} slots", (*this)[size_ - 1], limit);
  return Status::OK();
}

Status ExpandAnyRuns(const CodecDesc& rle, Bytes values, Bytes lengths, uint64_t n, uint8_t* out) {
  if (IsPlainRle(rle)) return ExpandRuns(rle.children[0].bits, values, lengths, n, out);
  PILUM_ASSIGN_OR_RETURN(Runs runs, DecodeRuns(rle, values, lengths, n));
  const uint64_t width = NumberBits(rle) / 8;
  for (size_t i = 0; i < runs.lengths.size(); ++i) {
    for (uint64_t k = 0; k < runs.lengths[i]; ++k, out += width) std::memcpy(out, &runs.values[i], width);
  }
  return Status::OK();
}

}  // namespace pilum::codec
