// A corpus of conversations: rows by time, each of one conversation of one owner, with a text, tags, hashes and numbers. The same
// rows on every machine.
#pragma once

#include <cstdint>
#include <memory>

#include <arrow/type_fwd.h>

namespace pilum::synthetic {

std::shared_ptr<arrow::RecordBatch> Conversations(int64_t rows, int64_t conversations);

}  // namespace pilum::synthetic
