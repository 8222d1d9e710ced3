// pilum._pilum.PartStore, Snapshot and QueryResult: part stores, and reads of whatever has rows. The Python classes over them are in
// pilum/store.py.
#include <algorithm>
#include <chrono>

#include <arrow/api.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pilum/io/object_store.h"
#include "pilum/part/part_store.h"
#include "pilum/python/bindings.h"
#include "pilum/python/convert.h"
#include "pilum/python/run.h"
#include "pilum/python/stream.h"
#include "pilum/query/match.h"
#include "pilum/query/query.h"
#include "pilum/query/take_rows.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

ReadContext MakeContext(ReadStats* stats, const std::stop_source& stop, std::optional<double> timeout = {}) {
  ReadContext ctx;
  ctx.stats = stats;
  ctx.stop = stop.get_token();
  ctx.threads = DefaultThreads();
  if (timeout) {
    // A year is as good as for ever, and cannot overflow the clock.
    double seconds = std::min(std::max(*timeout, 0.0), 365.0 * 86400);
    ctx.deadline = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                          std::chrono::duration<double>(seconds));
  }
  return ctx;
}

// Store work of unknown length: may be interrupted, counts nothing.
template <typename F>
auto Run(F&& work) {
  std::stop_source stop;
  ReadContext ctx = MakeContext(nullptr, stop);
  return Unwrap(Interruptibly(stop, [&] { return work(ctx); }));
}

// What a running query reads and counts into; outlives the engine objects that point at it.
struct QueryState {
  ReadStats stats;
  std::stop_source stop;
  std::shared_ptr<const Snapshot> snapshot;
  std::unique_ptr<QueryResult> result;
  std::mutex mutex;                // `result` is for one thread at a time; taken only without the GIL
  std::shared_ptr<ReadStats> sum;  // of its like; may be null

  ~QueryState() {
    result.reset();
    if (sum) Add(stats, sum.get());
    Add(stats, &OfProcess());
  }
  static ReadStats& OfProcess() {
    static auto* all = new ReadStats;
    return *all;
  }
  static void Add(const ReadStats& own, ReadStats* sum) {
    sum->opens += own.opens;
    sum->requests += own.requests;
    sum->bytes += own.bytes;
  }
};

class PyQueryResult {
 public:
  explicit PyQueryResult(std::shared_ptr<QueryState> state) : state_(std::move(state)) {
    BatchPull pull;
    pull.schema = state_->result->schema();
    pull.long_calls = true;
    pull.next = [state = state_] {
      std::lock_guard lock(state->mutex);
      return state->result->Next();
    };
    stream_ = std::make_shared<PyStream>(std::move(pull), state_->stop);
  }

  std::shared_ptr<PyStream> stream() const { return stream_; }
  nb::dict stats() const { return StatsToPython(state_->stats); }

  std::string Explain() const {
    return WithoutGil([&] {
      std::lock_guard lock(state_->mutex);
      return state_->result->Explain();
    });
  }

  nb::dict Counts() const {
    QueryCounts counts = WithoutGil([&] {
      std::lock_guard lock(state_->mutex);
      return state_->result->counts();
    });
    nb::dict out;
    out["units"] = counts.units;
    out["units_pruned"] = counts.units_pruned;
    out["units_read"] = counts.units_read;
    out["rows_total"] = counts.rows_total;
    out["rows_candidate"] = counts.rows_candidate;
    out["rows_certain"] = counts.rows_certain;
    out["rows_rechecked"] = counts.rows_rechecked;
    out["evaluations"] = counts.evaluations;
    out["rows_matched"] = counts.rows_matched;
    out["rows_returned"] = counts.rows_returned;
    out["notes"] = nb::list();
    for (const auto& note : counts.notes) out["notes"].attr("append")(note);
    return out;
  }

 private:
  std::shared_ptr<QueryState> state_;
  std::shared_ptr<PyStream> stream_;
};

// An immutable list of units: one state of a part store dataset, or one Lance file.
class PySnapshot {
 public:
  explicit PySnapshot(std::shared_ptr<const Snapshot> snapshot, std::shared_ptr<ReadStats> read = nullptr)
      : snapshot_(std::move(snapshot)), read_(std::move(read)) {}

  // Without the columns that come only where they are named.
  nb::object schema() const {
    const arrow::FieldVector& all = snapshot_->schema()->fields();
    return ToPython(arrow::schema({all.begin(), all.end() - snapshot_->num_hidden()}, snapshot_->schema()->metadata()));
  }
  size_t num_units() const { return snapshot_->units().size(); }
  uint64_t num_rows() const {
    uint64_t n = 0;
    for (const auto& unit : snapshot_->units()) n += unit->num_rows();
    return n;
  }

