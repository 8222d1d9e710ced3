// A fragment as a unit of a snapshot: its data files put together, its deleted rows left out. Called by snapshot.cc.
// Thread-safe; files are opened at the first read that needs them and stay open with the unit.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "pilum/file/legacy_file.h"
#include "pilum/source/snapshot.h"
#include "pilum/table/manifest.h"
#include "pilum/table/row_ids.h"
#include "pilum/table/table_files.h"
#include "pilum/table/table_schema.h"

namespace pilum {

// What all fragments of a version share.
struct TableContext {
  std::shared_ptr<const TableFiles> files;
  std::shared_ptr<const TableSchema> schema;
  std::shared_ptr<const Manifest> manifest;
  bool with_deleted = false;  // deleted rows are read too; their _rowid is NULL
};

// All rows that are in the files, the deleted ones too: row numbers are offsets of row addresses.
class PhysicalFragment final : public Unit, public std::enable_shared_from_this<PhysicalFragment> {
 public:
  // Reads nothing, unless the manifest (a very old one) does not say how many rows there are.
  static Result<std::shared_ptr<PhysicalFragment>> Make(TableContext table, const Fragment& fragment, ReadContext& ctx);

  const Fragment& fragment() const { return fragment_; }
  const Manifest& manifest() const { return *table_.manifest; }
  bool with_deleted() const { return table_.with_deleted; }
  const std::string& name() const override { return name_; }
  uint64_t num_rows() const override { return num_rows_; }
  Result<bool> MayMatch(const Probe& probe, ReadContext& ctx) const override { return num_rows_ > 0; }
  Result<Candidates> Narrow(const Probe& probe, ReadContext& ctx) const override {
    return Candidates::Unknown(num_rows_);
  }
  std::string index_note() const override { return {}; }
  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                            const BatchLimits& limits, const ReadContext& ctx) const override;
  // Which rows are deleted; read at each call.
  Result<RowSet> ReadDeletions(ReadContext& ctx) const;

  // The numbers of a system column for `rows`.
  Result<std::shared_ptr<arrow::Array>> SystemValues(SystemColumn column, const RowSet& rows, ReadContext& ctx) const;

 private:
  struct OpenedFile {
    const DataFile* file = nullptr;
    std::shared_ptr<const FileView> view;      // what of the table's columns it holds: something
    std::shared_ptr<const FileReader> reader;  // none: not open yet, or
    std::shared_ptr<const LegacyFile> legacy;  // it is of that kind
    bool verifies = true;                      // it was opened with its checksums
  };
  PhysicalFragment(TableContext table, const Fragment& fragment);
  Status PlanFiles();
  Status CountRows(ReadContext& ctx);
  Status Open(OpenedFile* file, ReadContext& ctx) const;
  Result<std::unique_ptr<BatchStream>> ReadFile(OpenedFile* file, const std::vector<FieldPath>& columns,
                                                const RowSet& rows, const BatchLimits& limits, ReadContext& ctx) const;
  Result<std::shared_ptr<const RowSet>> Deleted(ReadContext& ctx) const;
  Status AppendOffsets(const RowSet& rows, std::vector<uint64_t>* out, ReadContext& ctx) const;
  Result<std::shared_ptr<arrow::Array>> WithoutDeleted(std::shared_ptr<arrow::Array> row_ids, const RowSet& rows,
                                                       ReadContext& ctx) const;
  Result<std::string> ReadSequence(const SequenceBytes& bytes, ReadContext& ctx) const;
  template <typename Sequence>
  Result<std::shared_ptr<const Sequence>> Lazy(std::shared_ptr<const Sequence>* held, const SequenceBytes& bytes,
                                               ReadContext& ctx) const;

  const TableContext table_;
  const Fragment& fragment_;  // of the manifest
  const std::string name_;
  uint64_t num_rows_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<OpenedFile> files_;  // those that hold something; only their readers change
  mutable std::shared_ptr<const RowIdSequence> row_ids_;
  mutable std::shared_ptr<const RowSet> deleted_;  // once they were asked for
  mutable std::shared_ptr<const RowVersionSequence> created_at_, last_updated_at_;
};

// The fragment without its deleted rows, renumbered. Its deletion file is read with its first rows, or here where the
// manifest does not say how many it deletes.
Result<std::shared_ptr<const Unit>> MakeFragmentUnit(TableContext table, const Fragment& fragment, ReadContext& ctx);

}  // namespace pilum
