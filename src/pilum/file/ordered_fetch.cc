#include "pilum/file/ordered_fetch.h"

#include <algorithm>
#include <vector>

namespace pilum {
namespace {

constexpr uint64_t kMostBytes = 160 << 20, kLeastBytes = 4 << 20;  // held of the file, fetched but not used

// Two and a half batches: what units need at once is in three quarters of it, so that there is room for what comes next.
uint64_t BudgetOf(const BatchLimits& limits) {
  return std::clamp(std::min(limits.bytes, kMostBytes) / 2 * 5, kLeastBytes, kMostBytes);
}

std::vector<Extent> ExtentsOf(const OpenFile& file, const Projection& projection, const RowSet& rows, uint64_t room) {
  std::vector<int> leaves;
  for (const ReadField& r : projection.reads) leaves.insert(leaves.end(), r.leaves.begin(), r.leaves.end());
  return ScanExtents(file, leaves, rows, room);
}

}  // namespace

OrderedFetch::OrderedFetch(const OpenFile& file, const Projection& projection, const RowSet& rows,
                           const BatchLimits& limits, const ReadContext& ctx)
    : extents_(file, ExtentsOf(file, projection, rows, BudgetOf(limits) / 4 * 3), BudgetOf(limits), ctx) {}

Status OrderedFetch::Fetch(size_t number, UnitRead* unit, ReadContext& ctx) {
  std::unique_lock lock(mutex_);
  passed_.wait(lock, [&] { return turn_ == number; });
  struct Pass {
    OrderedFetch* of;
    ~Pass() {
      ++of->turn_;
      of->passed_.notify_all();
    }
  } pass{this};
  extents_.Advance(unit->rows().ranges().front().begin);
  return unit->Fetch(&extents_, ctx);
}

}  // namespace pilum
