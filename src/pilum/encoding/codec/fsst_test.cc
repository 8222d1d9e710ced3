// FSST: both kernels against a decoder that reads the definition, on random and hostile bytes.
#include "pilum/encoding/codec/fsst.h"

#include <algorithm>
#include <optional>
#include <random>

#include <arrow/memory_pool.h>
#include <gtest/gtest.h>

#include "pilum/base/bytes.h"

namespace pilum::codec {
namespace {

using Kernel = FsstTable::Kernel;
using Symbols = std::vector<std::string>;

std::string TableBytes(const Symbols& symbols, bool active = true) {
  std::string t;
  AppendLE<uint64_t>(&t, uint64_t{0x46535354} << 32 | uint64_t{active} << 24 | symbols.size());
  for (const auto& s : symbols) t += s + std::string(8 - s.size(), '\0');
  for (const auto& s : symbols) t += static_cast<char>(s.size());
  t.resize(2312);
  return t;
}

std::shared_ptr<const FsstTable> Table(const Symbols& symbols) {
  auto t = FsstTable::Parse(TableBytes(symbols));
  EXPECT_TRUE(t.ok()) << t.status();
  return *t;
}

// The definition; nothing for a code without a symbol or a cut escape.
std::optional<std::string> Define(const Symbols& symbols, std::string_view codes) {
  std::string out;
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto c = static_cast<uint8_t>(codes[i]);
    if (c == 255) {
      if (++i == codes.size()) return std::nullopt;
      out += codes[i];
    } else if (c < symbols.size()) {
      out += symbols[c];
    } else {
      return std::nullopt;
    }
  }
  return out;
}

// Values of codes laid one behind the other, each with `gap` bytes of anything before it.
struct Stored {
  explicit Stored(const std::vector<std::string>& values, const std::string& gap) {
    for (const auto& v : values) {
      bytes += gap;
      bounds.push_back(static_cast<uint32_t>(bytes.size()));
      bytes += v;
      ends.push_back(static_cast<uint32_t>(bytes.size()));
    }
    contiguous = gap.empty();
    bounds.push_back(ends.back());
    // A buffer of just this size: what reads past the slack is seen by the address sanitizer.
    at = std::make_unique<uint8_t[]>(bytes.size() + kSlack);
    std::memcpy(at.get(), bytes.data(), bytes.size());
    std::memset(at.get() + bytes.size(), 0xff, kSlack);
  }
  Result<DataBlock> Decode(const FsstTable& table, Kernel kernel, bool wide) const {
    const size_t n = ends.size();
    VariableOut out;
    PILUM_RETURN_NOT_OK(out.Init(wide, n, 0, arrow::default_memory_pool()));
    std::span<const uint32_t> begins(bounds.data(), n), stops(contiguous ? bounds.data() + 1 : ends.data(), n);
    PILUM_RETURN_NOT_OK(table.DecodeValues(at.get(), begins, stops, &out, kernel));
    return out.Finish();
  }
  std::string bytes;
  std::vector<uint32_t> bounds, ends;
  bool contiguous = true;
  std::unique_ptr<uint8_t[]> at;
};

std::vector<std::string> Strings(const DataBlock& b) {
  std::vector<std::string> out;
  auto offset = [&](uint64_t i) -> size_t {
    return b.wide ? static_cast<size_t>(LoadLE<int64_t>(b.offsets->data() + i * 8))
                  : static_cast<size_t>(LoadLE<int32_t>(b.offsets->data() + i * 4));
  };
  for (uint64_t i = 0; i < b.count; ++i) {
    out.emplace_back(reinterpret_cast<const char*>(b.data->data()) + offset(i), offset(i + 1) - offset(i));
  }
  return out;
}

// Both kernels give what the definition gives, or both refuse.
void ExpectAgree(const Symbols& symbols, const std::vector<std::string>& values, const std::string& gap) {
  auto table = Table(symbols);
  std::vector<std::string> want;
  bool valid = true, ascii = true;
  for (const auto& v : values) {
    auto plain = Define(symbols, v);
    valid = valid && plain;
    want.push_back(plain.value_or(""));
  }
  for (const auto& s : symbols) ascii = ascii && std::all_of(s.begin(), s.end(), [](char c) { return c >= 0; });
  for (const auto& s : want) ascii = ascii && std::all_of(s.begin(), s.end(), [](char c) { return c >= 0; });
  const Stored stored(values, gap);
  for (Kernel kernel : {Kernel::kScalar, Kernel::kVector, Kernel::kBest}) {
    if (kernel == Kernel::kVector && !table->HasVectorKernel()) continue;
    for (bool wide : {false, true}) {
      auto got = stored.Decode(*table, kernel, wide);
      ASSERT_EQ(got.ok(), valid) << static_cast<int>(kernel) << ' ' << got.status();
      if (!valid) continue;
      ASSERT_EQ(Strings(*got), want) << static_cast<int>(kernel);
      ASSERT_EQ(got->ascii, ascii) << static_cast<int>(kernel);
    }
  }
  for (size_t i = 0; valid && i < std::min<size_t>(values.size(), 20); ++i) {  // and one alone
    std::string in = values[i] + std::string(kSlack, '\xff'), out(table->MaxSize(values[i].size()) + kSlack, 'x');
    auto size = table->Decode(Bytes(reinterpret_cast<const uint8_t*>(in.data()), values[i].size()),
                              reinterpret_cast<uint8_t*>(out.data()));
    ASSERT_TRUE(size.ok()) << size.status();
    ASSERT_EQ(out.substr(0, *size), want[i]);
  }
}

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t Below(uint64_t n) { return engine_() % n; }
  // `low`, `high`: the bytes that symbols are made of.
  Symbols MakeSymbols(uint64_t count, uint64_t longest, int low, int high) {
    Symbols out;
    for (uint64_t i = 0; i < count; ++i) {
      // Mostly short ones, as in real tables: then most blocks need but few planes.
      std::string s(Below(16) == 0 ? longest : 1 + Below(std::min<uint64_t>(longest, 4)), '\0');
      for (char& c : s) c = static_cast<char>(low + static_cast<int>(Below(static_cast<uint64_t>(high - low + 1))));
      out.push_back(s);
    }
    return out;
  }
  // Codes with a symbol, and an escape about every `escape_every` (0: none).
  std::string Codes(uint64_t size, uint64_t symbols, uint64_t escape_every) {
    std::string out;
    while (out.size() < size) {
      if (symbols == 0 || (escape_every && Below(escape_every) == 0)) {
        out += '\xff';
        out += Below(3) ? static_cast<char>(Below(256)) : '\xff';
      } else {
        out += static_cast<char>(Below(symbols));
      }
    }
    return out;
  }

