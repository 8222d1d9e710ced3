// FSST symbol tables, the portable decoder, and values cut out of what the vector kernel decodes in runs. Symbols may
// hold any byte, 0x00 too: the kernel tells the unused bytes of a symbol by a byte that no symbol of the table holds.
#include "pilum/encoding/codec/fsst.h"

#include <algorithm>
#include <cstring>

#include "pilum/base/bytes.h"
#include "pilum/encoding/codec/fsst_kernels.h"

namespace pilum::codec {
namespace {

constexpr uint64_t kTableBytes = 2312;
constexpr uint32_t kMagic = 0x46535354;
constexpr uint8_t kEscape = 255;
constexpr uint64_t kPiece = FsstBlocks::kCodes;
constexpr uint64_t kFewCodes = 48;  // below, the vector kernel is not worth its set-up

Status Unknown() { return BadBytes("an FSST code without a symbol"); }
Status CutEscape(uint64_t value) { return BadBytes("value {} ends inside an FSST escape", value); }

// Bytes of `word` that are 0xff, as the high bit of each (exact for the lowest one).
uint64_t Escapes(uint64_t word) {
  uint64_t inverted = ~word;
  return (inverted - 0x0101010101010101) & ~inverted & 0x8080808080808080;
}

// Whether a byte lies in [low, 254]: codes without a symbol, or escaped bytes.
PILUM_VECTORIZE bool AnyAbove(const uint8_t* p, uint64_t n, uint8_t low) {
  uint8_t any = 0;
  for (uint64_t i = 0; i < n; ++i) any |= static_cast<uint8_t>((p[i] >= low) & (p[i] != kEscape));
  return any != 0;
}

std::unique_ptr<FsstPlanes> MakePlanes(const uint64_t* symbols, const uint8_t* lengths, uint64_t n, uint64_t longest) {
  auto planes = std::make_unique<FsstPlanes>();
  bool held[256] = {};
  for (uint64_t i = 0; i < n; ++i) {
    for (int b = 0; b < lengths[i]; ++b) held[symbols[i] >> (b * 8) & 0xff] = true;
  }
  int filler = 255;  // from above: bytes that UTF-8 never has come first
  while (filler >= 0 && held[filler]) --filler;
  if (filler < 0) return planes;  // the symbols hold all 256 bytes
  planes->filler = static_cast<uint8_t>(filler);
  planes->num_symbols = static_cast<uint8_t>(n);
  planes->width = longest <= 2 ? 2 : longest <= 4 ? 4 : 8;
  std::memset(planes->bytes, planes->filler, sizeof planes->bytes);
  for (uint64_t i = 0; i < n; ++i) {
    for (int b = 0; b < lengths[i]; ++b) planes->bytes[b][i] = static_cast<uint8_t>(symbols[i] >> (b * 8));
  }
  return planes;
}

// Sets the bits of [from, to).
inline void SetBits(uint64_t* words, uint64_t from, uint64_t to) {
  while (from < to) {
    const uint64_t n = std::min<uint64_t>(to - from, 64 - from % 64);
    words[from / 64] |= (n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1) << (from % 64);
    from += n;
  }
}

}  // namespace

// The portable kernel, and the reference for the other.
struct FsstScalar {
  // 8 bytes are always stored: the length moves on, the rest is overwritten by what follows or lies in the slack.
  static inline __attribute__((always_inline)) uint8_t* Emit(const FsstTable& t, uint8_t code, uint8_t* o) {
    std::memcpy(o, &t.symbols_[code], 8);
    return o + t.lengths_[code];
  }

  // Eight codes without escapes: the places first, as sums of pairs, so that no store waits for the one before.
  static inline __attribute__((always_inline)) uint8_t* Emit8(const FsstTable& t, uint64_t word, uint8_t* o) {
    uint8_t c[8];
    std::memcpy(c, &word, 8);
    uint64_t l[8];
    for (int i = 0; i < 8; ++i) l[i] = t.lengths_[c[i]];
    const uint64_t two = l[0] + l[1], four = two + l[2] + l[3], six = four + l[4] + l[5];
    std::memcpy(o, &t.symbols_[c[0]], 8);
    std::memcpy(o + l[0], &t.symbols_[c[1]], 8);
    std::memcpy(o + two, &t.symbols_[c[2]], 8);
    std::memcpy(o + two + l[2], &t.symbols_[c[3]], 8);
    std::memcpy(o + four, &t.symbols_[c[4]], 8);
    std::memcpy(o + four + l[4], &t.symbols_[c[5]], 8);
    std::memcpy(o + six, &t.symbols_[c[6]], 8);
    std::memcpy(o + six + l[6], &t.symbols_[c[7]], 8);
    return o + six + l[6] + l[7];
  }

