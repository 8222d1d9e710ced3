// pilum_encoding_bench [WORD]: the benchmarks whose name holds WORD.
#include <string_view>

#include "pilum/encoding/bench.h"

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  for (const auto& e : pilum::bench::Entries()) {
    if (std::string_view(e.name).find(word) != std::string_view::npos) e.run();
  }
  return 0;
}
