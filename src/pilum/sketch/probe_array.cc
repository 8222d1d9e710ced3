#include "pilum/sketch/probe_array.h"

#include <arrow/api.h>

namespace pilum {

Result<std::shared_ptr<arrow::BooleanArray>> ProbeArray(const arrow::Array& array, const ProbeFunction& f) {
  arrow::BooleanBuilder builder;
  PILUM_RETURN_NOT_OK(builder.Reserve(array.length()));
  uint8_t answers[HashBlock::kMaxRows];
  PILUM_RETURN_NOT_OK(VisitHashes(array, 0, [&](const HashBlock& block) {
    f(block.hashes, answers);
    for (size_t i = 0; i < block.hashes.size(); ++i) {
      while (builder.length() < block.row(i)) builder.UnsafeAppendNull();
      builder.UnsafeAppend(answers[i] != 0);
    }
  }));
  while (builder.length() < array.length()) builder.UnsafeAppendNull();
  PILUM_ASSIGN_OR_RETURN(auto out, builder.Finish());
  return std::static_pointer_cast<arrow::BooleanArray>(out);
}

}  // namespace pilum
