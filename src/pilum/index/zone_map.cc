#include "pilum/index/zone_map.h"

#include <bit>
#include <cmath>

#include "pilum/base/bytes.h"

namespace pilum {
namespace {

const Value& NaN() {
  static const Value nan = Value::Float(std::nan(""));
  return nan;
}

uint64_t ChunksOf(uint64_t rows, uint64_t chunk_rows) { return rows / chunk_rows + (rows % chunk_rows != 0); }

enum class Fit { kNone, kSome, kAll, kUnknown };

// How the non-null values of a sound chunk lie to the set.
Fit FitOf(const ZoneMap& z, size_t chunk, const ValueSet& set) {
  const uint8_t flags = z.flags[chunk];
  bool some = false, all = true;
  if (flags & ZoneMap::kHasNaN) {
    const bool in = set.Contains(NaN());
    some |= in;
    all &= in;
  }
  if (flags & ZoneMap::kHasBounds) {
    const Value low = z.Low(chunk);
    if (flags & ZoneMap::kNoUpper) {
      const ValueSet above = ValueSet::Of(Interval{Bound{low, true}, std::nullopt});
      some |= !set.Intersect(above).empty();
      all &= set.Complement().Intersect(above).empty();
    } else {
      const Value high = z.High(chunk);
      some |= set.Overlaps(low, high);
      all &= set.Covers(low, high);
    }
  }
  return !some ? Fit::kNone : all ? Fit::kAll : Fit::kSome;
}

}  // namespace

uint64_t ZoneMap::RowsOf(size_t chunk) const { return std::min(chunk_rows, num_rows - chunk * chunk_rows); }

Value ZoneMap::ValueOf(const Words& words, const Decimals& decimals, const Texts& texts, size_t c) const {
  switch (domain) {
    case Domain::kInt: return Value::Int(is_unsigned ? Int128(words[c]) : Int128(static_cast<int64_t>(words[c])));
    case Domain::kFloat: return Value::Float(std::bit_cast<double>(words[c]));
    case Domain::kDecimal: return Value::Decimal(decimals[c]);
    case Domain::kText: return Value::Text(texts[c]);
    default: return Value::Binary(texts[c]);
  }
}

Value ZoneMap::Low(size_t chunk) const { return ValueOf(lows, decimal_lows, text_lows, chunk); }
Value ZoneMap::High(size_t chunk) const { return ValueOf(highs, decimal_highs, text_highs, chunk); }

bool ZoneMap::IsSound(size_t c) const {
  const uint64_t rows = RowsOf(c);
  if (nulls[c] > rows) return false;
  if (domain == Domain::kNone) return true;
  const bool has_bounds = flags[c] & kHasBounds, has_nan = flags[c] & kHasNaN;
  if (has_nan && domain != Domain::kFloat) return false;
  if ((nulls[c] < rows) != (has_bounds || has_nan)) return false;
  if (!has_bounds) return true;
  if (domain == Domain::kFloat) {
    const double low = std::bit_cast<double>(lows[c]), high = std::bit_cast<double>(highs[c]);
    if (std::isnan(low) || std::isnan(high)) return false;
  }
  if (flags[c] & kNoUpper) return domain == Domain::kText || domain == Domain::kBinary;
  return Compare(Low(c), High(c)) <= 0;
}

bool ZoneMap::Ascends() const {
  const size_t n = num_chunks();
  if (domain != Domain::kInt && domain != Domain::kFloat) return false;
  auto above = [&](uint64_t a, uint64_t b) {
    if (domain == Domain::kFloat) return !(std::bit_cast<double>(a) <= std::bit_cast<double>(b));
    return is_unsigned ? a > b : static_cast<int64_t>(a) > static_cast<int64_t>(b);
  };
  for (size_t c = 0; c < n; ++c) {
    if (nulls[c] != 0 || (flags[c] & (kHasBounds | kNoUpper | kHasNaN)) != kHasBounds || above(lows[c], highs[c]))
      return false;
    if (c > 0 && (above(lows[c - 1], lows[c]) || above(highs[c - 1], highs[c]))) return false;
  }
  return true;
}

// All chunks but those that a sorted column rules out by halving.
std::pair<size_t, size_t> ZoneMap::ChunksNear(const ValueSet& set) const {
  size_t first = 0, last = num_chunks();
  if (last < 16 || set.empty() || !Ascends()) return {first, last};
  const auto& lower = set.intervals().front().lower;
  const auto& upper = set.intervals().back().upper;
  auto halve = [](size_t low, size_t high, const auto& before) {
    while (low < high) {
      const size_t mid = low + (high - low) / 2;
      if (before(mid))
        low = mid + 1;
      else
        high = mid;
    }
    return low;
  };
  if (lower) first = halve(first, last, [&](size_t c) { return Compare(High(c), lower->value) < 0; });
  if (upper) last = halve(first, last, [&](size_t c) { return Compare(Low(c), upper->value) <= 0; });
  return {first, last};
}

Candidates ZoneMap::InSet(const ValueSet& set, bool exact) const {
  if (!AllOfDomain(set, domain)) return Candidates::Unknown(num_rows);
  Candidates out;
  const auto [first, last] = ChunksNear(set);
  for (size_t c = first; c < last; ++c) {
    const uint64_t begin = c * chunk_rows, end = begin + RowsOf(c);
    const bool sound = IsSound(c) && domain != Domain::kNone;
    if (!sound || nulls[c] > 0) out.maybe_null.Append(begin, end);
    if (sound && nulls[c] == end - begin) continue;
    const Fit fit = sound ? FitOf(*this, c, set) : Fit::kUnknown;
    if (fit == Fit::kNone) continue;
    out.possible.Append(begin, end);
    if (fit == Fit::kAll && exact && nulls[c] == 0) out.certain.Append(begin, end);
  }
  return out;
}

Candidates ZoneMap::IsNull() const {
  Candidates out;
  for (size_t c = 0; c < num_chunks(); ++c) {
    const uint64_t begin = c * chunk_rows, end = begin + RowsOf(c);
    const bool sound = IsSound(c);
    if (sound && nulls[c] == 0) continue;
    out.possible.Append(begin, end);
    if (sound && nulls[c] == end - begin) out.certain.Append(begin, end);
  }
  return out;
}

double ZoneMap::Overlap() const {
  constexpr size_t kSamples = 16;
  uint64_t asked = 0, hit = 0, with_bounds = 0;
  for (size_t c = 0; c < num_chunks(); ++c) with_bounds += (flags[c] & kHasBounds) != 0;
  if (with_bounds == 0) return 1;
  const size_t step = std::max<size_t>(1, num_chunks() / kSamples);
  for (size_t s = step / 2; s < num_chunks(); s += step) {
    if (!(flags[s] & kHasBounds)) continue;
    const Value v = Low(s);
    ++asked;
    for (size_t c = 0; c < num_chunks(); ++c) {
      if (!(flags[c] & kHasBounds)) continue;
      hit += Compare(Low(c), v) <= 0 && ((flags[c] & kNoUpper) || Compare(v, High(c)) <= 0);
    }
  }
  return asked == 0 ? 1 : static_cast<double>(hit) / static_cast<double>(asked * with_bounds);
}

std::string ZoneMap::ToBytes() const {
  std::string out;
  AppendLE<uint64_t>(&out, chunk_rows);
  AppendLE<uint64_t>(&out, num_rows);
  AppendLE<uint8_t>(&out, static_cast<uint8_t>(domain));
  AppendLE<uint8_t>(&out, is_unsigned);
  AppendLE<int16_t>(&out, static_cast<int16_t>(scale));
  AppendLE<uint32_t>(&out, 0);
  out.append(reinterpret_cast<const char*>(flags.data()), flags.size());
  auto append_words = [&](const std::vector<uint64_t>& v) {
    out.append(reinterpret_cast<const char*>(v.data()), v.size() * 8);
  };
  append_words(nulls);
  if (domain == Domain::kInt || domain == Domain::kFloat) {
    append_words(lows);
    append_words(highs);
  } else if (domain == Domain::kDecimal) {
    for (const auto* side : {&decimal_lows, &decimal_highs}) {
      for (const auto& d : *side) out.append(reinterpret_cast<const char*>(d.ToBytes().data()), 32);
    }
  } else if (domain == Domain::kText || domain == Domain::kBinary) {
    for (const auto* side : {&text_lows, &text_highs}) {
      for (const auto& s : *side) AppendLE<uint32_t>(&out, static_cast<uint32_t>(s.size()));
    }
    for (const auto* side : {&text_lows, &text_highs}) {
      for (const auto& s : *side) out += s;
    }
  }
  return out;
}

namespace {

void ReadWords(ByteCursor* in, size_t n, std::vector<uint64_t>* out) {
  const std::string_view bytes = in->ReadBytes(n * 8);
  if (!in->ok()) return;
  out->resize(n);
  if (n > 0) std::memcpy(out->data(), bytes.data(), n * 8);
}

void ReadDecimals(ByteCursor* in, size_t n, std::vector<arrow::Decimal256>* out) {
  if (in->remaining() / 32 < n) {
    in->ReadBytes(~uint64_t{0});
    return;
  }
  out->reserve(n);
  for (size_t i = 0; i < n; ++i) {
    out->emplace_back(reinterpret_cast<const uint8_t*>(in->ReadBytes(32).data()));
  }
}

void ReadTexts(ByteCursor* in, size_t n, std::vector<std::string>* lows, std::vector<std::string>* highs) {
  const std::string_view lengths = in->ReadBytes(n * 8);
  if (!in->ok()) return;
  size_t at = 0;
  for (auto* side : {lows, highs}) {
    side->reserve(n);
    for (size_t i = 0; i < n; ++i, at += 4) side->emplace_back(in->ReadBytes(LoadLE<uint32_t>(lengths.data() + at)));
  }
}

}  // namespace

Result<ZoneMap> ZoneMap::FromBytes(std::string_view bytes, uint64_t num_rows, std::string_view source) {
  ByteCursor in(bytes);
  ZoneMap z;
  z.chunk_rows = in.Read<uint64_t>();
  z.num_rows = in.Read<uint64_t>();
  const auto domain = in.Read<uint8_t>();
  z.is_unsigned = in.Read<uint8_t>() != 0;
  z.scale = in.Read<int16_t>();
  in.Read<uint32_t>();
  auto corrupt = [&](std::string_view what) { return Corrupt(source, "zone map", what); };
  if (!in.ok()) return corrupt("cut short");
  if (domain > static_cast<uint8_t>(Domain::kBinary)) return corrupt("a domain that is not known");
  z.domain = static_cast<Domain>(domain);
  if (z.num_rows != num_rows) return corrupt(fmt::format("{} rows, the part has {}", z.num_rows, num_rows));
  if (z.chunk_rows == 0) return corrupt("chunks of 0 rows");
  const uint64_t n = ChunksOf(num_rows, z.chunk_rows);
  if (n > in.remaining() / 9) return corrupt("fewer chunks than rows need");
  const std::string_view flags = in.ReadBytes(n);
  z.flags.assign(flags.begin(), flags.end());
  ReadWords(&in, n, &z.nulls);
  switch (z.domain) {
    case Domain::kInt:
    case Domain::kFloat:
      ReadWords(&in, n, &z.lows);
      ReadWords(&in, n, &z.highs);
      break;
    case Domain::kDecimal:
      ReadDecimals(&in, n, &z.decimal_lows);
      ReadDecimals(&in, n, &z.decimal_highs);
      break;
    case Domain::kText:
    case Domain::kBinary: ReadTexts(&in, n, &z.text_lows, &z.text_highs); break;
    case Domain::kNone: break;
  }
  if (!in.ok() || in.remaining() != 0) return corrupt("a length that does not fit its chunks");
  return z;
}

}  // namespace pilum
