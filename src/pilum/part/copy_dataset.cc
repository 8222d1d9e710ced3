#include "pilum/part/copy_dataset.h"

#include <algorithm>
#include <map>
#include <set>

#include <arrow/buffer.h>

#include "pilum/base/hash.h"
#include "pilum/io/spool_space.h"
#include "pilum/part/list_uniform.h"
#include "pilum/part/merge_plan.h"
#include "pilum/part/store_view.h"

namespace pilum {
namespace {

constexpr int kListings = 20;
constexpr uint64_t kStep = 8 << 20;

Result<std::string> ReadWhole(const DatasetFiles& files, const std::string& path, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto source, files.store->OpenSource(path, ctx));
  PILUM_ASSIGN_OR_RETURN(BufferPtr bytes, source->ReadRange({0, source->size()}, ctx));
  return bytes->ToString();
}

class Copier {
 public:
  Copier(const DatasetFiles& from, const DatasetFiles& to, ReadContext& ctx) : from_(from), to_(to), ctx_(ctx) {}

  Result<CopyResult> Run() {
    PILUM_ASSIGN_OR_RETURN(spool_, TempDir::Make());
    for (int left = kListings;; --left) {
      PILUM_ASSIGN_OR_RETURN(const ListedView view, ListView(from_, true, ctx_));
      if (view.parts.visible.empty()) return from_.NoDataset();
      PILUM_RETURN_NOT_OK(CopyPlans());
      PILUM_RETURN_NOT_OK(CopyDescription());
      const Status copied = CopyParts(view.parts.visible);
      if (copied.ok()) return result_;
      if (KindOf(copied) != ErrorKind::kNotFound || left == 1) return copied;  // else merged and swept meanwhile
    }
  }

 private:
  // Before any output of theirs, so that who compacts there knows them.
  Status CopyPlans() {
    PILUM_ASSIGN_OR_RETURN(const auto plans, ListPlans(from_));
    PILUM_ASSIGN_OR_RETURN(const auto there, ListPlans(to_));
    const auto foreign = [&](uint64_t number) {
      return UsageError("{}: has a plan {} of its own, so it was compacted by itself; copy to another place", to_.uri,
                        number);
    };
    if (there.size() > plans.size()) return foreign(plans.size());
    for (const ListedPlan& plan : plans) {
      PILUM_ASSIGN_OR_RETURN(const std::string text, ReadWhole(from_, from_.PlanPath(plan.number), ctx_));
      const std::string path = to_.PlanPath(plan.number);
      if (plan.number >= there.size()) {
        PILUM_ASSIGN_OR_RETURN(const bool added, to_.store->PutIfAbsent(path, text));
        if (added) continue;
      }
      PILUM_ASSIGN_OR_RETURN(const std::string other, ReadWhole(to_, path, ctx_));
      if (other != text) return foreign(plan.number);
    }
    return Status::OK();
  }

  // dataset.toml, unless the copy has one.
  Status CopyDescription() {
    const char* name = "dataset.toml";
    auto text = ReadWhole(from_, from_.prefix + name, ctx_);
    if (!text.ok() && KindOf(text.status()) == ErrorKind::kNotFound) return Status::OK();
    PILUM_RETURN_NOT_OK(text.status());
    return to_.store->PutIfAbsent(to_.prefix + name, *text).status();
  }

  Status CopyParts(const std::vector<PartFile>& parts) {
    std::map<std::string, std::vector<std::string>> sidecars;  // names by part
    const std::string prefix = from_.prefix + "side/";
    PILUM_ASSIGN_OR_RETURN(const auto listed, ListUniform(*from_.store, prefix, ctx_));
    for (const ObjectInfo& info : listed) {
      const std::string name = info.path.substr(prefix.size());
      const size_t end = name.rfind(".lance.");
      if (end != std::string::npos) sidecars[name.substr(0, end)].push_back(name);
    }
    for (const PartFile& part : parts) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      const std::string path = to_.prefix + part.path.substr(from_.prefix.size());
      PILUM_ASSIGN_OR_RETURN(const bool there, to_.store->Exists(path));
      if (there) {
        result_.already_there += !copied_.contains(path);
        continue;
      }
      for (const std::string& name : sidecars[part.name]) PILUM_RETURN_NOT_OK(CopySidecar(name));
      PILUM_RETURN_NOT_OK(CopyPart(part, path));
    }
    return Status::OK();
  }

  Status CopySidecar(const std::string& name) {
    auto bytes = ReadWhole(from_, from_.prefix + "side/" + name, ctx_);
    if (!bytes.ok() && KindOf(bytes.status()) == ErrorKind::kNotFound)
      return Status::OK();  // the part will be gone too
    PILUM_RETURN_NOT_OK(bytes.status());
    PILUM_ASSIGN_OR_RETURN(auto sink, to_.store->Create(to_.prefix + "side/" + name));
    PILUM_RETURN_NOT_OK(sink->Write(bytes->data(), bytes->size()));
    PILUM_RETURN_NOT_OK(sink->Close());
    ++result_.sidecars;
    result_.sidecar_bytes += bytes->size();
    return Status::OK();
  }

  Status CopyPart(const PartFile& part, const std::string& path) {
    const std::string local = spool_->path() + "/part.lance";
    PILUM_RETURN_NOT_OK(CheckSpoolSpace(spool_->path(), part.size));
    PILUM_ASSIGN_OR_RETURN(auto source, from_.store->OpenSource(part.path, ctx_));
    PILUM_ASSIGN_OR_RETURN(auto sink, CreateLocalFile(local));
    Blake3 hash;
    for (uint64_t at = 0; at < source->size(); at += kStep) {
      PILUM_ASSIGN_OR_RETURN(auto bytes, source->ReadRange({at, std::min(kStep, source->size() - at)}, ctx_));
      const auto size = static_cast<uint64_t>(bytes->size());
      hash.Update(bytes->data(), size);
      PILUM_RETURN_NOT_OK(sink->Write(bytes->data(), size));
    }
    PILUM_RETURN_NOT_OK(sink->Close());
    const std::string digits = Hex(hash.Finish());
    if (!part.content_hash().empty() && digits != part.content_hash())
      return Corrupt(part.path, "", "its bytes hash to " + digits + ", not to its name; it is not copied");
    PILUM_ASSIGN_OR_RETURN(const bool added, to_.store->PutFileIfAbsent(path, local));
    copied_.insert(path);
    result_.parts += added;
    result_.part_bytes += added ? part.size : 0;
    return Status::OK();
  }

  const DatasetFiles &from_, &to_;
  ReadContext& ctx_;
  std::unique_ptr<TempDir> spool_;
  std::set<std::string> copied_;
  CopyResult result_;
};

}  // namespace

Result<CopyResult> CopyDataset(const DatasetFiles& from, const DatasetFiles& to, ReadContext& ctx) {
  return Copier(from, to, ctx).Run();
}

}  // namespace pilum
