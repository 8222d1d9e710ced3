#include "pilum/change/write_table.h"

#include <optional>

#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/key_value_metadata.h>

#include "pilum/base/utf8.h"
#include "pilum/change/blob_columns.h"
#include "pilum/change/fit_rows.h"
#include "pilum/table/commit/schema_fields.h"

namespace pilum {
namespace {

// What is written, and where: one call of WriteTable.
class TableWrite {
 public:
  TableWrite(std::shared_ptr<ObjectStore> store, std::shared_ptr<const StoredVersion> read, WritableTable table,
             const WriteTableOptions& options, ReadContext& ctx)
      : store_(std::move(store)), read_(std::move(read)), table_(std::move(table)), options_(options), ctx_(ctx) {}

  Result<StagedRows> Stage(arrow::RecordBatchReader& rows) {
    const bool append = read_ && options_.mode == WriteMode::kAppend;
    PILUM_ASSIGN_OR_RETURN(const FileVersion version, ChooseVersion());
    PILUM_RETURN_NOT_OK(CheckMetadata(*rows.schema()));
    PILUM_ASSIGN_OR_RETURN(const auto bases, Bases());
    PILUM_RETURN_NOT_OK(CheckOptions());
    WireFields fields;
    FileSchema schema;
    if (append) {
      schema = read_->read->schema;
    } else {
      const auto given = version >= FileVersion::kV2_2 ? MarkedAsBlobV2(*rows.schema()) : rows.schema();
      PILUM_ASSIGN_OR_RETURN(fields, FieldsOf(*given));
      PILUM_ASSIGN_OR_RETURN(schema, SchemaOf(fields, *rows.schema()));
    }
    PILUM_ASSIGN_OR_RETURN(const FitRows fit,
                           append ? FitRows::Make(schema, *rows.schema()) : FitRows::MakeForNew(schema));
    PILUM_RETURN_NOT_OK(CheckBlobColumns(*fit.schema(), version));
    PILUM_ASSIGN_OR_RETURN(NewFragments added, WriteRows(fit, version, bases, rows));
    StagedRows out;
    out.written = std::move(added.written);
    out.elsewhere = std::move(added.elsewhere);
    out.rows = added.rows;
    out.data_version = std::string(VersionName(version));
    wire::Transaction& t = out.transaction;
    SetStaged(options_, read_ ? read_->version() : 0, &t);
    if (append) {
      *t.mutable_append()->mutable_fragments() = added.fragments;
    } else {
      auto* op = t.mutable_overwrite();
      *op->mutable_fragments() = added.fragments;
      *op->mutable_schema() = fields;
      *op->mutable_schema_metadata() = MetadataMap(*schema.schema);
      for (size_t i = 0; !read_ && i < bases.size(); ++i) *op->add_initial_bases() = ToWire(bases[i]);
      for (const auto& [key, value] : options_.config) {
        if (!read_) (*op->mutable_config_upsert_values())[key] = value;
      }
    }
    return out;
  }

  Result<WrittenTable> Run(arrow::RecordBatchReader& rows) {
    PILUM_ASSIGN_OR_RETURN(StagedRows staged, Stage(rows));
    auto committed = Commit(staged);
    if (!committed.ok()) {
      // Where the commit may have happened all the same, the files stay: clean-up tells.
      if (MadeNoVersion(committed.status())) Remove(staged);
      return committed.status();
    }
    return WrittenTable{committed->version, staged.rows};
  }

  void Remove(const StagedRows& staged) const {
    RemoveWritten(store_.get(), staged.written);
    RemoveWritten(staged.elsewhere);
  }

 private:
  // Those of the table, or of the new one.
  Result<std::vector<BasePath>> Bases() const {
    if (!read_) return NumberedBases(options_.initial_bases);
    if (options_.initial_bases.empty()) return read_->read->base_paths;
    return UsageError(
        "Cannot register new bases in {} mode. Only CREATE mode can register new bases; add_bases gives them to a "
        "table",
        options_.mode == WriteMode::kAppend ? "Append" : "Overwrite");
  }

  // Metadata is text: other readers refuse a table where it is not.
  static Status CheckMetadata(const std::shared_ptr<const arrow::KeyValueMetadata>& metadata, const std::string& of) {
    for (int64_t i = 0; metadata && i < metadata->size(); ++i) {
      if (!IsUtf8(metadata->key(i)) || !IsUtf8(metadata->value(i)))
        return UsageError("metadata of {}: the value of '{}' is no UTF-8; encode it, as base64", of,
                          IsUtf8(metadata->key(i)) ? metadata->key(i) : "?");
    }
    return Status::OK();
  }
  static Status CheckMetadata(const arrow::Field& field) {
    PILUM_RETURN_NOT_OK(CheckMetadata(field.metadata(), "column '" + field.name() + "'"));
    for (const auto& child : field.type()->fields()) PILUM_RETURN_NOT_OK(CheckMetadata(*child));
    return Status::OK();
  }
  static Status CheckMetadata(const arrow::Schema& schema) {
    PILUM_RETURN_NOT_OK(CheckMetadata(schema.metadata(), "the schema"));
    for (const auto& field : schema.fields()) PILUM_RETURN_NOT_OK(CheckMetadata(*field));
    return Status::OK();
  }

  Result<FileVersion> ChooseVersion() const {
    if (read_) return DataVersionOf(*read_, options_.data_version);
    return DataVersionOf(options_.data_version.empty() ? "2.2" : options_.data_version);
  }

  Status CheckOptions() const {
    if (!options_.blobs.ingest || !options_.blobs.outside) return Status::OK();
    return UsageError("allow_external_blob_outside_bases only applies when external_blob_mode=\"reference\"");
  }

