// What module.cc puts together.
#pragma once

#include <memory>
#include <string_view>

#include <nanobind/nanobind.h>

#include "pilum/base/status.h"
#include "pilum/encoding/descriptor.h"
#include "pilum/source/snapshot.h"

namespace pilum::python {

void BindFile(nanobind::module_& m);      // BatchStream, FileReader, FileWriter
void BindStore(nanobind::module_& m);     // PartStore, Snapshot, QueryResult
void BindTable(nanobind::module_& m);     // Table
void BindSketches(nanobind::module_& m);  // Hll, Bloom and the other sketches

nanobind::object ToPython(std::shared_ptr<const Snapshot> snapshot);  // Snapshot

Result<FileVersion> ParseVersion(std::string_view text);  // "2.2"

}  // namespace pilum::python
