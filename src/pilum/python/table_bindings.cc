// pilum._pilum.Table: one version of a Lance table. The Python classes over it are in pilum/table.py.
#include <arrow/buffer.h>
#include <arrow/type.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "pilum/python/bindings.h"
#include "pilum/python/convert.h"
#include "pilum/python/run.h"
#include "pilum/python/table_facts.h"
#include "pilum/table/feature_flags.h"
#include "pilum/table/table.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

// `quick`: work of a few reads of local files at most, which needs no ear for Ctrl-C.
template <typename F>
auto Run(F&& work, bool quick = false) {
  std::stop_source stop;
  ReadContext ctx;
  ctx.stop = stop.get_token();
  ctx.threads = DefaultThreads();
  if (quick) return Unwrap(WithoutGil([&] { return work(ctx); }));
  return Unwrap(Interruptibly(stop, [&] { return work(ctx); }));
}

nb::dict ToPython(const TableTotals& t) {
  nb::dict out;
  out["fragments"] = t.fragments;
  out["rows"] = t.rows;
  out["physical_rows"] = t.physical_rows;
  out["deleted_rows"] = t.deleted_rows;
  out["data_files"] = t.data_files;
  out["data_bytes"] = t.data_bytes;
  out["deletion_files"] = t.deletion_files;
  return out;
}

nb::dict ToPython(const DataFile& f) {
  nb::dict out;
  out["path"] = f.path;
  out["fields"] = f.fields;
  out["column_indices"] = f.column_indices;
  out["file_major_version"] = f.major;
  out["file_minor_version"] = f.minor;
  out["file_size_bytes"] = f.size == 0 ? nb::none() : nb::cast(f.size);
  out["base_id"] = f.base_id;
  return out;
}

nb::object ToPython(const std::optional<DeletionFile>& f, uint64_t fragment) {
  if (!f) return nb::none();
  nb::dict out;
  out["read_version"] = f->read_version;
  out["id"] = f->id;
  out["file_type"] = f->kind == DeletionFile::Kind::kBitmap ? "bitmap" : "array";
  out["num_deleted_rows"] = f->num_deleted;
  out["base_id"] = f->base_id;
  out["path"] = f->Path(fragment);
  return out;
}

nb::dict ToPython(const Fragment& f) {
  nb::dict out;
  out["id"] = f.id;
  nb::list files;
  for (const DataFile& file : f.files) files.append(ToPython(file));
  out["files"] = files;
  out["physical_rows"] = f.physical_rows;
  out["deletion_file"] = ToPython(f.deletions, f.id);
  return out;
}

nb::object ToPython(const std::optional<Transaction>& t) {
  if (!t) return nb::none();
  nb::dict out;
  out["read_version"] = t->read_version;
  out["uuid"] = t->uuid;
  out["tag"] = t->tag;
  out["operation"] = t->operation;
  out["facts"] = t->facts;
  out["properties"] = t->properties;
  return out;
}

class PyBlob {
 public:
  explicit PyBlob(std::shared_ptr<const Blob> blob) : blob_(std::move(blob)) {}
  uint64_t size() const { return blob_->size(); }
  nb::bytes Read(uint64_t offset, uint64_t size) const {
    return ToBytes(*Run([&](ReadContext& ctx) { return blob_->Read({offset, size}, ctx); }));
  }
  nb::list ReadMany(const std::vector<std::pair<uint64_t, uint64_t>>& ranges) const {
    std::vector<ByteRange> wanted;
    for (const auto& [offset, size] : ranges) wanted.push_back({offset, size});
    nb::list out;
    for (const BufferPtr& b : Run([&](ReadContext& ctx) { return blob_->ReadMany(wanted, ctx); })) {
      out.append(ToBytes(*b));
    }
    return out;
  }

 private:
  static nb::bytes ToBytes(const arrow::Buffer& b) {
    return nb::bytes(b.size() > 0 ? static_cast<const void*>(b.data()) : "", static_cast<size_t>(b.size()));
  }
  std::shared_ptr<const Blob> blob_;
};

class PyTable {
 public:
  static std::shared_ptr<PyTable> Open(const std::string& uri, const std::string& branch,
                                       std::optional<uint64_t> version, const std::string& tag,
                                       std::optional<int64_t> as_of_ns, const StoreOptions& storage) {
    const TableRef ref{branch, version, tag, as_of_ns};
    return std::make_shared<PyTable>(
        Run([&](ReadContext& ctx) { return Table::Open(uri, ref, storage, ctx); }, !IsRemoteUri(uri) && !as_of_ns));
  }
  explicit PyTable(std::shared_ptr<const Table> table) : table_(std::move(table)) {}

  const std::shared_ptr<const Table>& table() const { return table_; }

