// What the encoders cost: symbols, dictionaries, packing, runs, zstd of long values.
#include <random>

#include "pilum/encoding/bench.h"
#include "pilum/encoding/write/internal.h"

namespace pilum::write {
namespace {

struct Texts {
  std::string bytes;
  std::vector<uint64_t> ends;
};

Texts Words(int values, int words_each) {
  std::mt19937 rng(5);
  std::vector<std::string> words;
  for (int i = 0; i < 3000; ++i) {
    std::string w;
    for (unsigned k = 0, n = 2 + rng() % 7; k < n; ++k) w += "etaoinshrdlucmfwyp"[rng() % 18];
    words.push_back(w + " ");
  }
  Texts t;
  for (int i = 0; i < values; ++i) {
    for (int k = 0; k < words_each; ++k) t.bytes += words[std::min(rng() % 3000, rng() % 3000)];
    t.ends.push_back(t.bytes.size());
  }
  return t;
}

Texts Hashes(int values) {
  std::mt19937 rng(6);
  Texts t;
  for (int i = 0; i < values; ++i) {
    for (int k = 0; k < 64; ++k) t.bytes += "0123456789abcdef"[rng() % 16];
    t.ends.push_back(t.bytes.size());
  }
  return t;
}

void Symbols(const char* name, const Texts& t) {
  const std::string_view sample(t.bytes.data(), std::min<size_t>(t.bytes.size(), 32 << 10));
  const FsstEncoder encoder = FsstEncoder::Train({&sample, 1});
  std::vector<uint8_t> out(2 * t.bytes.size() + FsstEncoder::kSlack);
  std::vector<uint64_t> ends(t.ends.size());
  const auto bytes = static_cast<double>(t.bytes.size());
  bench::Measure(fmt::format("fsst of {}", name), bytes, [&] {
    encoder.Encode(reinterpret_cast<const uint8_t*>(t.bytes.data()), 0, t.ends, out.data(), ends.data());
    bench::Keep(out.data());
  });
}

PILUM_BENCH(FsstEncode) {
  Symbols("text", Words(2000, 30));
  Symbols("short text", Words(20000, 2));
  Symbols("hexadecimal text", Hashes(5000));
}

PILUM_BENCH(FsstTrain) {
  const Texts t = Words(2000, 30);
  const std::string_view sample(t.bytes.data(), 32 << 10);
  bench::Measure("fsst training on 32 KiB", 32 << 10, [&] {
    const FsstEncoder encoder = FsstEncoder::Train({&sample, 1});
    bench::Keep(&encoder);
  });
}

PILUM_BENCH(ByteTable) {
  for (int words : {1, 4}) {
    const Texts t = Words(20000, words);
    bench::Measure(fmt::format("dictionary of 20000 values of {} words", words), static_cast<double>(t.bytes.size()),
                   [&] {
                     ByteTable table;
                     for (size_t i = 0; i < t.ends.size(); ++i) {
                       const uint64_t begin = i ? t.ends[i - 1] : 0;
                       table.Insert({t.bytes.data() + begin, t.ends[i] - begin}, t.bytes.size() - begin);
                     }
                     bench::Keep(&table);
                   });
  }
}

PILUM_BENCH(Integers) {
  std::mt19937 rng(7);
  Vec<uint32_t> values(65536);
  for (size_t i = 0; i < values.size(); ++i) values[i] = rng() % 1000;
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  const auto size = static_cast<double>(values.size() * 4);
  Bytes out;
  bench::Measure("inline bit packing of 32-bit values", size, [&] {
    out.clear();
    for (size_t i = 0; i < values.size(); i += 1024) AppendInlineBitpacked(bytes + i * 4, 4, 1024, &out);
    bench::Keep(out.data());
  });
  bench::Measure("bytes that packing takes", size, [&] {
    const uint64_t n = InlineBitpackedBytes(bytes, 4, values.size());
    bench::Keep(&n);
  });
  bench::Measure("runs", size, [&] {
    const uint64_t n = RunsOf(bytes, 4, values.size(), UINT64_MAX);
    bench::Keep(&n);
  });
}

PILUM_BENCH(LongValues) {
  const Texts t = Words(1, 4000);
  const auto* bytes = reinterpret_cast<const uint8_t*>(t.bytes.data());
  for (const GeneralScheme& scheme :
       {GeneralScheme{Compression::kZstd, 1, true}, GeneralScheme{Compression::kZstd, 1},
        GeneralScheme{Compression::kZstd, 3}, GeneralScheme{Compression::kLz4, std::nullopt}}) {
    Bytes out;
    auto run = [&] {
      out.clear();
      bench::Keep(AppendCompressed(scheme, bytes, t.bytes.size(), &out).ok() ? out.data() : nullptr);
    };
    run();
    bench::Measure(fmt::format("{} level {}{}: {} of {} bytes", scheme.scheme == Compression::kLz4 ? "lz4" : "zstd",
                               scheme.level.value_or(0), scheme.quick ? ", quick" : "", out.size(), t.bytes.size()),
                   static_cast<double>(t.bytes.size()), run);
  }
}

}  // namespace
}  // namespace pilum::write
