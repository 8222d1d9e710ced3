// The blobs of one fragment: each lies where its description says. Their bytes are not read.
#include <set>

#include <arrow/record_batch.h>
#include <arrow/type.h>

#include "pilum/inspect/check.h"
#include "pilum/source/field_path.h"
#include "pilum/table/blobs.h"
#include "pilum/table/column_forms.h"

namespace pilum {
namespace {

constexpr uint64_t kBlobsAtOnce = 256;  // as many files may be open for them

void AddBlobColumns(const arrow::FieldVector& fields, const FieldPath& above, std::vector<FieldPath>* out) {
  for (const auto& field : fields) {
    FieldPath path = above;
    path.steps.push_back(field->name());
    if (IsBlobColumn(*field)) {
      out->push_back(std::move(path));
    } else if (field->type()->id() == arrow::Type::STRUCT) {
      AddBlobColumns(field->type()->fields(), path, out);
    }
  }
}

Status CheckColumn(const TableContext& table, const PhysicalFragment& physical, const FieldPath& column, Findings* out,
                   ReadContext& ctx) {
  const Fragment& f = physical.fragment();
  const BatchLimits limits{.rows = kBlobsAtOnce};
  PILUM_ASSIGN_OR_RETURN(auto stream, physical.Read({column}, RowSet::All(physical.num_rows()), limits, ctx));
  std::set<std::string> told;  // one of a file
  while (true) {
    PILUM_ASSIGN_OR_RETURN(auto batch, stream->Next());
    if (!batch) return Status::OK();
    PILUM_ASSIGN_OR_RETURN(auto descriptions, ArrayAt(*batch, column, ctx.memory_pool()));
    PILUM_ASSIGN_OR_RETURN(const auto places, BlobPlacesOf(*descriptions));
    std::shared_ptr<const BlobFiles> files;  // let go of with the batch
    for (size_t i = 0; i < places.size(); ++i) {
      if (!places[i]) continue;
      if (!files) {
        PILUM_ASSIGN_OR_RETURN(files, BlobFilesOf(table, f, column));
      }
      const Status st = files->Open(*places[i], ctx).status();
      if (st.ok() || !told.insert(st.message()).second) continue;
      PILUM_RETURN_NOT_OK(out->FromStatus("damaged_blob",
                                          fmt::format("column {} of fragment {}", column.ToString(), f.id), st,
                                          "its value cannot be read: bring the file back from a copy"));
    }
  }
}

}  // namespace

Status CheckBlobs(const TableContext& table, const PhysicalFragment& physical, Findings* out, ReadContext& ctx) {
  std::vector<FieldPath> columns;
  AddBlobColumns(table.schema->declared()->fields(), {}, &columns);
  for (const FieldPath& column : columns) {
    const Status st = CheckColumn(table, physical, column, out, ctx);
    PILUM_RETURN_NOT_OK(out->FromStatus("damaged_blob", fmt::format("column {}", column.ToString()), st));
  }
  return Status::OK();
}

}  // namespace pilum
