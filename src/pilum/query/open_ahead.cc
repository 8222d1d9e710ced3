#include "pilum/query/open_ahead.h"

#include <algorithm>
#include <system_error>

namespace pilum {

std::unique_ptr<OpenAhead> OpenAhead::Make(const Snapshot& snapshot, std::vector<FieldPath> columns,
                                           const ReadContext& ctx) {
  const ReadCost* cost = snapshot.ahead();
  if (!cost || columns.empty() || snapshot.units().size() < 2) return nullptr;
  const size_t threads = cost->remote ? static_cast<size_t>(cost->parallel) : 0;
  if (threads == 0) return nullptr;
  return std::unique_ptr<OpenAhead>(
      new OpenAhead(snapshot, std::move(columns), std::min(threads, snapshot.units().size() - 1), ctx));
}

OpenAhead::OpenAhead(const Snapshot& snapshot, std::vector<FieldPath> columns, size_t threads, const ReadContext& ctx)
    : snapshot_(snapshot),
      columns_(std::move(columns)),
      window_(threads),
      forward_(ctx.stop, [this] { stop_.request_stop(); }),
      ctx_(ctx) {
  ctx_.stop = stop_.get_token();
  try {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
  } catch (const std::system_error&) {  // no more threads to be had: what there are will do
  }
}

OpenAhead::~OpenAhead() {
  stop_.request_stop();
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  moved_.notify_all();
  threads_.clear();
}

void OpenAhead::Reached(size_t unit) {
  {
    std::lock_guard lock(mutex_);
    reached_ = unit;
    next_ = std::max(next_, unit + 1);
  }
  moved_.notify_all();
}

void OpenAhead::Work() {
  const auto& units = snapshot_.units();
  std::unique_lock lock(mutex_);
  while (true) {
    moved_.wait(lock, [&] { return stopped_ || next_ >= units.size() || next_ <= reached_ + window_; });
    if (stopped_ || next_ >= units.size()) return;
    const Unit& unit = *units[next_++];
    lock.unlock();
    ReadContext ctx = ctx_;
    try {
      if (unit.num_rows() > 0) unit.OpenAhead(columns_, ctx);
    } catch (const std::bad_alloc&) {  // the read will meet it too
    }
    lock.lock();
  }
}

}  // namespace pilum
