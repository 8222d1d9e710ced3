// The manifest of one version in itself: ids that are used twice, fields that are nowhere, indices that lag behind.
#include <algorithm>
#include <map>
#include <set>

#include "pilum/base/amounts.h"
#include "pilum/inspect/check.h"
#include "pilum/table/feature_flags.h"

namespace pilum {
namespace {

std::string FragmentName(const Fragment& f) { return fmt::format("fragment {}", f.id); }

void CheckColumns(const Fragment& f, const DataFile& file, Findings* out) {
  std::set<int32_t> used;
  for (const int32_t column : file.column_indices) {
    if (column < -1) {
      out->Problem("wrong_column", FragmentName(f), fmt::format("{}: column index {}", file.path, column));
    } else if (column >= 0 && !used.insert(column).second) {
      out->Problem("column_used_twice", FragmentName(f),
                   fmt::format("{}: two fields are in column {} of the file", file.path, column));
    }
  }
}

void CheckFragment(const Fragment& f, const std::set<int32_t>& live, Findings* out) {
  std::map<int32_t, const DataFile*> held_by;
  for (const DataFile& file : f.files) {
    CheckColumns(f, file, out);
    for (const int32_t id : file.fields) {
      if (!live.contains(id)) continue;
      const auto [at, is_new] = held_by.try_emplace(id, &file);
      if (!is_new) {
        out->Problem("field_in_two_files", FragmentName(f),
                     fmt::format("field {} is in {} and in {}", id, at->second->path, file.path));
      }
    }
  }
}

void CheckFragments(const Manifest& m, Findings* out) {
  std::set<int32_t> live;
  for (const WireField& field : m.schema.fields) {
    if (!live.insert(field.id).second) {
      out->Problem("field_id_used_twice", "schema",
                   fmt::format("two fields have id {}; one is {}", field.id, field.name));
    }
  }
  std::set<uint64_t> ids;
  std::map<std::pair<int64_t, std::string>, uint64_t> files;  // by base and path
  for (const Fragment& f : m.fragments) {
    if (!ids.insert(f.id).second) out->Problem("fragment_id_used_twice", FragmentName(f), "two fragments have this id");
    if (m.max_fragment_id && f.id > *m.max_fragment_id) {
      out->Problem("fragment_id_too_large", FragmentName(f),
                   fmt::format("the manifest says that {} is the highest id ever used", *m.max_fragment_id));
    }
    for (const DataFile& file : f.files) {
      const auto [at, is_new] =
          files.try_emplace({file.base_id ? static_cast<int64_t>(*file.base_id) : -1, file.path}, f.id);
      if (!is_new) {
        out->Problem("file_in_two_places", FragmentName(f),
                     fmt::format("{} is in fragment {} already: its rows count twice", file.path, at->second));
      }
    }
    CheckFragment(f, live, out);
  }
}

void CheckCoverage(const Manifest& m, const std::vector<TableIndex>& all, const TableIndex& index, Findings* out) {
  auto live = LiveCoverage(index, all, m);
  if (!live.ok()) {
    out->Problem("damaged_index", "index " + index.name, live.status().message());
  } else if (!*live) {
    out->Note("unknown_coverage", "index " + index.name, "it is not said which fragments it covers");
  }
}

// An index, all its segments: what they leave out, and what two of them cover.
void CheckIndex(const Manifest& m, const std::vector<TableIndex>& all, const std::string& name, Findings* out) {
  RowSet covered;
  bool known = true;
  for (const TableIndex& index : all) {
    if (index.name != name) continue;
    CheckCoverage(m, all, index, out);
    const auto live = LiveCoverage(index, all, m);
    known = known && live.ok() && live->has_value();
    if (!known) continue;
    if (const RowSet twice = covered.Intersect(**live); !twice.empty()) {
      out->Problem("fragments_indexed_twice", "index " + name,
                   fmt::format("two of its segments cover fragment {}", twice.ranges()[0].begin),
                   "ds.optimize.optimize_indices()");
    }
    covered = covered.Union(**live);
  }
  if (!known) return;
  uint64_t fragments = 0, rows = 0;
  for (const Fragment& f : m.fragments) {
    if (covered.Intersect(RowSet::Range(f.id, f.id + 1)).empty()) ++fragments, rows += f.physical_rows;
  }
  if (fragments > 0) {
    out->Note("index_behind", "index " + name,
              fmt::format("it does not cover {} of {} ({}), which are scanned", Thousands(fragments),
                          Plural(m.fragments.size(), "fragment"), Plural(rows, "row")),
              "ds.optimize.optimize_indices()");
  }
}

}  // namespace

void CheckIndices(const Manifest& m, const std::vector<TableIndex>& indices, Findings* out) {
  std::set<int32_t> live;
  for (const WireField& field : m.schema.fields) live.insert(field.id);
  std::set<std::string> names;
  for (const TableIndex& index : indices) {
    if (index.is_system()) continue;
    for (const int32_t id : index.fields) {
      if (!live.contains(id)) {
        out->Problem("index_without_field", "index " + index.name, fmt::format("the schema has no field {}", id),
                     fmt::format("ds.drop_index(\"{}\")", index.name));
      }
    }
    if (names.insert(index.name).second) CheckIndex(m, indices, index.name, out);
  }
}

void CheckManifest(const Manifest& manifest, const std::vector<TableIndex>& indices, Findings* out) {
  for (int bit = 0; bit < 64; ++bit) {
    const uint64_t flag = uint64_t{1} << bit;
    if ((manifest.writer_flags & flag) != 0 && FindFeatureFlag(flag) == nullptr) {
      out->Note(
          "unknown_writer_flag", "manifest",
          fmt::format("writers' flag {}: only a Lance that knows it may write to this table", FeatureFlagNames(flag)));
    }
  }
  CheckFragments(manifest, out);
  CheckIndices(manifest, indices, out);
}

}  // namespace pilum
