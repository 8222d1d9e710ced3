// Which indexes a column asks for: the field's metadata "pilum:index", a list of names such as "bloom, inverted". A schema
// in which any field has one is annotated: every column then gets what it asks for and nothing else. Without any, the
// rules of SidecarBuilder choose.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"

namespace pilum {

inline constexpr std::string_view kIndexKey = "pilum:index";
// The other columns (as dotted paths, one a line) with which a field is to have an index over pairs.
inline constexpr std::string_view kPairKey = "pilum:pair";

enum class IndexKind : uint32_t {
  kBloom = 1,
  kInverted = 2,
  kNulls = 4,
  kMembers = 8,
  kKey = 16,
  kRanges = 32,
  kTrigrams = 64,
  kCuckoo = 128,
  kFuse = 256,
  kWords = 512,
};

struct IndexSpec {
  bool annotated = false;  // of the schema: `asked` is all there is to be
  uint32_t asked = 0;
  std::vector<std::string> unknown;  // names that this Pilum does not know

  bool Asks(IndexKind kind) const { return asked & static_cast<uint32_t>(kind); }
  // Asked for, or left to the rules.
  bool MayHave(IndexKind kind) const { return !annotated || Asks(kind); }

  static IndexSpec Of(const arrow::Field& field, bool annotated);
};

bool IsAnnotated(const arrow::Schema& schema);
// All that the fields' kPairKey ask for, as dotted paths, in order.
std::vector<std::pair<std::string, std::string>> PairsAskedFor(const arrow::Schema& schema);
// kUsage: a field asks for an index that there is not; names both, and those that there are.
Status CheckIndexSpecs(const arrow::Schema& schema);

}  // namespace pilum
