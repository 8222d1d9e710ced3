// Facts of a table beside its rows, as dicts: its indices, statistics and history. For table_bindings.cc.
#pragma once

#include <nanobind/nanobind.h>

#include "pilum/table/history.h"
#include "pilum/table/statistics.h"

namespace pilum::python {

// One segment. `coverage`: of the fragments that there are.
nanobind::dict IndexToPython(const Manifest& manifest, const TableIndex& index, const std::optional<RowSet>& coverage);
nanobind::dict StatisticsToPython(const TableStatistics& s);
nanobind::dict RecordToPython(const VersionRecord& record);
// The fields of a transaction's message, by name.
nanobind::object TransactionMessageToPython(std::string_view message);

}  // namespace pilum::python
