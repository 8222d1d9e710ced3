// What module.cc puts together.
#pragma once

#include <string_view>

#include <nanobind/nanobind.h>

#include "pilum/base/status.h"
#include "pilum/encoding/descriptor.h"

namespace pilum::python {

void BindFile(nanobind::module_& m);      // BatchStream, FileReader, FileWriter
void BindStore(nanobind::module_& m);     // PartStore, Snapshot, QueryResult
void BindSketches(nanobind::module_& m);  // Hll, Bloom and the other sketches

Result<FileVersion> ParseVersion(std::string_view text);  // "2.2"

}  // namespace pilum::python
