#include "pilum/python/table_facts.h"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pilum/python/run.h"
#include "pilum/table/message_json.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

nb::object FromJson(const nlohmann::ordered_json& json) {
  const std::string text = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return nb::module_::import_("json").attr("loads")(text);
}

nb::object Ids(const std::optional<RowSet>& ids) { return ids ? nb::cast(ids->ToVector()) : nb::object(nb::none()); }

std::vector<std::string> FieldNames(const Manifest& m, const std::vector<int32_t>& ids) {
  std::vector<std::string> out;
  for (const int32_t id : ids) {
    for (const WireField& f : m.schema.fields) {
      if (f.id == id) out.push_back(f.name);
    }
  }
  return out;
}

uint64_t RowsIn(const Manifest& m, const RowSet& fragments) {
  uint64_t rows = 0;
  for (const Fragment& f : m.fragments) {
    if (!fragments.Contains(f.id)) continue;
    rows += f.physical_rows - std::min(f.physical_rows, f.deletions ? f.deletions->num_deleted : 0);
  }
  return rows;
}

}  // namespace

nb::dict IndexToPython(const Manifest& manifest, const TableIndex& index, const std::optional<RowSet>& coverage) {
  nb::dict out;
  out["name"] = index.name;
  out["type"] = index.kind;
  out["uuid"] = index.uuid;
  out["fields"] = index.fields;
  out["field_names"] = FieldNames(manifest, index.fields);
  out["dataset_version"] = index.dataset_version;
  out["index_version"] = index.index_version;
  out["type_url"] = index.details_url;
  auto details = IndexDetailsToJson(index.details_url, index.details);
  out["details"] = details.ok() ? FromJson(*details) : nb::object(nb::none());
  out["fragment_ids"] = Ids(coverage);
  out["stored_fragment_ids"] = Ids(index.fragments);
  out["num_rows_indexed"] = coverage ? nb::cast(RowsIn(manifest, *coverage)) : nb::object(nb::none());
  out["created_at_ms"] = index.created_at_ms;
  out["base_id"] = index.base_id;
  out["size_bytes"] = index.total_bytes();
  nb::list files;
  for (const IndexFile& f : index.files) files.append(nb::make_tuple(f.path, f.size));
  out["files"] = files;
  out["is_system"] = index.is_system();
  return out;
}

nb::dict StatisticsToPython(const TableStatistics& s) {
  nb::dict lengths;
  lengths["min"] = s.lengths.min;
  lengths["max"] = s.lengths.max;
  lengths["mean"] = s.lengths.mean;
  lengths["p25"] = s.lengths.p25;
  lengths["p50"] = s.lengths.p50;
  lengths["p75"] = s.lengths.p75;
  lengths["p99"] = s.lengths.p99;
  nb::dict fragments;
  fragments["num_fragments"] = s.num_fragments;
  fragments["num_small_fragments"] = s.num_small_fragments;
  fragments["lengths"] = lengths;
  nb::dict out;
  out["total_bytes"] = s.total_bytes;
  out["num_rows"] = s.num_rows;
  out["num_indices"] = s.num_indices;
  out["fragment_stats"] = fragments;
  return out;
}

nb::object TransactionMessageToPython(std::string_view message) {
  return FromJson(Unwrap(MessageToJson(message, TableMessage::kTransaction)));
}

nb::dict RecordToPython(const VersionRecord& r) {
  nb::dict out;
  out["version"] = r.listed.name.version;
  out["what"] = r.words;
  out["damage"] = r.damage.ok() ? nb::object(nb::none()) : nb::cast(r.damage.message());
  if (!r.damage.ok()) return out;
  out["timestamp_ns"] = r.manifest->timestamp_ns;
  out["writer"] = r.manifest->writer;
  out["rows"] = r.totals.rows;
  out["fragments"] = r.totals.fragments;
  out["data_files"] = r.totals.data_files;
  out["operation"] = r.transaction ? nb::cast(r.transaction->operation) : nb::object(nb::none());
  out["read_version"] = r.transaction ? nb::cast(r.transaction->read_version) : nb::object(nb::none());
  out["uuid"] = r.transaction ? nb::cast(r.transaction->uuid) : nb::object(nb::none());
  out["properties"] = r.transaction ? r.transaction->properties : std::map<std::string, std::string>();
  out["new_bytes"] = r.brought ? nb::cast(r.brought->total()) : nb::object(nb::none());
  return out;
}

}  // namespace pilum::python
