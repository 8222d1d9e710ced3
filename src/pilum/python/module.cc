// The extension module pilum._pilum. pilum/__init__.py imports pyarrow before it, so that both map the same Arrow.
#include <nanobind/nanobind.h>

#include <arrow/config.h>
#include <arrow/python/pyarrow.h>

#include "pilum/base/context.h"
#include "pilum/python/bindings.h"

namespace nb = nanobind;

NB_MODULE(_pilum, m) {
  if (arrow::py::import_pyarrow() != 0) throw nb::python_error();
  nb::set_leak_warnings(false);  // objects that a script's globals hold at exit are no leak worth a page on stderr
  m.doc() = "The native part of pilum; use the modules pilum, pilum.file and pilum.store.";
  m.attr("__version__") = PILUM_VERSION;
  m.def(
      "arrow_version", [] { return arrow::GetBuildInfo().version_string; }, "The version of the Arrow library in use.");
  m.def("default_threads", &pilum::DefaultThreads, "PILUM_THREADS, else the CPUs this process may use.");
  pilum::python::BindFile(m);
  pilum::python::BindStore(m);
  pilum::python::BindTable(m);
  pilum::python::BindTableWrites(m);
  pilum::python::BindTableColumns(m);
  pilum::python::BindFragmentWrites(m);
  pilum::python::BindMemoryPlaces(m);
  pilum::python::BindCommits(m);
  pilum::python::BindCleanup(m);
  pilum::python::BindUpdates(m);
  pilum::python::BindMerges(m);
  pilum::python::BindCompaction(m);
  pilum::python::BindBranches(m);
  pilum::python::BindBatches(m);
  pilum::python::BindSketches(m);
  pilum::python::BindExpressions(m);
}
