#include "pilum/encoding/write/fsst_encode.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "pilum/base/bytes.h"

namespace pilum::write {

namespace {

uint64_t FirstBytes(uint64_t word, unsigned n) { return n >= 8 ? word : word & ((uint64_t{1} << (8 * n)) - 1); }

// `otherwise` unless `test` is zero. Which it is cannot be foreseen, and a wrong guess costs more than all the rest of a
// step: this must not become a branch.
[[gnu::always_inline]] inline uint64_t Pick(uint64_t if_zero, uint64_t otherwise, uint64_t test) {
#if defined(__x86_64__)
  asm("test %2, %2\n\tcmovne %1, %0" : "+r"(if_zero) : "r"(otherwise), "r"(test) : "cc");
  return if_zero;
#else
  return test ? otherwise : if_zero;
#endif
}

}  // namespace

FsstEncoder::FsstEncoder(std::vector<FsstSymbol> symbols) : short_(1 << 16), single_(256), buckets_(kBuckets) {
  for (uint64_t i = 0; i < kBuckets; ++i) {
    uint64_t other = 0;  // bytes of another bucket, compared whole: they never fit here
    while (Hash(other) == i) ++other;
    buckets_[i] = {{other, other}, {0, 0}};
  }
  for (uint64_t i = 0; i < 256; ++i) single_[i] = EscapeOf(i);
  for (const FsstSymbol& s : symbols) {
    if (symbols_.size() == kMaxSymbols) break;
    if (Put(s, static_cast<uint8_t>(symbols_.size()))) symbols_.push_back(s);
  }
  for (uint64_t two = 0; two < short_.size(); ++two) {
    if (short_[two] == 0) short_[two] = single_[two & 0xFF];
  }
}

bool FsstEncoder::Put(const FsstSymbol& s, uint8_t code) {
  const uint64_t m = MatchOf(s, code);
  if (s.length <= 2) {
    (s.length == 1 ? single_ : short_)[s.bytes] = static_cast<uint32_t>(m);
    return true;
  }
  Bucket& b = buckets_[Hash(s.bytes)];
  if (b.match[1] != 0) return false;  // full
  int at = b.match[0] != 0 ? 1 : 0;
  if (at == 1 && Match{b.match[0]}.length() < s.length) {  // the longer one first
    b.bytes[1] = b.bytes[0];
    b.match[1] = b.match[0];
    at = 0;
  }
  b.bytes[at] = s.bytes;
  b.match[at] = m;
  any_long_ = true;
  return true;
}

[[gnu::always_inline]] inline FsstEncoder::Match FsstEncoder::Find(uint64_t word) const {
  const uint64_t two = short_[word & 0xFFFF];
  const Bucket& b = buckets_[Hash(word)];
  const uint64_t second = Pick(b.match[1], two, (word ^ b.bytes[1]) << (b.match[1] & 63));
  return {Pick(b.match[0], second, (word ^ b.bytes[0]) << (b.match[0] & 63))};
}

FsstEncoder::Match FsstEncoder::FindShort(uint64_t word, uint64_t room) const {
  word = FirstBytes(word, static_cast<unsigned>(room));
  const Bucket& b = buckets_[Hash(word)];
  for (int i = 0; i < 2; ++i) {
    const Match m{b.match[i]};
    if (m.bits != 0 && m.length() <= room && (word ^ b.bytes[i]) << (m.bits & 63) == 0) return m;
  }
  const Match m{short_[word & 0xFFFF]};
  return m.length() <= room ? m : Match{single_[word & 0xFF]};
}

// One value by itself, reading nothing behind it.
uint8_t* FsstEncoder::EncodeValue(const uint8_t* p, const uint8_t* end, uint8_t* o) const {
  while (p < end) {
    const auto room = static_cast<uint64_t>(end - p);
    uint64_t word = 0;
    std::memcpy(&word, p, std::min<uint64_t>(room, 8));
    const Match m = room >= 8 ? Find(word) : FindShort(word, room);
    o[0] = m.code();
    if (m.escape()) o[1] = static_cast<uint8_t>(word);
    o += 1 + m.escape();
    p += m.length();
  }
  return o;
}

// One value after another; o: where the next code goes.
struct FsstEncoder::Lane {
  const uint8_t *p, *end;
  uint8_t* o;
  uint64_t slot, last;  // values still to do
  uint8_t* start;
  uint64_t first;
};

// A match of `length` bytes at lane->p reaches the value's end or passes it (what lies behind was matched too: then it
// is done again without). The step to the next value that is not empty; false: no more.
[[gnu::noinline]] bool FsstEncoder::NextValue(Lane* lane, uint64_t length, const uint8_t* text, const uint64_t* ends,
                                              uint64_t* out_ends) const {
  if (lane->p + length == lane->end)
    lane->o += 1 + (lane->o[0] == 255);
  else
    lane->o = EncodeValue(lane->p, lane->end, lane->o);
  lane->p = lane->end;
  do {
    out_ends[lane->slot] = static_cast<uint64_t>(lane->o - lane->start);
    if (++lane->slot == lane->last) return false;
    lane->end = text + ends[lane->slot];
  } while (lane->p == lane->end);
  return true;
}

// One symbol; false: the lane has no more.
[[gnu::always_inline]] inline bool FsstEncoder::Step(Lane* lane, const uint8_t* text, const uint64_t* ends,
                                                     uint64_t* out_ends) const {
  const Match m = Find(LoadLE<uint64_t>(lane->p));
  StoreLE<uint16_t>(lane->o, static_cast<uint16_t>(m.bits >> 8));
  const uint8_t* next = lane->p + static_cast<uint32_t>(m.length());
  if (next >= lane->end) [[unlikely]]
    return NextValue(lane, m.length(), text, ends, out_ends);
  lane->p = next;
  lane->o += 1 + m.escape();
  return true;
}

void FsstEncoder::RunLanes(std::span<Lane> lanes, const uint8_t* text, const uint64_t* ends, uint64_t* out_ends) const {
  // Each step waits for the one before; stretches of the values side by side keep the machine busy.
  Lane a = lanes[0], b = lanes[1], c = lanes[2], d = lanes[3];
  auto live = [](const Lane& l) { return l.slot < l.last; };
  bool go = live(a) && live(b) && live(c) && live(d);
  while (go) {
    go = Step(&a, text, ends, out_ends);
    go &= Step(&b, text, ends, out_ends);
    go &= Step(&c, text, ends, out_ends);
    go &= Step(&d, text, ends, out_ends);
  }
  lanes[0] = a, lanes[1] = b, lanes[2] = c, lanes[3] = d;
  for (Lane& lane : lanes) {
    while (live(lane) && Step(&lane, text, ends, out_ends)) {
    }
  }
}

// Where nearly all symbols have two bytes: eight of them at once, none of which waits for the one before.
uint8_t* FsstEncoder::EncodePairs(const uint8_t* p, const uint8_t* end, uint8_t* o) const {
  constexpr int kAtOnce = 8;
  constexpr uint32_t kLength = 0xFFu << 24, kTwo = 2u << 24;
  const uint32_t* pairs = short_.data();
  while (end - p >= 2 * kAtOnce) {
    uint32_t found[kAtOnce], other = 0;
    for (int i = 0; i < kAtOnce; ++i) {
      found[i] = pairs[LoadLE<uint16_t>(p + 2 * i)];
      other |= found[i] ^ kTwo;
    }
    if ((other & kLength) == 0) [[likely]] {
      for (int i = 0; i < kAtOnce; ++i) o[i] = static_cast<uint8_t>(found[i] >> 8);
      o += kAtOnce;
      p += 2 * kAtOnce;
      continue;
    }
    for (bool pair = true; pair;) {  // up to the one that is no pair
      const Match m{pairs[LoadLE<uint16_t>(p)]};
      StoreLE<uint16_t>(o, static_cast<uint16_t>(m.bits >> 8));
      o += 1 + m.escape();
      p += m.length();
      pair = m.length() == 2;
    }
  }
  while (p < end) {
    const Match m{end - p >= 2 ? pairs[LoadLE<uint16_t>(p)] : single_[*p]};
    o[0] = m.code();
    if (m.escape()) o[1] = *p;
    o += 1 + m.escape();
    p += m.length();
  }
  return o;
}

uint64_t FsstEncoder::Encode(const uint8_t* text, uint64_t base, std::span<const uint64_t> ends, uint8_t* out,
                             uint64_t* out_ends) const {
  constexpr size_t kLanes = 4;
  uint64_t n = ends.size();
  if (!any_long_) {
    uint8_t* o = out;
    for (uint64_t i = 0; i < n; ++i) {
      o = EncodePairs(text + (i ? ends[i - 1] : base), text + ends[i], o);
      out_ends[i] = static_cast<uint64_t>(o - out);
    }
    return static_cast<uint64_t>(o - out);
  }
  const uint64_t total = n ? ends[n - 1] : base;
  while (n > 0 && ends[n - 1] + 8 > total) --n;  // the lanes read whole words: not where nothing lies behind
  std::array<Lane, kLanes> lanes;
  for (size_t i = 0, slot = 0; i < kLanes; ++i) {  // parts of about the same bytes
    const uint64_t until = base + (total - base) * (i + 1) / kLanes, first = slot;
    slot = i + 1 == kLanes
               ? n
               : static_cast<size_t>(std::lower_bound(ends.begin() + static_cast<std::ptrdiff_t>(slot),
                                                      ends.begin() + static_cast<std::ptrdiff_t>(n), until) -
                                     ends.begin());
    const uint64_t begin = first ? ends[first - 1] : base;
    uint8_t* o = out + 2 * (begin - base);  // no value needs more than what lies before the next lane's
    lanes[i] = {text + begin, text + begin, o, first, slot, o, first};
    Lane& lane = lanes[i];
    for (; lane.slot < lane.last && ends[lane.slot] == begin; ++lane.slot) out_ends[lane.slot] = 0;
    if (lane.slot < lane.last) lane.end = text + ends[lane.slot];
  }
  RunLanes(lanes, text, ends.data(), out_ends);
  uint8_t* o = out;
  for (const Lane& lane : lanes) {
    const auto size = static_cast<size_t>(lane.o - lane.start);
    const auto before = static_cast<uint64_t>(o - out);
    std::memmove(o, lane.start, size);
    for (uint64_t i = lane.first; i < lane.last; ++i) out_ends[i] += before;
    o += size;
  }
  for (; n < ends.size(); ++n) {
    o = EncodeValue(text + (n ? ends[n - 1] : base), text + ends[n], o);
    out_ends[n] = static_cast<uint64_t>(o - out);
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

  // Looks at so many of each eight pieces of the sample.
  FsstEncoder Round(const FsstEncoder& table, size_t eighths) {
    Count(table, eighths);
    Collect(table);
    return FsstEncoder(Best());
  }

 private:
  static constexpr uint32_t kNumbers = 512;
  struct Candidate {
    FsstSymbol symbol;
    uint64_t gain = 0;
  };

  void Count(const FsstEncoder& table, size_t eighths) {
    ones_.fill(0);
    for (uint32_t pair : used_) pairs_[pair] = 0;
    used_.clear();
    for (size_t i = 0; i < sample_.size(); ++i) {
      if (i % 8 >= eighths) continue;
      const std::string_view s = sample_[i];
      uint32_t before = kNumbers;
      for (size_t at = 0; at < s.size();) {
        const size_t room = std::min<size_t>(8, s.size() - at);
        uint64_t word = 0;
        std::memcpy(&word, s.data() + at, room);
        const auto m = room == 8 ? table.Find(word) : table.FindShort(word, room);
        const uint32_t number = m.escape() ? static_cast<uint32_t>(word & 0xFF) : 256u + m.code();
        ++ones_[number];
        if (before != kNumbers) {
          CountPair(before * kNumbers + number);
          if (m.length() > 1) CountPair(before * kNumbers + static_cast<uint32_t>(word & 0xFF));  // grows by a byte
        }
        before = number;
        at += m.length();
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

namespace {

// Digits and the like: the commonest pairs of bytes, and the bytes themselves where there is room. Empty where the
// sample has too many kinds of bytes for that.
std::vector<FsstSymbol> Pairs(std::span<const std::string_view> sample) {
  constexpr size_t kMostBytes = 16;
  std::vector<uint32_t> counts(1 << 16);
  std::array<bool, 256> seen{};
  for (std::string_view s : sample) {
    for (size_t i = 0; i < s.size(); ++i) {
      seen[static_cast<uint8_t>(s[i])] = true;
      if (i > 0) ++counts[static_cast<uint8_t>(s[i]) * 256u + static_cast<uint8_t>(s[i - 1])];
    }
  }
  const auto kinds = static_cast<size_t>(std::count(seen.begin(), seen.end(), true));
  if (kinds > kMostBytes) return {};
  std::vector<uint32_t> pairs;
  for (uint32_t p = 0; p < counts.size(); ++p) {
    if (counts[p] > 0) pairs.push_back(p);
  }
  std::stable_sort(pairs.begin(), pairs.end(), [&](uint32_t a, uint32_t b) { return counts[a] > counts[b]; });
  std::vector<FsstSymbol> out;
  for (size_t i = 0; i < pairs.size() && i < FsstEncoder::kMaxSymbols; ++i) out.push_back({pairs[i], 2});
  for (uint64_t b = 0; b < 256 && out.size() + kinds <= FsstEncoder::kMaxSymbols; ++b) {
    if (seen[b]) out.push_back({b, 1});
  }
  return out;
}

}  // namespace

FsstEncoder FsstEncoder::Train(std::span<const std::string_view> sample) {
  // The first rounds find what is common, for which a part of a large sample does.
  constexpr size_t kRounds = 6, kLarge = 64 << 10;
  constexpr std::array<size_t, kRounds> kAll{8, 8, 8, 8, 8, 8}, kGrowing{1, 1, 2, 2, 4, 8}, kFew{1, 1, 1, 2, 2, 2};
  size_t bytes = 0;
  for (std::string_view piece : sample) bytes += piece.size();
  std::vector<FsstSymbol> pairs = Pairs(sample);
  FsstTrainer trainer(sample);
  FsstEncoder table({});
  for (size_t eighths : bytes < kLarge ? kAll : pairs.empty() ? kGrowing : kFew) table = trainer.Round(table, eighths);
  if (pairs.empty()) return table;
  FsstEncoder simple(std::move(pairs));  // encodes in a third of the time
  return simple.EncodedBytes(sample) * 100 <= table.EncodedBytes(sample) * 101 ? std::move(simple) : std::move(table);
}

}  // namespace pilum::write