  // Decodes from *p to `end`, or to the escape that `end` cuts; *p becomes the place.
  // `literals`: their bytes, or-ed.
  static inline __attribute__((always_inline)) uint8_t* Decode(const FsstTable& t, const uint8_t** at,
                                                               const uint8_t* end, uint8_t* o, uint8_t* literals) {
    const uint8_t* p = *at;
    while (end - p >= 8) {
      const uint64_t word = LoadLE<uint64_t>(p);
      if (const uint64_t escapes = Escapes(word)) {
        const int before = __builtin_ctzll(escapes) / 8;
        for (int i = 0; i < before; ++i) o = Emit(t, p[i], o);
        p += before;
        if (before == 7) break;  // the literal is in the next word
        *literals |= *o++ = p[1];
        p += 2;
        continue;
      }
      o = Emit8(t, word, o);
      p += 8;
    }
    while (p < end) {
      if (*p != kEscape) {
        o = Emit(t, *p++, o);
        continue;
      }
      if (p + 1 == end) break;
      *literals |= *o++ = p[1];
      p += 2;
    }
    *at = p;
    return o;
  }
};

FsstTable::FsstTable() = default;
FsstTable::~FsstTable() = default;

Result<std::shared_ptr<const FsstTable>> FsstTable::Parse(std::string_view bytes) {
  if (bytes.size() != kTableBytes)
    return BadBytes("an FSST symbol table of {} bytes, not {}", bytes.size(), kTableBytes);
  uint64_t header = LoadLE<uint64_t>(bytes.data());
  if (header >> 32 != kMagic) return BadBytes("an FSST symbol table with header {:#x}", header);
  auto t = std::make_shared<FsstTable>();
  t->active_ = (header >> 24 & 0xff) != 0;
  t->num_symbols_ = header & 0xff;
  uint64_t all = 0;
  for (uint64_t i = 0; i < t->num_symbols_; ++i) {
    const uint64_t length = static_cast<uint8_t>(bytes[8 + t->num_symbols_ * 8 + i]);
    if (length < 1 || length > 8) return BadBytes("an FSST symbol of {} bytes", length);
    uint64_t symbol = LoadLE<uint64_t>(bytes.data() + 8 + i * 8);
    if (length < 8) symbol &= (uint64_t{1} << (length * 8)) - 1;  // bytes past the length do not count
    all |= symbol;
    t->symbols_[i] = symbol;
    t->lengths_[i] = static_cast<uint8_t>(length);
    t->max_length_ = std::max(t->max_length_, length);
  }
  t->ascii_ = (all & 0x8080808080808080) == 0;
  return std::shared_ptr<const FsstTable>(std::move(t));
}

const FsstPlanes* FsstTable::planes() const {
  std::call_once(once_, [this] { planes_ = MakePlanes(symbols_, lengths_, num_symbols_, max_length_); });
  return planes_.get();
}

bool FsstTable::HasVectorKernel() const { return MachineHasFsstKernel() && planes()->width != 0; }

bool FsstTable::CodesAreKnown(Bytes in) const {
  if (num_symbols_ == 255 || !AnyAbove(in.data(), in.size(), static_cast<uint8_t>(num_symbols_))) return true;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i] == kEscape)
      ++i;
    else if (lengths_[in[i]] == 0)
      return false;
  }
  return true;
}

Result<uint64_t> FsstTable::Decode(Bytes in, uint8_t* out) const {
  if (!CodesAreKnown(in)) return Unknown();
  const uint8_t *p = in.data(), *end = p + in.size();
  uint8_t literals = 0;
  uint8_t* o = FsstScalar::Decode(*this, &p, end, out, &literals);
  if (p != end) return CutEscape(0);
  return static_cast<uint64_t>(o - out);
}

