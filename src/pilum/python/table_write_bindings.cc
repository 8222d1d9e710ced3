// Changes of Lance tables, as functions of pilum._pilum over its Table. The Python classes over them are in pilum/write.py
// and pilum/dataset_write.py.
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "pilum/change/columns.h"
#include "pilum/change/delete_rows.h"
#include "pilum/change/restore.h"
#include "pilum/change/settings.h"
#include "pilum/change/tags.h"
#include "pilum/change/write_table.h"
#include "pilum/python/bindings.h"
#include "pilum/python/convert.h"
#include "pilum/python/run.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

template <typename F>
auto Run(F&& work) {
  std::stop_source stop;
  ReadContext ctx;
  ctx.stop = stop.get_token();
  ctx.threads = DefaultThreads();
  return Unwrap(Interruptibly(stop, [&] { return work(ctx); }));
}

WritableTable Writable(nb::handle table) { return Unwrap(OpenToWrite(TableOf(table))); }

Result<bool> Done(const Status& st) { return st.ok() ? Result<bool>(true) : Result<bool>(st); }

template <typename T>
T Get(const nb::dict& options, const char* name, T otherwise) {
  if (!options.contains(name)) return otherwise;
  const nb::object value = options[name];
  return value.is_none() ? otherwise : nb::cast<T>(value);
}

using Texts = std::map<std::string, std::string>;

void ReadOptions(const nb::dict& options, ChangeOptions* out) {
  out->properties = Get<Texts>(options, "properties", {});
  out->max_redo = Get<int>(options, "max_redo", out->max_redo);
  out->sync = Get<bool>(options, "sync", out->sync);
}

ChangeOptions ReadOptions(const nb::dict& options) {
  ChangeOptions out;
  ReadOptions(options, &out);
  return out;
}

WriteMode ModeOf(const std::string& mode) {
  if (mode == "create") return WriteMode::kCreate;
  return mode == "append" ? WriteMode::kAppend : WriteMode::kOverwrite;
}

WriteTableOptions ReadWriteOptions(const nb::dict& options) {
  WriteTableOptions out;
  ReadOptions(options, &out);
  out.mode = ModeOf(Get<std::string>(options, "mode", "create"));
  out.max_rows_per_file = Get(options, "max_rows_per_file", out.max_rows_per_file);
  out.max_bytes_per_file = Get(options, "max_bytes_per_file", out.max_bytes_per_file);
  out.page_bytes = Get(options, "page_bytes", out.page_bytes);
  out.data_version = Get<std::string>(options, "data_version", "");
  out.checksums = Get(options, "checksums", out.checksums);
  out.v1_names = Get(options, "v1_names", out.v1_names);
  out.stable_row_ids = Get(options, "stable_row_ids", out.stable_row_ids);
  out.config = Get<Texts>(options, "config", {});
  return out;
}

std::pair<uint64_t, uint64_t> Write(nb::handle table, const std::string& uri, nb::handle schema, nb::handle batches,
                                    const nb::dict& options, const StoreOptions& storage) {
  const WriteTableOptions how = ReadWriteOptions(options);
  const auto base = table.is_none() ? WritableTable() : Writable(table);
  auto reader = ReaderFromPython(schema, batches);
  const WrittenTable done = Run([&](ReadContext& ctx) {
    return base.table ? WriteTable(base, *reader, how, ctx) : WriteTable(uri, *reader, how, storage, ctx);
  });
  return {done.version, done.rows};
}

std::pair<uint64_t, uint64_t> Delete(nb::handle table, const std::string& predicate, const nb::dict& options,
                                     nb::handle params) {
  const Params values = ParamsFromPython(params);
  const ChangeOptions how = ReadOptions(options);
  const WritableTable base = Writable(table);
  const DeletedRows done = Run([&](ReadContext& ctx) { return DeleteRows(base, predicate, how, ctx, values); });
  return {done.version, done.rows};
}