 private:
  std::mt19937_64 engine_;
};

TEST(Fsst, SymbolsMayHoldNul) {
  const Symbols symbols = {std::string("a\0b", 3), "longest!", std::string("\0", 1)};
  const std::string codes("\0\1\2\xff\x00\xff\xff\0\1\1\1\1\1\1\2\0", 16);
  ExpectAgree(symbols, {codes, "", codes + codes, codes}, "");
  EXPECT_EQ(Define(symbols, codes.substr(0, 5))->size(), 13u);
}

TEST(Fsst, RefusesBrokenTables) {
  EXPECT_FALSE(FsstTable::Parse("short").ok());
  std::string table = TableBytes({"ab"});
  table[8 + 8] = 0;
  EXPECT_FALSE(FsstTable::Parse(table).ok());
  table[8 + 8] = 9;
  EXPECT_FALSE(FsstTable::Parse(table).ok());
  table = TableBytes({"ab"});
  table[4] = 0;
  EXPECT_FALSE(FsstTable::Parse(table).ok());
}

TEST(Fsst, KernelsAgree) {
  Random random(3);
  for (int i = 0; i < 600; ++i) {
    const uint64_t count = i % 7 == 0 ? random.Below(255) : 255, longest = 1 + random.Below(8);
    const bool ascii = i % 3 == 0, no_nul = i % 2 == 0;
    const Symbols symbols = random.MakeSymbols(count, longest, no_nul ? 1 : 0, ascii ? 127 : 254);
    const uint64_t escape_every = i % 4 == 0 ? 0 : 1 + random.Below(60), mean = 1 + random.Below(200);
    std::vector<std::string> values;
    for (uint64_t n = 1 + random.Below(120); n > 0; --n) {
      values.push_back(random.Below(9) ? random.Codes(random.Below(mean), count, escape_every) : "");
    }
    const std::string gaps[] = {"", "", std::string("\xff\1\2\3", 4), std::string(9, '\xff')};
    ASSERT_NO_FATAL_FAILURE(ExpectAgree(symbols, values, gaps[i % 4])) << i;
  }
}

