#include "pilum/encoding/write/fsst_encode.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "pilum/base/bytes.h"

namespace pilum::write {

namespace {

uint64_t FirstBytes(uint64_t word, unsigned n) { return n >= 8 ? word : word & ((uint64_t{1} << (8 * n)) - 1); }

}  // namespace

FsstEncoder::FsstEncoder(std::vector<FsstSymbol> symbols) : short_(1 << 16), single_(256), buckets_(kBuckets) {
  for (uint64_t i = 0; i < kBuckets; ++i) {
    uint64_t other = 0;  // bytes of another bucket, compared whole: they never fit here
    while (Hash(other) == i) ++other;
    buckets_[i] = {{other, other}, {0, 0}, {}};
  }
  for (const FsstSymbol& s : symbols) {
    if (symbols_.size() == kMaxSymbols) break;
    if (Put(s, static_cast<uint8_t>(symbols_.size()))) symbols_.push_back(s);
  }
  for (uint64_t two = 0; two < short_.size(); ++two) {
    if (short_[two].length < 2) short_[two] = single_[two & 0xFF];
  }
}

bool FsstEncoder::Put(const FsstSymbol& s, uint8_t code) {
  const Match m{code, s.length, 0, 0};
  if (s.length == 1) {
    single_[s.bytes] = m;
    return true;
  }
  if (s.length == 2) {
    short_[s.bytes] = m;
    return true;
  }
  Bucket& b = buckets_[Hash(s.bytes)];
  if (b.match[1].escape == 0) return false;  // full
  int at = b.match[0].escape == 0 ? 1 : 0;
  if (at == 1 && b.match[0].length < s.length) {  // the longer one first
    b.bytes[1] = b.bytes[0];
    b.shift[1] = b.shift[0];
    b.match[1] = b.match[0];
    at = 0;
  }
  b.bytes[at] = s.bytes;
  b.shift[at] = static_cast<uint8_t>(64 - 8 * s.length);
  b.match[at] = m;
  return true;
}

FsstEncoder::Match FsstEncoder::FindShort(uint64_t word, uint64_t room) const {
  word = FirstBytes(word, static_cast<unsigned>(room));
  const Bucket& b = buckets_[Hash(word)];
  for (int i = 0; i < 2; ++i) {
    if (b.match[i].escape == 0 && b.match[i].length <= room && (word ^ b.bytes[i]) << b.shift[i] == 0) {
      return b.match[i];
    }
  }
  Match m = short_[word & 0xFFFF];
  return m.length <= room ? m : single_[word & 0xFF];
}

// One value after another; o: where the next code goes.
struct FsstEncoder::Lane {
  const uint8_t *text, *p, *end;
  uint64_t slot, last;  // values still to do
  uint8_t *o, *start;
};

// One symbol, or where fewer than 8 bytes are left the value's end and the step to the next value; false: no more.
[[gnu::always_inline]] inline bool FsstEncoder::Step(Lane* lane, const uint64_t* ends, uint64_t* out_ends) const {
  uint8_t* o = lane->o;
  if (lane->end - lane->p >= 8) {
    const uint64_t word = LoadLE<uint64_t>(lane->p);
    const Match m = Find(word);
    o[0] = m.code;
    o[1] = static_cast<uint8_t>(word);
    lane->o = o + 1 + m.escape;
    lane->p += m.length;
    return true;
  }
  uint64_t room = static_cast<uint64_t>(lane->end - lane->p), word = 0;
  std::memcpy(&word, lane->p, room);
  while (room > 0) {
    const Match m = FindShort(word, room);
    o[0] = m.code;
    o[1] = static_cast<uint8_t>(word);
    o += 1 + m.escape;
    word >>= 8 * m.length;  // fewer than 8
    room -= m.length;
  }
  lane->o = o;
  lane->p = lane->end;
  out_ends[lane->slot] = static_cast<uint64_t>(o - lane->start);
  if (++lane->slot == lane->last) return false;
  lane->end = lane->text + ends[lane->slot];
  return true;
}

uint64_t FsstEncoder::Encode(const uint8_t* text, uint64_t base, std::span<const uint64_t> ends, uint8_t* out,
                             uint64_t* out_ends) const {
  // Each step waits for the one before; four stretches of the values side by side keep the machine busy.
  constexpr size_t kLanes = 4;
  Lane lanes[kLanes];
  const uint64_t n = ends.size();
  for (size_t i = 0; i < kLanes; ++i) {
    const uint64_t slot = n * i / kLanes, begin = slot ? ends[slot - 1] : base;
    uint8_t* o = out + 2 * (begin - base);  // no value needs more than what lies before the next lane's
    lanes[i] = {text, text + begin, nullptr, slot, n * (i + 1) / kLanes, o, o};
    if (slot < lanes[i].last) lanes[i].end = text + ends[slot];
  }
  if (n >= kLanes) {
    Lane a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
    while (Step(&a, ends.data(), out_ends) & Step(&b, ends.data(), out_ends) & Step(&c, ends.data(), out_ends) &
           Step(&d, ends.data(), out_ends)) {
    }
    lanes[0] = a, lanes[1] = b, lanes[2] = c, lanes[3] = d;
  }
  uint8_t* o = out;
  for (Lane& lane : lanes) {
    const uint64_t first = static_cast<uint64_t>(&lane - lanes) * n / kLanes;
    while (lane.slot < lane.last && Step(&lane, ends.data(), out_ends)) {
    }
    const auto size = static_cast<size_t>(lane.o - lane.start);
    const uint64_t before = static_cast<uint64_t>(o - out);
    std::memmove(o, lane.start, size);
    for (uint64_t i = first; i < lane.last; ++i) out_ends[i] += before;
    o += size;
  }
  return static_cast<uint64_t>(o - out);
}

uint64_t FsstEncoder::EncodedBytes(std::span<const std::string_view> pieces) const {
  uint64_t total = 0;
  std::vector<uint8_t> out;
  for (std::string_view s : pieces) {
    out.resize(2 * s.size() + kSlack);
    uint64_t end = s.size(), ignored;
    total += Encode(reinterpret_cast<const uint8_t*>(s.data()), 0, {&end, 1}, out.data(), &ignored);
  }
  return total;
}

std::string FsstEncoder::TableBytes() const {
  std::string out(kTableBytes, '\0');
  const uint64_t n = symbols_.size();
  StoreLE<uint64_t>(out.data(), uint64_t{0x46535354} << 32 | uint64_t{1} << 24 | n);
  for (uint64_t i = 0; i < n; ++i) {
    StoreLE<uint64_t>(out.data() + 8 + 8 * i, symbols_[i].bytes);
    out[8 + 8 * n + i] = static_cast<char>(symbols_[i].length);
  }
  return out;
}

// Counts which symbols and pairs of symbols the sample uses with the present table, and makes the next table of those
// that cover most bytes. Bytes without a symbol count as symbols of one byte: numbers 0..255; table code c is 256 + c.
class FsstTrainer {
 public:
  explicit FsstTrainer(std::span<const std::string_view> sample) : sample_(sample), pairs_(kNumbers * kNumbers) {}

