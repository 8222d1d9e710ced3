// A stream of batches over one open file: plans units, decodes them (on several threads where the context allows), and
// gives them out in slices. Called by file_reader.cc.
#pragma once

#include <memory>

#include "pilum/file/file_reader.h"
#include "pilum/file/projection.h"
#include "pilum/file/unit.h"

namespace pilum {

// `rows` lie in the file. The stream keeps `file` alive.
std::unique_ptr<BatchStream> MakeScan(std::shared_ptr<const OpenFile> file,
                                      std::shared_ptr<const Projection> projection, RowSet rows,
                                      const BatchLimits& limits, const ReadContext& ctx);

}  // namespace pilum
