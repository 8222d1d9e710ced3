// One part as a unit of a snapshot: its file, its sidecars, and the way from the dataset's schema to the part's own.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "pilum/index/bundle.h"
#include "pilum/part/part_files.h"
#include "pilum/part/stands_for.h"
#include "pilum/source/snapshot.h"

namespace pilum {

class WordSegments;

// What is known of a part before its rows are read: from the prune header, or from the file's tail.
struct LoadedPart {
  PartFile file;
  Hash128 identity{};
  std::shared_ptr<arrow::Schema> schema;  // the part's own
  uint64_t num_rows = 0;
  std::shared_ptr<PartIndex> header;            // null: none, or not usable
  std::shared_ptr<const Bundle> bundle;         // where the header is a share of one
  size_t bundle_part = 0;                       // and which
  std::shared_ptr<const FileReader> reader;     // set where the file had to be opened
  std::string note;                             // why there is no header
  std::shared_ptr<const StandsFor> stands_for;  // of a merged part
  std::optional<RowSet> counted;                // only these rows count: others hold the rest of its batch too
  uint64_t counted_rows() const { return counted ? counted->size() : num_rows; }
};

// use_index false: sidecars are not looked at. Faults of sidecars become the note; faults of the part are errors.
Result<LoadedPart> LoadPart(const DatasetFiles& files, const PartFile& file, bool use_index, ReadContext& ctx);

class PartUnit final : public Unit {
 public:
  // `segments`: of the dataset; null: not asked.
  PartUnit(DatasetFiles files, LoadedPart part, std::shared_ptr<arrow::Schema> snapshot_schema, bool use_index,
           std::shared_ptr<WordSegments> segments = nullptr);

  const std::string& name() const override { return part_.file.name; }
  const LoadedPart& part() const { return part_; }
  // Can any row match, by the bounds of the header alone?
  Result<bool> MayMatchByBounds(const Probe& probe, ReadContext& ctx) const;
  uint64_t num_rows() const override { return part_.num_rows; }
  Result<bool> MayMatch(const Probe& probe, ReadContext& ctx) const override;
  Result<Candidates> Narrow(const Probe& probe, ReadContext& ctx) const override;
  Result<std::optional<ColumnStats>> Stats(const FieldPath& column, ReadContext& ctx) const override;
  std::map<std::string, uint64_t> index_sections() const override;
  std::string index_note() const override;
  Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                            const BatchLimits& limits, const ReadContext& ctx) const override;

 private:
  Result<std::shared_ptr<const FileReader>> Reader(ReadContext& ctx) const;
  // Null: none, or not usable.
  Result<std::shared_ptr<PartIndex>> Index(ReadContext& ctx) const { return Sidecar(&index_, "index", ctx); }
  struct Lazy {
    std::shared_ptr<PartIndex> index;
    bool tried = false;
  };
  Result<std::shared_ptr<PartIndex>> Sidecar(Lazy* lazy, const char* what, ReadContext& ctx) const;
  Result<Candidates> AskTerms(const Probe& probe, const PartIndex& index, Candidates found, ReadContext& ctx) const;

  const DatasetFiles files_;
  const LoadedPart part_;
  const std::shared_ptr<arrow::Schema> snapshot_schema_;
  const bool use_index_;
  const std::shared_ptr<WordSegments> segments_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const FileReader> reader_;
  mutable bool reader_verifies_ = true;  // it was opened with its checksums
  mutable Lazy index_, stats_, terms_;
  mutable std::string note_;
};

// A usable index of this part: sound, and of this part, schema and row count. kCorrupt or kUnsupported say why not.
Result<std::shared_ptr<PartIndex>> OpenPartIndex(const DatasetFiles& files, const std::string& path, SidecarKind kind,
                                                 const Hash128& identity, ReadContext& ctx);

}  // namespace pilum