  std::shared_ptr<PyQueryResult> Query(const std::string& sql, nb::handle params, bool use_index,
                                       std::optional<double> timeout, std::optional<uint64_t> batch_rows,
                                       std::optional<uint64_t> memory_limit, Verify verify, bool allow_unstable) const {
    Params values = ParamsFromPython(params);
    QueryOptions options;
    options.use_index = use_index;
    if (batch_rows) options.limits.rows = *batch_rows;
    if (memory_limit) options.memory_limit = *memory_limit;
    if (options.limits.rows == 0) Raise(UsageError("batch_size must be at least 1"));
    ReadContext ctx;
    ctx.verify = verify;
    ctx.allow_unstable = allow_unstable;
    return Start([&] { return BindQuery(sql, *snapshot_, values); }, options, ctx, timeout);
  }

  // Columns by path ("a.b"), each under the name it was asked by; the rows for which `filter` (empty: none) is true.
  std::shared_ptr<PyQueryResult> Scan(const std::vector<std::string>& columns, const std::string& filter,
                                      std::optional<uint64_t> limit, uint64_t offset,
                                      std::optional<uint64_t> batch_rows, bool use_index, bool allow_unstable,
                                      Verify verify, nb::handle params, std::optional<uint64_t> batch_bytes) const {
    const Params values = ParamsFromPython(params);
    QueryOptions options;
    if (batch_bytes) options.limits.bytes = std::max<uint64_t>(*batch_bytes, 1);
    options.use_index = use_index;
    if (batch_rows) options.limits.rows = *batch_rows;
    if (options.limits.rows == 0) Raise(UsageError("batch_size must be at least 1"));
    ReadContext ctx;
    ctx.verify = verify;
    ctx.allow_unstable = allow_unstable;
    const auto bind = [&]() -> Result<BoundQuery> {
      BoundQuery query;
      for (const std::string& name : columns) query.columns.push_back(ResolveColumn(*snapshot_->schema(), name));
      query.output_names = columns;
      if (!filter.empty()) {
        PILUM_ASSIGN_OR_RETURN(query.where, BindPredicate(filter, *snapshot_->schema(), values));
      }
      query.limit = limit;
      query.offset = offset;
      return query;
    };
    return Start(bind, options, ctx, std::nullopt);
  }

  // The top-level columns that a statement reads, in order of first need.
  std::vector<std::string> ColumnsOf(const std::string& sql, nb::handle params) const {
    const Params values = ParamsFromPython(params);
    const BoundQuery bound = Unwrap(WithoutGil([&] { return BindQuery(sql, *snapshot_, values); }));
    std::vector<std::string> out;
    const auto add = [&](const FieldPath& path) {
      if (std::find(out.begin(), out.end(), path.steps[0]) == out.end()) out.push_back(path.steps[0]);
    };
    std::for_each(bound.columns.begin(), bound.columns.end(), add);
    if (bound.where) std::for_each(bound.where->columns().begin(), bound.where->columns().end(), add);
    return out;
  }

  // What a SELECT without WHERE makes of the rows with these numbers, in this order.
  nb::object TakeStatement(const std::string& sql, nb::handle rows, Verify verify) const {
    const std::vector<uint64_t> numbers = RowsFromPython(rows);
    return ToPython(Run([&](ReadContext& ctx) -> Result<std::shared_ptr<arrow::Table>> {
      ctx.verify = verify;
      ctx.stats = read_.get();
      PILUM_ASSIGN_OR_RETURN(const BoundQuery bound, BindQuery(sql, *snapshot_, {}));
      return TakeRows(*snapshot_, bound, numbers, ctx);
    }));
  }

  nb::object Take(const std::vector<std::string>& columns, nb::handle rows, bool allow_unstable, Verify verify) const {
    const std::vector<uint64_t> numbers = RowsFromPython(rows);
    const auto take = [&](ReadContext& ctx) {
      ctx.verify = verify;
      ctx.allow_unstable = allow_unstable;
      ctx.stats = read_.get();
      std::vector<FieldPath> paths;
      for (const std::string& name : columns) paths.push_back(ResolveColumn(*snapshot_->schema(), name));
      return TakeRows(*snapshot_, paths, columns, numbers, ctx);
    };
    constexpr size_t kQuick = 1000;
    if (numbers.size() > kQuick || IsRemoteUri(snapshot_->name())) return ToPython(Run(take));
    std::stop_source stop;
    ReadContext ctx = MakeContext(nullptr, stop);
    return ToPython(Unwrap(WithoutGil([&] { return take(ctx); })));
  }

