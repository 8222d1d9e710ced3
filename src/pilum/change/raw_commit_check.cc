#include "pilum/change/raw_commit_check.h"

#include <algorithm>
#include <map>
#include <set>

#include "pilum/change/field_lookup.h"
#include "pilum/table/table_files.h"

namespace pilum {
namespace {

using Op = wire::Transaction;
using Fragments = google::protobuf::RepeatedPtrField<wire::DataFragment>;

// Fragments that a transaction puts into the table, new ones and those that change.
std::vector<const wire::DataFragment*> PutFragments(const Op& t) {
  std::vector<const wire::DataFragment*> out;
  const auto add = [&](const Fragments& fragments) {
    for (const auto& f : fragments) out.push_back(&f);
  };
  if (t.has_append()) add(t.append().fragments());
  if (t.has_overwrite()) add(t.overwrite().fragments());
  if (t.has_delete_()) add(t.delete_().updated_fragments());
  if (t.has_merge()) add(t.merge().fragments());
  if (t.has_update()) {
    add(t.update().updated_fragments());
    add(t.update().new_fragments());
  }
  for (const auto& group : t.rewrite().groups()) add(group.new_fragments());
  return out;
}

std::set<int32_t> KnownFields(const Op& t, const StoredVersion* read) {
  std::set<int32_t> out{DataFile::kTombstone};
  const auto add = [&](const auto& fields) {
    for (const auto& f : fields) out.insert(f.id());
  };
  if (t.has_overwrite()) {
    add(t.overwrite().schema());
    return out;
  }
  if (read) add(read->manifest.fields());
  add(t.merge().schema());
  return out;
}

std::string PathOf(const wire::DataFile& f) {
  return std::to_string(f.has_base_id() ? f.base_id() : UINT32_MAX) + "/" + f.path();
}

class Checker {
 public:
  Checker(const Op& t, const StoredVersion* read, const std::shared_ptr<ObjectStore>& store,
          const StoreOptions& storage, bool open_files, ReadContext& ctx)
      : known_(KnownFields(t, read)),
        files_(store, read ? read->version() : 0, BasesOf(t, read), storage),
        open_files_(open_files),
        ctx_(ctx) {
    if (!read) return;
    for (const auto& f : read->manifest.fragments()) {
      for (const auto& file : f.files()) there_.insert(PathOf(file));
      if (f.has_deletion_file()) there_.insert(DeletionsOf(f).Path(f.id()));
    }
  }

  Status Check(const wire::DataFragment& fragment) {
    if (fragment.files_size() == 0 && fragment.physical_rows() > 0) {
      return UsageError("fragment {} has {} rows and no data file", fragment.id(), fragment.physical_rows());
    }
    for (const auto& file : fragment.files()) {
      if (!there_.contains(PathOf(file))) PILUM_RETURN_NOT_OK(Check(file));
    }
    if (!fragment.has_deletion_file()) return Status::OK();
    const DeletionFile deletions = DeletionsOf(fragment);
    const std::string path = deletions.Path(fragment.id());
    if (!there_.insert(path).second) return Status::OK();
    if (open_files_) PILUM_RETURN_NOT_OK(files_.OpenDeletions(deletions, fragment.id(), ctx_).status());
    if (!deletions.base_id) brought_.push_back(path);
    return Status::OK();
  }

  // A data file that no version had.
  Status Check(const wire::DataFile& file) {
    if (file.path().empty()) return UsageError("a data file has no path");
    const bool legacy = file.file_major_version() == 0 && file.file_minor_version() <= 2;
    if (!legacy && file.fields_size() != file.column_indices_size()) {
      return UsageError("data file '{}' has {} field ids but {} column indices; these must be as many", file.path(),
                        file.fields_size(), file.column_indices_size());
    }
    for (const int32_t id : file.fields()) {
      if (!known_.contains(id)) {
        return UsageError("data file '{}' holds field {}, which the schema has not; its fields have ids {}",
                          file.path(), id,
                          fmt::join(std::vector<int32_t>(std::next(known_.begin()), known_.end()), ", "));
      }
    }
    if (open_files_) PILUM_RETURN_NOT_OK(CheckThere(file));
    if (!file.has_base_id()) brought_.push_back("data/" + file.path());
    return Status::OK();
  }

  std::vector<std::string> TakeBrought() { return std::move(brought_); }

