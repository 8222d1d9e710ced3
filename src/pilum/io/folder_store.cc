#include "pilum/io/folder_store.h"

namespace pilum {
namespace {

class FolderStore final : public ObjectStore {
 public:
  FolderStore(std::shared_ptr<ObjectStore> whole, const std::string& folder)
      : whole_(std::move(whole)),
        prefix_(folder + "/"),
        uri_(whole_->uri() + (whole_->uri().ends_with('/') ? "" : "/") + folder) {}

  const std::string& uri() const override { return uri_; }
  const ReadCost& cost() const override { return whole_->cost(); }
  Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path, ReadContext& ctx) const override {
    return whole_->OpenSource(prefix_ + path, ctx);
  }
  Result<std::vector<ObjectInfo>> ListBetween(const std::string& prefix, const std::string& after,
                                              const std::string& up_to, ReadContext& ctx) const override {
    const auto below = [&](const std::string& path) { return path.empty() ? path : prefix_ + path; };
    return Here(whole_->ListBetween(prefix_ + prefix, below(after), below(up_to), ctx));
  }
  Result<std::vector<ObjectInfo>> ListUnfinished(const std::string& prefix) const override {
    return whole_->ListUnfinished(prefix_ + prefix);
  }
  Result<bool> Exists(const std::string& path) const override { return whole_->Exists(prefix_ + path); }
  Result<std::unique_ptr<ByteSink>> Create(const std::string& path) override { return whole_->Create(prefix_ + path); }
  Result<std::unique_ptr<ByteSink>> CreateUnsynced(const std::string& path) override {
    return whole_->CreateUnsynced(prefix_ + path);
  }
  Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) override {
    return whole_->PutIfAbsent(prefix_ + path, bytes);
  }
  Result<bool> PutIfAbsentUnsynced(const std::string& path, std::string_view bytes) override {
    return whole_->PutIfAbsentUnsynced(prefix_ + path, bytes);
  }
  Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) override {
    return whole_->PutFileIfAbsent(prefix_ + path, local_file);
  }
  Result<bool> PutIfAbsentAfter(const std::string& path, std::string_view bytes,
                                const std::vector<std::string>& others) override {
    return whole_->PutIfAbsentAfter(prefix_ + path, bytes, There(others));
  }
  Status Sync(const std::vector<std::string>& paths) override { return whole_->Sync(There(paths)); }
  Result<StoreTime> Now() const override { return whole_->Now(); }
  Status RemoveUnfinished(const ObjectInfo& unfinished) override { return whole_->RemoveUnfinished(unfinished); }
  Status Remove(const std::string& path) override { return whole_->Remove(prefix_ + path); }

 private:
  std::vector<std::string> There(const std::vector<std::string>& paths) const {
    std::vector<std::string> out;
    for (const std::string& path : paths) out.push_back(prefix_ + path);
    return out;
  }
  Result<std::vector<ObjectInfo>> Here(Result<std::vector<ObjectInfo>> listed) const {
    if (!listed.ok()) return listed;
    for (ObjectInfo& o : *listed) o.path.erase(0, prefix_.size());
    return listed;
  }

  const std::shared_ptr<ObjectStore> whole_;
  const std::string prefix_, uri_;
};

}  // namespace

std::shared_ptr<ObjectStore> FolderOf(std::shared_ptr<ObjectStore> store, const std::string& folder) {
  return std::make_shared<FolderStore>(std::move(store), folder);
}

}  // namespace pilum