  static Result<FileSchema> SchemaOf(const WireFields& fields, const arrow::Schema& rows) {
    wire::Schema schema;
    *schema.mutable_fields() = fields;
    *schema.mutable_metadata() = MetadataMap(rows);
    return ParseSchemaMessage(SerializeWire(schema));
  }

  Result<NewFragments> WriteRows(const FitRows& fit, FileVersion version, const std::vector<BasePath>& bases,
                                 arrow::RecordBatchReader& rows) {
    FragmentWriterOptions how{version, options_.max_rows_per_file, options_.max_bytes_per_file, options_.page_bytes,
                              options_.checksums};
    how.watch = options_.watch;
    how.blobs = options_.blobs;
    how.blobs.bases = bases;
    const StoreOptions& storage = table_.table ? table_.table->options() : options_.base_storage;
    how.blobs.storage = storage;
    PILUM_ASSIGN_OR_RETURN(how.targets, TargetsOf(options_.targets, bases, storage));
    FragmentWriter writer(store_, fit.schema(), fit.ids(), how);
    for (;;) {
      PILUM_RETURN_NOT_OK(ctx_.Check());
      PILUM_ASSIGN_OR_RETURN(auto batch, rows.Next());
      if (!batch) break;
      PILUM_ASSIGN_OR_RETURN(auto fitted, fit.Fit(*batch));
      PILUM_RETURN_NOT_OK(writer.Write(*fitted));
    }
    return writer.Finish();
  }

  Result<Committed> Commit(const StagedRows& staged) {
    CommitOptions how;
    how.sync = options_.sync;
    how.v1_names = options_.v1_names;
    how.stable_row_ids = options_.stable_row_ids;
    if (staged.transaction.has_overwrite()) how.data_version = staged.data_version;
    Committer committer(store_, read_, how);
    committer.AddWritten(staged.written);
    wire::Transaction t = staged.transaction;
    t.clear_uuid();  // its file goes where nothing comes of it
    return CommitAndClean(&committer, std::move(t), table_, options_.clean_up, ctx_);
  }

  const std::shared_ptr<ObjectStore> store_;
  const std::shared_ptr<const StoredVersion> read_;
  const WritableTable table_;  // empty: a new one
  const WriteTableOptions& options_;
  ReadContext& ctx_;
};

Status Exists(const std::string& uri) { return UsageError("Dataset already exists: {}", uri); }

// `table`: what opening it gave.
Result<WrittenTable> WriteInto(const Result<std::shared_ptr<const Table>>& table,
                               const std::shared_ptr<ObjectStore>& store, arrow::RecordBatchReader& rows,
                               const WriteTableOptions& options, ReadContext& ctx) {
  if (table.ok()) return WriteTable(WritableTable{*table, store, store}, rows, options, ctx);
  if (KindOf(table.status()) != ErrorKind::kNotFound) return table.status();
  auto written = TableWrite(store, nullptr, {}, options, ctx).Run(rows);
  if (written.ok() || KindOf(written.status()) != ErrorKind::kRetry) return written;
  return options.mode == WriteMode::kCreate ? Exists(store->uri()) : written;
}

}  // namespace

Result<WrittenTable> WriteTable(const std::string& uri, arrow::RecordBatchReader& rows,
                                const WriteTableOptions& options, const StoreOptions& storage, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto store, ObjectStore::Open(uri, storage));
  return WriteInto(Table::Open(uri, {}, storage, ctx), store, rows, options, ctx);
}

Result<WrittenTable> WriteTable(std::shared_ptr<ObjectStore> store, arrow::RecordBatchReader& rows,
                                const WriteTableOptions& options, ReadContext& ctx) {
  return WriteInto(Table::Open(store, {}, ctx), store, rows, options, ctx);
}

Result<WrittenTable> WriteTable(const WritableTable& table, arrow::RecordBatchReader& rows,
                                const WriteTableOptions& options, ReadContext& ctx) {
  if (options.mode == WriteMode::kCreate) return Exists(table.table->uri());
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(table, ctx));
  return TableWrite(base.store, base.stored, base.writable(), options, ctx).Run(rows);
}

namespace {

Result<StagedRows> StageInto(const std::shared_ptr<ObjectStore>& store, std::shared_ptr<const StoredVersion> read,
                             arrow::RecordBatchReader& rows, const WriteTableOptions& options, ReadContext& ctx) {
  TableWrite write(store, std::move(read), {}, options, ctx);
  PILUM_ASSIGN_OR_RETURN(StagedRows staged, write.Stage(rows));
  const Status synced = options.sync ? store->Sync(staged.written) : Status::OK();
  if (!synced.ok()) write.Remove(staged);
  if (!synced.ok()) return WithContext(store->uri(), synced);
  return staged;
}

}  // namespace

Result<StagedRows> StageRows(const std::string& uri, arrow::RecordBatchReader& rows, const WriteTableOptions& options,
                             const StoreOptions& storage, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(auto store, ObjectStore::Open(uri, storage));
  auto table = Table::Open(uri, {}, storage, ctx);
  if (table.ok()) return StageRows(WritableTable{*table, store, store}, rows, options, ctx);
  if (KindOf(table.status()) != ErrorKind::kNotFound) return table.status();
  return StageInto(store, nullptr, rows, options, ctx);
}

Result<StagedRows> StageRows(const WritableTable& table, arrow::RecordBatchReader& rows,
                             const WriteTableOptions& options, ReadContext& ctx) {
  if (options.mode == WriteMode::kCreate) return Exists(table.table->uri());
  PILUM_ASSIGN_OR_RETURN(const ChangeBase base, BeginChange(table, ctx));
  return StageInto(base.store, base.stored, rows, options, ctx);
}

}  // namespace pilum
