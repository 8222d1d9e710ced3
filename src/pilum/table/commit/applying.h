// Internal to apply*.cc: what is being made, and the steps that operations share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "pilum/table/commit/apply.h"
#include "pilum/table/commit/schema_fields.h"

namespace pilum {

using WireFragments = google::protobuf::RepeatedPtrField<wire::DataFragment>;

// A version on its way: begins as the current one (or as nothing) and is changed by one operation.
struct Applying {
  const StoredVersion* current = nullptr;
  const wire::Transaction* transaction = nullptr;
  const ApplyOptions* options = nullptr;
  const ReadOnlyStore* table = nullptr;
  ReadContext* ctx = nullptr;

  wire::Manifest manifest;
  wire::IndexSection indices;
  bool stable_row_ids = false;

  // Ids for those that have none yet (0), from the first that was never used on.
  uint64_t next_fragment_id = 0;
  void AssignIds(WireFragments* fragments);
  // With stable row ids: ids for rows that have none yet, and both version sequences where they are not there.
  Status AssignRowIds(WireFragments* fragments);
  void StampVersions(WireFragments* fragments) const;
  void AddFragments(const WireFragments& fragments) { manifest.mutable_fragments()->MergeFrom(fragments); }
  Result<wire::DataFragment*> FindFragment(uint64_t id);  // kRetry: it is not in the table any more
  Status PutUpdated(const WireFragments& updated);        // each in the place of the one with its id
  void RemoveFragments(const std::set<uint64_t>& ids);
};

// Each is one operation. (apply_rows.cc, apply_update.cc, apply_schema.cc, apply_settings.cc,
// apply_clone.cc)
Status ApplyAppend(const wire::Transaction::Append& op, Applying* next);
Status ApplyDelete(const wire::Transaction::Delete& op, Applying* next);
Status ApplyOverwrite(const wire::Transaction::Overwrite& op, Applying* next);
Status ApplyRewrite(const wire::Transaction::Rewrite& op, Applying* next);
Status ApplyUpdate(const wire::Transaction::Update& op, Applying* next);
Status ApplyDataReplacement(const wire::Transaction::DataReplacement& op, Applying* next);
Status ApplyMerge(const wire::Transaction::Merge& op, Applying* next);
Status ApplyProject(const wire::Transaction::Project& op, Applying* next);
void ApplyFieldMetadata(const wire::Transaction::UpdateMap& update, wire::Field* field);
Status ApplyUpdateConfig(const wire::Transaction::UpdateConfig& op, Applying* next);
Status ApplyUpdateBases(const wire::Transaction::UpdateBases& op, Applying* next);
Status ApplyClone(const wire::Transaction::Clone& op, Applying* next);
Status ApplyCreateIndex(const wire::Transaction::CreateIndex& op, Applying* next);
Status ApplyReserveFragments(const wire::Transaction::ReserveFragments& op, Applying* next);
void ApplyRestore(const StoredVersion& restored, Applying* next);

// A sequence in a file of its own.
Result<std::string> BytesAt(const wire::ExternalFile& file, const Applying& next);

std::set<int32_t> FieldIdsOf(const WireFields& fields);
// Data files of which no field is left: all left the schema or went to other files.
void DropEmptyFiles(const std::set<int32_t>& live, WireFragments* fragments);

}  // namespace pilum