 private:
  template <typename Bind>
  std::shared_ptr<PyQueryResult> Start(Bind bind, const QueryOptions& options, const ReadContext& how,
                                       std::optional<double> timeout) const {
    auto state = std::make_shared<QueryState>();
    state->snapshot = snapshot_;
    state->sum = read_;
    ReadContext ctx = MakeContext(&state->stats, state->stop, timeout);
    ctx.verify = how.verify;
    ctx.allow_unstable = how.allow_unstable;
    Check(WithoutGil([&]() -> Status {
      PILUM_ASSIGN_OR_RETURN(auto bound, bind());
      PILUM_ASSIGN_OR_RETURN(state->result, RunQuery(snapshot_, std::move(bound), options, ctx));
      return Status::OK();
    }));
    return std::make_shared<PyQueryResult>(std::move(state));
  }

  std::shared_ptr<const Snapshot> snapshot_;
  std::shared_ptr<ReadStats> read_;  // may be null
};

class PyPartStore {
 public:
  static std::shared_ptr<PyPartStore> Open(const std::string& uri, const StoreOptions& storage) {
    auto store = Unwrap(WithoutGil([&] { return PartStore::Open(uri, storage); }));
    return std::make_shared<PyPartStore>(std::move(store));
  }
  explicit PyPartStore(std::shared_ptr<PartStore> store) : store_(std::move(store)) {}

  std::shared_ptr<PySnapshot> OpenSnapshot(bool use_index, std::optional<double> timeout) const {
    std::stop_source stop;
    ReadContext ctx = MakeContext(nullptr, stop, timeout);
    return Unwrap(Interruptibly(stop, [&]() -> Result<std::shared_ptr<PySnapshot>> {
      PILUM_ASSIGN_OR_RETURN(auto snapshot, store_->OpenSnapshot(use_index, ctx));
      return std::make_shared<PySnapshot>(std::move(snapshot));
    }));
  }

  nb::object Schema() const {
    auto schema = Run([&](ReadContext& ctx) { return store_->Schema(ctx); });
    return schema ? ToPython(schema) : nb::none();
  }

  nb::dict Put(nb::handle schema, nb::handle batches, const std::string& batch_id, bool new_schema,
               std::optional<uint64_t> target_part_bytes, const std::string& version,
               const std::vector<std::string>& sort) {
    PutOptions options;
    options.batch_id = batch_id;
    options.new_schema = new_schema;
    if (target_part_bytes) options.target_part_bytes = *target_part_bytes;
    options.version = Unwrap(ParseVersion(version));
    options.sort = sort;
    auto reader = ReaderFromPython(schema, batches);
    PutResult done = Run([&](ReadContext& ctx) { return store_->Put(*reader, options, ctx); });
    nb::dict out;
    out["rows"] = done.rows;
    out["rows_already_there"] = done.rows_already_there;
    out["parts"] = done.parts;
    out["new_parts"] = done.new_parts;
    out["part_bytes"] = done.part_bytes;
    out["sidecar_bytes"] = done.sidecar_bytes;
    return out;
  }

  nb::list Parts() const {
    auto parts = Run([&](ReadContext& ctx) { return store_->List(ctx); });
    nb::list out;
    for (const auto& part : parts) {
      nb::dict entry;
      entry["name"] = part.name;
      entry["rows"] = part.rows;
      entry["bytes"] = part.bytes;
      entry["idx_bytes"] = part.idx_bytes;
      entry["idxh_bytes"] = part.idxh_bytes;
      entry["stats_bytes"] = part.stats_bytes;
      entry["terms_bytes"] = part.terms_bytes;
      entry["merged"] = part.merged;
      entry["sidecar_state"] = part.sidecar_state;
      out.append(entry);
    }
    return out;
  }

  nb::dict Compact(std::optional<uint64_t> target_rows, std::optional<uint64_t> target_bytes, bool all) {
    CompactOptions options;
    options.target_rows = target_rows.value_or(0);
    if (target_bytes) options.target_bytes = *target_bytes;
    options.all = all;
    const CompactResult done = Run([&](ReadContext& ctx) { return store_->Compact(options, ctx); });
    nb::dict out;
    out["plans"] = done.plans;
    out["parts"] = done.parts;
    out["rows"] = done.rows;
    out["bytes"] = done.bytes;
    out["merged"] = done.merged;
    out["notes"] = done.notes;
    return out;
  }

