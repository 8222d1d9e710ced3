// Objects in memory: the same promises as the local store, no disk.
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>

#include <arrow/buffer.h>

#include "pilum/io/object_store.h"
#include "pilum/io/store_impl.h"

namespace pilum {
namespace {

StoreTime SystemTime() { return std::chrono::time_point_cast<StoreTime::duration>(std::chrono::system_clock::now()); }

class MemoryStore : public ObjectStore, public std::enable_shared_from_this<MemoryStore> {
 public:
  MemoryStore(std::string name, StoreClock clock, std::shared_ptr<SlowReads> slow)
      : name_(std::move(name)),
        prefix_(name_.ends_with(':') || name_.ends_with('/') ? name_ : name_ + "/"),
        clock_(std::move(clock)),
        slow_(std::move(slow)) {}
  const std::string& uri() const override { return name_; }

  Result<std::shared_ptr<const ByteSource>> OpenSource(const std::string& path, ReadContext& ctx) const override {
    PILUM_RETURN_NOT_OK(CheckObjectPath(path));
    PILUM_RETURN_NOT_OK(ctx.Check());
    std::unique_lock lock(mutex_);
    auto it = objects_.find(path);
    if (it == objects_.end()) return NotFoundError("{}{}: there is no such object", prefix_, path);
    if (ctx.stats) ctx.stats->opens += 1;
    const BufferPtr bytes = it->second.bytes;
    lock.unlock();
    if (slow_) return OpenSlowMemorySource(prefix_ + path, bytes, slow_, ctx);
    return MakeMemorySource(prefix_ + path, bytes);
  }

  Result<std::unique_ptr<ByteSink>> Create(const std::string& path) override {
    PILUM_RETURN_NOT_OK(CheckObjectPath(path));
    return std::make_unique<Sink>(shared_from_this(), path);
  }

  Result<bool> PutIfAbsent(const std::string& path, std::string_view bytes) override {
    PILUM_RETURN_NOT_OK(CheckObjectPath(path));
    std::lock_guard lock(mutex_);
    return objects_.emplace(path, Object{arrow::Buffer::FromString(std::string(bytes)), clock_()}).second;
  }

  Result<bool> PutFileIfAbsent(const std::string& path, const std::string& local_file) override {
    std::ifstream in(local_file, std::ios::binary);
    std::ostringstream bytes;
    if (!in || !(bytes << in.rdbuf())) return Status::IOError(fmt::format("{}: cannot be read", local_file));
    PILUM_ASSIGN_OR_RETURN(bool put, PutIfAbsent(path, bytes.str()));
    if (put) std::remove(local_file.c_str());
    return put;
  }

  Result<std::vector<ObjectInfo>> ListBetween(const std::string& prefix, const std::string& after,
                                              const std::string& up_to, ReadContext& ctx) const override {
    PILUM_RETURN_NOT_OK(ctx.Check());
    std::lock_guard lock(mutex_);
    std::vector<ObjectInfo> out;
    for (auto it = objects_.lower_bound(prefix); it != objects_.end() && it->first.starts_with(prefix); ++it) {
      if (it->first <= after || (!up_to.empty() && it->first > up_to)) continue;
      out.push_back(
          {it->first, static_cast<uint64_t>(it->second.bytes->size()), it->second.modified, it->second.modified});
    }
    return out;
  }
  const ReadCost& cost() const override { return slow_ ? slow_->cost : ByteSource::kLocalCost; }

  Result<bool> Exists(const std::string& path) const override {
    PILUM_RETURN_NOT_OK(CheckObjectPath(path));
    std::lock_guard lock(mutex_);
    return objects_.contains(path);
  }

  Status Remove(const std::string& path) override {
    PILUM_RETURN_NOT_OK(CheckObjectPath(path));
    std::lock_guard lock(mutex_);
    objects_.erase(path);
    return Status::OK();
  }

  Result<StoreTime> Now() const override { return clock_(); }
  // Bytes that were not closed are in their sinks alone.
  Result<std::vector<ObjectInfo>> ListUnfinished(const std::string&) const override {
    return std::vector<ObjectInfo>();
  }
  Status RemoveUnfinished(const ObjectInfo&) override { return Status::OK(); }

 private:
  class Sink : public ByteSink {
   public:
    Sink(std::shared_ptr<MemoryStore> store, std::string path)
        : store_(std::move(store)), path_(std::move(path)), inner_(MakeMemorySink(path_, &bytes_)) {}
    Status Write(const void* data, uint64_t size) override { return inner_->Write(data, size); }
    uint64_t position() const override { return inner_->position(); }
    const std::string& name() const override { return path_; }
    Status Close() override {
      PILUM_RETURN_NOT_OK(inner_->Close());
      std::lock_guard lock(store_->mutex_);
      store_->objects_[path_] = {bytes_, store_->clock_()};
      return Status::OK();
    }

   private:
    const std::shared_ptr<MemoryStore> store_;
    std::string path_;
    BufferPtr bytes_;
    std::unique_ptr<ByteSink> inner_;
  };

  struct Object {
    BufferPtr bytes;
    StoreTime modified;
  };

  const std::string name_, prefix_;
  StoreClock clock_;
  std::shared_ptr<SlowReads> slow_;
  mutable std::mutex mutex_;
  std::map<std::string, Object> objects_;
};

}  // namespace

std::shared_ptr<ObjectStore> ObjectStore::Memory(std::string name, StoreClock clock) {
  if (!clock) clock = SystemTime;
  return std::make_shared<MemoryStore>(std::move(name), std::move(clock), nullptr);
}

std::shared_ptr<ObjectStore> ObjectStore::SlowMemory(std::string name, std::shared_ptr<SlowReads> slow) {
  return std::make_shared<MemoryStore>(std::move(name), SystemTime, std::move(slow));
}

}  // namespace pilum
