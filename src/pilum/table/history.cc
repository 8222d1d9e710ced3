#include "pilum/table/history.h"

#include <algorithm>
#include <cstring>

#include <arrow/buffer.h>

#include "pilum/base/for_each.h"
#include "pilum/table/change_words.h"
#include "pilum/table/find_version.h"

namespace pilum {
namespace {

// A file that was read whole: what is asked of it afterwards is no request.
class HeldFile final : public ByteSource {
 public:
  HeldFile(std::string name, BufferPtr bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}
  uint64_t size() const override { return static_cast<uint64_t>(bytes_->size()); }
  const std::string& name() const override { return name_; }

 protected:
  Status ReadAt(ByteRange range, uint8_t* out, ReadContext&) const override {
    std::memcpy(out, bytes_->data() + range.offset, range.size);
    return Status::OK();
  }
  Status CountedRead(ByteRange range, uint8_t* out, ReadContext& ctx) const override { return ReadAt(range, out, ctx); }

 private:
  const std::string name_;
  const BufferPtr bytes_;
};

bool IsDamage(const Status& st) {
  const ErrorKind kind = KindOf(st);
  return kind == ErrorKind::kCorrupt || kind == ErrorKind::kUnsupported || kind == ErrorKind::kNotFound;
}

// Is it the first that ever was in its table or branch? The first of a branch or clone continues those of another table.
bool IsFirst(const Manifest& m, const std::optional<Transaction>& made_by) {
  if (made_by && made_by->operation == "Clone") return true;
  return m.version <= 1;
}

Result<std::map<std::string, uint64_t>> Sizes(const ReadOnlyStore& store, const std::string& folder, ReadContext& ctx) {
  std::map<std::string, uint64_t> out;
  PILUM_ASSIGN_OR_RETURN(auto objects, store.List(folder, ctx));
  for (ObjectInfo& o : objects) out.emplace(std::move(o.path), o.size);
  return out;
}

// Of all files below a folder, which ends with a slash.
uint64_t SizeOf(const std::map<std::string, uint64_t>& sizes, const std::string& folder) {
  uint64_t sum = 0;
  for (auto at = sizes.lower_bound(folder); at != sizes.end() && at->first.starts_with(folder); ++at) sum += at->second;
  return sum;
}

bool HasBlobFiles(const Manifest& m) {
  return std::any_of(m.schema.fields.begin(), m.schema.fields.end(),
                     [](const WireField& f) { return f.extension_name == "lance.blob.v2"; });
}

}  // namespace

Result<ManifestFile> ReadManifestFile(const ReadOnlyStore& store, const ListedVersion& listed, ReadContext& ctx) {
  ManifestFile out;
  out.listed = listed;
  PILUM_ASSIGN_OR_RETURN(auto file, store.OpenSource(listed.path(), ctx));
  PILUM_ASSIGN_OR_RETURN(auto bytes, file->ReadRange({0, file->size()}, ctx));
  out.listed.size = file->size();
  out.source = std::make_shared<HeldFile>(file->name(), std::move(bytes));
  PILUM_ASSIGN_OR_RETURN(out.manifest, ReadManifest(*out.source, ctx));
  if (out.manifest->version != listed.name.version) {
    return Corrupt(
        file->name(), "",
        fmt::format("it is named as version {}, but says that it is {}", listed.name.version, out.manifest->version));
  }
  PILUM_ASSIGN_OR_RETURN(out.indices, ReadIndexSection(*out.source, *out.manifest, ctx));
  return out;
}

Result<std::unique_ptr<History>> History::Open(const Table& table, uint64_t most, ReadContext& ctx) {
  std::unique_ptr<History> out(new History(table));
  PILUM_ASSIGN_OR_RETURN(auto listed, ListVersions(table.store(), ctx));
  const uint64_t last = table.manifest().version;
  if ((last & kDetachedBit) != 0) {
    out->versions_.push_back(table.listed());
  } else {
    for (ListedVersion& v : listed.attached) {
      if (v.name.version <= last) out->versions_.push_back(std::move(v));
    }
  }
  out->next_ = out->unread_ = out->versions_.size();
  // The oldest that is given is compared with the one before it.
  out->wanted_ = most == 0 || most >= out->next_ ? out->next_ : most + 1;
  PILUM_ASSIGN_OR_RETURN(out->deletions_, Sizes(table.store(), "_deletions/", ctx));
  PILUM_ASSIGN_OR_RETURN(out->transactions_, Sizes(table.store(), "_transactions/", ctx));
  PILUM_ASSIGN_OR_RETURN(out->indices_, Sizes(table.store(), "_indices/", ctx));
  if (HasBlobFiles(table.manifest())) {
    PILUM_ASSIGN_OR_RETURN(out->blobs_, Sizes(table.store(), "data/", ctx));
  }
  return out;
}

void History::ReadAhead(ReadContext& ctx) {
  const int threads = table_.store().cost().parallel;
  const size_t n =
      std::min<uint64_t>({static_cast<uint64_t>(std::max(1, threads)), unread_, std::max<uint64_t>(1, wanted_)});
  std::vector<std::optional<Result<ManifestFile>>> read(n);
  const auto one = [&](size_t k) {
    read[k].emplace(ReadManifestFile(table_.store(), versions_[unread_ - 1 - k], ctx));
    return Status::OK();
  };
  (void)ForEach(n, threads, one, 1);  // each file with its own error
  for (auto& file : read) ahead_.push_back(std::move(*file));
  unread_ -= n;
  wanted_ -= std::min<uint64_t>(wanted_, n);
}

// The next older one. Errors that are no damage are those of the whole call.
Result<ManifestFile> History::Pull(ReadContext& ctx) {
  if (ahead_.empty()) ReadAhead(ctx);
  Result<ManifestFile> out = std::move(ahead_.front());
  ahead_.pop_front();
  return out;
}

BroughtBytes History::Brought(const VersionRecord& record) const {
  BroughtBytes out;
  const VersionChange& change = *record.change;
  // Restoring refers to files that are there already; cloning, to those of another table.
  const bool restored = record.transaction && record.transaction->operation == "Restore";
  const auto sized = [&](uint64_t size, uint64_t* sum) {
    *sum += size;
    out.unknown_files += size == 0;
  };
  for (const DataFile& f : change.new_files) {
    if (restored || f.base_id) continue;
    sized(f.size, &out.data);
    // Large blobs lie in files of their own, in a folder named after the data file.
    if (f.path.ends_with(".lance")) out.data += SizeOf(blobs_, "data/" + f.path.substr(0, f.path.size() - 6) + "/");
  }
  for (const auto& [fragment, f] : change.new_deletions) {
    const auto at = deletions_.find(f.Path(fragment));
    if (!restored && !f.base_id) sized(at == deletions_.end() ? 0 : at->second, &out.deletions);
  }
  for (const TableIndex& i : change.new_indices) {
    if (restored || i.base_id || i.is_system()) continue;
    sized(i.files.empty() ? SizeOf(indices_, "_indices/" + i.uuid + "/") : *i.total_bytes(), &out.indices);
  }
  out.manifest = record.manifest->file_size;
  const auto at = transactions_.find("_transactions/" + record.manifest->transaction_file);
  if (at != transactions_.end()) out.transaction = at->second;
  return out;
}

Status History::Tell(const ManifestFile& file, VersionRecord* out, ReadContext& ctx) {
  out->listed = file.listed;
  out->manifest = file.manifest;
  out->indices = file.indices;
  out->totals = TotalsOf(*file.manifest);
  auto made_by = ReadTransaction(table_.store(), *file.source, *file.manifest, ctx);
  if (made_by.ok()) {
    out->transaction = std::move(*made_by);
  } else if (IsDamage(made_by.status())) {
    out->transaction_damage = made_by.status();
  } else {
    return made_by.status();
  }
  static const Manifest kNothing{};
  static const std::vector<TableIndex> kNoIndices;
  const VersionFacts now{*out->manifest, out->indices};
  if (IsFirst(*out->manifest, out->transaction)) {
    out->change = CompareVersions({kNothing, kNoIndices}, now);
  } else if (held_ && held_->ok() && (**held_).manifest->version + 1 == out->manifest->version) {
    out->change = CompareVersions({*(**held_).manifest, (**held_).indices}, now);
  } else if ((out->manifest->version & kDetachedBit) != 0 && out->transaction) {
    // It has no version before it but the one that its writer read.
    auto read = FindVersion(table_.store(), out->transaction->read_version, ctx);
    auto before = read.ok() ? ReadManifestFile(table_.store(), read->listed, ctx) : Result<ManifestFile>(read.status());
    if (before.ok()) out->change = CompareVersions({*before->manifest, before->indices}, now);
    if (!before.ok() && !IsDamage(before.status())) return before.status();
  }
  if (out->change) out->brought = Brought(*out);
  out->words = ChangeWords(*out);
  return Status::OK();
}

Result<std::unique_ptr<VersionRecord>> History::Next(ReadContext& ctx) {
  if (next_ == 0) return nullptr;
  PILUM_RETURN_NOT_OK(ctx.Check());
  auto out = std::make_unique<VersionRecord>();
  const size_t i = next_ - 1;
  Result<ManifestFile> file = held_ ? std::move(*held_) : Pull(ctx);
  held_.reset();
  if (!file.ok() && !IsDamage(file.status())) return file.status();
  if (i > 0) {
    held_.emplace(Pull(ctx));
    if (!held_->ok() && !IsDamage(held_->status())) return held_->status();
  }
  next_ = i;
  if (file.ok()) {
    PILUM_RETURN_NOT_OK(Tell(*file, out.get(), ctx));
  } else {
    out->listed = versions_[i];
    out->damage = file.status();
    out->words = "cannot be read: " + file.status().message();
  }
  return out;
}

}  // namespace pilum
