// A disk that forgets, when the power is cut, whatever was not synced.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "pilum/io/object_store.h"

namespace pilum::testing {

class ForgetfulStore final : public ObjectStore {
 public:
  explicit ForgetfulStore(std::shared_ptr<ObjectStore> inner) : inner_(std::move(inner)) {}

  // The power is cut.
  void Forget() {
    for (const std::string& path : unsynced_) EXPECT_TRUE(inner_->Remove(path).ok());
    unsynced_.clear();
  }
  // Without data files: one that a version names and that is forgotten is missed soon enough, and one that was put aside
  // for a while stays where the power is cut before it is removed.
  size_t unsynced() const {
    return static_cast<size_t>(std::count_if(unsynced_.begin(), unsynced_.end(),
                                             [](const std::string& path) { return !path.starts_with("data/"); }));
  }

  const std::string& uri() const override { return inner_->uri(); }
  Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path, ReadContext& ctx) const override {
    return inner_->OpenSource(path, ctx);
  }
  Result<std::unique_ptr<ByteSink>> Create(const std::string& path) override { return inner_->Create(path); }
  Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) override {
    return inner_->PutIfAbsent(path, bytes);
  }
  Result<std::unique_ptr<ByteSink>> CreateUnsynced(const std::string& path) override {
    unsynced_.insert(path);
    return inner_->Create(path);
  }
  Result<bool> PutIfAbsentUnsynced(const std::string& path, std::string_view bytes) override {
    PILUM_ASSIGN_OR_RETURN(const bool put, inner_->PutIfAbsent(path, bytes));
    if (put) unsynced_.insert(path);
    return put;
  }
  Status Sync(const std::vector<std::string>& paths) override {
    for (const std::string& path : paths) unsynced_.erase(path);
    return Status::OK();
  }
  Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) override {
    return inner_->PutFileIfAbsent(path, local_file);
  }
  Result<std::vector<ObjectInfo>> ListBetween(const std::string& prefix, const std::string& after,
                                              const std::string& up_to, ReadContext& ctx) const override {
    return inner_->ListBetween(prefix, after, up_to, ctx);
  }
  Result<StoreTime> Now() const override { return inner_->Now(); }
  Result<std::vector<ObjectInfo>> ListUnfinished(const std::string& prefix) const override {
    return inner_->ListUnfinished(prefix);
  }
  Status RemoveUnfinished(const ObjectInfo& unfinished) override { return inner_->RemoveUnfinished(unfinished); }
  Result<bool> Exists(const std::string& path) const override { return inner_->Exists(path); }
  Status Remove(const std::string& path) override {
    unsynced_.erase(path);
    return inner_->Remove(path);
  }

 private:
  const std::shared_ptr<ObjectStore> inner_;
  std::set<std::string> unsynced_;
};

}  // namespace pilum::testing
