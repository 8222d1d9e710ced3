// Changes of Lance tables, as functions of pilum._pilum over its Table. The Python classes over them are in pilum/write.py
// and pilum/dataset_write.py.
#include <arrow/python/common.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "pilum/change/bases.h"
#include "pilum/change/delete_rows.h"
#include "pilum/change/drop_table.h"
#include "pilum/change/restore.h"
#include "pilum/change/settings.h"
#include "pilum/change/tags.h"
#include "pilum/change/write_table.h"
#include "pilum/python/bindings.h"
#include "pilum/python/convert.h"
#include "pilum/python/table_writes.h"
#include "pilum/python/transaction_convert.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

WriteMode ModeOf(const std::string& mode) {
  if (mode == "create") return WriteMode::kCreate;
  return mode == "append" ? WriteMode::kAppend : WriteMode::kOverwrite;
}

Result<bool> Done(const Status& st) { return st.ok() ? Result<bool>(true) : Result<bool>(st); }

std::pair<uint64_t, uint64_t> Write(nb::handle table, const std::string& uri, nb::handle schema, nb::handle batches,
                                    const nb::dict& options, const StoreOptions& storage) {
  WriteTableOptions how = ReadWriteOptions(options);
  how.base_storage = storage;
  const auto base = table.is_none() ? WritableTable() : Writable(table);
  auto reader = ReaderFromPython(schema, batches);
  const WrittenTable done = RunChange([&](ReadContext& ctx) {
    return base.table ? WriteTable(base, *reader, how, ctx) : WriteTable(uri, *reader, how, storage, ctx);
  });
  return {done.version, done.rows};
}

std::pair<uint64_t, uint64_t> Delete(nb::handle table, const std::string& predicate, const nb::dict& options,
                                     nb::handle params) {
  const Params values = ParamsFromPython(params);
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  const DeletedRows done = RunChange([&](ReadContext& ctx) { return DeleteRows(base, predicate, how, ctx, values); });
  return {done.version, done.rows};
}

uint64_t Restore(nb::handle table, const nb::dict& options) {
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  return RunChange([&](ReadContext& ctx) { return RestoreTable(base, how, ctx); }).version;
}

using OptionalTexts = std::map<std::string, std::optional<std::string>>;

uint64_t Change(nb::handle table, const std::string& what, const std::map<std::string, OptionalTexts>& fields,
                const OptionalTexts& entries, bool replace, const nb::dict& options) {
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  SettingsChange change;
  const MapChange map{entries, replace};
  if (what == "config") change.config = map;
  if (what == "metadata") change.table_metadata = map;
  if (what == "schema") change.schema_metadata = map;
  for (const auto& [path, updates] : fields) change.field_metadata[path] = {updates, replace};
  return RunChange([&](ReadContext& ctx) { return ChangeSettings(base, change, how, ctx); }).version;
}

void Tag(nb::handle table, const std::string& what, const std::string& name, const Texts& metadata) {
  const WritableTable at = Writable(table);
  RunChange([&](ReadContext& ctx) {
    if (what == "create") return Done(CreateTag(at, name, ctx));
    if (what == "update") return Done(MoveTag(at, name, ctx));
    if (what == "delete") return Done(DeleteTag(at, name, ctx));
    return Done(SetTagMetadata(at, name, metadata, ctx));
  });
}

void Drop(const std::string& uri, const StoreOptions& storage) {
  RunChange([&](ReadContext& ctx) { return Done(DropTable(uri, storage, ctx)); });
}

std::vector<BasePath> BasesFromPython(nb::handle bases) {
  std::vector<BasePath> out;
  for (nb::handle b : nb::iter(bases)) {
    BasePath& base = out.emplace_back();
    base.path = nb::cast<std::string>(b["path"]);
    base.name = Option<std::string>(nb::cast<nb::dict>(b), "name", "");
    base.is_dataset_root = Option(nb::cast<nb::dict>(b), "is_dataset_root", false);
    base.id = Option<uint32_t>(nb::cast<nb::dict>(b), "id", 0);
  }
  return out;
}

