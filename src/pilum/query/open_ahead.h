// Opens the units that a read comes to next, while it is at the ones before: on a distant store each costs a round trip.
// Called by plan.cc.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include "pilum/source/snapshot.h"

namespace pilum {

class OpenAhead {
 public:
  // Null: it does not pay. `snapshot` and what `ctx` names must outlive it; `columns`: those that are read first.
  static std::unique_ptr<OpenAhead> Make(const Snapshot& snapshot, std::vector<FieldPath> columns,
                                         const ReadContext& ctx);
  ~OpenAhead();  // stops what is under way
  // The read is at the unit of this number. One thread.
  void Reached(size_t unit);

 private:
  OpenAhead(const Snapshot& snapshot, std::vector<FieldPath> columns, size_t threads, const ReadContext& ctx);
  void Work();

  const Snapshot& snapshot_;
  const std::vector<FieldPath> columns_;
  const size_t window_;  // units beyond the one that the read is at
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> forward_;  // from the read's token to ours
  ReadContext ctx_;

  std::mutex mutex_;  // all below
  std::condition_variable moved_;
  size_t next_ = 1, reached_ = 0;
  bool stopped_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace pilum
