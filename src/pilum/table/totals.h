// Sums over the fragments of a version. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pilum/table/manifest.h"

namespace pilum {

struct TableTotals {
  uint64_t fragments = 0, rows = 0, physical_rows = 0, deleted_rows = 0;
  uint64_t data_files = 0, data_bytes = 0, deletion_files = 0;

  void Add(const Fragment& f) {
    TableTotals one;
    one.fragments = 1;
    one.physical_rows = f.physical_rows;
    one.data_files = f.files.size();
    for (const DataFile& file : f.files) one.data_bytes += file.size;
    one.deletion_files = f.deletions ? 1 : 0;
    one.deleted_rows = f.deletions ? f.deletions->num_deleted : 0;
    Add(one);
  }
  void Add(const TableTotals& other) {
    fragments += other.fragments;
    physical_rows += other.physical_rows;
    deleted_rows += other.deleted_rows;
    data_files += other.data_files;
    data_bytes += other.data_bytes;
    deletion_files += other.deletion_files;
    rows = physical_rows - std::min(physical_rows, deleted_rows);
  }
};

// As the manifest tells them.
inline TableTotals TotalsOf(const Manifest& manifest) {
  TableTotals out;
  for (const Fragment& f : manifest.fragments) out.Add(f);
  return out;
}

}  // namespace pilum