  nb::dict Sweep(double grace_seconds, bool dry_run) {
    SweepOptions options;
    options.dry_run = dry_run;
    if (!(grace_seconds >= 0 && grace_seconds <= 1e11)) Raise(UsageError("grace must be 0 s or more"));
    options.grace = std::chrono::microseconds(static_cast<int64_t>(grace_seconds * 1e6));
    const SweepResult done = Run([&](ReadContext& ctx) { return store_->Sweep(options, ctx); });
    nb::dict out;
    out["parts"] = done.parts;
    out["part_bytes"] = done.part_bytes;
    out["sidecars"] = done.sidecars;
    out["sidecar_bytes"] = done.sidecar_bytes;
    out["unfinished"] = done.unfinished;
    out["caches"] = done.caches;
    out["cache_bytes"] = done.cache_bytes;
    out["waiting"] = done.waiting;
    return out;
  }

  nb::dict Erase(const std::string& where, nb::handle params, bool whole_parts_only) {
    const Params values = ParamsFromPython(params);
    const auto bind = [&](const Snapshot& snapshot) -> Result<RowMatcher> {
      PILUM_ASSIGN_OR_RETURN(auto bound, BindWhere(where, snapshot, values));
      return [bound](const Unit& unit, ReadContext& ctx) { return MatchingRows(*bound, unit, true, ctx); };
    };
    EraseOptions options;
    options.whole_parts_only = whole_parts_only;
    const EraseResult done = Run([&](ReadContext& ctx) { return store_->Erase(bind, options, ctx); });
    nb::dict out;
    out["rows"] = done.rows;
    out["parts"] = done.parts;
    out["straddling"] = done.straddling;
    out["hidden_left"] = done.hidden_left;
    out["notes"] = done.notes;
    return out;
  }

  nb::list Attribute() const {
    const auto rows = Run([&](ReadContext& ctx) { return store_->Attribute(ctx); });
    nb::list out;
    for (const AttributedBytes& row : rows) {
      nb::dict entry;
      entry["part"] = row.part;
      entry["object"] = row.object;
      entry["column"] = row.column;
      entry["family"] = row.family;
      entry["bytes"] = row.bytes;
      out.append(entry);
    }
    return out;
  }

  nb::dict Backfill(bool all) {
    const BackfillResult done = Run([&](ReadContext& ctx) { return store_->Backfill({all}, ctx); });
    nb::dict out;
    out["parts"] = done.parts;
    out["rebuilt"] = done.rebuilt;
    out["bytes"] = done.bytes;
    return out;
  }

  nb::list Maintain(bool all) {
    const MaintainResult done = Run([&](ReadContext& ctx) { return store_->Maintain({all}, ctx); });
    nb::list out;
    for (const CacheRefresh& cache : done.caches) {
      nb::dict entry;
      entry["name"] = cache.name;
      entry["parts"] = cache.parts;
      entry["fresh"] = cache.fresh;
      entry["written"] = cache.written;
      entry["bytes"] = cache.bytes;
      entry["notes"] = cache.notes;
      out.append(entry);
    }
    return out;
  }

  nb::dict CopyTo(const PyPartStore& to) const {
    const CopyResult done = Run([&](ReadContext& ctx) { return store_->CopyTo(*to.store_, ctx); });
    nb::dict out;
    out["parts"] = done.parts;
    out["part_bytes"] = done.part_bytes;
    out["sidecars"] = done.sidecars;
    out["sidecar_bytes"] = done.sidecar_bytes;
    out["already_there"] = done.already_there;
    return out;
  }

  std::vector<std::string> CheckAll() const {
    auto found = Run([&](ReadContext& ctx) { return store_->Check(ctx); });
    std::vector<std::string> out;
    for (const auto& fault : found.faults) out.push_back(fault.message());
    return out;
  }

 private:
  std::shared_ptr<PartStore> store_;
};

std::shared_ptr<PySnapshot> OpenFile(const std::string& path, Verify verify, const StoreOptions& storage) {
  ReadContext ctx;
  ctx.verify = verify;
  ctx.threads = DefaultThreads();
  return Unwrap(WithoutGil([&]() -> Result<std::shared_ptr<PySnapshot>> {
    PILUM_ASSIGN_OR_RETURN(auto source, OpenFileOrObject(path, ctx, storage));
    PILUM_ASSIGN_OR_RETURN(auto snapshot, OpenFileSnapshot(std::move(source), ctx));
    return std::make_shared<PySnapshot>(std::move(snapshot));
  }));
}

}  // namespace

