// Inside a page: work that asks now and then whether its read must stop. For the decoders of this folder.
#pragma once

#include <algorithm>

#include "pilum/base/context.h"

namespace pilum {

// Asks after each megabyte or so of work. Not thread-safe.
class StopCheck {
 public:
  explicit StopCheck(const ReadContext& ctx) : ctx_(ctx) {}
  // `bytes`: of the work that was done.
  Status After(uint64_t bytes) {
    done_ += bytes + 64;  // work without bytes is work too
    if (done_ < kBytes) return Status::OK();
    done_ = 0;
    return ctx_.Check();
  }
  // The same for events that are cheap and many.
  Status AfterEvent() {
    done_ += 8;
    if (done_ < kBytes) return Status::OK();
    done_ = 0;
    return ctx_.Check();
  }

 private:
  static constexpr uint64_t kBytes = 1 << 20;
  const ReadContext& ctx_;
  uint64_t done_ = 0;
};

// fn(begin, end) over [0, n) in pieces of a few megabytes, `bytes` in all; `stop`, where there is one, is asked between
// them.
template <typename Fn>
Status InPieces(StopCheck* stop, uint64_t n, uint64_t bytes, Fn fn) {
  const uint64_t each = n == 0 ? 1 : bytes / n + 1;
  const uint64_t piece = stop == nullptr ? n : std::max<uint64_t>(1024, (uint64_t{4} << 20) / each);
  for (uint64_t begin = 0; begin < n; begin += piece) {
    const uint64_t end = std::min(n, begin + piece);
    fn(begin, end);
    if (stop != nullptr) PILUM_RETURN_NOT_OK(stop->After((end - begin) * each));
  }
  return Status::OK();
}

}  // namespace pilum
