// Blobs of rows that are written anew: what a data file describes, as users would give it (bytes, or where they are
// elsewhere). Called by read_rows.cc and rewrite_fragments.cc. Format: docs/formats/table.md, "Blobs".
#pragma once

#include <functional>
#include <map>
#include <memory>

#include <arrow/type_fwd.h>

#include "pilum/change/map_blobs.h"
#include "pilum/table/blobs.h"
#include "pilum/table/table.h"

namespace pilum {

// The table as its rows are read to be written again: blobs of the first kind as bytes.
Result<TableContext> ContextToMove(const Table& table);

class MovedBlobs {
 public:
  // `table`: ContextToMove; `fragment` belongs to its manifest. Both outlive this.
  MovedBlobs(const TableContext& table, const Fragment& fragment) : table_(table), fragment_(fragment) {}

  // `batch`: rows of the fragment as it is stored. Gives them in pieces from row `at` on, of no more than 16 MiB of blobs
  // but for one row; the whole batch where it has none.
  using TakePiece = std::function<Status(int64_t at, const arrow::RecordBatch& piece)>;
  Status Each(const arrow::RecordBatch& batch, ReadContext& ctx, const TakePiece& take);

 private:
  Result<std::shared_ptr<arrow::RecordBatch>> Given(const arrow::RecordBatch& described, ReadContext& ctx);
  Result<std::shared_ptr<arrow::Array>> Values(const BlobColumn& column, const arrow::Array& descriptions,
                                               const LiveValues* live, ReadContext& ctx);
  Result<std::string> UriOf(const BlobPlace& place) const;
  Result<const BlobFiles*> FilesOf(const FieldPath& column);

  const TableContext& table_;
  const Fragment& fragment_;
  std::map<FieldPath, std::shared_ptr<const BlobFiles>> files_;
};

}  // namespace pilum
