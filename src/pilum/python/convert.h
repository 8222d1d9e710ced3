// Arrow objects between Python and C++ without copying: pyarrow's own objects by their C++ pointers, everybody else's
// by the Arrow PyCapsule interface. All functions need the GIL and throw a Python exception on failure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>
#include <nanobind/nanobind.h>

#include "pilum/base/context.h"
#include "pilum/query/query.h"

namespace pilum::python {

nanobind::object ToPython(const std::shared_ptr<arrow::RecordBatch>& batch);  // pyarrow.RecordBatch
nanobind::object ToPython(const std::shared_ptr<arrow::Table>& table);  // pyarrow.Table, as WithExtensionTypes makes it
// The schema as Python sees it: fields whose metadata names an extension type that Arrow knows have that type. (The
// engine reads and keeps them as their storage type with that metadata.) The same pointer when there is nothing to do.
std::shared_ptr<arrow::Schema> WithExtensionTypes(const std::shared_ptr<arrow::Schema>& schema);
// `batch`, of the engine's schema, in `schema` of WithExtensionTypes. No copy.
std::shared_ptr<arrow::RecordBatch> WithExtensionTypes(const std::shared_ptr<arrow::RecordBatch>& batch,
                                                       const std::shared_ptr<arrow::Schema>& schema);

nanobind::object ToPython(const std::shared_ptr<arrow::Schema>& schema);  // pyarrow.Schema

std::shared_ptr<arrow::Schema> SchemaFromPython(nanobind::handle schema);     // pyarrow.Schema
std::shared_ptr<arrow::RecordBatch> BatchFromPython(nanobind::handle batch);  // pyarrow.RecordBatch

// A pyarrow.Table, or an iterator of pyarrow.RecordBatch with its schema: the reader takes the GIL for each batch, and
// an exception raised by the iterator comes back as it was through Raise().
std::shared_ptr<arrow::RecordBatchReader> ReaderFromPython(nanobind::handle schema, nanobind::handle batches);

// Row numbers: any sequence of integers. A negative one is an OverflowError.
std::vector<uint64_t> RowsFromPython(nanobind::handle rows);

// None, a list of pyarrow scalars (for ? and $1) or a dict of name to scalar (for :name).
Params ParamsFromPython(nanobind::handle params);

// A PyCapsule "arrow_array_stream" that owns `reader`.
nanobind::object StreamCapsule(std::shared_ptr<arrow::RecordBatchReader> reader);

nanobind::dict StatsToPython(const ReadStats& stats);

// "st.a" against the schema: an exact top-level name wins; then field names from the outside in, names that hold dots
// included; a step through a list may be written ("tags.item.x") or left out ("tags.x"). What matches nothing is split
// at its dots, for the engine to refuse with the names near it.
FieldPath ResolveColumn(const arrow::Schema& schema, std::string_view name);
// All of them, as a projection: a column named twice, or inside another that is named, comes once.
std::vector<FieldPath> ResolveColumns(const arrow::Schema& schema, const std::vector<std::string>& names);

}  // namespace pilum::python
