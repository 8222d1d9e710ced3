// Something of a page that the first read fetches and all keep (chunk table, dictionary, repetition index). A read that
// finds another one at it waits for that one, so that what a scan asks for does not depend on its threads.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>

namespace pilum {

template <typename T>
class FetchOnce {
 public:
  std::shared_ptr<const T> get() const {
    std::lock_guard lock(mutex_);
    return value_;
  }

  // Keeps `value` unless there is one already; gives what is kept.
  std::shared_ptr<const T> Put(std::shared_ptr<const T> value) {
    {
      std::lock_guard lock(mutex_);
      if (!value_) value_ = std::move(value);
    }
    changed_.notify_all();
    return get();
  }

  // A read's right to fetch it, from the moment that the read begins. Given back by the destructor, or Done after Put.
  class Claim {
   public:
    // Without `fetch`: what is there, or what another read is at, is welcome; else this one does without.
    explicit Claim(FetchOnce* of, bool fetch = true) : of_(of) { value_ = of_->Begin(fetch, &mine_, &waits_); }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    ~Claim() { Done(); }

    // What is there, after waiting for the read that is at it; null: this read is to fetch it (or does without).
    std::shared_ptr<const T> Wait() {
      if (waits_) value_ = of_->Await();
      waits_ = false;
      return value_;
    }
    void Done() {
      if (mine_) of_->End();
      mine_ = false;
    }

   private:
    FetchOnce* of_;
    std::shared_ptr<const T> value_;
    bool mine_ = false, waits_ = false;
  };

 private:
  std::shared_ptr<const T> Begin(bool fetch, bool* mine, bool* waits) {
    std::lock_guard lock(mutex_);
    *waits = !value_ && claimed_;
    *mine = !value_ && !claimed_ && fetch;
    claimed_ |= *mine;
    return value_;
  }
  // Where the other gave up, whoever waited fetches for itself: a claim is made only when a read begins.
  std::shared_ptr<const T> Await() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return value_ || !claimed_; });
    return value_;
  }
  void End() {
    {
      std::lock_guard lock(mutex_);
      claimed_ = false;
    }
    changed_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<const T> value_;
  bool claimed_ = false;
};

}  // namespace pilum