// Values longer than what the kernels do at once, with escapes across the seams.
TEST(Fsst, LongValues) {
  Random random(4);
  for (uint64_t escape_every : {0, 1, 2, 50}) {
    for (uint64_t longest : {2, 4, 8}) {
      const Symbols symbols = random.MakeSymbols(255, longest, 32, 126);
      std::vector<std::string> values;
      for (uint64_t size : {0, 4095, 4096, 4097, 20000, 1, 8192, 63, 64, 65}) {
        values.push_back(random.Codes(size, 255, escape_every));
      }
      ASSERT_NO_FATAL_FAILURE(ExpectAgree(symbols, values, ""));
      ASSERT_NO_FATAL_FAILURE(ExpectAgree(symbols, values, "lens"));
    }
  }
}

// Without a byte that no symbol holds there is no filler: the portable kernel does it.
TEST(Fsst, SymbolsMayHoldEveryByte) {
  Symbols symbols;
  for (int i = 0; i < 128; ++i) symbols.push_back({static_cast<char>(2 * i), static_cast<char>(2 * i + 1)});
  EXPECT_FALSE(Table(symbols)->HasVectorKernel());
  Random random(5);
  std::vector<std::string> values;
  for (int i = 0; i < 50; ++i) values.push_back(random.Codes(random.Below(90), 128, 9));
  ExpectAgree(symbols, values, "");
}

// Escaped bytes may be the filler itself.
TEST(Fsst, EveryByteMayBeEscaped) {
  for (uint64_t longest : {2, 4, 8}) {
    const Symbols symbols = Random(6).MakeSymbols(200, longest, 1, 200);
    std::string all;
    for (int i = 0; i < 256; ++i) {
      all += {'\xff', static_cast<char>(i)};
      if (i % 3 == 0) all += static_cast<char>(i % 200);
    }
    ExpectAgree(symbols, {all, all.substr(0, 100), all}, "");
  }
}

// An escape that its value cuts, and a code without a symbol, at each place of a block.
TEST(Fsst, HostileCodesAreRefused) {
  Random random(7);
  for (uint64_t longest : {2, 3, 8}) {
    const Symbols symbols = random.MakeSymbols(100, longest, 32, 126);
    for (uint64_t place = 0; place < 140; ++place) {
      const std::string codes = random.Codes(place, 100, 0), rest = random.Codes(200, 100, 20);
      ExpectAgree(symbols, {codes + "\xff", rest}, "");
      ExpectAgree(symbols, {codes + "\xff", rest}, "\xff\xff\x07\xff");
      ExpectAgree(symbols, {rest, codes + "\xff"}, "");
      ExpectAgree(symbols, {codes + "\xff\xff\xff", "", rest}, "");
      ExpectAgree(symbols, {codes + static_cast<char>(100 + random.Below(155)), rest}, "");
      ExpectAgree(symbols, {codes + "\xff" + static_cast<char>(100 + random.Below(155)), rest}, "");  // that is none
    }
    ExpectAgree(symbols, {random.Codes(4095, 100, 0) + "\xff", random.Codes(99, 100, 9)}, "");
    ExpectAgree(symbols, {random.Codes(4095, 100, 0) + "\xff\xff" + random.Codes(99, 100, 9)}, "");
  }
}

}  // namespace
}  // namespace pilum::codec