  FsstEncoder Round(const FsstEncoder& table) {
    Count(table);
    Collect(table);
    return FsstEncoder(Best());
  }

 private:
  static constexpr uint32_t kNumbers = 512;
  struct Candidate {
    FsstSymbol symbol;
    uint64_t gain = 0;
  };

  void Count(const FsstEncoder& table) {
    ones_.fill(0);
    for (uint32_t pair : used_) pairs_[pair] = 0;
    used_.clear();
    for (std::string_view s : sample_) {
      uint32_t before = kNumbers;
      for (size_t at = 0; at < s.size();) {
        const size_t room = std::min<size_t>(8, s.size() - at);
        uint64_t word = 0;
        std::memcpy(&word, s.data() + at, room);
        const auto m = room == 8 ? table.Find(word) : table.FindShort(word, room);
        const uint32_t number = m.escape ? static_cast<uint32_t>(word & 0xFF) : 256u + m.code;
        ++ones_[number];
        if (before != kNumbers) {
          CountPair(before * kNumbers + number);
          if (m.length > 1) CountPair(before * kNumbers + static_cast<uint32_t>(word & 0xFF));  // grows by a byte
        }
        before = number;
        at += m.length;
      }
    }
  }

  void CountPair(uint32_t pair) {
    if (pairs_[pair]++ == 0) used_.push_back(pair);
  }

  static FsstSymbol SymbolOf(const FsstEncoder& table, uint32_t number) {
    return number < 256 ? FsstSymbol{number, 1} : table.symbols_[number - 256];
  }

  void Add(const FsstSymbol& s, uint64_t count) {
    uint64_t at = (s.bytes * 0x9E3779B97F4A7C15 + s.length) >> 32;
    while (true) {
      Candidate& c = candidates_[at & (candidates_.size() - 1)];
      if (c.gain == 0) c.symbol = s;
      if (c.symbol == s) {
        c.gain += count * s.length;  // one byte: what the escape would take
        return;
      }
      ++at;
    }
  }

  void Collect(const FsstEncoder& table) {
    size_t room = 1024;
    while (room < 3 * (used_.size() + kNumbers)) room *= 2;
    candidates_.assign(room, {});
    for (uint32_t n = 0; n < kNumbers; ++n) {
      if (ones_[n]) Add(SymbolOf(table, n), ones_[n]);
    }
    for (uint32_t pair : used_) {
      const FsstSymbol a = SymbolOf(table, pair / kNumbers), b = SymbolOf(table, pair % kNumbers);
      if (a.length == 8 || pairs_[pair] < 2) continue;
      const auto length = static_cast<uint8_t>(std::min(8, a.length + b.length));
      Add({FirstBytes(a.bytes | b.bytes << (8 * a.length), length), length}, pairs_[pair]);
    }
  }

  // The largest gains; among equals the longer, then the smaller bytes.
  std::vector<FsstSymbol> Best() {
    std::erase_if(candidates_, [](const Candidate& c) { return c.gain == 0; });
    const size_t n = std::min<size_t>(candidates_.size(), FsstEncoder::kMaxSymbols + 40);  // some meet full buckets
    auto better = [](const Candidate& a, const Candidate& b) {
      if (a.gain != b.gain) return a.gain > b.gain;
      if (a.symbol.length != b.symbol.length) return a.symbol.length > b.symbol.length;
      return a.symbol.bytes < b.symbol.bytes;
    };
    std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<std::ptrdiff_t>(n), candidates_.end(),
                      better);
    std::vector<FsstSymbol> out;
    for (size_t i = 0; i < n; ++i) out.push_back(candidates_[i].symbol);
    return out;
  }

  std::span<const std::string_view> sample_;
  std::array<uint32_t, kNumbers> ones_;
  std::vector<uint32_t> pairs_, used_;
  std::vector<Candidate> candidates_;
};

FsstEncoder FsstEncoder::Train(std::span<const std::string_view> sample) {
  constexpr int kRounds = 5;
  FsstTrainer trainer(sample);
  FsstEncoder table({});
  for (int i = 0; i < kRounds; ++i) table = trainer.Round(table);
  return table;
}

}  // namespace pilum::write
