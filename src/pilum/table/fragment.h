// A fragment as a unit of a snapshot: its data files put together, its deleted rows left out. Called by snapshot.cc.
// Thread-safe; files are opened at the first read that needs them, and stay open (open_files.h).
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
  void OpenAhead(const std::vector<FieldPath>& columns, ReadContext& ctx) const override;
  Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Take(const std::vector<FieldPath>& columns,
                                                                const RowSet& rows, ReadContext& ctx) const override;
  // Which rows are deleted; read at each call.
  Result<RowSet> ReadDeletions(ReadContext& ctx) const;

  // The numbers of a system column for `rows`.
  Result<std::shared_ptr<arrow::Array>> SystemValues(SystemColumn column, const RowSet& rows, ReadContext& ctx) const;

 private:
  struct File {
    const DataFile* file = nullptr;
    // Open, as long as somebody reads it or it is one of those opened last; one of the two, by its kind.
    std::weak_ptr<const FileReader> reader;
    std::weak_ptr<const LegacyFile> legacy;
    bool verifies = true;  // it was opened with its checksums
  };
  struct OpenedFile {
    std::shared_ptr<const FileReader> reader;
    std::shared_ptr<const LegacyFile> legacy;
  };
  PhysicalFragment(TableContext table, const Fragment& fragment);
  Status PlanFiles();
  Status CountRows(ReadContext& ctx);
  Result<OpenedFile> Open(size_t i, OpenFiles::For what, ReadContext& ctx) const;
  Result<OpenedFile> OpenAnew(const DataFile& file, const FileView& view, OpenFiles::For what, ReadContext& ctx) const;
  Result<std::unique_ptr<BatchStream>> ReadFile(size_t i, const std::vector<FieldPath>& columns, const RowSet& rows,
                                                const BatchLimits& limits, ReadContext& ctx) const;
  Status CheckRows(const RowSet& rows) const;
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
  std::vector<const FileView*> views_;  // of each of files_: what of the table's columns it holds: something
  mutable std::vector<File> files_;
  mutable std::shared_ptr<const RowIdSequence> row_ids_;
  mutable std::shared_ptr<const RowSet> deleted_;  // once they were asked for
  mutable std::shared_ptr<const RowVersionSequence> created_at_, last_updated_at_;
};

// The fragment without its deleted rows, renumbered. Its deletion file is read with its first rows, or here where the
// manifest does not say how many it deletes.
Result<std::shared_ptr<const Unit>> MakeFragmentUnit(TableContext table, const Fragment& fragment, ReadContext& ctx);

}  // namespace pilum
