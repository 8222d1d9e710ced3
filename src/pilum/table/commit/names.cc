#include "pilum/table/commit/names.h"

#include <sys/random.h>

#include <array>
#include <cstdlib>

#include <fmt/format.h>

namespace pilum {
namespace {

template <size_t kSize>
std::array<uint8_t, kSize> RandomBytes() {
  std::array<uint8_t, kSize> out;
  if (::getentropy(out.data(), out.size()) != 0) std::abort();  // fails on no system that runs this
  return out;
}

std::array<uint8_t, 16> UuidBytes() {
  auto b = RandomBytes<16>();
  b[6] = static_cast<uint8_t>((b[6] & 0x0f) | 0x40);
  b[8] = static_cast<uint8_t>((b[8] & 0x3f) | 0x80);
  return b;
}

}  // namespace

uint64_t RandomNumber() {
  uint64_t out = 0;
  for (const uint8_t byte : RandomBytes<8>()) out = out << 8 | byte;
  return out;
}

std::string RandomUuid() {
  const auto b = UuidBytes();
  std::string out;
  for (size_t i = 0; i < b.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", b[i]);
  }
  return out;
}

std::string NewDataFileName() {
  const auto b = UuidBytes();
  std::string out;
  for (size_t i = 0; i < b.size(); ++i) out += i < 3 ? fmt::format("{:08b}", b[i]) : fmt::format("{:02x}", b[i]);
  return out + ".lance";
}

}  // namespace pilum
