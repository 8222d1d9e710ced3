// Branches, clones and names of manifests of pilum._pilum. The Python over them is in pilum/dataset_clone.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include "pilum/change/branches.h"
#include "pilum/change/clone.h"
#include "pilum/change/migrate_names.h"
#include "pilum/python/bindings.h"
#include "pilum/python/table_writes.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

Result<bool> Done(const Status& st) { return st.ok() ? Result<bool>(true) : Result<bool>(st); }

uint64_t Create(nb::handle at, const std::string& name, bool sync) {
  const WritableTable base = Writable(at);
  return RunChange([&](ReadContext& ctx) { return CreateBranch(base, name, sync, ctx); }).version;
}

void Guard(nb::handle at, bool sync) {
  const WritableTable base = Writable(at);
  RunChange([&](ReadContext& ctx) { return Done(GuardDetached(base, sync, ctx)); });
}

void Delete(nb::handle table, const std::string& name) {
  const WritableTable base = Writable(table);
  RunChange([&](ReadContext& ctx) { return Done(DeleteBranch(base, name, ctx)); });
}

void SetMetadata(nb::handle table, const std::string& name, const Texts& metadata) {
  const WritableTable base = Writable(table);
  RunChange([&](ReadContext& ctx) { return Done(SetBranchMetadata(base, name, metadata, ctx)); });
}

uint64_t Clone(nb::handle source, const std::string& target, bool shallow, const StoreOptions& storage, bool sync) {
  const WritableTable base = Writable(source);
  return RunChange([&](ReadContext& ctx) {
           return shallow ? ShallowClone(base, target, storage, sync, ctx)
                          : DeepClone(base, target, storage, sync, ctx);
         })
      .version;
}

uint64_t Migrate(const std::string& uri, const StoreOptions& storage) {
  return RunChange([&](ReadContext& ctx) -> Result<uint64_t> {
    PILUM_ASSIGN_OR_RETURN(const auto store, ObjectStore::Open(uri, storage));
    return MigrateManifestNames(store.get(), ctx);
  });
}

}  // namespace

void BindBranches(nb::module_& m) {
  m.def("branch_create", &Create, nb::arg("at"), nb::arg("name"), nb::arg("sync") = true);
  m.def("branch_guard", &Guard, nb::arg("at"), nb::arg("sync") = true);
  m.def("branch_delete", &Delete, nb::arg("table"), nb::arg("name"));
  m.def("branch_metadata", &SetMetadata, nb::arg("table"), nb::arg("name"), nb::arg("metadata"));
  m.def("table_clone", &Clone, nb::arg("source"), nb::arg("target"), nb::arg("shallow"),
        nb::arg("storage_options") = StoreOptions(), nb::arg("sync") = true);
  m.def("migrate_manifest_names", &Migrate, nb::arg("uri"), nb::arg("storage_options") = StoreOptions());
}

}  // namespace pilum::python
