// What made a version, in words: "appended 10 rows in 1 fragment". Called by history.cc. Pure.
#pragma once

#include <string>

namespace pilum {

struct VersionRecord;

// From its transaction and from what differs from the version before it, as far as they are known. Never empty.
std::string ChangeWords(const VersionRecord& record);

}  // namespace pilum