uint64_t Restore(nb::handle table, const nb::dict& options) {
  const ChangeOptions how = ReadOptions(options);
  const WritableTable base = Writable(table);
  return Run([&](ReadContext& ctx) { return RestoreTable(base, how, ctx); }).version;
}

using OptionalTexts = std::map<std::string, std::optional<std::string>>;

uint64_t Change(nb::handle table, const std::string& what, const std::map<std::string, OptionalTexts>& fields,
                const OptionalTexts& entries, bool replace, const nb::dict& options) {
  const ChangeOptions how = ReadOptions(options);
  const WritableTable base = Writable(table);
  SettingsChange change;
  const MapChange map{entries, replace};
  if (what == "config") change.config = map;
  if (what == "metadata") change.table_metadata = map;
  if (what == "schema") change.schema_metadata = map;
  for (const auto& [path, updates] : fields) change.field_metadata[path] = {updates, replace};
  return Run([&](ReadContext& ctx) { return ChangeSettings(base, change, how, ctx); }).version;
}

uint64_t Drop(nb::handle table, const std::vector<std::string>& columns, const nb::dict& options) {
  const ChangeOptions how = ReadOptions(options);
  const WritableTable base = Writable(table);
  return Run([&](ReadContext& ctx) { return DropColumns(base, columns, how, ctx); }).version;
}

using Alteration = std::tuple<std::string, std::optional<std::string>, std::optional<bool>>;

uint64_t Alter(nb::handle table, const std::vector<Alteration>& alterations, const nb::dict& options) {
  const ChangeOptions how = ReadOptions(options);
  const WritableTable base = Writable(table);
  std::vector<ColumnAlteration> list;
  for (const auto& [path, name, nullable] : alterations) list.push_back({path, name, nullable});
  return Run([&](ReadContext& ctx) { return AlterColumns(base, list, how, ctx); }).version;
}

uint64_t AddNulls(nb::handle table, nb::handle schema, const nb::dict& options) {
  const ChangeOptions how = ReadOptions(options);
  const WritableTable base = Writable(table);
  const auto columns = SchemaFromPython(schema);
  return Run([&](ReadContext& ctx) { return AddNullColumns(base, *columns, how, ctx); }).version;
}

void Tag(nb::handle table, const std::string& what, const std::string& name, const Texts& metadata) {
  const WritableTable at = Writable(table);
  Run([&](ReadContext& ctx) {
    if (what == "create") return Done(CreateTag(at, name, ctx));
    if (what == "update") return Done(MoveTag(at, name, ctx));
    if (what == "delete") return Done(DeleteTag(at, name, ctx));
    return Done(SetTagMetadata(at, name, metadata, ctx));
  });
}

}  // namespace

void BindTableWrites(nb::module_& m) {
  const auto options = nb::arg("options") = nb::dict();
  m.def("table_write", &Write, nb::arg("table").none(), nb::arg("uri"), nb::arg("schema").none(), nb::arg("batches"),
        nb::arg("options"), nb::arg("storage_options") = StoreOptions());
  m.def("table_delete", &Delete, nb::arg("table"), nb::arg("predicate"), options,
        nb::arg("params").none() = nb::none());
  m.def("table_restore", &Restore, nb::arg("table"), options);
  m.def("table_settings", &Change, nb::arg("table"), nb::arg("what"), nb::arg("fields"), nb::arg("entries"),
        nb::arg("replace"), options);
  m.def("table_drop_columns", &Drop, nb::arg("table"), nb::arg("columns"), options);
  m.def("table_alter_columns", &Alter, nb::arg("table"), nb::arg("alterations"), options);
  m.def("table_add_null_columns", &AddNulls, nb::arg("table"), nb::arg("schema"), options);
  m.def("table_tag", &Tag, nb::arg("table"), nb::arg("what"), nb::arg("name"), nb::arg("metadata") = Texts());
}

}  // namespace pilum::python
