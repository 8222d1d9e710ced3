// An object store whose n-th call fails, for every n: as a crash would leave it, or as an error that may have done its
// work already. Sinks count their writes and closes too.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "pilum/io/object_store.h"

namespace pilum::testing {

enum class FaultKind {
  kBefore,  // the call does nothing and fails
  kAfter,   // the call does its work and then fails, as when an answer is lost on the way
};

// Counts calls; the one numbered `fail_at` (from 0) and, where it `dies`, all after it fail. `before` runs before each, with
// its number, and may wait or call the store: so calls hang and others run meanwhile.
struct FaultPlan {
  std::function<void(uint64_t)> before;

  uint64_t calls = 0;
  uint64_t fail_at = ~uint64_t{0};
  FaultKind kind = FaultKind::kBefore;
  bool dies = false;  // a killed process makes no further call
  std::vector<std::string> log;

  bool Fails(const std::string& what) {
    uint64_t n = 0;
    {
      std::lock_guard lock(mutex);
      log.push_back(what);
      n = calls++;
    }
    if (before) before(n);
    return n == fail_at || (dies && n > fail_at);
  }
  bool WorksFirst() const { return kind == FaultKind::kAfter && calls == fail_at + 1; }
  std::mutex mutex;
};

inline Status Injected(const std::string& what) { return Status::IOError("injected fault at ", what); }

class FaultSink final : public ByteSink {
 public:
  FaultSink(std::unique_ptr<ByteSink> inner, std::shared_ptr<FaultPlan> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}
  Status Write(const void* data, uint64_t size) override {
    if (plan_->Fails("write " + name())) return Injected("write " + name());
    return inner_->Write(data, size);
  }
  uint64_t position() const override { return inner_->position(); }
  Status Close() override {
    if (!plan_->Fails("close " + name())) return inner_->Close();
    if (plan_->WorksFirst()) PILUM_RETURN_NOT_OK(inner_->Close());
    return Injected("close " + name());
  }
  const std::string& name() const override { return inner_->name(); }

 private:
  std::unique_ptr<ByteSink> inner_;
  std::shared_ptr<FaultPlan> plan_;
};

class FaultStore final : public ObjectStore {
 public:
  FaultStore(std::shared_ptr<ObjectStore> inner, std::shared_ptr<FaultPlan> plan)
      : inner_(std::move(inner)), plan_(std::move(plan)) {}
  const std::string& uri() const override { return inner_->uri(); }

  Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path, ReadContext& ctx) const override {
    if (plan_->Fails("open " + path)) return Injected("open " + path);
    return inner_->OpenSource(path, ctx);
  }
  Result<std::unique_ptr<ByteSink>> Create(const std::string& path) override {
    if (plan_->Fails("create " + path)) return Injected("create " + path);
    PILUM_ASSIGN_OR_RETURN(auto sink, inner_->Create(path));
    return std::make_unique<FaultSink>(std::move(sink), plan_);
  }
  Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) override {
    return Mutate<Result<bool>>("put " + path, [&] { return inner_->PutIfAbsent(path, bytes); });
  }
  Result<std::unique_ptr<ByteSink>> CreateUnsynced(const std::string& path) override {
    if (plan_->Fails("create " + path)) return Injected("create " + path);
    PILUM_ASSIGN_OR_RETURN(auto sink, inner_->CreateUnsynced(path));
    return std::make_unique<FaultSink>(std::move(sink), plan_);
  }
  Result<bool> PutIfAbsentUnsynced(const std::string& path, std::string_view bytes) override {
    return Mutate<Result<bool>>("put " + path, [&] { return inner_->PutIfAbsentUnsynced(path, bytes); });
  }
  Status Sync(const std::vector<std::string>& paths) override {
    return Mutate<Status>("sync", [&] { return inner_->Sync(paths); });
  }
  Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) override {
    return Mutate<Result<bool>>("put " + path, [&] { return inner_->PutFileIfAbsent(path, local_file); });
  }
  Result<std::vector<ObjectInfo>> ListBetween(const std::string& prefix, const std::string& after,
                                              const std::string& up_to, ReadContext& ctx) const override {
    if (plan_->Fails("list " + prefix)) return Injected("list " + prefix);
    return inner_->ListBetween(prefix, after, up_to, ctx);
  }
  const ReadCost& cost() const override { return inner_->cost(); }
  Result<StoreTime> Now() const override {
    if (plan_->Fails("now")) return Injected("now");
    return inner_->Now();
  }
  Result<std::vector<ObjectInfo>> ListUnfinished(const std::string& prefix) const override {
    if (plan_->Fails("list unfinished " + prefix)) return Injected("list unfinished " + prefix);
    return inner_->ListUnfinished(prefix);
  }
  Status RemoveUnfinished(const ObjectInfo& unfinished) override {
    return Mutate<Status>("remove unfinished " + unfinished.path, [&] { return inner_->RemoveUnfinished(unfinished); });
  }
  Result<bool> Exists(const std::string& path) const override {
    if (plan_->Fails("exists " + path)) return Injected("exists " + path);
    return inner_->Exists(path);
  }
  Status Remove(const std::string& path) override {
    return Mutate<Status>("remove " + path, [&] { return inner_->Remove(path); });
  }

 private:
  template <typename R, typename F>
  R Mutate(const std::string& what, F work) {
    if (!plan_->Fails(what)) return work();
    if (plan_->WorksFirst()) (void)work();
    return Injected(what);
  }

  std::shared_ptr<ObjectStore> inner_;
  std::shared_ptr<FaultPlan> plan_;
};

}  // namespace pilum::testing
