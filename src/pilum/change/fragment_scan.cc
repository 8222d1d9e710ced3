#include "pilum/change/fragment_scan.h"

namespace pilum {

Status FragmentScan::Begin(const Table& table, const std::vector<uint64_t>& fragments, ReadContext& ctx) {
  PILUM_ASSIGN_OR_RETURN(snapshot_, table.OpenSnapshot({fragments}, ctx));
  ctx_ = &ctx;
  unit_ = 0;
  stream_.reset();
  return Status::OK();
}

Result<std::shared_ptr<arrow::RecordBatch>> FragmentScan::Next(const std::vector<FieldPath>& columns) {
  for (;;) {
    if (!stream_) {
      if (unit_ == snapshot_->units().size()) return nullptr;
      const auto& unit = snapshot_->units()[unit_++];
      PILUM_ASSIGN_OR_RETURN(stream_, unit->Read(columns, RowSet::All(unit->num_rows()), {}, *ctx_));
    }
    PILUM_ASSIGN_OR_RETURN(auto batch, stream_->Next());
    if (batch) return batch;
    stream_.reset();
  }
}

}  // namespace pilum