Status FsstTable::DecodeValues(const uint8_t* bytes, std::span<const uint32_t> begins, std::span<const uint32_t> ends,
                               VariableOut* out, Kernel kernel) const {
  if (begins.empty()) return Status::OK();
  if (begins.size() > out->room()) return BadBytes("more values than the page holds");
  const bool vector = kernel == Kernel::kVector || (kernel == Kernel::kBest && ends.back() - begins[0] >= kFewCodes);
  if (!vector || !HasVectorKernel()) return DecodeScalar(bytes, begins, ends, out);
  return out->wide() ? DecodeBlocks<int64_t>(bytes, begins, ends, out)
                     : DecodeBlocks<int32_t>(bytes, begins, ends, out);
}

Status FsstTable::DecodeScalar(const uint8_t* bytes, std::span<const uint32_t> begins, std::span<const uint32_t> ends,
                               VariableOut* out) const {
  const bool gaps = begins.size() > 1 && begins.data() + 1 != ends.data();
  if (!gaps && !CodesAreKnown(Bytes(bytes + begins[0], bytes + ends.back()))) return Unknown();
  uint8_t *o = nullptr, *from = nullptr, literals = 0;  // `from`: what comes after it is not counted yet
  uint64_t room = 0;                                    // for so many codes
  for (size_t i = 0; i < begins.size(); ++i) {
    const uint8_t *p = bytes + begins[i], *end = bytes + ends[i];
    if (gaps && !CodesAreKnown(Bytes(p, end))) return Unknown();
    while (p < end) {  // in pieces, so that what is reserved stays small
      const uint64_t want = std::min<uint64_t>(kPiece, static_cast<uint64_t>(end - p));
      if (want > room) {
        out->Advance(0, static_cast<uint64_t>(o - from));
        if (o) out->TookInput(kPiece - room);
        PILUM_ASSIGN_OR_RETURN(o, out->Reserve(MaxSize(kPiece)));
        from = o;
        room = kPiece;
      }
      const uint8_t *stop = p + want, *start = p;
      o = FsstScalar::Decode(*this, &p, stop, o, &literals);
      if (p == start || (stop == end && p != end)) return CutEscape(i);
      room -= static_cast<uint64_t>(p - start);
    }
    out->Push(static_cast<uint64_t>(o - from), /*ascii=*/true);  // see below
    from = o;
  }
  if (!ascii_ || literals >= 0x80) out->MarkNotAscii();
  return Status::OK();
}

template <typename Offset>
Status FsstTable::DecodeBlocks(const uint8_t* bytes, std::span<const uint32_t> begins, std::span<const uint32_t> ends,
                               VariableOut* out) const {
  const FsstPlanes& planes = *this->planes();
  const bool gaps = begins.size() > 1 && begins.data() + 1 != ends.data();
  FsstBlocks blocks;
  uint64_t skip[kPiece / 64];
  const uint64_t n = ends.size(), last = ends[n - 1];
  uint64_t value = 0, gap = 1;  // values done; the next gap lies before value `gap`
  for (uint64_t at = begins[0]; value < n;) {
    const uint64_t size = std::min<uint64_t>(kPiece, last - at), stop = at + size;
    if (gaps) {
      std::memset(skip, 0, sizeof skip);
      for (; gap < n && ends[gap - 1] < stop; ++gap) {
        SetBits(skip, std::max<uint64_t>(ends[gap - 1], at) - at, std::min<uint64_t>(begins[gap], stop) - at);
        if (begins[gap] > stop) break;  // goes on in the next piece
      }
    }
    PILUM_ASSIGN_OR_RETURN(uint8_t * to, out->Reserve(size * static_cast<uint64_t>(planes.width)));
    DecodeFsstBlocks(planes, bytes + at, size, gaps ? skip : nullptr, to, &blocks);
    if (!blocks.known) return Unknown();
    const uint64_t done = CutFsstValues(blocks, ends.data() + value, n - value, at, stop,
                                        static_cast<Offset>(out->used()), out->template ends<Offset>());
    if (blocks.any_escape) {
      for (uint64_t i = value; i < value + done; ++i) {
        const uint64_t e = ends[i] - at;
        if (e > 0 && (blocks.escapes[(e - 1) / 64] >> ((e - 1) % 64) & 1)) return CutEscape(i);
      }
    }
    out->Advance(done, blocks.written);
    out->TookInput(size);
    value += done;
    at = stop;
  }
  if (!ascii_ || !blocks.ascii) out->MarkNotAscii();
  return Status::OK();
}

}  // namespace pilum::codec