  nb::object schema() const { return python::ToPython(table_->schema()); }
  uint64_t version() const { return table_->manifest().version; }
  const std::string& branch() const { return table_->branch(); }
  uint64_t LatestVersion() const {
    return Run([&](ReadContext& ctx) { return table_->LatestVersion(ctx); }, !IsRemoteUri(table_->uri()));
  }
  uint64_t CountRows() const {
    return Run([&](ReadContext& ctx) { return table_->CountRows(ctx); }, table_->counts_known());
  }

  nb::object OpenSnapshot(const std::optional<std::vector<uint64_t>>& fragments, bool blob_bytes,
                          bool with_deleted) const {
    const SnapshotOptions options{fragments, blob_bytes ? BlobHandling::kBytes : BlobHandling::kDescriptions,
                                  with_deleted};
    auto snapshot = Run([&](ReadContext& ctx) { return table_->OpenSnapshot(options, ctx); }, table_->counts_known());
    return python::ToPython(std::move(snapshot), read_);
  }
  // A list of (row address, Blob or None).
  nb::list TakeBlobs(const std::string& column, RowSelector selector, nb::handle rows) const {
    const std::vector<uint64_t> numbers = RowsFromPython(rows);
    const FieldPath path = ResolveColumn(*table_->schema(), column);
    nb::list out;
    for (const TakenBlob& taken :
         Run([&](ReadContext& ctx) { return table_->TakeBlobs(path, selector, numbers, ctx); })) {
      out.append(nb::make_tuple(taken.address, taken.blob ? nb::cast(PyBlob(taken.blob)) : nb::none()));
    }
    return out;
  }

  // Fields as the manifest has them, parents before children.
  nb::list Fields() const {
    nb::list out;
    for (const WireField& f : table_->manifest().schema.fields) {
      nb::dict field;
      field["id"] = f.id;
      field["parent_id"] = f.parent_id;
      field["name"] = f.name;
      field["logical_type"] = f.logical_type;
      field["nullable"] = f.nullable;
      out.append(field);
    }
    return out;
  }

  nb::dict Manifest() const {
    const auto& m = table_->manifest();
    nb::dict out;
    out["version"] = m.version;
    out["timestamp_ns"] = m.timestamp_ns;
    out["data_version"] = m.data_version;
    out["writer"] = m.writer;
    out["config"] = m.config;
    out["table_metadata"] = m.table_metadata;
    out["reader_flags"] = m.reader_flags;
    out["writer_flags"] = m.writer_flags;
    out["reader_flag_names"] = FeatureFlagNames(m.reader_flags);
    out["stable_row_ids"] = m.has_stable_row_ids();
    out["max_fragment_id"] = m.max_fragment_id;
    out["next_row_id"] = m.next_row_id;
    out["max_field_id"] = MaxFieldId();
    out["transaction_file"] = m.transaction_file;
    nb::list bases;
    for (const BasePath& b : m.base_paths) {
      nb::dict base;
      base["id"] = b.id;
      base["name"] = b.name;
      base["path"] = b.path;
      base["is_dataset_root"] = b.is_dataset_root;
      bases.append(base);
    }
    out["base_paths"] = bases;
    return out;
  }

  nb::list Fragments() const {
    nb::list out;
    for (const Fragment& f : table_->manifest().fragments) out.append(ToPython(f));
    return out;
  }

  // What all reads of its rows fetched so far; those that still run are not in it.
  nb::dict Stats() const { return StatsToPython(*read_); }
  nb::dict Totals() const { return ToPython(TotalsOf(table_->manifest())); }

  nb::list Versions() const {
    nb::list out;
    for (const TableVersion& v : Run([&](ReadContext& ctx) { return table_->Versions(ctx); })) {
      nb::dict one;
      one["version"] = v.version;
      one["timestamp_ns"] = v.timestamp_ns;
      one["totals"] = ToPython(v.totals);
      out.append(one);
    }
    return out;
  }

  nb::object ReadTransaction() const {
    return ToPython(Run([&](ReadContext& ctx) { return table_->ReadTransaction(ctx); }));
  }

  // Every field of the message; None where there is none.
  nb::object TransactionMessage() const {
    const auto bytes = Run([&](ReadContext& ctx) -> Result<std::optional<TransactionBytes>> {
      PILUM_ASSIGN_OR_RETURN(auto source, table_->files().OpenOwn(table_->listed().path(), ctx));
      return ReadTransactionBytes(table_->store(), *source, table_->manifest(), ctx);
    });
    return bytes ? TransactionMessageToPython(bytes->message) : nb::none();
  }

  // Newest first, at most `most`.
  nb::list GetHistory(std::optional<uint64_t> most) const {
    using Records = std::vector<std::unique_ptr<VersionRecord>>;
    const auto records = Run([&](ReadContext& ctx) -> Result<Records> {
      PILUM_ASSIGN_OR_RETURN(auto history, History::Open(*table_, most.value_or(0), ctx));
      Records out;
      while (!most || out.size() < *most) {
        PILUM_ASSIGN_OR_RETURN(auto record, history->Next(ctx));
        if (!record) break;
        out.push_back(std::move(record));
      }
      return out;
    });
    nb::list out;
    for (const auto& record : records) out.append(RecordToPython(*record));
    return out;
  }