 private:
  static std::vector<BasePath> BasesOf(const Op& t, const StoredVersion* read) {
    std::vector<BasePath> out;
    if (read) out = read->read->base_paths;
    for (const auto& b : t.overwrite().initial_bases())
      out.push_back({b.id(), b.name(), b.path(), b.is_dataset_root()});
    return out;
  }

  static DeletionFile DeletionsOf(const wire::DataFragment& fragment) {
    const auto& f = fragment.deletion_file();
    DeletionFile out;
    const bool bitmap = f.file_type() == wire::DeletionFile::BITMAP;
    out.kind = bitmap ? DeletionFile::Kind::kBitmap : DeletionFile::Kind::kArrowArray;
    out.read_version = f.read_version();
    out.id = f.id();
    if (f.has_base_id()) out.base_id = f.base_id();
    return out;
  }

  Status CheckThere(const wire::DataFile& file) {
    DataFile wanted;
    wanted.path = file.path();
    if (file.has_base_id()) wanted.base_id = file.base_id();
    PILUM_ASSIGN_OR_RETURN(auto source, files_.OpenData(wanted, ctx_));
    if (file.file_size_bytes() == 0 || source->size() == file.file_size_bytes()) return Status::OK();
    return UsageError("data file '{}' is said to have {} bytes and has {}; it is another one, or not finished",
                      file.path(), file.file_size_bytes(), source->size());
  }

  const std::set<int32_t> known_;
  const TableFiles files_;
  const bool open_files_;
  ReadContext& ctx_;
  std::set<std::string> there_;
  std::vector<std::string> brought_;
};

// An id that a dropped column had would find its values again.
Status CheckNewFields(const Op::Merge& op, const wire::Manifest& manifest) {
  std::set<int32_t> ids;
  for (const auto& f : manifest.fields()) ids.insert(f.id());
  const int32_t next = NextFieldId(manifest);
  for (const auto& f : op.schema()) {
    if (ids.insert(f.id()).second && f.id() < next) {
      return UsageError("the merge gives id {} to field '{}', and ids up to {} are, or were, those of other fields",
                        f.id(), f.name(), next - 1);
    }
  }
  return Status::OK();
}

// Fields keep their types: the bytes of their columns stay.
Status CheckTypes(const WireFields& fields, const wire::Manifest& manifest) {
  std::map<int32_t, std::string> types;
  for (const auto& f : manifest.fields()) types[f.id()] = f.logical_type();
  for (const auto& f : fields) {
    const auto at = types.find(f.id());
    if (at == types.end() || at->second == f.logical_type()) continue;
    return UsageError("the schema says that field {} ('{}') is {}, but it is {}", f.id(), f.name(), f.logical_type(),
                      at->second);
  }
  return Status::OK();
}

Status CheckRepeats(const WireFields& fields) {
  std::set<int32_t> ids;
  for (const auto& f : fields) {
    if (f.id() < 0 || !ids.insert(f.id()).second)
      return UsageError("the schema gives id {} to field '{}' and another", f.id(), f.name());
  }
  return Status::OK();
}

}  // namespace

Result<std::vector<std::string>> CheckTransaction(const wire::Transaction& t, const StoredVersion* read,
                                                  const std::shared_ptr<ObjectStore>& store,
                                                  const StoreOptions& storage, bool open_files, ReadContext& ctx) {
  const std::string& uuid = t.uuid();
  if (uuid.size() > 64 ||
      std::any_of(uuid.begin(), uuid.end(), [](unsigned char c) { return !std::isalnum(c) && c != '-'; })) {
    return UsageError("'{}' is no uuid of a transaction: it names a file", uuid);
  }
  if (t.has_merge() && read) PILUM_RETURN_NOT_OK(CheckNewFields(t.merge(), read->manifest));
  if (read) PILUM_RETURN_NOT_OK(CheckTypes(t.merge().schema(), read->manifest));
  if (read) PILUM_RETURN_NOT_OK(CheckTypes(t.project().schema(), read->manifest));
  for (const auto* fields : {&t.merge().schema(), &t.project().schema(), &t.overwrite().schema()}) {
    PILUM_RETURN_NOT_OK(CheckRepeats(*fields));
  }
  Checker checker(t, read, store, storage, open_files, ctx);
  for (const auto* fragment : PutFragments(t)) PILUM_RETURN_NOT_OK(checker.Check(*fragment));
  for (const auto& r : t.data_replacement().replacements()) PILUM_RETURN_NOT_OK(checker.Check(r.new_file()));
  return checker.TakeBrought();
}

}  // namespace pilum
