#include "pilum/cli/table/dry_store.h"

#include <algorithm>
#include <chrono>

namespace pilum::cli {
namespace {

// Bytes that are counted and dropped, or that another sink keeps.
class DrySink final : public ByteSink {
 public:
  DrySink(std::string path, std::string name, std::unique_ptr<ByteSink> kept, std::shared_ptr<DryLog> log)
      : path_(std::move(path)), name_(std::move(name)), kept_(std::move(kept)), log_(std::move(log)) {}
  Status Write(const void* data, uint64_t size) override {
    position_ += size;
    return kept_ ? kept_->Write(data, size) : Status::OK();
  }
  uint64_t position() const override { return position_; }
  Status Close() override {
    if (kept_) PILUM_RETURN_NOT_OK(kept_->Close());
    log_->Put(path_, position_);
    return Status::OK();
  }
  const std::string& name() const override { return name_; }

 private:
  const std::string path_, name_;
  const std::unique_ptr<ByteSink> kept_;
  const std::shared_ptr<DryLog> log_;
  uint64_t position_ = 0;
};

class DryStore final : public ObjectStore {
 public:
  DryStore(std::shared_ptr<const ReadOnlyStore> below, std::string prefix, std::shared_ptr<DryLog> log, std::string uri)
      : below_(std::move(below)),
        uri_(uri.empty() ? below_->uri() : std::move(uri)),
        prefix_(std::move(prefix)),
        log_(std::move(log)) {}

  const std::string& uri() const override { return uri_; }
  const ReadCost& cost() const override { return below_->cost(); }

  Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(const bool kept, log_->kept->Exists(prefix_ + path));
    if (kept) return log_->kept->OpenSource(prefix_ + path, ctx);
    if (log_->put().contains(prefix_ + path)) {
      return Unsupported("{}: {} was written by a dry run, which keeps no rows", uri(), path);
    }
    if (IsGone(path)) return NotFoundError("{}: no {}: the dry run removed it", uri(), path);
    return below_->OpenSource(path, ctx);
  }

  Result<std::vector<ObjectInfo>> ListBetween(const std::string& prefix, const std::string& after,
                                              const std::string& up_to, ReadContext& ctx) const override {
    PILUM_ASSIGN_OR_RETURN(auto out, below_->ListBetween(prefix, after, up_to, ctx));
    const auto put = log_->put();
    std::erase_if(out, [&](const ObjectInfo& o) { return IsGone(o.path) || put.contains(prefix_ + o.path); });
    for (const auto& [path, bytes] : put) {
      if (!path.starts_with(prefix_ + prefix)) continue;
      const std::string own = path.substr(prefix_.size());
      if (own <= after || (!up_to.empty() && own > up_to)) continue;
      out.push_back({own, bytes, Clock(), Clock()});
    }
    std::sort(out.begin(), out.end(), [](const ObjectInfo& a, const ObjectInfo& b) { return a.path < b.path; });
    return out;
  }

  Result<std::vector<ObjectInfo>> ListUnfinished(const std::string& prefix) const override {
    return below_->ListUnfinished(prefix);
  }

  Result<bool> Exists(const std::string& path) const override {
    if (log_->put().contains(prefix_ + path)) return true;
    if (IsGone(path)) return false;
    return below_->Exists(path);
  }

  Result<std::unique_ptr<ByteSink>> Create(const std::string& path) override {
    std::unique_ptr<ByteSink> kept;
    if (!path.starts_with("data/")) {
      PILUM_ASSIGN_OR_RETURN(kept, log_->kept->Create(prefix_ + path));
    }
    return std::make_unique<DrySink>(prefix_ + path, uri() + "/" + path, std::move(kept), log_);
  }

  Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) override {
    PILUM_ASSIGN_OR_RETURN(const bool there, Exists(path));
    if (there) return false;
    PILUM_RETURN_NOT_OK(log_->kept->PutIfAbsent(prefix_ + path, bytes).status());
    log_->Put(prefix_ + path, bytes.size());
    return true;
  }

  Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) override {
    ReadContext ctx;
    PILUM_ASSIGN_OR_RETURN(const bool there, Exists(path));
    if (there) return false;
    PILUM_ASSIGN_OR_RETURN(auto file, OpenLocalFile(local_file, ctx));
    log_->Put(prefix_ + path, file->size());
    return true;
  }

  Result<StoreTime> Now() const override { return Clock(); }
  Status RemoveUnfinished(const ObjectInfo& unfinished) override {
    log_->Remove(prefix_ + unfinished.path);
    return Status::OK();
  }
  Status Remove(const std::string& path) override {
    log_->Remove(prefix_ + path);
    return log_->kept->Remove(prefix_ + path);
  }

 private:
  static StoreTime Clock() {
    return std::chrono::time_point_cast<std::chrono::microseconds>(std::chrono::system_clock::now());
  }
  bool IsGone(const std::string& path) const { return log_->removed().contains(prefix_ + path); }

  const std::shared_ptr<const ReadOnlyStore> below_;
  const std::string uri_;
  const std::string prefix_;
  const std::shared_ptr<DryLog> log_;
};

}  // namespace

void DryLog::Put(const std::string& path, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  put_[path] = bytes;
}

void DryLog::Remove(const std::string& path) {
  std::lock_guard lock(mutex_);
  if (put_.erase(path) == 0) removed_.insert(path);
}

std::map<std::string, uint64_t> DryLog::put() const {
  std::lock_guard lock(mutex_);
  return put_;
}

std::set<std::string> DryLog::removed() const {
  std::lock_guard lock(mutex_);
  return removed_;
}

std::shared_ptr<ObjectStore> MakeDryStore(std::shared_ptr<const ReadOnlyStore> below, std::string prefix,
                                          std::shared_ptr<DryLog> log, std::string uri) {
  return std::make_shared<DryStore>(std::move(below), std::move(prefix), std::move(log), std::move(uri));
}

}  // namespace pilum::cli