  nb::list Indices() const {
    const auto& manifest = table_->manifest();
    const auto indices = Run([&](ReadContext& ctx) { return table_->Indices(ctx); });
    nb::list out;
    for (const TableIndex& index : indices) {
      out.append(IndexToPython(manifest, index, Unwrap(LiveCoverage(index, indices, manifest))));
    }
    return out;
  }

  nb::dict Statistics() const {
    return StatisticsToPython(Run([&](ReadContext& ctx) -> Result<TableStatistics> {
      PILUM_ASSIGN_OR_RETURN(const auto indices, table_->Indices(ctx));
      PILUM_ASSIGN_OR_RETURN(const uint64_t rows, table_->CountRows(ctx));
      return StatisticsOf(table_->manifest(), indices, rows);
    }));
  }

  nb::dict Tags() const {
    nb::dict out;
    for (const auto& [name, tag] : Run([&](ReadContext& ctx) { return table_->Tags(ctx); })) {
      nb::dict one;
      one["branch"] = tag.branch;
      one["version"] = tag.version;
      one["manifest_size"] = tag.manifest_size;
      one["created_at"] = tag.created_at;
      one["updated_at"] = tag.updated_at;
      one["metadata"] = tag.metadata;
      out[name.c_str()] = one;
    }
    return out;
  }

  nb::dict Branches() const {
    nb::dict out;
    for (const auto& [name, branch] : Run([&](ReadContext& ctx) { return table_->Branches(ctx); })) {
      nb::dict one;
      one["parent_branch"] = branch.parent;
      one["branch_identifier"] = branch.identifier;
      one["parent_version"] = branch.parent_version;
      one["create_at"] = branch.created_at;
      one["manifest_size"] = branch.manifest_size;
      one["metadata"] = branch.metadata;
      out[name.c_str()] = one;
    }
    return out;
  }

 private:
  // Over the schema and what the data files say.
  int32_t MaxFieldId() const {
    int32_t most = -1;
    for (const WireField& f : table_->manifest().schema.fields) most = std::max(most, f.id);
    for (const Fragment& f : table_->manifest().fragments) {
      for (const DataFile& file : f.files) {
        for (const int32_t id : file.fields) most = std::max(most, id);
      }
    }
    return most;
  }

  const std::shared_ptr<const Table> table_;
  const std::shared_ptr<ReadStats> read_ = std::make_shared<ReadStats>();
};

}  // namespace

std::shared_ptr<const Table> TableOf(nb::handle table) { return nb::cast<const PyTable&>(table).table(); }

void BindTable(nb::module_& m) {
  nb::enum_<RowSelector>(m, "RowSelector")
      .value("INDICES", RowSelector::kNumbers)
      .value("IDS", RowSelector::kIds)
      .value("ADDRESSES", RowSelector::kAddresses);
  nb::class_<PyBlob>(m, "Blob", "The bytes of one value, read as they are asked for; immutable, thread-safe.")
      .def_prop_ro("size", &PyBlob::size)
      .def("read", &PyBlob::Read, nb::arg("offset"), nb::arg("size"))
      .def("read_many", &PyBlob::ReadMany, nb::arg("ranges"));
  nb::class_<PyTable>(m, "Table", "One version of a Lance table; never changes; thread-safe.")
      .def_static("open", &PyTable::Open, nb::arg("uri"), nb::arg("branch") = "",
                  nb::arg("version").none() = nb::none(), nb::arg("tag") = "", nb::arg("as_of_ns").none() = nb::none(),
                  nb::arg("storage_options") = StoreOptions())
      .def_prop_ro("schema", &PyTable::schema)
      .def_prop_ro("version", &PyTable::version)
      .def_prop_ro("branch", &PyTable::branch)
      .def("latest_version", &PyTable::LatestVersion)
      .def("count_rows", &PyTable::CountRows)
      .def("snapshot", &PyTable::OpenSnapshot, nb::arg("fragments").none() = nb::none(), nb::arg("blob_bytes") = false,
           nb::arg("with_deleted") = false)
      .def_prop_ro("stats", &PyTable::Stats)
      .def("take_blobs", &PyTable::TakeBlobs, nb::arg("column"), nb::arg("selector"), nb::arg("rows"))
      .def("manifest", &PyTable::Manifest)
      .def("fields", &PyTable::Fields)
      .def("totals", &PyTable::Totals)
      .def("fragments", &PyTable::Fragments)
      .def("versions", &PyTable::Versions)
      .def("transaction", &PyTable::ReadTransaction)
      .def("transaction_message", &PyTable::TransactionMessage)
      .def("history", &PyTable::GetHistory, nb::arg("most").none() = nb::none())
      .def("indices", &PyTable::Indices)
      .def("statistics", &PyTable::Statistics)
      .def("tags", &PyTable::Tags)
      .def("branches", &PyTable::Branches);
}

}  // namespace pilum::python
