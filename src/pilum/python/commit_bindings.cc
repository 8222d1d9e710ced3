// Transactions, uncommitted rows and row ids of pilum._pilum. The Python over them is in pilum/commits.py, operations.py and
// fragment_metadata.py.
#include <arrow/record_batch.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pilum/change/raw_commit.h"
#include "pilum/change/stage_delete.h"
#include "pilum/change/write_table.h"
#include "pilum/python/bindings.h"
#include "pilum/python/convert.h"
#include "pilum/python/table_writes.h"
#include "pilum/python/transaction_convert.h"
#include "pilum/table/commit/row_id_bytes.h"
#include "pilum/table/commit/schema_fields.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

RawCommitOptions ReadRawOptions(const nb::dict& options) {
  RawCommitOptions out;
  out.max_retries = Option(options, "max_retries", out.max_retries);
  out.detached = Option(options, "detached", out.detached);
  out.clean_up = !Option(options, "skip_auto_cleanup", false);
  out.sync = Option(options, "sync", out.sync);
  out.check_files = Option(options, "check_files", out.check_files);
  out.v1_names = Option(options, "v1_names", out.v1_names);
  out.stable_row_ids = Option(options, "stable_row_ids", out.stable_row_ids);
  return out;
}

uint64_t CommitWire(nb::handle table, const std::string& uri, const wire::Transaction& t, const nb::dict& options,
                    const StoreOptions& storage) {
  const RawCommitOptions how = ReadRawOptions(options);
  const WritableTable base = table.is_none() ? WritableTable() : Writable(table);
  return RunChange([&](ReadContext& ctx) {
           return base.table ? CommitTransaction(base, t, how, ctx) : CommitTransaction(uri, t, how, storage, ctx);
         })
      .version;
}

uint64_t Commit(nb::handle table, const std::string& uri, nb::handle transaction, const nb::dict& options,
                const StoreOptions& storage) {
  return CommitWire(table, uri, TransactionFromPython(transaction), options, storage);
}

// (version, the transaction that was committed)
nb::object CommitBatch(nb::handle table, const std::string& uri, nb::handle transactions, const nb::dict& options,
                       const StoreOptions& storage) {
  std::vector<wire::Transaction> all;
  for (nb::handle t : nb::iter(transactions)) all.push_back(TransactionFromPython(t));
  const wire::Transaction merged = Unwrap(MergeAppends(all));
  const uint64_t version = CommitWire(table, uri, merged, options, storage);
  return nb::make_tuple(version, TransactionToPython(merged));
}

nb::dict Stage(nb::handle table, const std::string& uri, nb::handle schema, nb::handle batches, const nb::dict& options,
               const StoreOptions& storage) {
  WriteTableOptions how = ReadWriteOptions(options);
  how.base_storage = storage;
  const WritableTable base = table.is_none() ? WritableTable() : Writable(table);
  auto reader = ReaderFromPython(schema, batches);
  const StagedRows staged = RunChange([&](ReadContext& ctx) {
    return base.table ? StageRows(base, *reader, how, ctx) : StageRows(uri, *reader, how, storage, ctx);
  });
  return TransactionToPython(staged.transaction);
}

nb::object ToPython(const std::optional<wire::DataFragment>& fragment) {
  return fragment ? nb::object(FragmentToPython(*fragment)) : nb::object(nb::none());
}

// None: no row would be left.
nb::object StageDeleteWhere(nb::handle table, uint64_t fragment, const std::string& predicate, nb::handle params) {
  const Params values = ParamsFromPython(params);
  const WritableTable base = Writable(table);
  return ToPython(
      RunChange([&](ReadContext& ctx) { return StageDelete(base, fragment, predicate, values, true, ctx); }));
}

nb::object StageDeleteRows(nb::handle table, uint64_t fragment, nb::handle rows) {
  const std::vector<uint64_t> numbers = RowsFromPython(rows);
  const WritableTable base = Writable(table);
  return ToPython(RunChange([&](ReadContext& ctx) { return StageDelete(base, fragment, numbers, true, ctx); }));
}

