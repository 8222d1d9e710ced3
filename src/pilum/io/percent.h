// %XX in URIs and names of objects. Pure.
#pragma once

#include <string>
#include <string_view>

namespace pilum {

std::string PercentDecode(std::string_view text);  // what is no %XX stays
std::string PercentEncode(std::string_view text);  // all but letters, digits, '-', '.' and '_'

}  // namespace pilum
