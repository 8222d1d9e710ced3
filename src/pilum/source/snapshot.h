// The seam between a query and what it reads: a part store dataset, a single Lance file, a Lance table. To a query each
// is rows in units, plus statistics. Implemented by part (part_store.h), table (table.h) and source (file_snapshot.cc).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/context.h"
#include "pilum/file/file_reader.h"
#include "pilum/index/column_stats.h"
#include "pilum/index/index.h"

namespace pilum {

// Rows that are read together: a part, a file, a fragment. Immutable, thread-safe.
// Schema and types are the snapshot's: a column that the unit lacks is null, narrower types are widened.
class Unit {
 public:
  virtual ~Unit() = default;
  virtual const std::string& name() const = 0;
  virtual uint64_t num_rows() const = 0;

  // Prune: can any row match? false only by proof. From the prune header alone (already in memory or one small read).
  // Units without sidecars answer true.
  virtual Result<bool> MayMatch(const Probe& probe, ReadContext& ctx) const = 0;
  // Narrow: from the full index; reads only the sections that the probe needs. Candidates::Unknown when it can't help.
  virtual Result<Candidates> Narrow(const Probe& probe, ReadContext& ctx) const = 0;
  // What is known of a column (a path outside of lists) over all rows of the unit, without reading them, in the snapshot's
  // type. nullopt: unknown.
  virtual Result<std::optional<ColumnStats>> Stats(const FieldPath& column, ReadContext& ctx) const {
    return std::optional<ColumnStats>();
  }
  // How many sections of each index family were read for it since it was opened: what its answers came from.
  virtual std::map<std::string, uint64_t> index_sections() const { return {}; }
  // Why the unit is scanned although an index was expected (damaged, foreign, older sidecar); empty if nothing is wrong.
  virtual std::string index_note() const = 0;

  // Batches of the given rows, columns as FileReader::Read shapes them but in the snapshot's types. The file is opened at
  // the first Read and stays open with the unit: both phases of a point read use one open reader.
  virtual Result<std::unique_ptr<BatchStream>> Read(const std::vector<FieldPath>& columns, const RowSet& rows,
                                                    const BatchLimits& limits, const ReadContext& ctx) const = 0;
  // Opens what a Read of these columns begins with, so that several units can be at it at once. What goes wrong is left
  // for the Read to say.
  virtual void OpenAhead(const std::vector<FieldPath>& columns, ReadContext& ctx) const {}
  // Few rows (FileReader::kTakeRows), as Read gives them: by address where the unit can. (source/take.cc)
  virtual Result<std::vector<std::shared_ptr<arrow::RecordBatch>>> Take(const std::vector<FieldPath>& columns,
                                                                        const RowSet& rows, ReadContext& ctx) const;
};

// An immutable set of units, in order. Alive means pinned.
class Snapshot {
 public:
  virtual ~Snapshot() = default;
  virtual const std::string& name() const = 0;
  virtual const std::shared_ptr<arrow::Schema>& schema() const = 0;  // the union of the units'
  // The last so many columns of the schema come only where they are named, not with `*`: a table's row ids.
  virtual int num_hidden() const { return 0; }
  virtual const std::vector<std::shared_ptr<const Unit>>& units()
      const = 0;  // ordered; row order is unit order, then row
  // Is this a column of JSON text that units give as JSONB too (large_binary), where StoredJson(column) is asked for?
  virtual bool has_stored_json(const FieldPath& column) const { return false; }
  // An error if units disagree about this top-level column's type beyond widening: names the column and two units.
  virtual Status CheckColumn(const std::string& top_level_name) const = 0;
  // Reads ahead what the units' MayMatch will want for these probes, for many units in few requests. Changes no answer; errors
  // only for what stops a read.
  virtual Status Prepare(const std::vector<Probe>& probes, ReadContext& ctx) const { return Status::OK(); }
  // What a request costs where the units lie, if opening them ahead of a reader pays (Unit::OpenAhead). Null: it does not.
  virtual const ReadCost* ahead() const { return nullptr; }
  // What is there now, in this snapshot's schema, for a read that found a unit gone (kNotFound) and has given out no row.
  // Null: units of this snapshot do not go. An error: what is there now does not fit the schema.
  virtual Result<std::shared_ptr<const Snapshot>> Renew(ReadContext& ctx) const {
    return std::shared_ptr<const Snapshot>();
  }
};

// The statistics of all units as one; nullopt where one of them does not know. (source/fold_stats.cc)
Result<std::optional<ColumnStats>> FoldStats(const Snapshot& snapshot, const FieldPath& column, ReadContext& ctx);

// A Lance file as a snapshot of one unit, without sidecars. (source/file_snapshot.cc)
Result<std::shared_ptr<const Snapshot>> OpenFileSnapshot(std::shared_ptr<const ByteSource> source, ReadContext& ctx);

}  // namespace pilum
