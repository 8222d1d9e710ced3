// The part store: immutable Lance parts with sidecars beside them; no manifest, no commit protocol
// (docs/formats/part_store.md). Called by cli and python. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/io/object_store.h"
#include "pilum/source/snapshot.h"

namespace pilum {

struct DatasetFiles;

struct PutOptions {
  std::string batch_id;                     // empty: content alone names the part
  bool new_schema = false;                  // allow what a query would refuse (a clashing column type)
  uint64_t target_part_bytes = 1ull << 30;  // a part rolls at about this many bytes of Lance file
  FileVersion version = FileVersion::kV2_2;
  // Rows are ordered by these columns (dotted paths; `time` and `owner`: those that dataset.toml names so) before they are cut
  // into parts, within bounded memory (part/row_sorter.h). By a time first, parts are cut where a day ends, in UTC.
  std::vector<std::string> sort;
};

struct PutResult {
  uint64_t rows = 0;  // of the input
  uint64_t rows_already_there = 0;
  std::vector<std::string> parts;  // names of all parts the input makes (new or there before)
  uint64_t new_parts = 0;
  uint64_t part_bytes = 0, sidecar_bytes = 0;  // of new parts
};

struct PartSummary {
  std::string name;  // of the file, without ".lance": 64 hex digits unless somebody dropped it in
  uint64_t rows = 0, bytes = 0, idx_bytes = 0, idxh_bytes = 0, stats_bytes = 0, terms_bytes = 0;
  bool merged = false;
  std::string sidecar_state;  // "ok", "missing", or what is wrong
  uint64_t sidecar_bytes() const { return idx_bytes + idxh_bytes + stats_bytes + terms_bytes; }
};

// Bytes of one object of a part that are of one column and family. Those of an object add up to its size.
struct AttributedBytes {
  std::string part;
  std::string object;  // "lance", or "idx", "idxh", "terms", "stats" of its sidecars
  std::string column;  // dotted; empty: of the whole part
  std::string family;  // "values" in a Lance file; "container": headers, directories, metadata
  uint64_t bytes = 0;
};

struct PartDecisions {
  std::string part;
  std::vector<BuildDecision> decisions;
};

struct StoreFaults {
  uint64_t parts = 0;  // that were looked at
  // Of parts and sidecars: name against hash, file, headers, sections, and that each index only over-approximates.
  std::vector<Status> faults;
};

struct CompactOptions {
  // Parts of fewer rows and bytes become one, up to these; 0 rows: bytes alone count.
  uint64_t target_rows = 0;
  uint64_t target_bytes = 1ull << 30;
  // Merge whatever is small. Without it a part joins only with others that have as many rows together, so that a row is
  // written again at most about log2(target) times however often this runs.
  bool all = false;
};

struct CompactResult {
  uint64_t plans = 0;  // done by this call, those that others had left among them
  uint64_t parts = 0;  // that became one in each
  uint64_t rows = 0, bytes = 0;
  std::vector<std::string> merged;  // names
  std::vector<std::string> notes;   // plans that cannot be done, and why
};

struct SweepOptions {
  std::chrono::microseconds grace = std::chrono::hours(24);  // on the store's clock
  bool dry_run = false;                                      // count, remove nothing
};

struct SweepResult {
  uint64_t parts = 0, part_bytes = 0;  // hidden ones, removed
  uint64_t sidecars = 0, sidecar_bytes = 0;
  uint64_t unfinished =
      0;  // what writes that never ended left, in the store and (not counted by a dry run) spooled here
  uint64_t caches = 0, cache_bytes = 0;  // bundles and the like that newer ones have taken the place of
  uint64_t waiting = 0;                  // hidden parts whose grace has not passed
};

struct MaintainOptions {
  bool all = false;  // make everything anew, not only what is missing or out of date
};

// Of one kind of cache over many parts.
struct CacheRefresh {
  std::string name;    // "bundles"
  uint64_t parts = 0;  // that it is to hold
  uint64_t fresh = 0;  // that were written by this call, in `written` objects of `bytes` bytes together
  uint64_t written = 0, bytes = 0;
  std::vector<std::string> notes;  // parts that it cannot hold, objects that cannot be used, and why
};

struct MaintainResult {
  std::vector<CacheRefresh> caches;
};

// Which rows of a unit are meant, by its own numbers; bound to one schema. What query/match.h makes of a predicate.
using RowMatcher = std::function<Result<RowSet>(const Unit& unit, ReadContext& ctx)>;
using BindRowMatcher = std::function<Result<RowMatcher>(const Snapshot& snapshot)>;

struct EraseOptions {
  bool whole_parts_only = false;  // only parts of which every row is meant
};

struct EraseResult {
  uint64_t rows = 0;               // that no longer count
  uint64_t parts = 0;              // that held them
  uint64_t straddling = 0;         // parts that stay because other rows are in them (whole_parts_only)
  uint64_t hidden_left = 0;        // hidden parts that still hold such rows' bytes: until they are swept
  std::vector<std::string> notes;  // parts that hold such rows and could not be rewritten, and why
};

struct BackfillOptions {
  // Of every part that this version's rules and the present dataset.toml did not make, not only where one is missing or damaged.
  // What is done is not done again, so a call that was broken off goes on.
  bool all = false;
};

struct BackfillResult {
  uint64_t parts = 0, rebuilt = 0;  // looked at; whose sidecars were written
  uint64_t bytes = 0;
};

struct CopyResult {
  uint64_t parts = 0, part_bytes = 0, sidecars = 0, sidecar_bytes = 0;
  uint64_t already_there = 0;  // parts
};

class PartStore {
 public:
  // `uri`: STORE/DATASET. Touches nothing: the first Put makes the dataset, and what reads it says kNotFound until then.
  static Result<std::shared_ptr<PartStore>> Open(std::string_view uri, const StoreOptions& options = {});
  static Result<std::shared_ptr<PartStore>> OpenIn(std::shared_ptr<ObjectStore> store, std::string dataset);
  virtual ~PartStore() = default;
  virtual const DatasetFiles& files() const = 0;  // used inside part/ only

