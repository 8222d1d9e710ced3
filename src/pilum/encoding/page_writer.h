// Writing pages: Arrow arrays of one leaf column in, page buffers and their layout out. No I/O.
// Same rows and options: the same bytes, however the rows were cut into arrays. Pages are cut at fixed row counts
// decided from the rows alone (cumulative bytes), never at batch bounds. Not thread-safe; one writer a column.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/encoding/descriptor.h"
#include "pilum/encoding/policy.h"
#include "pilum/encoding/shape.h"

namespace pilum {

// Blob payloads leave the page: the sink stores them (64-aligned) and says where.
class BlobSink {
 public:
  virtual ~BlobSink() = default;
  virtual Result<uint64_t> WritePayload(std::string_view bytes) = 0;  // absolute file position
};

struct EncodedPage {
  std::vector<BufferPtr> buffers;  // in the order of the layout
  uint64_t length = 0;             // as PageInfo.length
  uint64_t first_row = 0;          // priority: top-level row number of its first row
  PageLayout layout;
  std::shared_ptr<const v2_0::ArrayDesc> array;  // version 2.0: instead of a layout
  Choice choice;                                 // and why
  // The top-level rows that had to be seen for this page to be known complete: whoever writes the pages of several
  // columns in the order (ready_row, column) writes them in one order however the rows were batched.
  uint64_t ready_row = 0;
  // Blob pages: to be called once, just before the page is written; it stores the payloads and fills `buffers`.
  std::function<Status(BlobSink*, EncodedPage*)> seal;
};

struct PageWriterOptions {
  FileVersion version = FileVersion::kV2_2;
  uint64_t page_bytes = 8 << 20;  // Arrow bytes of rows after which a page is cut
  WriteProfile profile = WriteProfile::kBalanced;
};

class ColumnWriter {
 public:
  virtual ~ColumnWriter() = default;
  // 2.1 and 2.2 (2.0: v2_0/write_columns.h). `column` must outlive the writer. kUnsupported for what the version cannot
  // hold (e.g. map in 2.1), naming the field.
  static Result<std::unique_ptr<ColumnWriter>> Make(const LeafColumn* column, const arrow::Field& top_level,
                                                    const PageWriterOptions& options);
  // `top_level`: the whole array of the top-level field (any slice of it); the writer walks down to its own leaf.
  // Finished pages are appended to `out`, in row order.
  virtual Status Append(const std::shared_ptr<arrow::Array>& top_level, std::vector<EncodedPage>* out) = 0;
  virtual Status Finish(std::vector<EncodedPage>* out) = 0;
  virtual uint64_t buffered_bytes() const = 0;
};

}  // namespace pilum
