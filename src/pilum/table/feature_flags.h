// The words of feature flags in a manifest: which bits are known, what they mean, and who may read. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/status.h"

namespace pilum {

namespace table_flags {
inline constexpr uint64_t kDeletionFiles = 1, kStableRowIds = 2, kV2Format = 4, kConfig = 8, kBasePaths = 16,
                          kNoTransactionFiles = 32, kDataOverlays = 64, kCoveringIndices = 128,
                          kMixedFileVersions = 256, kTaggedFragmentReuse = 1024;
}

struct FeatureFlag {
  uint64_t bit;
  std::string_view name;  // "deletion files"
  bool readable;          // tables that have it are read here
};

// nullptr: not known.
const FeatureFlag* FindFeatureFlag(uint64_t bit);
// "deletion files, base paths"; unknown bits as "bit 12 (4096)".
std::string FeatureFlagNames(uint64_t flags);

// kUnsupported names each bit that keeps this version from being read, and what it means; kCorrupt where the words
// contradict each other.
Status CheckReadable(uint64_t reader_flags, uint64_t writer_flags);

}  // namespace pilum