  // The schema new rows should come in: the union over all parts, null if there is none yet. (For CSV / JSON readers.)
  virtual Result<std::shared_ptr<arrow::Schema>> Schema(ReadContext& ctx) const = 0;

  // Streams `input` into parts. Once it returned OK the rows are durable. Same input, same options, same version of
  // Pilum: the same part names, so a retry adds nothing. On error or kill: each part is there whole or not at all.
  virtual Result<PutResult> Put(arrow::RecordBatchReader& input, const PutOptions& options, ReadContext& ctx) = 0;

  // Lists parts/ and merged/ now and pins that; sidecar headers are read in parallel. kNotFound: no such dataset.
  virtual Result<std::shared_ptr<const Snapshot>> OpenSnapshot(bool use_index, ReadContext& ctx) const = 0;

  // Makes one part of several small ones: plans, then does. Readers see either all of the small ones or the one. Any number
  // of calls at once, in any processes, on one dataset; one that dies loses nothing, and a later one ends its work.
  virtual Result<CompactResult> Compact(const CompactOptions& options, ReadContext& ctx) = 0;
  // Removes parts that merged ones stand for once these have been visible for the grace, sidecars without a part, and
  // what killed writes left. Readers that listed before that may fail (kNotFound): the grace is to outlast them.
  virtual Result<SweepResult> Sweep(const SweepOptions& options, ReadContext& ctx) = 0;

  // Rewrites the parts that hold rows that `bind` means without them, each by a plan; parts of nothing else become one without
  // rows, which stands for them. Rows put meanwhile may stay: run it again until it erases none.
  virtual Result<EraseResult> Erase(const BindRowMatcher& bind, const EraseOptions& options, ReadContext& ctx) = 0;
  // Rebuilds sidecars, each in one step: readers have the one of before or the new one, whole.
  virtual Result<BackfillResult> Backfill(const BackfillOptions& options, ReadContext& ctx) = 0;
  // Makes and refreshes caches over many parts, which save requests: bundles of prune headers. Any number of calls at once.
  virtual Result<MaintainResult> Maintain(const MaintainOptions& options, ReadContext& ctx) = 0;
  // Everything that counts, and the plans, into another dataset, by name: what is there is not copied again, so a copy that
  // was broken off goes on. kUsage where `to` has plans of its own.
  virtual Result<CopyResult> CopyTo(const PartStore& to, ReadContext& ctx) const = 0;

  virtual Result<std::vector<PartSummary>> List(ReadContext& ctx) const = 0;
  // Of all parts that count and their sidecars. Opens each object, reads no row.
  virtual Result<std::vector<AttributedBytes>> Attribute(ReadContext& ctx) const = 0;
  // What was built for each part and why, from its .stats; no decisions where there is none.
  virtual Result<std::vector<PartDecisions>> ExplainBuild(ReadContext& ctx) const = 0;
  // Reads everything. A part that cannot be opened is a fault like others; an error only for what stops a read.
  virtual Result<StoreFaults> Check(ReadContext& ctx) const = 0;
};

}  // namespace pilum
