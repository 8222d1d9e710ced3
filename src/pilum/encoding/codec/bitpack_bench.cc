#include "pilum/encoding/bench.h"
#include "pilum/encoding/codec/codec.h"

namespace pilum::codec {

PILUM_BENCH(Unpack) {
  std::vector<uint8_t> in(8192 + 64), out(8192 + 64);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 131);
  for (uint64_t bits : {8, 16, 32, 64}) {
    for (uint64_t width : {1, 3, 7, 13, 20, 31, 52, 62}) {
      if (width > bits) continue;
      bench::Measure(fmt::format("unpack 1024 x {} bits to {}", width, bits), 128.0 * static_cast<double>(bits), [&] {
        Unpack1024(bits, width, in.data(), out.data());
        bench::Keep(out.data());
      });
    }
  }
}

}  // namespace pilum::codec
