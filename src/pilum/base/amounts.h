// Amounts as text for people. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pilum {

std::string Thousands(uint64_t n);                      // 336,776
std::string HumanBytes(uint64_t n);                     // 12.3 MB (powers of 1000)
std::string Plural(uint64_t n, std::string_view noun);  // "1 row", "1,024 rows"
std::string Share(uint64_t part, uint64_t whole);       // "83 %", "< 1 %"
std::string UtcText(int64_t ns);                        // "2026-11-29 20:51:17 UTC", of ns since 1970

}  // namespace pilum
