// The libFuzzer binary: PILUM_FUZZ_TARGET=NAME build/fuzz/tests/pilum_fuzz tests/fuzz/corpus/NAME. See README.md.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "tests/fuzz/page_input.h"
#include "tests/fuzz/targets.h"

using pilum::fuzz::Target;

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

const Target& Chosen() {
  static const Target* target = [] {
    const char* name = std::getenv("PILUM_FUZZ_TARGET");
    for (const Target& t : pilum::fuzz::Targets()) {
      if (name != nullptr && t.name == name) return &t;
    }
    std::fprintf(stderr, "PILUM_FUZZ_TARGET must be one of:\n");
    for (const Target& t : pilum::fuzz::Targets()) std::fprintf(stderr, "  %s\n", t.name.c_str());
    std::exit(2);
  }();
  return *target;
}

std::string Mutated(std::string piece, size_t room) {
  const size_t size = piece.size();
  piece.resize(size + room);
  piece.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(piece.data()), size, piece.size()));
  return piece;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { return Chosen().run(data, size); }

// Pages keep their form: a piece changes at a time.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  if (!Chosen().page) return LLVMFuzzerMutate(data, size, max_size);
  std::mt19937_64 rng(seed);
  const size_t room = std::min<size_t>(max_size - size, 64);
  const std::string out = pilum::fuzz::ChangePiece({reinterpret_cast<const char*>(data), size}, rng(),
                                                   [&](std::string piece) { return Mutated(std::move(piece), room); });
  if (out.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::memcpy(data, out.data(), out.size());
  return out.size();
}
