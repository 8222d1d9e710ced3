#include "pilum/table/feature_flags.h"

#include <bit>

namespace pilum {
namespace {

constexpr FeatureFlag kFlags[] = {
    {1, "deletion files", true},
    {2, "stable row ids", true},
    {4, "v2 format", true},
    {8, "table config", true},
    {16, "base paths", true},
    {32, "no transaction files", true},
    {64, "data overlay files", false},
    {128, "covering index metadata", true},
    {256, "mixed data file versions", true},
    {512, "a feature of an unreleased Lance", false},
    {1024, "tagged fragment-reuse index", true},
    {2048, "non-reusable field ids", true},
};

// Set in one word alone they say nothing that could be relied on.
constexpr uint64_t kInBothWords = table_flags::kMixedFileVersions | table_flags::kTaggedFragmentReuse;

template <typename F>
void EachBit(uint64_t flags, F f) {
  for (; flags != 0; flags &= flags - 1) f(flags & -flags);
}

std::string NameOf(uint64_t bit) {
  const FeatureFlag* known = FindFeatureFlag(bit);
  return known ? fmt::format("{} (flag {})", known->name, bit) : fmt::format("unknown flag {}", bit);
}

}  // namespace

const FeatureFlag* FindFeatureFlag(uint64_t bit) {
  for (const FeatureFlag& f : kFlags) {
    if (f.bit == bit) return &f;
  }
  return nullptr;
}

std::string FeatureFlagNames(uint64_t flags) {
  std::string out;
  EachBit(flags, [&](uint64_t bit) {
    const FeatureFlag* known = FindFeatureFlag(bit);
    out += fmt::format("{}{}", out.empty() ? "" : ", ",
                       known ? std::string(known->name) : fmt::format("bit {} ({})", std::countr_zero(bit), bit));
  });
  return out;
}

Status CheckReadable(uint64_t reader_flags, uint64_t writer_flags) {
  std::string refused;
  EachBit(reader_flags, [&](uint64_t bit) {
    const FeatureFlag* known = FindFeatureFlag(bit);
    if (!known || !known->readable) refused += (refused.empty() ? "" : ", ") + NameOf(bit);
  });
  if (!refused.empty()) {
    return Unsupported("it cannot be read without what this Pilum does not have: {}; a newer Pilum may", refused);
  }
  const uint64_t torn = (reader_flags ^ writer_flags) & kInBothWords;
  if (torn != 0) {
    return MakeError(ErrorKind::kCorrupt, fmt::format("the flags of readers ({}) and writers ({}) disagree on: {}",
                                                      reader_flags, writer_flags, FeatureFlagNames(torn)));
  }
  return Status::OK();
}

}  // namespace pilum
