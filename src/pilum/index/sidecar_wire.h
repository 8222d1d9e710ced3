// Numbers of the sidecar container that its writer and its reader share. For index/sidecar*.cc only.
#pragma once

#include <algorithm>
#include <initializer_list>

#include "pilum/base/hash.h"
#include "pilum/index/sidecar.h"

namespace pilum::sidecar_wire {

inline constexpr uint64_t kHeaderSize = 64, kFixedHead = 88;
inline constexpr uint16_t kFormatVersion = 1;
inline constexpr uint64_t kBlockEntry = 4 + 4 + 16;  // bytes of a block in a root's table
// A prune header is fetched whole, a bundle with its table of parts, the others by their head and then by section.
inline uint64_t FirstRead(SidecarKind kind) {
  return kind == SidecarKind::kHeader ? 2 << 20 : kind == SidecarKind::kBundle ? 512 << 10 : 64 << 10;
}

inline const char* MagicOf(SidecarKind kind) {
  switch (kind) {
    case SidecarKind::kIndex: return "PILUMIDX";
    case SidecarKind::kHeader: return "PILUMIDH";
    case SidecarKind::kTerms: return "PILUMTRM";
    case SidecarKind::kSegment: return "PILUMSEG";
    case SidecarKind::kBundle: return "PILUMBND";
    default: return "PILUMSTA";
  }
}

inline Hash128 HalfHash(std::initializer_list<std::string_view> pieces) {
  Blake3 h;
  for (std::string_view p : pieces) h.Update(p);
  const Hash256 full = h.Finish();
  Hash128 out;
  std::copy_n(full.begin(), 16, out.begin());
  return out;
}

inline std::string_view View(const Hash128& h) { return {reinterpret_cast<const char*>(h.data()), h.size()}; }

}  // namespace pilum::sidecar_wire