uint64_t AddTableBases(nb::handle table, nb::handle bases, const nb::dict& options) {
  const ChangeOptions how = ReadChangeOptions(options);
  const WritableTable base = Writable(table);
  const auto added = BasesFromPython(bases);
  return RunChange([&](ReadContext& ctx) { return AddBases(base, added, how, ctx); }).version;
}

// `watch`: a function that outlives the write. Called with None, then the fragment.
std::function<Status(const wire::DataFragment*)> Watch(nb::handle watch) {
  return [watch](const wire::DataFragment* fragment) {
    nb::gil_scoped_acquire locked;
    try {
      watch(fragment ? nb::object(FragmentToPython(*fragment)) : nb::object(nb::none()));
    } catch (nb::python_error& raised) {
      raised.restore();
      return arrow::py::ConvertPyError();
    }
    return Status::OK();
  };
}

}  // namespace

ChangeOptions ReadChangeOptions(const nb::dict& options) {
  ChangeOptions out;
  out.properties = Option<Texts>(options, "properties", {});
  out.max_redo = Option<int>(options, "max_redo", out.max_redo);
  out.redo_seconds = Option(options, "redo_seconds", out.redo_seconds);
  out.sync = Option<bool>(options, "sync", out.sync);
  out.clean_up = !Option(options, "skip_auto_cleanup", false);
  return out;
}

BaseChoice ReadTargets(const nb::dict& options) {
  BaseChoice out;
  out.names = Option<std::vector<std::string>>(options, "target_bases", {});
  out.all = Option(options, "target_all_bases", false);
  out.own = Option(options, "target_own", false);
  return out;
}

BlobOptions ReadBlobOptions(const nb::dict& options) {
  BlobOptions out;
  TakeOption(options, "blob_pack_bytes", &out.most_together);
  TakeOption(options, "blob_ingest", &out.ingest);
  TakeOption(options, "blob_outside", &out.outside);
  return out;
}

WriteTableOptions ReadWriteOptions(const nb::dict& options) {
  WriteTableOptions out;
  static_cast<ChangeOptions&>(out) = ReadChangeOptions(options);
  out.mode = ModeOf(Option<std::string>(options, "mode", "create"));
  out.max_rows_per_file = Option(options, "max_rows_per_file", out.max_rows_per_file);
  out.max_bytes_per_file = Option(options, "max_bytes_per_file", out.max_bytes_per_file);
  out.page_bytes = Option(options, "page_bytes", out.page_bytes);
  out.data_version = Option<std::string>(options, "data_version", "");
  out.checksums = Option(options, "checksums", out.checksums);
  out.v1_names = Option(options, "v1_names", out.v1_names);
  out.stable_row_ids = Option(options, "stable_row_ids", out.stable_row_ids);
  out.config = Option<Texts>(options, "config", {});
  out.targets = ReadTargets(options);
  out.blobs = ReadBlobOptions(options);
  if (options.contains("initial_bases")) out.initial_bases = BasesFromPython(options["initial_bases"]);
  if (options.contains("watch")) out.watch = Watch(options["watch"]);
  return out;
}

void BindTableWrites(nb::module_& m) {
  const auto options = nb::arg("options") = nb::dict();
  m.def("table_write", &Write, nb::arg("table").none(), nb::arg("uri"), nb::arg("schema").none(), nb::arg("batches"),
        nb::arg("options"), nb::arg("storage_options") = StoreOptions());
  m.def("table_delete", &Delete, nb::arg("table"), nb::arg("predicate"), options,
        nb::arg("params").none() = nb::none());
  m.def("table_restore", &Restore, nb::arg("table"), options);
  m.def("table_settings", &Change, nb::arg("table"), nb::arg("what"), nb::arg("fields"), nb::arg("entries"),
        nb::arg("replace"), options);
  m.def("table_drop", &Drop, nb::arg("uri"), nb::arg("storage_options") = StoreOptions());
  m.def("table_add_bases", &AddTableBases, nb::arg("table"), nb::arg("bases"), options);
  m.def("table_tag", &Tag, nb::arg("table"), nb::arg("what"), nb::arg("name"), nb::arg("metadata") = Texts());
}

}  // namespace pilum::python
