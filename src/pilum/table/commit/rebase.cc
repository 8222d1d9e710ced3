#include "pilum/table/commit/rebase.h"

#include <algorithm>
#include <set>

#include "pilum/table/commit/applying.h"
#include "pilum/table/commit/conflict.h"
#include "pilum/table/commit/put_deletions.h"
#include "pilum/table/deletions.h"

namespace pilum {
namespace {

Status Raced(std::string what) { return MakeError(ErrorKind::kRetry, std::move(what)); }

bool SameBytes(const google::protobuf::MessageLite& a, const google::protobuf::MessageLite& b) {
  return SerializeWire(a) == SerializeWire(b);
}

bool SameFiles(const wire::DataFragment& a, const wire::DataFragment& b) {
  if (a.files_size() != b.files_size()) return false;
  for (int i = 0; i < a.files_size(); ++i) {
    if (!SameBytes(a.files(i), b.files(i))) return false;
  }
  return true;
}

bool SameDeletions(const wire::DataFragment& a, const wire::DataFragment& b) {
  return a.has_deletion_file() == b.has_deletion_file() && SameBytes(a.deletion_file(), b.deletion_file());
}

// A file of which they dropped all columns has left the fragment; that is no change of what is left.
bool LostFiles(const wire::DataFragment& before, const wire::DataFragment& now) {
  return std::all_of(now.files().begin(), now.files().end(), [&](const wire::DataFile& file) {
    return std::any_of(before.files().begin(), before.files().end(),
                       [&](const wire::DataFile& old) { return SameBytes(old, file); });
  });
}

// The rows that the operation takes, on the fragment as it is now.
class DeletionMerger {
 public:
  DeletionMerger(const RebaseInput& input, ObjectStore* table, std::vector<std::string>* written, ReadContext& ctx)
      : in_(input), table_(table), written_(written), ctx_(ctx) {}

  // nullopt: all of its rows are deleted now. `ours`: the fragment in the transaction; null: it takes the whole of it.
  Result<std::optional<wire::DataFragment>> Merge(uint64_t id, const wire::DataFragment* ours) {
    const auto *before = FindFragment(in_.read->manifest, id), *now = FindFragment(in_.current->manifest, id);
    if (!before) return UsageError("fragment {} was not in version {}", id, in_.read->version());
    if (!now) return Raced(fmt::format("fragment {} is not in the table any more", id));
    if (SameFiles(*before, *now) && SameDeletions(*before, *now)) {
      return ours ? std::optional(*ours) : std::nullopt;
    }
    const bool moves_columns = ours && !SameFiles(*before, *ours);
    if (moves_columns || !LostFiles(*before, *now)) {
      return Raced(fmt::format("data files of fragment {} are not those that were read", id));
    }
    if (!in_.taken || !in_.taken->contains(id)) {
      return Raced(fmt::format("which rows are taken from fragment {} is not known", id));
    }
    PILUM_ASSIGN_OR_RETURN(const RowSet deleted, Deleted(id));
    const RowSet& taken = in_.taken->at(id);
    if (!deleted.Intersect(taken).empty()) return Raced(fmt::format("others took the same rows of fragment {}", id));
    const RowSet all = deleted.Union(taken);
    if (all.size() == now->physical_rows()) return std::optional<wire::DataFragment>();
    wire::DataFragment out = *now;
    PILUM_RETURN_NOT_OK(PutDeletions(all, in_.current->version(), table_, &out, written_));
    return std::optional(std::move(out));
  }

 private:
  Result<RowSet> Deleted(uint64_t id) {
    for (const Fragment& f : in_.current->read->fragments) {
      if (f.id != id) continue;
      if (!f.deletions) return RowSet();
      const TableFiles files(std::shared_ptr<const ReadOnlyStore>(table_, [](const ReadOnlyStore*) {}),
                             in_.current->read->version, in_.current->read->base_paths, {});
      PILUM_ASSIGN_OR_RETURN(auto source, files.OpenDeletions(*f.deletions, id, ctx_));
      PILUM_ASSIGN_OR_RETURN(auto bytes, source->ReadRange({0, source->size()}, ctx_));
      auto parsed = ParseDeletions(*f.deletions, bytes, f.physical_rows, ctx_);
      return parsed.ok() ? parsed : WithContext(source->name(), parsed.status());
    }
    return RowSet();
  }

