// Batches as new fragments: data files of so many rows and bytes, named anew. Called by the operations of this folder.
// Not thread-safe. Memory: what FileWriter holds for one file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/change/blob_writer.h"
#include "pilum/file/file_writer.h"
#include "pilum/io/object_store.h"
#include "pilum/table/commit/stored_version.h"
#include "pilum/table/commit/wire.h"

namespace pilum {

// A folder that data files go to: the table's own, or of one of its base paths.
struct FileTarget {
  std::optional<uint32_t> base;        // none: the table's own
  std::shared_ptr<ObjectStore> store;  // of the base
  std::string folder;                  // below it: "data/", or nothing
};

// A data file, or a blob beside one, below a base path: durable as soon as it is whole.
struct FileElsewhere {
  std::shared_ptr<ObjectStore> store;
  std::string path;
};

struct NewFragments {
  google::protobuf::RepeatedPtrField<wire::DataFragment> fragments;  // without ids: a commit gives them
  std::vector<std::string>
      written;  // paths of data files and of blobs beside them, which the commit makes durable (Committer::AddWritten)
  std::vector<FileElsewhere> elsewhere;
  uint64_t rows = 0;
};

struct FragmentWriterOptions {
  FileVersion version = FileVersion::kV2_2;
  uint64_t max_rows_per_file = uint64_t{1} << 20;
  uint64_t max_bytes_per_file = uint64_t{90} << 30;  // asked after each batch
  uint64_t page_bytes = WriteOptions().page_bytes;
  bool checksums = true;
  std::vector<FileTarget> targets = {};  // one file to each in turn; none: the table's own folder
  // Told of each fragment: null as its file is begun, then the fragment as the file is whole. An error ends the write.
  std::function<Status(const wire::DataFragment*)> watch = {};
  BlobOptions blobs = {};
};

// "2.1": of data files that are written here; kUnsupported names those that are not.
Result<FileVersion> DataVersionOf(const std::string& name);
// Of new files of a table: `asked`, or the table's own where that is empty.
Result<FileVersion> DataVersionOf(const StoredVersion& table, const std::string& asked = {});

class FragmentWriter {
 public:
  // `schema`: the columns that are written, in the table's order and types, with the table's field ids.
  FragmentWriter(std::shared_ptr<ObjectStore> table, std::shared_ptr<arrow::Schema> schema,
                 std::shared_ptr<const FieldIds> ids, const FragmentWriterOptions& options);
  ~FragmentWriter();  // without Finish: what was written is removed again

  // Of exactly that schema's columns.
  Status Write(const arrow::RecordBatch& batch);
  // Ends the fragment: the next batch begins another.
  Status EndFragment();
  Result<NewFragments> Finish();
  // Those that are complete, so far.
  const google::protobuf::RepeatedPtrField<wire::DataFragment>& ended() const { return out_.fragments; }
  // Of the file that is open, without what is still buffered.
  uint64_t file_bytes() const { return file_ ? file_->bytes_written() : 0; }
  // Of the files that are begun from now on: where their pages end (WriteOptions).
  void SetPages(uint64_t bytes, uint64_t rows) {
    page_bytes_ = bytes;
    page_rows_ = rows;
  }
  // Removes what was written: nothing will name it.
  void Abandon();

 private:
  Status Begin();
  Status WriteRows(const arrow::RecordBatch& batch);  // into the file that is open
  // Beside the data file that is open.
  Result<std::unique_ptr<ByteSink>> BeginBlob(const std::string& name);

  const std::shared_ptr<ObjectStore> table_;
  const std::shared_ptr<arrow::Schema> schema_;
  const std::shared_ptr<const FieldIds> ids_;
  const FragmentWriterOptions options_;
  const std::shared_ptr<arrow::Schema> stored_;  // of data files: descriptions in the place of blobs
  const std::shared_ptr<const FieldIds> stored_ids_;
  std::unique_ptr<FileWriter> file_;   // null: none is open
  std::unique_ptr<BlobWriter> blobs_;  // of it; null: no column has blobs
  std::string name_;
  FileTarget target_;  // of the file that is open
  size_t begun_ = 0;   // files
  uint64_t page_bytes_, page_rows_ = 0;
  NewFragments out_;
  bool finished_ = false;
};

// Best effort: files that no version names.
void RemoveWritten(ObjectStore* table, const std::vector<std::string>& paths);
void RemoveWritten(const std::vector<FileElsewhere>& files);

}  // namespace pilum
