// The units of a scan of a remote file fetch one after the other, in their order, out of extents: what is fetched with one
// for the next depends on no thread, while they are decoded in any order. Called by scan.cc.
#pragma once

#include <condition_variable>
#include <mutex>

#include "pilum/file/extent_cache.h"
#include "pilum/file/file_reader.h"
#include "pilum/file/projection.h"
#include "pilum/file/unit.h"

namespace pilum {

// Thread-safe.
class OrderedFetch {
 public:
  // Of a scan of `rows`; `file` must outlive it, and what `ctx` names. Holds at most 160 MiB, less where batches are
  // small.
  OrderedFetch(const OpenFile& file, const Projection& projection, const RowSet& rows, const BatchLimits& limits,
               const ReadContext& ctx);
  // unit->Fetch, after that of all units with lower numbers. Each number from 0 on comes once, whatever becomes of it.
  Status Fetch(size_t number, UnitRead* unit, ReadContext& ctx);

 private:
  std::mutex mutex_;  // held by the unit that fetches
  std::condition_variable passed_;
  size_t turn_ = 0;  // the next one's number
  ExtentCache extents_;
};

}  // namespace pilum