  const RebaseInput& in_;
  ObjectStore* table_;
  std::vector<std::string>* written_;
  ReadContext& ctx_;
};

// `updated` and `gone` as a delete or update has them.
Status RebaseRows(DeletionMerger* merger, WireFragments* updated, google::protobuf::RepeatedField<uint64_t>* gone) {
  WireFragments still;
  google::protobuf::RepeatedField<uint64_t> whole;
  for (const uint64_t id : *gone) {
    PILUM_ASSIGN_OR_RETURN(auto fragment, merger->Merge(id, nullptr));
    if (fragment) {
      *still.Add() = std::move(*fragment);
    } else {
      whole.Add(id);
    }
  }
  for (const auto& f : *updated) {
    PILUM_ASSIGN_OR_RETURN(auto fragment, merger->Merge(f.id(), &f));
    if (fragment) {
      *still.Add() = std::move(*fragment);
    } else {
      whole.Add(f.id());
    }
  }
  *updated = std::move(still);
  *gone = std::move(whole);
  return Status::OK();
}

// Metadata that they set while ours names the whole schema as it was before.
void KeepSettings(const RebaseInput& in, WireFields* schema) {
  for (const auto* theirs : in.theirs) {
    if (!theirs->has_update_config()) continue;
    for (const auto& [id, update] : theirs->update_config().field_metadata_updates()) {
      for (auto& field : *schema) {
        if (field.id() == id) ApplyFieldMetadata(update, &field);
      }
    }
  }
}

std::string PathOf(const WireFields& fields, const wire::Field& field) {
  if (field.parent_id() < 0) return field.name();
  for (const auto& f : fields) {
    if (f.id() == field.parent_id()) return PathOf(fields, f) + "." + field.name();
  }
  return field.name();
}

// New rows may have NULLs where the version that they were written for allowed them, or had no such column.
Status CheckNullsStand(const RebaseInput& in) {
  std::map<int32_t, bool> nullable;
  for (const auto& field : in.read->manifest.fields()) nullable[field.id()] = field.nullable();
  const auto& now = in.current->manifest.fields();
  for (const auto& field : now) {
    const auto before = nullable.find(field.id());
    if (field.nullable() || (before != nullable.end() && !before->second)) continue;
    const bool inside = field.parent_id() >= 0 && !nullable.contains(field.parent_id());
    if (inside) continue;  // of a column that is new itself
    return Raced(fmt::format("column '{}' may hold no NULLs after the new rows were written, which may have some there",
                             PathOf(now, field)));
  }
  return Status::OK();
}

// New rows hold columns by id. One that was rewritten as another type has another id, under which they would be NULL.
Status CheckColumnsStand(const RebaseInput& in, const WireFragments& fragments) {
  if (fragments.empty()) return Status::OK();
  PILUM_RETURN_NOT_OK(CheckNullsStand(in));
  std::set<int32_t> held;
  for (const auto& fragment : fragments) {
    for (const auto& file : fragment.files()) held.insert(file.fields().begin(), file.fields().end());
  }
  const auto& now = in.current->manifest.fields();
  const std::set<int32_t> live = FieldIdsOf(now);
  for (const auto& field : in.read->manifest.fields()) {
    if (!held.contains(field.id()) || live.contains(field.id())) continue;
    const std::string path = PathOf(in.read->manifest.fields(), field);
    for (const auto& f : now) {
      if (PathOf(now, f) == path) {
        return Raced(fmt::format("column '{}' became another one (of type {}) after the new rows were written", path,
                                 f.logical_type()));
      }
    }
  }
  return Status::OK();
}

}  // namespace

Status Rebase(const RebaseInput& input, ObjectStore* table, wire::Transaction* transaction,
              std::vector<std::string>* written, ReadContext& ctx) {
  if (transaction->has_merge()) KeepSettings(input, transaction->mutable_merge()->mutable_schema());
  if (transaction->has_project()) KeepSettings(input, transaction->mutable_project()->mutable_schema());
  if (transaction->has_merge() || transaction->has_project()) return Status::OK();
  if (!input.read) {
    const bool by_fragment = transaction->has_delete_() || transaction->has_update();
    return by_fragment ? Raced("the version that was read is gone") : Status::OK();
  }
  if (transaction->has_append()) return CheckColumnsStand(input, transaction->append().fragments());
  DeletionMerger merger(input, table, written, ctx);
  if (transaction->has_delete_()) {
    auto* op = transaction->mutable_delete_();
    return RebaseRows(&merger, op->mutable_updated_fragments(), op->mutable_deleted_fragment_ids());
  }
  if (transaction->has_update()) {
    auto* op = transaction->mutable_update();
    PILUM_RETURN_NOT_OK(CheckColumnsStand(input, op->new_fragments()));
    return RebaseRows(&merger, op->mutable_updated_fragments(), op->mutable_removed_fragment_ids());
  }
  return Status::OK();
}

}  // namespace pilum
