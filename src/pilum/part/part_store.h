// The part store: immutable Lance parts with sidecars beside them; no manifest, no commit protocol
// (docs/formats/part_store.md). Called by cli and python. Thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/io/object_store.h"
#include "pilum/source/snapshot.h"

namespace pilum {

struct PutOptions {
  std::string batch_id;                     // empty: content alone names the part
  bool new_schema = false;                  // allow what a query would refuse (a clashing column type)
  uint64_t target_part_bytes = 1ull << 30;  // a part rolls at about this many bytes of Lance file
  FileVersion version = FileVersion::kV2_2;
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
  uint64_t rows = 0, bytes = 0, idx_bytes = 0, idxh_bytes = 0, stats_bytes = 0;
  bool merged = false;
  std::string sidecar_state;  // "ok", "missing", or what is wrong
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

class PartStore {
 public:
  // `uri`: STORE/DATASET. Touches nothing: the first Put makes the dataset, and what reads it says kNotFound until then.
  static Result<std::shared_ptr<PartStore>> Open(std::string_view uri, const StoreOptions& options = {});
  static Result<std::shared_ptr<PartStore>> OpenIn(std::shared_ptr<ObjectStore> store, std::string dataset);
  virtual ~PartStore() = default;

  // The schema new rows should come in: the union over all parts, null if there is none yet. (For CSV / JSON readers.)
  virtual Result<std::shared_ptr<arrow::Schema>> Schema(ReadContext& ctx) const = 0;

  // Streams `input` into parts. Once it returned OK the rows are durable. Same input, same options, same version of
  // Pilum: the same part names, so a retry adds nothing. On error or kill: each part is there whole or not at all.
  virtual Result<PutResult> Put(arrow::RecordBatchReader& input, const PutOptions& options, ReadContext& ctx) = 0;

  // Lists parts/ and merged/ now and pins that; sidecar headers are read in parallel. kNotFound: no such dataset.
  virtual Result<std::shared_ptr<const Snapshot>> OpenSnapshot(bool use_index, ReadContext& ctx) const = 0;

  virtual Result<std::vector<PartSummary>> List(ReadContext& ctx) const = 0;
  // What was built for each part and why, from its .stats; no decisions where there is none.
  virtual Result<std::vector<PartDecisions>> ExplainBuild(ReadContext& ctx) const = 0;
  // Reads everything. A part that cannot be opened is a fault like others; an error only for what stops a read.
  virtual Result<StoreFaults> Check(ReadContext& ctx) const = 0;
};

}  // namespace pilum
