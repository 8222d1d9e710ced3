// Transactions between Python and C++: the one place where a table's messages meet Python. A transaction is a dict of plain
// values (pilum/operations.py makes and reads them): {"read_version", "uuid", "tag", "properties", "kind": "Append",
// "operation": {…}}. All functions need the GIL and throw a Python exception on failure.
#pragma once

#include <vector>

#include <nanobind/nanobind.h>

#include "pilum/table/commit/wire.h"

namespace pilum::python {

// An operation of a kind that is not known here has no fields.
nanobind::dict TransactionToPython(const wire::Transaction& transaction);
// ValueError names an operation that cannot be committed from outside.
wire::Transaction TransactionFromPython(nanobind::handle transaction);

// `ids`: of all fields of a pyarrow.Schema, depth first.
void SchemaFieldsFromPython(nanobind::handle schema, const std::vector<int32_t>& ids, wire::Transaction::Project* out);

nanobind::dict FragmentToPython(const wire::DataFragment& fragment);

}  // namespace pilum::python
