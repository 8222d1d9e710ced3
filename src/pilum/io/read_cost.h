// What reading costs where bytes lie. A ByteSource says it (byte_source.h); ReadRanges cuts its requests by it, and file
// weighs by it what to read whole, ahead and from the end.
#pragma once

#include <cstdint>

namespace pilum {

// The default is a local file's: a request is a system call.
struct ReadCost {
  // Gaps up to here are read through: they take less time than one more request.
  uint64_t gap = 16 << 10;
  // Larger gaps, up to `reach`, are read through as well, the smallest first, as long as one read (ReadRanges) spends at
  // most `spare` bytes on it: few requests where little is wanted, no flood where much is.
  uint64_t reach = 0;
  uint64_t spare = 0;
  // The largest request. What is larger is asked for in equal pieces, each counted.
  uint64_t most = UINT64_MAX;
  // Requests that are in flight at once, on threads that only wait (ReadContext::threads is about work). ReadAt must
  // bear so many callers.
  int parallel = 1;
  // Bytes of the first read of a file, from its end: what tells of the rest lies there.
  uint64_t tail = 64 << 10;
  // Does each request cost a round trip? Then scans read pages whole and ahead, and takes small pages whole.
  bool remote = false;

  // An object store: some 20 ms a request, some 50 MB/s each, and money for each.
  static constexpr ReadCost Remote() {
    return {.gap = 224 << 10,
            .reach = 2 << 20,
            .spare = 8 << 20,
            .most = 16 << 20,
            .parallel = 32,
            .tail = 256 << 10,
            .remote = true};
  }
};

}  // namespace pilum