// None: nothing on disk says what made the version.
nb::object ReadTransaction(nb::handle table) {
  const auto at = TableOf(table);
  const auto found = RunChange([&](ReadContext& ctx) { return LoadTransaction(at->store(), at->listed(), ctx); });
  return found ? nb::object(TransactionToPython(*found)) : nb::object(nb::none());
}

// Fragments with all that the manifest keeps of them.
nb::list Fragments(nb::handle table) {
  wire::Manifest manifest;
  const auto at = TableOf(table);
  Unwrap(ParseWire(at->manifest().message, "manifest message", &manifest).ok()
             ? Result<bool>(true)
             : Result<bool>(Corrupt(at->uri(), at->listed().path(), "the manifest message does not parse")));
  nb::list out;
  for (const auto& f : manifest.fragments()) out.append(FragmentToPython(f));
  return out;
}

// Which fields a data file of `version` with these columns holds, and where. `ids`: of all fields, depth first.
nb::dict DescribeDataFile(nb::handle schema, const std::vector<int32_t>& ids, const std::string& version) {
  wire::Transaction::Project numbered;
  SchemaFieldsFromPython(schema, ids, &numbered);
  wire::Schema message;
  *message.mutable_fields() = numbered.schema();
  const FileSchema parsed = Unwrap(ParseSchemaMessage(SerializeWire(message)));
  const FileVersion as = Unwrap(ParseVersion(version));
  wire::DataFile file;
  const Status st = SetColumns(*parsed.schema, parsed.ids, as, &file);
  Unwrap(st.ok() ? Result<bool>(true) : Result<bool>(st));
  nb::dict out;
  out["fields"] = std::vector<int32_t>(file.fields().begin(), file.fields().end());
  out["column_indices"] = std::vector<int32_t>(file.column_indices().begin(), file.column_indices().end());
  out["file_major_version"] = file.file_major_version();
  out["file_minor_version"] = file.file_minor_version();
  return out;
}

nb::bytes PackRowIds(const std::vector<uint64_t>& ids) {
  const std::string bytes = ids.empty() ? std::string() : SerializeRowIds(ids);
  return nb::bytes(bytes.data(), bytes.size());
}

nb::bytes PackRowIdRange(uint64_t begin, uint64_t end) {
  const std::string bytes = begin == end ? std::string() : SerializeRowIdRange(begin, end);
  return nb::bytes(bytes.data(), bytes.size());
}

std::vector<uint64_t> UnpackRowIds(const nb::bytes& bytes) {
  const std::string_view view(static_cast<const char*>(bytes.data()), bytes.size());
  return Unwrap(ParseRowIds(view, uint64_t{1} << 32));
}

}  // namespace

void BindCommits(nb::module_& m) {
  m.def("table_commit", &Commit, nb::arg("table").none(), nb::arg("uri"), nb::arg("transaction"), nb::arg("options"),
        nb::arg("storage_options") = StoreOptions());
  m.def("table_commit_batch", &CommitBatch, nb::arg("table").none(), nb::arg("uri"), nb::arg("transactions"),
        nb::arg("options"), nb::arg("storage_options") = StoreOptions());
  m.def("table_stage", &Stage, nb::arg("table").none(), nb::arg("uri"), nb::arg("schema").none(), nb::arg("batches"),
        nb::arg("options"), nb::arg("storage_options") = StoreOptions());
  m.def("fragment_delete", &StageDeleteWhere, nb::arg("table"), nb::arg("fragment"), nb::arg("predicate"),
        nb::arg("params").none() = nb::none());
  m.def("fragment_delete_rows", &StageDeleteRows, nb::arg("table"), nb::arg("fragment"), nb::arg("rows"));
  m.def("table_transaction", &ReadTransaction, nb::arg("table"));
  m.def("table_fragments", &Fragments, nb::arg("table"));
  m.def("describe_data_file", &DescribeDataFile, nb::arg("schema"), nb::arg("ids"), nb::arg("version"));
  m.def("pack_row_ids", &PackRowIds, nb::arg("ids"));
  m.def("pack_row_id_range", &PackRowIdRange, nb::arg("begin"), nb::arg("end"));
  m.def("unpack_row_ids", &UnpackRowIds, nb::arg("bytes"));
}

}  // namespace pilum::python
