// Names that nobody else chooses, from the system's randomness at each call: processes that were forked from one another
// never share them.
#pragma once

#include <cstdint>
#include <string>

namespace pilum {

uint64_t RandomNumber();
std::string RandomUuid();  // version 4, "0869f6e5-b5c1-4822-ac6d-e14b3fd373d9"
std::string
NewDataFileName();  // 24 binary digits, 26 hexadecimal ones, ".lance": keys of a bucket spread by their first

}  // namespace pilum
