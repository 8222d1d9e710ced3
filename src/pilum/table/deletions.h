// Deletion files: which rows of a fragment are deleted, as an Arrow array or a Roaring bitmap. Called by fragment.cc.
// Format: docs/formats/table.md, "Deletion files".
#pragma once

#include <string>
#include <string_view>

#include "pilum/base/context.h"
#include "pilum/base/row_set.h"
#include "pilum/table/manifest.h"

namespace pilum {

// Rows that are deleted, of [0, physical_rows). kCorrupt where the bytes are not that, name rows beyond, or are not as
// many as the manifest says. Errors name no file.
Result<RowSet> ParseDeletions(const DeletionFile& file, const BufferPtr& bytes, uint64_t physical_rows,
                              ReadContext& ctx);

// The other direction. `kind` is what pylance would choose for so many: a bitmap from 5000 rows on.
struct DeletionBytes {
  DeletionFile::Kind kind = DeletionFile::Kind::kArrowArray;
  std::string bytes;
};
Result<DeletionBytes> SerializeDeletions(const RowSet& rows);

}  // namespace pilum
