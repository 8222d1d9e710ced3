// One part while it is made: spooled to a local file and hashed as it is written, its sidecars built from the same
// batches, then published: sidecars first, the part last. Used by put and compaction. Not thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "pilum/base/hash.h"
#include "pilum/file/file_writer.h"
#include "pilum/index/dataset_spec.h"
#include "pilum/index/sidecar_builder.h"
#include "pilum/part/part_files.h"

namespace pilum {

// How parts of this schema are written, and the most bytes that a writer of them holds back.
struct PartWriteOptions {
  WriteOptions file;
  uint64_t buffered_limit = 0;
  static PartWriteOptions For(const arrow::Schema& schema, FileVersion version, const std::optional<DatasetSpec>& spec);
};

class PartSpool {
 public:
  // `schema`: with the metadata that the part's bytes carry. `sidecar_schema`: the same fields, and what indexes are
  // asked for (dataset_file.h).
  static Result<std::unique_ptr<PartSpool>> Make(std::string path, std::shared_ptr<arrow::Schema> schema,
                                                 const arrow::Schema& sidecar_schema, const WriteOptions& options);
  Status Append(const arrow::RecordBatch& rows);
  uint64_t bytes_written() const { return writer_->bytes_written(); }

  struct Made {
    std::string spool;  // the local file
    std::string hash;   // of its bytes, 64 digits
    uint64_t rows = 0, bytes = 0;
    SidecarBuilder::Files sidecars;
    uint64_t sidecar_bytes() const { return sidecars.size(); }
  };
  Result<Made> Finish();

 private:
  PartSpool() = default;
  std::string path_;
  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<Blake3> hash_ = std::make_shared<Blake3>();
  std::unique_ptr<FileWriter> writer_;
  std::unique_ptr<SidecarBuilder> sidecars_;
};

Status WriteObject(ObjectStore& store, const std::string& path, const std::string& bytes);
// Is there a sidecar of this part whose every section is whole? One of a newer Pilum is taken for whole, and so is a .terms
// that is not there where the part's index does not speak of one.
Result<bool> IsWholeSidecar(const DatasetFiles& files, const std::string& part, const DatasetFiles::Sidecar& sidecar,
                            const Hash128& identity, ReadContext& ctx);
// Does the part's index speak of a .terms? false also where there is no usable index.
Result<bool> WantsTerms(const DatasetFiles& files, const std::string& part, const Hash128& identity, ReadContext& ctx);
// false: the part was there, and whatever its sidecars lacked or had damaged was made good. The spool file is gone
// afterwards either way. `path`: PartPath or MergedPath of `name`. A part that took longer to put than `soon` has its sidecars
// looked for afterwards, and put again: a sweep of a short grace may have taken them for somebody's who died.
Result<bool> PublishPart(const DatasetFiles& files, const std::string& path, const std::string& name,
                         const PartSpool::Made& made, ReadContext& ctx,
                         std::chrono::steady_clock::duration soon = std::chrono::seconds(30));

}  // namespace pilum
