// What module.cc puts together.
#pragma once

#include <memory>
#include <string_view>

#include <nanobind/nanobind.h>

#include "pilum/base/status.h"
#include "pilum/encoding/descriptor.h"
#include "pilum/source/snapshot.h"
#include "pilum/table/table.h"

namespace pilum::python {

void BindFile(nanobind::module_& m);            // BatchStream, FileReader, FileWriter
void BindStore(nanobind::module_& m);           // PartStore, Snapshot, QueryResult
void BindTable(nanobind::module_& m);           // Table
void BindTableWrites(nanobind::module_& m);     // what changes one
void BindTableColumns(nanobind::module_& m);    // its columns
void BindFragmentWrites(nanobind::module_& m);  // fragments, for others to commit
void BindMemoryPlaces(nanobind::module_& m);    // memory://
void BindCommits(nanobind::module_& m);         // transactions, rows that are not committed
void BindCleanup(nanobind::module_& m);         // table_cleanup, table_maintain
void BindUpdates(nanobind::module_& m);         // its rows in place
void BindMerges(nanobind::module_& m);          // rows into it by their keys
void BindCompaction(nanobind::module_& m);      // compaction
void BindBranches(nanobind::module_& m);        // branches, clones
void BindBatches(nanobind::module_& m);         // BatchAppends
void BindSketches(nanobind::module_& m);        // Hll, Bloom and the other sketches
void BindExpressions(nanobind::module_& m);     // expression_sql

// A Snapshot. `read`: where what its reads fetched is added up, once each is done.
nanobind::object ToPython(std::shared_ptr<const Snapshot> snapshot, std::shared_ptr<ReadStats> read);

std::shared_ptr<const Table> TableOf(
    nanobind::handle table);  // what a Table of Python holds; TypeError for anything else

Result<FileVersion> ParseVersion(std::string_view text);  // "2.2"

}  // namespace pilum::python
