// MemoryPlace of pilum._pilum, for pilum/memory.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "pilum/io/memory_names.h"
#include "pilum/python/bindings.h"
#include "pilum/python/errors.h"

namespace nb = nanobind;

namespace pilum::python {

void BindMemoryPlaces(nb::module_& m) {
  nb::class_<MemoryPlace>(m, "MemoryPlace", "A store in memory. What has no name lives as long as somebody holds it.")
      .def_ro("uri", &MemoryPlace::uri);
  m.def(
      "memory_place",
      [](const std::string& uri, bool empty) { return Unwrap(empty ? EmptyMemoryPlace(uri) : FindMemoryPlace(uri)); },
      nb::arg("uri"), nb::arg("empty"));
}

}  // namespace pilum::python
