// Updates of Lance tables, as functions of pilum._pilum over its Table. The Python over them is pilum/update.py.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "pilum/change/update_rows.h"
#include "pilum/python/convert.h"
#include "pilum/python/table_writes.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

std::pair<uint64_t, uint64_t> Update(nb::handle table, const std::vector<std::pair<std::string, std::string>>& values,
                                     const std::string& predicate, const nb::dict& options, nb::handle params) {
  const Params bound = ParamsFromPython(params);
  UpdateOptions how;
  static_cast<ChangeOptions&>(how) = ReadChangeOptions(options);
  how.data_version = Option<std::string>(options, "data_version", "");
  const WritableTable base = Writable(table);
  const UpdatedRows done =
      RunChange([&](ReadContext& ctx) { return UpdateRows(base, values, predicate, how, ctx, bound); });
  return {done.version, done.rows};
}

}  // namespace

void BindUpdates(nb::module_& m) {
  m.def("table_update", &Update, nb::arg("table"), nb::arg("values"), nb::arg("predicate"),
        nb::arg("options") = nb::dict(), nb::arg("params").none() = nb::none());
}

}  // namespace pilum::python
