// Rows into a table: a new one, more of them, or others in their place. Called by cli and python.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/change/bases.h"
#include "pilum/change/change.h"
#include "pilum/change/fragment_writer.h"

namespace pilum {

enum class WriteMode { kCreate, kAppend, kOverwrite };

struct WriteTableOptions : ChangeOptions {
  WriteMode mode = WriteMode::kCreate;
  uint64_t max_rows_per_file = FragmentWriterOptions().max_rows_per_file;
  uint64_t max_bytes_per_file = FragmentWriterOptions().max_bytes_per_file;
  uint64_t page_bytes = FragmentWriterOptions().page_bytes;
  // "2.0", "2.1" or "2.2". Empty: the table's own; of a new table 2.2.
  std::string data_version;
  bool checksums = true;
  BaseChoice targets;                                      // which base paths data files go to
  StoreOptions base_storage;                               // how base paths of a new table are reached
  std::function<Status(const wire::DataFragment*)> watch;  // as of FragmentWriterOptions
  BlobOptions blobs;                                       // but for the base paths, which are the table's
  // Of new tables alone:
  std::vector<BasePath> initial_bases;
  bool v1_names = false;  // manifests named as pylance up to 1 does
  bool stable_row_ids = false;
  std::map<std::string, std::string> config;
};

struct WrittenTable {
  uint64_t version = 0;
  uint64_t rows = 0;  // that were written
};

// `rows` are read once, as they are written; memory is bounded by one file's pages.
// kCreate: kUsage where there is a table. kAppend, kOverwrite: a new table where there is none. Overwriting keeps config,
// metadata, tags and older versions. kRetry, kConflict: others were first; nothing of it is in the table.
Result<WrittenTable> WriteTable(const std::string& uri, arrow::RecordBatchReader& rows,
                                const WriteTableOptions& options, const StoreOptions& storage, ReadContext& ctx);
// The same in a store that is open.
Result<WrittenTable> WriteTable(std::shared_ptr<ObjectStore> store, arrow::RecordBatchReader& rows,
                                const WriteTableOptions& options, ReadContext& ctx);
// The same on a version that is open, for kAppend and kOverwrite: of its branch.
Result<WrittenTable> WriteTable(const WritableTable& table, arrow::RecordBatchReader& rows,
                                const WriteTableOptions& options, ReadContext& ctx);

// Rows in files that no version names yet, and the transaction that would put them into the table (raw_commit.h): of the
// version that was read, 0 where there is no table.
struct StagedRows {
  wire::Transaction transaction;     // kAppend or kOverwrite
  std::vector<std::string> written;  // paths of its data files, durable where options.sync
  std::vector<FileElsewhere> elsewhere = {};
  uint64_t rows = 0;
  std::string data_version;
};
// As WriteTable, without the commit. kAppend without a table: as kCreate.
Result<StagedRows> StageRows(const std::string& uri, arrow::RecordBatchReader& rows, const WriteTableOptions& options,
                             const StoreOptions& storage, ReadContext& ctx);
Result<StagedRows> StageRows(const WritableTable& table, arrow::RecordBatchReader& rows,
                             const WriteTableOptions& options, ReadContext& ctx);

}  // namespace pilum