nb::object ToPython(std::shared_ptr<const Snapshot> snapshot, std::shared_ptr<ReadStats> read) {
  return nb::cast(std::make_shared<PySnapshot>(std::move(snapshot), std::move(read)));
}

void BindStore(nb::module_& m) {
  nb::class_<PyQueryResult>(m, "QueryResult", "A running query.")
      .def_prop_ro("stream", &PyQueryResult::stream)
      .def_prop_ro("counts", &PyQueryResult::Counts)
      .def_prop_ro("stats", &PyQueryResult::stats)
      .def("explain", &PyQueryResult::Explain);

  nb::class_<PySnapshot>(m, "Snapshot", "What a query reads: units that never change; thread-safe.")
      .def_prop_ro("schema", &PySnapshot::schema)
      .def_prop_ro("num_rows", &PySnapshot::num_rows)
      .def_prop_ro("num_units", &PySnapshot::num_units)
      .def("query", &PySnapshot::Query, nb::arg("sql"), nb::arg("params").none() = nb::none(),
           nb::arg("use_index") = true, nb::arg("timeout").none() = nb::none(),
           nb::arg("batch_size").none() = nb::none(), nb::arg("memory_limit").none() = nb::none(),
           nb::arg("verify") = Verify::kReads, nb::arg("allow_unstable") = false)
      .def("scan", &PySnapshot::Scan, nb::arg("columns"), nb::arg("filter") = "", nb::arg("limit").none() = nb::none(),
           nb::arg("offset") = 0, nb::arg("batch_size").none() = nb::none(), nb::arg("use_index") = true,
           nb::arg("allow_unstable") = false, nb::arg("verify") = Verify::kReads, nb::arg("params").none() = nb::none(),
           nb::arg("batch_bytes").none() = nb::none())
      .def("columns_of", &PySnapshot::ColumnsOf, nb::arg("sql"), nb::arg("params").none() = nb::none())
      .def("take_query", &PySnapshot::TakeStatement, nb::arg("sql"), nb::arg("rows"),
           nb::arg("verify") = Verify::kReads)
      .def("take", &PySnapshot::Take, nb::arg("columns"), nb::arg("rows"), nb::arg("allow_unstable") = false,
           nb::arg("verify") = Verify::kReads);

  nb::class_<PyPartStore>(m, "PartStore", "One dataset of a part store; thread-safe.")
      .def_static("open", &PyPartStore::Open, nb::arg("uri"), nb::arg("storage_options") = StoreOptions())
      .def("snapshot", &PyPartStore::OpenSnapshot, nb::arg("use_index") = true, nb::arg("timeout").none() = nb::none())
      .def("schema", &PyPartStore::Schema)
      .def("put", &PyPartStore::Put, nb::arg("schema").none(), nb::arg("batches"), nb::arg("batch_id"),
           nb::arg("new_schema"), nb::arg("target_part_bytes").none(), nb::arg("version"), nb::arg("sort"))
      .def("parts", &PyPartStore::Parts)
      .def("compact", &PyPartStore::Compact, nb::arg("target_rows").none(), nb::arg("target_bytes").none(),
           nb::arg("all"))
      .def("erase", &PyPartStore::Erase, nb::arg("where"), nb::arg("params").none(), nb::arg("whole_parts_only"))
      .def("attribute", &PyPartStore::Attribute)
      .def("backfill", &PyPartStore::Backfill, nb::arg("all"))
      .def("maintain", &PyPartStore::Maintain, nb::arg("all"))
      .def("copy_to", &PyPartStore::CopyTo, nb::arg("to"))
      .def("sweep", &PyPartStore::Sweep, nb::arg("grace_seconds"), nb::arg("dry_run"))
      .def("check", &PyPartStore::CheckAll);

  m.def(
      "read_totals", [] { return StatsToPython(QueryState::OfProcess()); },
      "What all queries of this process fetched that are done.");
  m.def(
      "resolve_column",
      [](nb::handle schema, const std::string& name) { return ResolveColumn(*SchemaFromPython(schema), name).steps; },
      nb::arg("schema"), nb::arg("name"));
  m.def("open_file_snapshot", &OpenFile, nb::arg("path"), nb::arg("verify") = Verify::kReads,
        nb::arg("storage_options") = StoreOptions());
}

}  // namespace pilum::python
