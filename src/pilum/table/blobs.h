// Blobs: large values that lie beside their column, in the data file, in a file of their own or elsewhere. Called by
// given_unit.cc, take_blobs.cc and python. Format: docs/formats/table.md, "Blobs".
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/types.h"
#include "pilum/table/fragment.h"

namespace pilum {

// What a description says: struct<position, size> of blob v1, or with kind, blob_id and blob_uri of blob v2.
struct BlobPlace {
  enum class Kind : uint8_t {
    kInline,     // in the data file
    kPacked,     // in a file that several share, beside it
    kDedicated,  // a whole such file
    kExternal,   // elsewhere, at a URI; without a size all that is there
  };
  Kind kind = Kind::kInline;
  uint64_t position = 0, size = 0;
  uint32_t id = 0;  // of the file; kExternal: of the base path that the URI is below, 0: none
  std::string uri;
};

// Where the blobs beside a data file lie: "STEM/" of "STEM.lance", with whatever folders are before it.
std::string BlobFolder(const std::string& data_file);
// Of a file there, by its number: "10000000000000000000000000000000.blob" is number 1.
std::string BlobFileName(uint32_t id);

// One a row; nullopt: NULL. kCorrupt where the descriptions are none.
Result<std::vector<std::optional<BlobPlace>>> BlobPlacesOf(const arrow::Array& descriptions);

// The bytes of one value, read as they are asked for. Immutable, thread-safe.
class Blob {
 public:
  Blob(std::shared_ptr<const ByteSource> source, ByteRange range) : source_(std::move(source)), range_(range) {}
  uint64_t size() const { return range_.size; }
  // kUsage: the range ends past the blob.
  Result<BufferPtr> Read(ByteRange range, ReadContext& ctx) const;
  // The same of several, with few requests.
  Result<std::vector<BufferPtr>> ReadMany(const std::vector<ByteRange>& ranges, ReadContext& ctx) const;

 private:
  const std::shared_ptr<const ByteSource> source_;
  const ByteRange range_;  // of it
};

// The blobs that one data file describes. Opens each file once. Thread-safe.
class BlobFiles {
 public:
  // `file` outlives this.
  BlobFiles(std::shared_ptr<const TableFiles> files, const DataFile& file) : files_(std::move(files)), file_(file) {}

  // Opens the file where it lies (empty values have none). kCorrupt where it ends before the blob does.
  Result<std::shared_ptr<const Blob>> Open(const BlobPlace& place, ReadContext& ctx) const;
  // The bytes as large_binary, one value a description.
  Result<std::shared_ptr<arrow::Array>> ReadAll(const arrow::Array& descriptions, ReadContext& ctx) const;

 private:
  struct Located {
    std::shared_ptr<const ByteSource> source;
    ByteRange range;
  };
  Result<Located> Locate(const BlobPlace& place, ReadContext& ctx) const;
  Result<std::shared_ptr<const ByteSource>> SourceOf(const BlobPlace& place, ReadContext& ctx) const;

  const std::shared_ptr<const TableFiles> files_;
  const DataFile& file_;
  mutable std::mutex mutex_;
  // By where it is (in the data file, beside it, elsewhere), number and URI.
  mutable std::map<std::tuple<int, uint32_t, std::string>, std::shared_ptr<const ByteSource>> opened_;
};

// What `column` describes blobs in: the files of the data file that holds it. kNotFound: none does. `fragment` belongs to
// table.manifest.
Result<std::shared_ptr<const BlobFiles>> BlobFilesOf(const TableContext& table, const Fragment& fragment,
                                                     const FieldPath& column);

}  // namespace pilum
